#!/usr/bin/env bash
# The step of action.yml: installs `pack` unless PROGRAM names one, runs `pack verify`, and writes reports.
# Ends with the exit code of `pack verify`: 0 whole, 1 problems, 2 wrong usage, 75 try again.
set -euo pipefail

program=${PROGRAM:-}
if [ -z "$program" ]; then
    venv=${RUNNER_TEMP:-/tmp}/tarflume
    python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "tarflume${VERSION:+==$VERSION}"
    program=$venv/bin/pack
fi

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
"$program" "${words[@]}" || code=$?
if [ -n "$summary" ]; then
    cat "$summary" >>"$GITHUB_STEP_SUMMARY"
    rm -f "$summary"
fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then
    if [ "$code" = 0 ]; then echo "whole=true"; else echo "whole=false"; fi >>"$GITHUB_OUTPUT"
fi
exit "$code"
