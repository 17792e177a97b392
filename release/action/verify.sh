#!/usr/bin/env bash
# The step of action.yml: installs `pack` unless PROGRAM names one, runs `pack verify`, and writes reports.
# Ends with the exit code of `pack verify`: 0 whole, 1 problems, 2 wrong usage, 75 try again; with 69 if `pack` cannot
# be installed, and 127 if PROGRAM cannot be run.
set -euo pipefail

# Annotates the job with an error: $1 on one line, as GitHub's toolkit escapes it.
annotate() {
    local text=$1
    text=${text//'%'/%25}
    text=${text//$'\r'/%0D}
    text=${text//$'\n'/%0A}
    echo "::error title=pack verify::$text"
}

# The version of this checkout of the action: its tag decides what is installed.
own_version() {
    sed -n 's/^version = "\(.*\)"$/\1/p' "$(dirname "${BASH_SOURCE[0]}")/../../Cargo.toml" | head -n 1
}

# Installs `pack` and sets `program`.
install() {
    local venv=${RUNNER_TEMP:-/tmp}/tarflume version=${VERSION:-$(own_version)}
    local package="tarflume==$version"
    if [ "$version" = newest ]; then package=tarflume; fi
    if ! python3 -m venv "$venv" ||
        ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$package"; then
        annotate "$package could not be installed, so nothing was verified; the log has the reason"
        exit 69
    fi
    program=$venv/bin/pack
}

program=${PROGRAM:-}
if [ -z "$program" ]; then install; fi

words=(verify --format github --level "${LEVEL:-full}")
if [ -n "${REQUIRE:-}" ]; then words+=("--require=$REQUIRE"); fi
if [ -n "${PROFILE:-}" ]; then words+=("--profile=$PROFILE"); fi
if [ -n "${EXPECT:-}" ]; then words+=("--expect=$EXPECT"); fi
if [ -n "${JUNIT:-}" ]; then words+=("--report=junit=$JUNIT"); fi
if [ -n "${SARIF:-}" ]; then words+=("--report=sarif=$SARIF"); fi
while IFS= read -r schema; do
    if [ -n "$schema" ]; then words+=("--schema=$schema"); fi
done <<<"${SCHEMA:-}"
summary=""
if [ "${SUMMARY:-true}" = true ] && [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    summary=$(mktemp)
    words+=("--report=markdown=$summary")
fi
words+=(--)
while IFS= read -r path; do
    if [ -n "$path" ]; then words+=("$path"); fi
done <<<"${PATHS:-}"

code=0
errors=$(mktemp)
"$program" "${words[@]}" 2>"$errors" || code=$?
cat "$errors" >&2
# Problems are annotated by `pack verify`; what ended it is in its last lines.
if [ "$code" != 0 ] && [ "$code" != 1 ]; then
    said=$(tail -n 5 "$errors")
    annotate "nothing was proved, exit code $code: ${said:-$program ended without a message}"
fi
rm -f "$errors"
if [ -n "$summary" ]; then
    cat "$summary" >>"$GITHUB_STEP_SUMMARY"
    rm -f "$summary"
fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then
    if [ "$code" = 0 ]; then echo "whole=true"; else echo "whole=false"; fi >>"$GITHUB_OUTPUT"
fi
exit "$code"
