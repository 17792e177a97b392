#!/usr/bin/env bash
# Fuzzes every target for SECONDS each, one after the other: fuzz/run.sh SECONDS [TARGET...]
# Or tries the same inputs in every run: fuzz/run.sh replay [TARGET...]. These are fuzz/seeds, and FUZZ_RUNS (1000)
# damaged copies of them for each target; `make test` tries them without a sanitizer.
# `unsafe` instead of targets: those whose code has `unsafe` in our own crates. Nothing else is compiled.
# An input that was found goes to fuzz/seeds/TARGET with its repair. The search leaves it in fuzz/artifacts/TARGET, a replay
# in target/fuzz/HOST/tmp/fuzz/TARGET.
# Fails on a crash, at 256 MB of memory, and in a search on an input that takes over 10 s; a replay ends
# after half an hour of one target.
# The toolchain is stable: RUSTC_BOOTSTRAP=1 lets it take the instrumentation's flags.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:?usage: fuzz/run.sh SECONDS|replay [TARGET...|unsafe]}
shift
[ "$*" != unsafe ] || set -- index jpeg_decode jpeg_excerpt jpeg_group jpeg_header jpeg_offload jpeg_points jpeg_scan
[ $# -gt 0 ] || mapfile -t all < <(basename -s .rs fuzz/fuzz_targets/*.rs)
[ $# -gt 0 ] || set -- "${all[@]}"
features=(--no-default-features)
for target in "$@"; do
    [ -f "fuzz/fuzz_targets/$target.rs" ] || { echo "fuzz/run.sh: there is no target $target" >&2; exit 2; }
    case $target in index | jpeg_*) ;; *) features=() ;; esac
done
export RUSTC_BOOTSTRAP=1
# The sanitizer; without AddressSanitizer's runtime say FUZZ_SANITIZER=none.
sanitizer=${FUZZ_SANITIZER:-address}
flags=
[ "$sanitizer" = none ] || flags="-Zsanitizer=$sanitizer"
# AddressSanitizer sets 256 MB of freed memory aside by itself: that would be all that is allowed.
export ASAN_OPTIONS=quarantine_size_mb=8:${ASAN_OPTIONS:-}
host=$(rustc -vV | sed -n 's/^host: //p')
# --target: build scripts and procedural macros get none of the flags.
build=("${features[@]}" --locked --quiet --target "$host" --target-dir "${CARGO_TARGET_DIR:-target}/fuzz")
if [ "$seconds" = replay ]; then
    export RUSTFLAGS="$flags"
    test=(cargo test "${build[@]}" -p tarflume-fuzz-targets --test replay)
    "${test[@]}" --no-run
    # A process for each: the sanitizer keeps memory that was freed.
    for target in "$@"; do
        timeout 1800 "${test[@]}" -- --exact "$target"
    done
    exit
fi
# The flags of cargo-fuzz, which needs minutes to compile and does no more: coverage for libFuzzer.
flags+=" --cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
for part in inline-8bit-counters pc-table trace-compares; do
    flags+=" -Cllvm-args=-sanitizer-coverage-$part"
done
flags+=" -Cllvm-args=-simplifycfg-branch-fold-threshold=0"
words=()
for target in "$@"; do
    words+=(--bin "$target")
done
RUSTFLAGS="$flags" cargo build "${build[@]}" --manifest-path fuzz/Cargo.toml --release "${words[@]}"
for target in "$@"; do
    corpus=fuzz/corpus/$target seeds=fuzz/seeds/$target artifacts=fuzz/artifacts/$target
    mkdir -p "$corpus" "$seeds" "$artifacts"
    dictionary=()
    [[ $target != jpeg_* ]] || dictionary=(-dict=fuzz/jpeg.dict)
    echo "fuzz $target: $seconds s"
    "${CARGO_TARGET_DIR:-target}/fuzz/$host/release/$target" "$corpus" "$seeds" -artifact_prefix="$artifacts/" \
        -max_total_time="$seconds" -timeout=10 -rss_limit_mb=256 -malloc_limit_mb=256 \
        -max_len=16384 -print_final_stats=1 -verbosity=0 "${dictionary[@]}"
done
