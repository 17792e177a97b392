"""The PTX that NVIDIA's compiler makes of the kernels, run by fixtures/cuda/ptx, against their C++ form."""

from __future__ import annotations

import ctypes
import itertools
import pathlib
import re
import struct

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from kernel_runs import Array, Compiled, Ran, attempt, f32, library, run, source, u32, u64

#: The oldest and the newest that this NVRTC translates in another way: it makes one text for 80 and 90, and one for 100 and
#: 120. A loader runs that for 90 (test_ptx_loader.py), as does `make ptx`.
GENERATIONS = [80, 120]

BYTES = [1, 2, 2, 4]  # of the elements: bytes, half, bfloat, single
U8, F16, BF16, F32 = range(4)
HWC, CHW = range(2)
FROM_ROW, FROM_STORE, FROM_NOTHING = range(3)
PIXELS, YUV420 = range(2)
FACTORS = [f32(value) for value in (0.0171, 0.0175, 0.0174, 0.004, -2.1179, -2.0357, -1.8044, 0.25)]
#: A block as args.rs launches it.
BLOCK = (256, 1, 1)

Launch = tuple[str, list[Array | str | None], tuple[int, int, int]]


def compiled(generation: int) -> str:
    made = Compiled(ctypes.CDLL(str(library())), source(), f"compute_{generation}")
    assert (made.code, made.log) == (0, "")
    return made.output.decode().rstrip("\0")


@pytest.fixture(scope="module")
def texts() -> dict[int, str]:
    """What a driver gets."""
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(GENERATIONS, pool.map(compiled, GENERATIONS), strict=True))


@pytest.fixture
def dice() -> np.random.Generator:
    return np.random.default_rng(20)


def noise(dice: np.random.Generator, count: int) -> np.ndarray:
    return dice.integers(0, 256, count, dtype=np.uint8)


def finish(dice: np.random.Generator, element: int, layout: int, channels: int, flips: bool) -> Launch:
    rows, height, width = 3, 5, 7
    count = rows * height * width * channels
    mirrored = Array(np.array([0, 1, 2], np.uint8)) if flips else None
    return ("tarflume_finish",
            [Array(noise(dice, count)), Array(noise(dice, count * BYTES[element]), out=True), mirrored, u64(rows), u32(height), u32(width),
             u32(channels), u32(layout), u32(element), *FACTORS], (2, 2, 1))


def gather(dice: np.random.Generator, row_bytes: int, off: int) -> Launch:
    numbers = np.array([10, 0, 3, 3, 11, 2**64 - 1, 9], np.uint64)
    return ("tarflume_gather",
            [Array(noise(dice, 11 * row_bytes), off=off), Array(noise(dice, 7 * row_bytes), out=True, off=off), Array(numbers), u64(7),
             u64(row_bytes), u64(11)], (1, 2, 1))


def head(place: int, form: int, size: tuple[int, int], box: tuple[float, float, float, float], flip: int, number: int = 0) -> bytes:
    """A header before a row, as picture/row_header.rs lays it out; the box is left, top, width, height."""
    return struct.pack("<4I2Q4f2IQ", place, form, *size, number, 0, *box, flip, 0, 0)


def draw(dice: np.random.Generator, element: int, layout: int, channels: int) -> Launch:
    """Rows of each kind: of their own pixels and of the store's, planes and pixels, boxes of all kinds, and rows without a picture."""
    nan = float("nan")
    form = YUV420 if channels == 3 else PIXELS
    heads = [
        head(FROM_ROW, PIXELS, (17, 23), (1.3, 2.1, 17.2, 11.9), 0),
        head(FROM_ROW, form, (17, 23), (0, 0, 23, 17), 1),
        head(FROM_ROW, form, (9, 12), (2.5, 0.25, 3.1, 8.5), 1),
        head(FROM_ROW, PIXELS, (8, 8), (1, 2, 6, 5), 0),  # copied, pixel by pixel
        head(FROM_ROW, form, (8, 8), (2, 3, 6, 5), 1),
        head(FROM_STORE, form, (16, 21), (3.7, 2.2, 14.1, 13.3), 0, 1),
        head(FROM_STORE, PIXELS, (16, 21), (3.7, 2.2, 0.1, 0.3), 0, 2),
        head(FROM_STORE, PIXELS, (16, 21), (0, 0, 21, 16), 0, 3),  # the store has no such row
        head(FROM_STORE, PIXELS, (16, 21), (0, 0, 21, 16), 0, 2**64 - 1),
        head(FROM_NOTHING, PIXELS, (17, 23), (0, 0, 23, 17), 0),
        head(FROM_ROW, PIXELS, (18, 24), (0, 0, 24, 18), 0),  # longer than its row
        head(FROM_ROW, PIXELS, (65535, 65535), (0, 0, 5, 5), 0),
        head(FROM_ROW, PIXELS, (0, 5), (0, 0, 5, 5), 0),
        head(FROM_ROW, 7, (8, 8), (0, 0, 5, 5), 0),
        head(FROM_ROW, PIXELS, (17, 23), (nan, -5, 1e9, nan), 0),
        head(9, PIXELS, (17, 23), (0, 0, 5, 5), 0),
    ]
    room = (17 * 23 * channels + 15) // 16 * 16
    rows = b"".join(one + noise(dice, room).tobytes() for one in heads)
    stride = 64 + room
    height, width = 5, 6
    out = Array(noise(dice, len(heads) * height * width * channels * BYTES[element]), out=True)
    store = Array(noise(dice, 3 * 16 * 21 * channels))
    return ("tarflume_draw",
            [Array(rows), u64(stride), store, u64(16 * 21 * channels), u64(3), out, u64(len(heads)), u32(height), u32(width),
             u32(channels), u32(layout), u32(element), *FACTORS], (2, 3, 1))


