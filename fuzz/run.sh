#!/usr/bin/env bash
# Fuzzes every target for SECONDS each, one after the other: fuzz/run.sh SECONDS [TARGET...]
# FUZZ_SEED=N starts the random numbers from N, so that two runs try the same inputs in the same order.
# Fails on a crash, on an input that takes over 10 s, and at 256 MB of memory.
# The toolchain is stable: RUSTC_BOOTSTRAP=1 lets it take the instrumentation's flags.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:?usage: fuzz/run.sh SECONDS [TARGET...]}
shift
[ $# -gt 0 ] || set -- walk numbers record index manifest plan npy jpeg_header jpeg_scan jpeg_decode jpeg_points \
    jpeg_group pictures json stream zip mds litdata tfrecord source_url megatron tokens parquet hdf5 tables
export RUSTC_BOOTSTRAP=1
# cargo-fuzz adds the sanitizer named here; without AddressSanitizer's runtime say FUZZ_SANITIZER=none.
sanitizer=${FUZZ_SANITIZER:-address}
# AddressSanitizer sets 256 MB of freed memory aside by itself: that would be all that is allowed.
export ASAN_OPTIONS=quarantine_size_mb=8:${ASAN_OPTIONS:-}
for target in "$@"; do
    corpus=fuzz/corpus/$target seeds=fuzz/seeds/$target
    mkdir -p "$corpus" "$seeds"
    dictionary=()
    [[ $target != jpeg_* ]] || dictionary=(-dict=fuzz/jpeg.dict)
    echo "fuzz $target: $seconds s"
    cargo fuzz run --sanitizer "$sanitizer" "$target" "$corpus" "$seeds" -- \
        -max_total_time="$seconds" -timeout=10 -rss_limit_mb=256 -malloc_limit_mb=256 \
        -seed="${FUZZ_SEED:-0}" -max_len=16384 -print_final_stats=1 -verbosity=0 "${dictionary[@]}"
done
