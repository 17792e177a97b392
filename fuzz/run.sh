#!/usr/bin/env bash
# Fuzzes every target for SECONDS each, one after the other: fuzz/run.sh SECONDS [TARGET...]
# Or tries the same inputs in every run: fuzz/run.sh replay [TARGET...]. These are fuzz/seeds, and FUZZ_RUNS (1000)
# damaged copies of them for each target. An input that the search has found goes to fuzz/seeds/TARGET with its repair.
# FUZZ_LIBRARIES=0 leaves out parquet and hdf5 if no target is named: their libraries take minutes to compile.
# Fails on a crash, at 256 MB of memory, and on an input that takes over 10 s; a replay on one that takes ten minutes.
# The toolchain is stable: RUSTC_BOOTSTRAP=1 lets it take the instrumentation's flags.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:?usage: fuzz/run.sh SECONDS|replay [TARGET...]}
shift
libraries=(parquet hdf5)
[ "${FUZZ_LIBRARIES:-1}" = 1 ] || libraries=()
[ $# -gt 0 ] || set -- walk numbers record index manifest plan npy jpeg_header jpeg_scan jpeg_decode jpeg_points \
    jpeg_excerpt jpeg_group pictures json stream zip mds litdata tfrecord source_url megatron tokens tables "${libraries[@]}"
export RUSTC_BOOTSTRAP=1
# The sanitizer; without AddressSanitizer's runtime say FUZZ_SANITIZER=none.
sanitizer=${FUZZ_SANITIZER:-address}
# AddressSanitizer sets 256 MB of freed memory aside by itself: that would be all that is allowed.
export ASAN_OPTIONS=quarantine_size_mb=8:${ASAN_OPTIONS:-}
# The flags of cargo-fuzz, which needs minutes to compile and does no more: coverage for libFuzzer.
flags="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
for part in inline-8bit-counters pc-table trace-compares; do
    flags+=" -Cllvm-args=-sanitizer-coverage-$part"
done
flags+=" -Cllvm-args=-simplifycfg-branch-fold-threshold=0"
[ "$sanitizer" = none ] || flags+=" -Zsanitizer=$sanitizer"
host=$(rustc -vV | sed -n 's/^host: //p')
words=()
features=()
for target in "$@"; do
    words+=(--bin "$target")
    case $target in parquet | hdf5) features+=(--features "$target") ;; esac
done
# --target: build scripts and procedural macros get none of the flags.
RUSTFLAGS="$flags" cargo build --manifest-path fuzz/Cargo.toml --target-dir fuzz/target --release --locked --quiet \
    --target "$host" "${features[@]}" "${words[@]}"
if [ "$seconds" = replay ]; then
    inputs=$(mktemp -d)
    trap 'rm -rf "$inputs"' EXIT
    for target in "$@"; do
        seeds=fuzz/seeds/$target artifacts=fuzz/artifacts/$target
        mkdir -p "$seeds" "$artifacts"
        dictionary=()
        [[ $target != jpeg_* ]] || dictionary=(fuzz/jpeg.dict)
        python3 fuzz/mutate.py "$seeds" "${FUZZ_RUNS:-1000}" "$inputs/$target" "${dictionary[@]}"
        echo "fuzz $target: $(find "$seeds" "$inputs/$target" -type f | wc -l) inputs"
        # -runs=0: each input once, and no search.
        "fuzz/target/$host/release/$target" "$inputs/$target" "$seeds" -artifact_prefix="$artifacts/" \
            -runs=0 -seed=1 -shuffle=0 -timeout=600 -rss_limit_mb=256 -malloc_limit_mb=256 -max_len=16384 -print_final_stats=1 -verbosity=0
        rm -rf "${inputs:?}/$target"
    done
    exit
fi
for target in "$@"; do
    corpus=fuzz/corpus/$target seeds=fuzz/seeds/$target artifacts=fuzz/artifacts/$target
    mkdir -p "$corpus" "$seeds" "$artifacts"
    dictionary=()
    [[ $target != jpeg_* ]] || dictionary=(-dict=fuzz/jpeg.dict)
    echo "fuzz $target: $seconds s"
    "fuzz/target/$host/release/$target" "$corpus" "$seeds" -artifact_prefix="$artifacts/" \
        -max_total_time="$seconds" -timeout=10 -rss_limit_mb=256 -malloc_limit_mb=256 \
        -max_len=16384 -print_final_stats=1 -verbosity=0 "${dictionary[@]}"
done
