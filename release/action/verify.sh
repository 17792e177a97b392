#!/usr/bin/env bash
# The step of action.yml: installs `pack` unless PROGRAM names one, runs `pack verify`, and writes reports and outputs.
# Ends with the exit code of `pack verify`: 0 whole, 1 problems, 2 wrong usage, 75 try again; with 69 if `pack` cannot
# be installed, and 127 if PROGRAM cannot be run.
set -euo pipefail

# Annotates the job: $1 is error, warning or notice; $2 on one line, as GitHub's toolkit escapes it.
annotate() {
    local text=$2
    text=${text//'%'/%25}
    text=${text//$'\r'/%0D}
    text=${text//$'\n'/%0A}
    echo "::$1 title=pack verify::$text"
}

# Sets an output of the step; a value has one line.
output() {
    if [ -n "${GITHUB_OUTPUT:-}" ]; then echo "$1=$2" >>"$GITHUB_OUTPUT"; fi
}

# Ends the step because nothing could be installed: that says nothing about the data.
not_installed() {
    annotate error "$1, so nothing was verified; the log has the reason"
    output installed false
    output exit-code 69
    exit 69
}

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d "${RUNNER_TEMP:-/tmp}/pack-verify.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# The version of this checkout of the action: its tag decides what is installed.
own_version() {
    sed -n 's/^version = "\(.*\)"$/\1/p' "$repository/Cargo.toml" | head -n 1
}

# Builds the program from this checkout of the action, which is pinned by whoever uses it.
build() {
    local root=${RUNNER_TEMP:-/tmp}/tarflume-built
    cargo install --quiet --locked --path "$repository/command" --bin pack --root "$root" ||
        not_installed "tarflume could not be built from the checkout of the action"
    program=$root/bin/pack
}

# Installs the package from PyPI; with SHA256, the wheel must have this digest.
install() {
    local venv=${RUNNER_TEMP:-/tmp}/tarflume version=${VERSION:-$(own_version)}
    local package="tarflume==$version"
    if [ "$version" = newest ]; then package=tarflume; fi
    local pip=("$venv/bin/python" -m pip --quiet --disable-pip-version-check)
    python3 -m venv "$venv" || not_installed "$package could not be installed"
    if [ -z "${SHA256:-}" ]; then
        "${pip[@]}" install "$package" || not_installed "$package could not be installed"
    else
        mkdir "$scratch/wheel"
        "${pip[@]}" download --no-deps --only-binary :all: --dest "$scratch/wheel" "$package" ||
            not_installed "$package could not be downloaded"
        local wheel
        wheel=$(find "$scratch/wheel" -type f | head -n 1)
        local found
        found=$(sha256sum "$wheel" | cut -d ' ' -f 1)
        if [ "$found" != "$SHA256" ]; then
            not_installed "$package has the SHA-256 digest $found, not $SHA256"
        fi
        "${pip[@]}" install "$wheel" || not_installed "$package could not be installed"
    fi
    program=$venv/bin/pack
}

# Adds an option for each line of $2: --$1=LINE.
each_line() {
    local line
    while IFS= read -r line; do
        line=${line%$'\r'}
        if [ -n "$line" ]; then words+=("--$1=$line"); fi
    done <<<"$2"
}

# Adds the paths of each line of $1. A pattern such as data/*/ names what it matches; without a match it stays as it is,
# and is an error of `pack verify`.
each_path() {
    local line matches
    while IFS= read -r line; do
        line=${line%$'\r'}
        if [ -z "$line" ]; then continue; fi
        case $line in
        *[*?[]*)
            matches=$(compgen -G "$line" || true)
            while IFS= read -r match; do words+=("$match"); done <<<"${matches:-$line}"
            ;;
        *) words+=("$line") ;;
        esac
    done <<<"$1"
}

# Sets the outputs that the report in $1 has.
counts() {
    python3 - "$1" <<'END' || true
import json, os, sys
try:
    report = json.load(open(sys.argv[1], encoding="utf-8"))
except (OSError, ValueError):
    sys.exit(0)
counts = {
    "problems": len(report["problems"]) + report.get("unlisted", 0),
    "warnings": len(report.get("warnings", ())),
    "shards": report["shards"],
    "samples": report["samples"],
    "bytes": report["bytes"],
}
with open(os.environ["GITHUB_OUTPUT"], "a", encoding="utf-8") as outputs:
    for name, count in counts.items():
        outputs.write(f"{name}={int(count)}\n")
END
}

if [[ -n ${GITHUB_ACTION_REF:-} && ! $GITHUB_ACTION_REF =~ ^[0-9a-f]{40}$ ]]; then
    annotate notice "the action is used by the name $GITHUB_ACTION_REF, which can move; a commit of 40 digits pins it"
fi

program=${PROGRAM:-}
if [ -z "$program" ]; then
    case ${VERSION:-} in
    checkout) build ;;
    *) install ;;
    esac
fi
output installed true

words=(verify --format github --level "${LEVEL:-full}")
if [ -n "${REQUIRE:-}" ]; then words+=("--require=$REQUIRE"); fi
if [ -n "${PROFILE:-}" ]; then words+=("--profile=$PROFILE"); fi
if [ -n "${EXPECT:-}" ]; then words+=("--expect=$EXPECT"); fi
if [ -n "${POLICY:-}" ]; then words+=("--policy=$POLICY"); fi
if [ -n "${BASELINE:-}" ]; then words+=("--baseline=$BASELINE"); fi
if [ -n "${CHANGED_SINCE:-}" ]; then words+=("--changed-since=$CHANGED_SINCE"); fi
if [ -n "${TIME_BUDGET:-}" ]; then words+=("--time-budget=$TIME_BUDGET"); fi
if [ -n "${JUNIT:-}" ]; then words+=("--report=junit=$JUNIT"); fi
if [ -n "${SARIF:-}" ]; then words+=("--report=sarif=$SARIF"); fi
each_line schema "${SCHEMA:-}"
each_line signed-by "${SIGNED_BY:-}"
summary=""
if [ "${SUMMARY:-true}" = true ] && [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    summary=$scratch/summary.md
    words+=("--report=markdown=$summary")
fi
report=""
if [ -n "${GITHUB_OUTPUT:-}" ]; then
    report=$scratch/report.json
    words+=("--report=json=$report")
fi
words+=(--)
each_path "${PATHS:-}"

code=0
errors=$scratch/errors
"$program" "${words[@]}" 2>"$errors" || code=$?
cat "$errors" >&2
# Problems are annotated by `pack verify`; what ended it is in its last lines.
if [ "$code" != 0 ] && [ "$code" != 1 ]; then
    said=$(tail -n 5 "$errors")
    annotate error "nothing was proved, exit code $code: ${said:-$program ended without a message}"
fi
if [ -n "$summary" ] && [ -s "$summary" ]; then cat "$summary" >>"$GITHUB_STEP_SUMMARY"; fi
if [ "$code" = 0 ]; then output whole true; else output whole false; fi
output exit-code "$code"
# A report of a verification that has ended before counts nothing.
if [ -n "$report" ] && [ "$code" -le 1 ]; then counts "$report"; fi
exit "$code"
