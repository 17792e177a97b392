#!/usr/bin/env bash
# Puts together what a machine with a GPU needs to run run.py, where nothing can be built or fetched. By `make gpu-kit`.
#
#   kit.sh OUT WHEEL PHOTOGRAPHS [PYTHON]     PHOTOGRAPHS: a folder of JPEGs; as many as fit are taken
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:?usage: kit.sh OUT WHEEL PHOTOGRAPHS [PYTHON]}
wheel=$2 photographs=$3 python=${4:-python3}
# With the files of the repository below 64 MiB; python/tests/device/test_gpu_kit.py checks both.
limit=$((40 << 20))
# A wheel of the profile dev, which tests have, is larger than any that is released.
limit=$((${KIT_MIB:-$((limit >> 20))} << 20))

rm -rf "$out"
mkdir -p "$out"
cp "$here"/*.py "$here/README.md" "$wheel" "$out"
mkdir "$out/trial"
cp "$here"/../../device/src/device/nvjpeg/trial/*.jpg "$out/trial"
used=$(du -sb "$out" | cut -f1)
room=$((limit - used - (1 << 20)))
if [ "$room" -le 0 ]; then
    echo "the wheel and the script have $((used >> 20)) MiB, which leaves no room for photographs in $((limit >> 20)):" \
        "build the wheel without debug information (\`make wheel\`)" >&2
    exit 1
fi

chosen=$(mktemp -d)
trap 'rm -rf "$chosen"' EXIT
mkdir "$chosen/pictures"
# Numbered, because names in folders may be equal; as many as fit, each with the 2 KiB that a tar may add to it.
find -L "$photographs" -type f \( -iname '*.jpg' -o -iname '*.jpeg' \) -print0 | sort -z |
    { n=0 bytes=0
      while IFS= read -r -d '' path; do
          bytes=$((bytes + $(stat -Lc %s "$path") + 2048))
          [ "$bytes" -le "$room" ] || break
          cp -L "$path" "$chosen/pictures/$(printf %06d "$n").jpg"
          n=$((n + 1))
      done
      [ "$n" -gt 0 ] || { echo "no JPEGs in $photographs, or none that fits" >&2; exit 1; }; }
# The wheel has the command `pack`.
"$python" -m zipfile -e "$wheel" "$chosen/package"
PYTHONPATH="$chosen/package" "$python" -c 'import tarflume.pack; raise SystemExit(tarflume.pack.main())' \
    build "$chosen/pictures" -o "$out/photographs" --shards 2 --require jpg >/dev/null

size=$(du -sb "$out" | cut -f1)
if [ "$size" -gt "$limit" ]; then
    echo "the kit has $((size >> 20)) MiB, more than $((limit >> 20)): give a smaller folder of photographs" >&2
    exit 1
fi
echo "$out: $((size >> 20)) MiB. Copy it to a machine with a GPU, and there: python3 run.py"
