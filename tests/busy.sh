#!/usr/bin/env bash
# Runs a command beside eight busy processes of a higher priority, and ends them with it: tests/busy.sh COMMAND...
# No test may fail for that. BUSY=N: so many processes. BUSY_NICE=N: how much lower the priority of the command is;
# with 5 it gets about a tenth of two cores.
set -euo pipefail
[ $# -gt 0 ] || { echo "usage: tests/busy.sh COMMAND..." >&2; exit 2; }
busy=()
end() {
    [ ${#busy[@]} -eq 0 ] || kill "${busy[@]}" 2>/dev/null || true
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
for ((n = 0; n < ${BUSY:-8}; n++)); do
    # Ends with this script, however that ends.
    (while kill -0 $$ 2>/dev/null; do :; done) &
    busy+=($!)
done
# .config/nextest.toml: a test may take longer.
NEXTEST_PROFILE=busy nice -n "${BUSY_NICE:-5}" "$@"
