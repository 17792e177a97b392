#!/usr/bin/env bash
# Builds and tests tarflume-candle with its feature `cuda`, without a GPU and without a toolkit:
#
#   adapters/candle/simulated/run.sh OUTDIR
#
# The driver is the simulated one of fixtures/cuda, `nvcc` is the stub beside this file, and libraries.cpp replaces the
# rest of the toolkit. The kernels of candle are not compiled: the test covers the movement of memory.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "${1:?usage: run.sh OUTDIR}"
out=$(cd "$1" && pwd)
bash "$here/../../../fixtures/cuda/build.sh" "$out" driver
g++ -std=c++17 -O1 -shared -fPIC -fvisibility=hidden "$here/libraries.cpp" -o "$out/libcublas.so"
for name in cublasLt curand cudart; do
    ln -sf libcublas.so "$out/lib$name.so"
done

export PATH="$here:$PATH" NVCC="$here/nvcc" CUDA_COMPUTE_CAP=90 LIBRARY_PATH="$out"
# Functions of kernels that were not compiled are missing, and never called.
export RUSTFLAGS="-L native=$out -C relro-level=off -C link-arg=-Wl,--unresolved-symbols=ignore-all -C link-arg=-Wl,-z,lazy"
export LD_LIBRARY_PATH="$out" FAKECUDA_DEVICES=2 FAKECUDA_DELAY_US=20-2000
cd "$here/../.."
cargo test -p tarflume-candle --features cuda --locked --test cuda
cargo clippy -p tarflume-candle --features cuda --locked --all-targets -- -D warnings
