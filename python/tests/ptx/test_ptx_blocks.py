"""Blocks of threads under fixtures/cuda/ptx: barriers, warps, shared memory, atomics, and every fault that it must find."""

from __future__ import annotations

import ctypes
import itertools
import pathlib

import numpy as np
import pytest
from kernel_runs import Array, Compiled, Ran, attempt, library, run, u32

KERNELS = pathlib.Path(__file__).with_name("blocks.cu").read_bytes()
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