def in_cpp(programs: pathlib.Path, launch: Launch) -> Ran:
    entry, parameters, grid = launch
    return run(programs / "run_kernel", entry, parameters, grid=grid, block=BLOCK)


def in_ptx(programs: pathlib.Path, launch: Launch, text: str, seed: int = 0) -> Ran:
    entry, parameters, grid = launch
    return attempt(programs / "run_ptx", entry, parameters, grid=grid, block=BLOCK, ptx=text, seed=seed)


def expect_equal(programs: pathlib.Path, launch: Launch, texts: dict[int, str], about: object) -> None:
    wanted = in_cpp(programs, launch).outputs
    for generation, text in texts.items():
        ran = in_ptx(programs, launch, text, seed=generation)
        assert ran.code == 0, ran.said
        assert ran.outputs == wanted, f"compute_{generation}, {about}"


ALL = list(itertools.product(range(4), (HWC, CHW), (1, 3, 4)))


def test_finished_pictures_are_those_of_the_other_form(cuda_programs, texts, dice):
    for element, layout, channels in ALL:
        flips = (element, layout) != (U8, CHW)
        expect_equal(cuda_programs, finish(dice, element, layout, channels, flips), texts, (element, layout, channels, flips))


def test_gathered_rows_are_those_of_the_other_form(cuda_programs, texts, dice):
    for row_bytes, off in [(48, 0), (48, 4), (48, 1), (20, 0), (7, 0), (7, 3), (1, 0)]:
        expect_equal(cuda_programs, gather(dice, row_bytes, off), texts, (row_bytes, off))


def test_drawn_pictures_are_those_of_the_other_form(cuda_programs, texts, dice):
    for element, layout, channels in ALL:
        expect_equal(cuda_programs, draw(dice, element, layout, channels), texts, (element, layout, channels))


# Faults of a compiler, and of those who change kernels: what stands in the text, and what takes its place once.
PLANTED = [
    ("tarflume_finish", r"max\.f32", "min.f32"),
    ("tarflume_finish", r"cvt\.rzi\.u32\.f32", "cvt.rni.u32.f32"),
    ("tarflume_finish", r"mul\.rn\.f32", "add.rn.f32"),
    ("tarflume_finish", r"cvt\.rn\.bf16\.f32", "cvt.rz.bf16.f32"),
    ("tarflume_finish", r"cvt\.rn\.f16\.f32", "cvt.rz.f16.f32"),
    ("tarflume_finish", r"rem\.u32", "div.u32"),
    ("tarflume_finish", r"sub\.s32", "add.s32"),
    ("tarflume_gather", r"mul\.lo\.s64", "add.s64"),
    ("tarflume_gather", r"setp\.lt\.u64", "setp.le.u64"),
    ("tarflume_gather", r"setp\.ge\.u64", "setp.gt.u64"),
]


def replaced(text: str, entry: str, old: str, new: str) -> list[str]:
    """The text with one place of an entry changed: each place, one after another."""
    begin = text.index(f".entry {entry}(")
    end = text.find(".entry ", begin + 1)
    end = len(text) if end < 0 else end
    places = [match.span() for match in re.finditer(old, text[begin:end])]
    assert places, f"{entry} has no {old}"
    return [text[:begin + first] + new + text[begin + last:] for first, last in places]


@pytest.mark.parametrize(("entry", "old", "new"), PLANTED)
def test_one_changed_instruction_is_found(cuda_programs, texts, dice, entry, old, new):
    """Each place in one of three channels: the others are code of other channels."""
    if entry == "tarflume_finish":
        launches = [finish(dice, element, HWC, 3, True) for element in range(4)]
    else:
        launches = [gather(dice, row_bytes, off) for row_bytes, off in [(48, 0), (48, 4), (7, 3)]]
    wanted = [in_cpp(cuda_programs, launch).outputs for launch in launches]
    text = texts[80]
    changed = replaced(text, entry, old, new)
    found = 0
    for one in changed[::max(1, len(changed) // 8)]:
        runs = [in_ptx(cuda_programs, launch, one) for launch in launches]
        found += any(ran.code != 0 or ran.outputs != right for ran, right in zip(runs, wanted, strict=True))
    assert found > 0


def test_a_store_outside_of_the_output_is_found(cuda_programs, texts, dice):
    launch = finish(dice, U8, HWC, 3, True)
    text = texts[80]
    begin = text.index(".entry tarflume_finish(")
    stores = [match for match in re.finditer(r"st\.global\.u8 \t\[(%rd\d+)(\+\d+)?\]", text) if match.start() > begin]
    faults = 0
    for store in stores:
        ran = in_ptx(cuda_programs, launch, text[:store.start()] + f"st.global.u8 \t[{store[1]}+315]" + text[store.end():])
        if ran.code == 0:
            continue  # code of other channels
        faults += 1
        line = text[:store.start()].count("\n") + 1
        assert f"tarflume_finish: line {line} `st.global.u8" in ran.said
        assert "1 bytes at 0x" in ran.said and "are outside of every allocation" in ran.said
    assert faults >= 3
