"""Blocks of threads under fixtures/cuda/ptx: barriers, warps, shared memory, atomics, and every fault that it must find."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np
import pytest
from kernel_runs import Array, Compiled, Ran, attempt, library, run, u32

KERNELS = rb"""
typedef unsigned int u32;
typedef unsigned long long u64;
#define KERNEL extern "C" __global__ void
#define ALL 0xffffffffu

// What a reduction in shared memory needs, in the order that it needs it.
KERNEL reversed(const u32 *in, u32 *out, u32 rounds)
{
    __shared__ u32 tile[256];
    u32 t = threadIdx.x, last = blockDim.x - 1, value = in[t];
    for (u32 n = 0; n < rounds; n++) {
        tile[t] = value + n;
        __syncthreads();
        value = tile[last - t];
        __syncthreads();
    }
    out[t] = value;
}
KERNEL without_the_first(const u32 *in, u32 *out, u32 rounds)
{
    __shared__ u32 tile[256];
    u32 t = threadIdx.x, last = blockDim.x - 1, value = in[t];
    tile[t] = value;
    value = tile[last - t];
    out[t] = value + rounds;
}
KERNEL without_the_second(const u32 *in, u32 *out, u32 rounds)
{
    __shared__ u32 tile[256];
    u32 t = threadIdx.x, last = blockDim.x - 1, value = in[t];
    for (u32 n = 0; n < rounds; n++) {
        tile[t] = value + n;
        __syncthreads();
        value = tile[last - t];
    }
    out[t] = value;
}
KERNEL past_the_end(const u32 *in, u32 *out, u32 by)
{
    __shared__ u32 tile[64];
    __shared__ u32 other[64];
    u32 t = threadIdx.x;
    other[t] = t;
    tile[t + by] = in[t];
    __syncthreads();
    out[t] = tile[63 - t] + other[63 - t];
}
KERNEL not_written(const u32 *in, u32 *out, u32 count)
{
    __shared__ u32 tile[64];
    u32 t = threadIdx.x;
    if (t < count) tile[t] = in[t];
    __syncthreads();
    out[t] = tile[63 - t];
}
KERNEL some_at_a_barrier(const u32 *in, u32 *out, u32 count)
{
    u32 t = threadIdx.x;
    if (t < count) __syncthreads();
    else __syncwarp();
    out[t] = in[t];
}
KERNEL in_different_warps(const u32 *in, u32 *out, u32 count)
{
    if (threadIdx.x >= 32 && in[0] > 0) asm volatile("bar.sync 1;");
    else asm volatile("bar.sync 0;");
    out[threadIdx.x] = count;
}
KERNEL named(const u32 *in, u32 *out, u32 rounds)
{
    __shared__ u32 tile[128];
    u32 t = threadIdx.x, half = t / 64, n = t % 64;
    tile[t] = in[t];
    if (half == 0) asm volatile("bar.sync 1, 64;" ::: "memory");
    else asm volatile("bar.sync 2, 64;" ::: "memory");
    out[t] = tile[half * 64 + 63 - n] + rounds;
}
KERNEL counted(const u32 *in, u32 *out, u32 limit)
{
    u32 t = threadIdx.x;
    bool is = in[t] < limit;
    out[t] = (u32)__syncthreads_count(is) | __syncthreads_or(is) << 16 | __syncthreads_and(is) << 17;
}
KERNEL shuffled(const u32 *in, u32 *out, u32 by)
{
    u32 t = threadIdx.x, value = in[t];
    out[t] = __shfl_sync(ALL, value, by + t);
    out[t + 32] = __shfl_sync(ALL, value, by, 8);
    out[t + 64] = __shfl_up_sync(ALL, value, by);
    out[t + 96] = __shfl_up_sync(ALL, value, by, 8);
    out[t + 128] = __shfl_down_sync(ALL, value, by);
    out[t + 160] = __shfl_down_sync(ALL, value, by, 8);
    out[t + 192] = __shfl_xor_sync(ALL, value, by);
    out[t + 224] = __shfl_xor_sync(ALL, value, by, 8);
}
KERNEL voted(const u32 *in, u32 *out, u32 limit)
{
    u32 t = threadIdx.x, value = in[t];
    u32 mask = t < 16 ? 0xffffu : 0xffff0000u;
    out[t] = __ballot_sync(ALL, value < limit);
    out[t + 32] = __any_sync(mask, value < limit) | __all_sync(mask, value < limit) << 1;
    out[t + 64] = __match_any_sync(ALL, value % 5);
    out[t + 96] = __reduce_add_sync(ALL, value);
    out[t + 128] = __reduce_min_sync(mask, value);
    out[t + 160] = (u32)__reduce_max_sync(ALL, (int)value);
    out[t + 192] = __reduce_xor_sync(ALL, value);
}
KERNEL from_who_left(const u32 *in, u32 *out, u32 count)
{
    u32 t = threadIdx.x;
    if (t >= count) return;
    out[t] = __shfl_down_sync(ALL, in[t], 1);
}
KERNEL without_me(const u32 *in, u32 *out, u32 mask)
{
    out[threadIdx.x] = __shfl_sync(mask, in[threadIdx.x], 0);
}
// Between the lanes of a warp its own barrier is enough, and nothing is too little.
KERNEL in_a_warp(const u32 *in, u32 *out, u32 with)
{
    __shared__ u32 tile[64];
    u32 t = threadIdx.x;
    tile[t] = in[t];
    if (with == 1) __syncwarp();
    if (with == 2) __syncthreads();
    if (with == 4) atomicAdd(out, __shfl_xor_sync(ALL, in[t], 1)); // which orders no memory
    out[t] = tile[t ^ 1];
    if (with == 3) out[t] = tile[t ^ 32];
}
KERNEL atomics(const u32 *in, u32 *out, u32 limit)
{
    __shared__ u32 bins[4];
    u32 t = threadIdx.x;
    if (t < 4) bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[in[t] & 3], 1u);
    atomicMax(out + 4, in[t]);
    atomicMin((int *)out + 5, (int)in[t]);
    atomicOr(out + 6, 1u << (t & 31));
    atomicAdd((u64 *)(out + 8), (u64)in[t] << 8);
    atomicInc(out + 10, limit);
    if (atomicCAS(out + 11, 0u, t + 1) == 0u) atomicExch(out + 12, t + 1);
    __syncthreads();
    if (t < 4) out[t] = bins[t];
}
extern __shared__ unsigned char dynamic[];
KERNEL of_any_size(const u32 *in, u32 *out, u32 bytes)
{
    u32 *words = (u32 *)dynamic;
    u32 t = threadIdx.x;
    words[t] = in[t];
    __syncthreads();
    out[t] = words[bytes / 4 - 1 - t];
}
__constant__ u32 table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ u32 kept = 7;
KERNEL jumps(const u32 *in, u32 *out, u32 turn)
{
    u32 t = threadIdx.x, local[9], sum = 0;
#pragma unroll 1
    for (u32 n = 0; n < 9; n++) local[(n + turn) % 9] = n * t;
#pragma unroll 1
    for (u32 n = 0; n < 9; n++) sum = sum * 3 + local[n];
    asm volatile(
        "{\n.reg .u32 n;\nrem.u32 n, %1, 4;\n"
        "targets: .branchtargets $ZERO, $ONE, $TWO, $THREE;\n"
        "brx.idx n, targets;\n"
        "$ZERO: add.u32 %0, %0, 100; bra $BEHIND;\n"
        "$ONE: xor.b32 %0, %0, 21; bra $BEHIND;\n"
        "$TWO: mul.lo.u32 %0, %0, 3;\n"
        "$THREE: not.b32 %0, %0;\n"
        "$BEHIND: }\n" : "+r"(sum) : "r"(t));
    out[t] = sum + table[in[t] & 7] + kept;
}
KERNEL local_not_written(const u32 *in, u32 *out, u32 turn)
{
    u32 local[9];
#pragma unroll 1
    for (u32 n = 0; n < turn; n++) local[(n + in[0]) % 9] = n;
    out[threadIdx.x] = local[in[1] % 9];
}
// Functions that are called: a result and a parameter of several words, local memory of the caller and of its own,
// shared memory of its own, a barrier inside, one in another, and itself.
struct Several { u64 sum; u32 low; unsigned char last; };
__device__ __noinline__ Several several(Several from, const u32 *local, u32 count)
{
    u32 own[5];
#pragma unroll 1
    for (u32 n = 0; n < 5; n++) own[(n + count) % 5] = local[n] * n;
    Several made = {from.sum * 3, from.low ^ 5u, (unsigned char)(from.last + 1)};
#pragma unroll 1
    for (u32 n = 0; n < 5; n++) made.sum += (u64)own[n] << n;
    return made;
}
__device__ __noinline__ u32 neighbor(u32 value, u32 by)
{
    __shared__ u32 room[64];
    room[threadIdx.x] = value;
    __syncthreads();
    u32 found = room[(threadIdx.x + by) % 64];
    __syncthreads();
    return found;
}
__device__ __noinline__ u32 times(u32 n) { return n < 2 ? 1 : n * times(n - 1) + (n & 1); }
KERNEL calls(const u32 *in, u32 *out, u32 by)
{
    __shared__ u32 mine[64];
    u32 t = threadIdx.x, local[5];
    mine[t] = t;
#pragma unroll 1
    for (u32 n = 0; n < 5; n++) local[(n * by) % 5] = in[t] % (n + 2);
    Several first = {in[t], t, 250};
    Several second = several(several(first, local, by), local, 2);
    out[t] = (u32)second.sum + second.low + second.last + neighbor(in[t], by) + neighbor(mine[t], 1) + times(t % 7);
}
KERNEL deeper(const u32 *in, u32 *out, u32 by)
{
    out[threadIdx.x] = times(by + in[0]);
}
KERNEL anywhere(const u32 *in, u32 *out, u32 what)
{
    __shared__ u32 word;
    u32 t = threadIdx.x;
    word = 5;
    if (what == 1) out[t] = *(const u32 *)((const char *)in + 2);
    if (what == 2) out[t] = in[1000000];
    if (what == 3) out[-1] = 4;
    if (what == 4) asm volatile("ld.global.u32 %0, [%1];" : "=r"(out[t]) : "l"(&word));
    if (what == 5) *(u64 *)(out + 31) = 1;
    if (what == 6) out[t] = *(const u32 *)(u64)out[0];
    if (what == 7) __trap();
    if (what == 8) for (volatile u32 n = 0;; n++) {}
    if (what == 9) out[t] = 100 / out[0];
    if (what == 10) { const u32 *volatile any = &word; out[t] = *any; }
    if (what == 11) asm volatile("st.shared.u32 [%0], %1;" ::"r"(0), "r"(t));
}
KERNEL __launch_bounds__(64) of_few_threads(u32 *out) { out[threadIdx.x] = blockDim.x; }
"""
WORDS = np.random.default_rng(7).integers(0, 1 << 32, 256, dtype=np.uint32)


@pytest.fixture(scope="module")
def text() -> str:
    made = Compiled(ctypes.CDLL(str(library())), KERNELS, "compute_90")
    assert made.code == 0, made.log
    return made.output.decode().rstrip("\0")


@pytest.fixture
def go(cuda_programs, text):
    """Runs a kernel of `in`, `out` and a number; in three orders if it must go well, else in one."""
    def go(entry: str, number: int, *, threads: int = 64, out: int = 64, words: np.ndarray = WORDS, fails: bool = False,
           **more: int) -> Ran:
        start = attempt if fails else run
        more = ({} if fails else {"orders": 3}) | more
        return start(cuda_programs / "run_ptx", entry, [Array(words), Array(np.zeros(out, np.uint32), out=True), u32(number)], grid=(1, 1, 1),
                     block=(threads, 1, 1), ptx=text, **more)
    return go


def made(ran: Ran) -> np.ndarray:
    return np.frombuffer(ran.outputs[0], np.uint32)


def test_a_block_reverses_numbers_in_shared_memory(go):
    found = made(go("reversed", 5, threads=256, out=256, orders=20))
    wanted = WORDS
    for n in range(5):
        wanted = (wanted + np.uint32(n))[::-1]
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("entry", ["without_the_first", "without_the_second"])
def test_a_missing_barrier_is_found_in_any_order(go, entry, seed):
    ran = go(entry, 3, threads=256, out=256, fails=True, seed=seed)
    assert ran.code == 1
    # In some orders the bytes are read before anybody wrote them.
    assert "no barrier is between the two" in ran.said or "are read before they are written" in ran.said
    assert "shared.u32" in ran.said and f"order {seed}, {entry}: line " in ran.said


def test_bytes_behind_an_array_are_found_although_another_follows(go):
    found = made(go("past_the_end", 0))
    assert np.array_equal(found, WORDS[:64][::-1] + np.arange(64, dtype=np.uint32)[::-1])
    ran = go("past_the_end", 1, fails=True)
    assert ran.code == 1 and "4 bytes at 0x" in ran.said and "are outside of every variable" in ran.said
    assert "thread (63, 0, 0) of block (0, 0, 0)" in ran.said and "`st.shared.u32 " in ran.said


def test_shared_and_local_memory_is_written_before_it_is_read(go):
    assert np.array_equal(made(go("not_written", 64)), WORDS[:64][::-1])
    ran = go("not_written", 60, fails=True)
    assert ran.code == 1 and "are read before they are written" in ran.said
    go("local_not_written", 9)
    ran = go("local_not_written", 4, words=np.array([0, 5], np.uint32), fails=True)
    assert ran.code == 1 and "are read before they are written" in ran.said and "ld.local" in ran.said


def test_a_barrier_that_not_all_reach_is_a_fault(go):
    ran = go("in_different_warps", 1, fails=True)
    assert ran.code == 1 and "threads wait for others that never come" in ran.said
    assert "32 wait at line " in ran.said and "bar.sync 1;" in ran.said and "bar.sync 0;" in ran.said
    go("some_at_a_barrier", 64)
    for seed in range(3):
        ran = go("some_at_a_barrier", 20, fails=True, seed=seed)
        assert ran.code == 1 and "threads wait for others that never come" in ran.said


def test_named_barriers_and_their_counts(go):
    words = WORDS[:128].reshape(2, 64)[:, ::-1].reshape(-1)
    assert np.array_equal(made(go("named", 3, threads=128, out=128)), words + np.uint32(3))
    limit = 1 << 31
    count = int((WORDS[:64] < limit).sum())
    assert np.array_equal(made(go("counted", limit)), np.full(64, count | 1 << 16, np.uint32))
    assert np.array_equal(made(go("counted", 0)), np.zeros(64, np.uint32))
    assert np.array_equal(made(go("counted", 0xffffffff)), np.full(64, 64 | 3 << 16, np.uint32))


@pytest.mark.parametrize("by", [0, 1, 3, 9, 31])
def test_shuffles(go, by):
    lane = np.arange(32)
    value = WORDS[:32]

    def taken(from_: np.ndarray, inside: np.ndarray) -> np.ndarray:
        return value[np.where(inside, from_, lane)]

    part = lane // 8 * 8
    wanted = [value[(by + lane) % 32], value[part + by % 8], taken(lane - by, lane - by >= 0), taken(lane - by, lane - by >= part),
              taken(lane + by, lane + by < 32), taken(lane + by, lane + by < part + 8), value[lane ^ by],
              taken(lane ^ by, (lane ^ by) < part + 8)]
    assert np.array_equal(made(go("shuffled", by, threads=32, out=256)), np.concatenate(wanted))


def test_votes_matches_and_reductions(go):
    value = WORDS[:32]
    limit = 1 << 30
    below = value < limit
    halves = np.repeat([below[:16].any() | below[:16].all() << 1, below[16:].any() | below[16:].all() << 1], 16)
    same = [sum(1 << m for m in range(32) if value[m] % 5 == value[n] % 5) for n in range(32)]
    ballot = sum(1 << n for n in range(32) if below[n])
    least = np.repeat([value[:16].min(), value[16:].min()], 16)
    signed = int(value.view(np.int32).max()) & 0xffffffff
    wanted = [[ballot] * 32, halves, same, [int(value.sum(dtype=np.uint32))] * 32, least, [signed] * 32,
              [int(np.bitwise_xor.reduce(value))] * 32]
    assert np.array_equal(made(go("voted", limit, threads=32, out=224)), np.array(list(itertools.chain(*wanted)), np.uint32))


def test_lanes_that_are_not_there_are_faults(go):
    go("from_who_left", 32, threads=32)
    ran = go("from_who_left", 20, threads=32, fails=True)
    assert ran.code == 1 and "lane 19 takes from lane 20, which is not in the mask or has left" in ran.said
    ran = go("without_me", 0xfffffff7, threads=32, fails=True)
    assert ran.code == 1 and "the mask does not contain lane 3" in ran.said


def test_the_barrier_of_a_warp_orders_its_lanes_alone(go):
    for good in (1, 2):
        assert np.array_equal(made(go("in_a_warp", good)), WORDS[:64].reshape(-1, 2)[:, ::-1].reshape(-1))
    for bad in (0, 3, 4):
        ran = go("in_a_warp", bad, fails=True, seed=2)
        assert ran.code == 1 and ("no barrier is between" in ran.said or "before they are written" in ran.said)


def test_atomic_operations(go):
    start = np.zeros(16, np.uint32)
    start[5] = 0x7fffffff
    found = made(go("atomics", 40, threads=256, out=16, orders=1))
    assert list(found[:4]) == [int((WORDS & 3 == n).sum()) for n in range(4)]
    assert found[4] == WORDS.max() and found[5].view(np.int32) == min(WORDS.view(np.int32).min(), 0)
    assert found[6] == 0xffffffff
    assert int(found[8]) | int(found[9]) << 32 == sum(int(word) << 8 for word in WORDS) % (1 << 64)
    assert found[10] == 256 % 41
    assert found[11] == found[12] == 1


def test_shared_memory_of_the_launch(go):
    assert np.array_equal(made(go("of_any_size", 256, shared=256)), WORDS[:64][::-1])
    ran = go("of_any_size", 256, shared=252, fails=True)
    assert ran.code == 1 and "are outside of every variable" in ran.said


def test_branches_by_index_constants_and_local_arrays(go):
    found = made(go("jumps", 4))
    table = [3, 1, 4, 1, 5, 9, 2, 6]
    for t in range(64):
        local = [0] * 9
        for n in range(9):
            local[(n + 4) % 9] = n * t
        total = 0
        for value in local:
            total = (total * 3 + value) % (1 << 32)
        total = {0: total + 100, 1: total ^ 21, 2: ~(total * 3), 3: ~total}[t % 4]
        assert found[t] == (total + table[WORDS[t] & 7] + 7) % (1 << 32), t


def test_calls_of_functions(go):
    by = 3
    found = made(go("calls", by))

    def times(n: int) -> int:
        return 1 if n < 2 else n * times(n - 1) + (n & 1)

    for t in range(64):
        word = int(WORDS[t])
        local = [0] * 5
        for n in range(5):
            local[n * by % 5] = word % (n + 2)

        def several(total: int, low: int, last: int, local: list[int] = local) -> tuple[int, int, int]:
            counts = []
            for count in (by, 2):
                own = [0] * 5
                for n in range(5):
                    own[(n + count) % 5] = local[n] * n
                counts.append(sum(value << n for n, value in enumerate(own)))
            for extra in counts:
                total, low, last = total * 3 + extra, low ^ 5, (last + 1) % 256
            return total, low, last

        wanted = sum(several(word, t, 250)) + int(WORDS[(t + by) % 64]) + (t + 1) % 64 + times(t % 7)
        assert found[t] == wanted % (1 << 32), t


def test_a_function_that_never_returns_ends(go):
    ran = go("deeper", 1000, words=np.array([7], np.uint32), threads=1, fails=True)
    assert ran.code == 1 and "too many calls, one in another" in ran.said and "`call.uni " in ran.said


@pytest.mark.parametrize(("what", "said"), [
    (1, "4 bytes at 0x100000002 are not at a multiple of their length"),
    (2, "are outside of every allocation"),
    (3, "are outside of every allocation"),
    (4, "are not in global memory"),
    (5, "8 bytes at 0x20000007c are not at a multiple of their length"),
    (6, "4 bytes at 0x0 are outside of every allocation"),
    (7, "the kernel stops itself"),
    (8, "too many steps"),
    (9, "a division by zero, whose result is not defined"),
    (11, "4 bytes at 0x0 are outside of every variable"),
])
def test_faults_have_a_line_and_a_thread(go, what, said):
    ran = go("anywhere", what, threads=1, fails=True, steps=100_000)
    assert ran.code == 1 and said in ran.said, ran.said
    assert "anywhere: line " in ran.said and "thread (0, 0, 0) of block (0, 0, 0)" in ran.said


def test_generic_addresses_reach_shared_memory(go):
    assert made(go("anywhere", 10, threads=1))[0] == 5


def test_a_launch_must_fit_the_entry(cuda_programs, text):
    out = Array(np.zeros(65, np.uint32), out=True)
    assert np.all(np.frombuffer(run(cuda_programs / "run_ptx", "of_few_threads", [out], grid=(1, 1, 1), block=(64, 1, 1), ptx=text).outputs[0], np.uint32)[:64] == 64)
    ran = attempt(cuda_programs / "run_ptx", "of_few_threads", [out], grid=(1, 1, 1), block=(65, 1, 1), ptx=text)
    assert ran.code == 1 and "a block of 65 threads; the code is for 64" in ran.said
    ran = attempt(cuda_programs / "run_ptx", "of_few_threads", [out, u32(1)], grid=(1, 1, 1), block=(64, 1, 1), ptx=text)
    assert ran.code == 2 and "2 parameters; the entry has 1" in ran.said
    ran = attempt(cuda_programs / "run_ptx", "of_few_threads", [u32(1)], grid=(1, 1, 1), block=(64, 1, 1), ptx=text)
    assert ran.code == 2 and "another type of parameter 1" in ran.said
