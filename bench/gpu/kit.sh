#!/usr/bin/env bash
# Puts together what a machine with a GPU needs to run run.py, where nothing can be built or fetched. By `make gpu-kit`.
#
#   kit.sh OUT WHEEL PACK PHOTOGRAPHS     PHOTOGRAPHS: a folder of JPEGs; as many as fit are taken
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:?usage: kit.sh OUT WHEEL PACK PHOTOGRAPHS}
wheel=$2 pack=$3 photographs=$4
limit_mib=54
photographs_mib=32

rm -rf "$out"
mkdir -p "$out"
cp "$here"/*.py "$here/README.md" "$wheel" "$out"
cp "$pack" "$out/pack"
strip "$out/pack" 2>/dev/null || true

chosen=$(mktemp -d)
trap 'rm -rf "$chosen"' EXIT
# Numbered, because names in folders may be equal; as many as fit.
find -L "$photographs" -type f \( -iname '*.jpg' -o -iname '*.jpeg' \) -print0 | sort -z |
    { n=0 bytes=0
      while IFS= read -r -d '' path; do
          bytes=$((bytes + $(stat -Lc %s "$path")))
          [ "$bytes" -le $((photographs_mib << 20)) ] || break
          cp -L "$path" "$chosen/$(printf %06d "$n").jpg"
          n=$((n + 1))
      done
      [ "$n" -gt 0 ] || { echo "no JPEGs in $photographs" >&2; exit 1; }; }
"$out/pack" build "$chosen" -o "$out/photographs" --shards 2 --require jpg >/dev/null

size=$(du -sm "$out" | cut -f1)
if [ "$size" -ge "$limit_mib" ]; then
    echo "the kit has $size MiB, more than $limit_mib: give a smaller folder of photographs" >&2
    exit 1
fi
echo "$out: $size MiB. Copy it to a machine with a GPU, and there: python3 run.py"
