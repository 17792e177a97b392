"""Each instruction that fixtures/cuda/ptx knows, in each of its types, against whole numbers and fractions."""

from __future__ import annotations

import itertools
import random

from collections.abc import Callable
from fractions import Fraction

import pytest
from ptx_numbers import (FORMATS, INFINITY, NAN, NO_NUMBER, WIDTHS, Number, added, bits, bounds, divided, exactly,
                         flushed, multiplied, number, pattern, root, whole, wrapped)
from ptx_snippets import Rows, Snippet, check

INTEGERS = ["u16", "u32", "u64", "s16", "s32", "s64"]


def edges(kind: str, dice: random.Random) -> list[int]:
    """Bit patterns of a type where something may happen."""
    width = WIDTHS[kind]
    if kind in FORMATS:
        exponent_bits, digit_bits = FORMATS[kind]
        infinite = ((1 << exponent_bits) - 1) << digit_bits
        one = ((1 << (exponent_bits - 1)) - 1) << digit_bits
        sizes = [0, 1, (1 << digit_bits) - 1, 1 << digit_bits, one - 1, one, one + 1, one + (1 << digit_bits >> 1), infinite - 1,
                 infinite, infinite | 1 << (digit_bits - 1)]
        sizes += [dice.getrandbits(width - 1) for _ in range(6)]
        # Close to one another, so that sums have many digits.
        sizes += [one + dice.randrange(-(3 << digit_bits), 3 << digit_bits) for _ in range(6)]
        return [size | minus << (width - 1) for size in sizes for minus in (0, 1)]
    found = [0, 1, 2, 3, 31, 255, 1 << (width - 1), (1 << (width - 1)) - 1, (1 << width) - 1, (1 << width) - 2]
    return [*found, *(dice.getrandbits(width) for _ in range(5)), *(dice.getrandbits(width) >> dice.randrange(width) for _ in range(5))]


def rows(kinds: str, seed: int = 1, most: int = 150) -> Rows:
    """Combinations of the edges of some types."""
    dice = random.Random(seed)
    each = [[0, 1] if kind == "pred" else edges(kind, dice) for kind in kinds.split()]
    everything = list(itertools.islice(itertools.product(*each), 40000))
    return everything if len(everything) <= most else dice.sample(everything, most)


def integer(text: str, kind: str, count: int, of: Callable[..., int], gives: str | None = None, nonzero: bool = False) -> Snippet:
    """An operation on whole numbers; its result is cut to the type."""
    gives = gives or kind
    found = rows(" ".join([kind] * count))
    if nonzero:
        found = [row for row in found if row[1]]
    return Snippet(text, " ".join([kind] * count), gives,
                   lambda *row: bits(of(*(wrapped(value, kind) for value in row)), gives), found)


def towards_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def test_integer_arithmetic(cuda_programs):
    snippets = []
    for kind in INTEGERS:
        width = WIDTHS[kind]
        snippets += [
            integer(f"add.{kind} {{d}}, {{a}}, {{b}};", kind, 2, lambda a, b: a + b),
            integer(f"sub.{kind} {{d}}, {{a}}, {{b}};", kind, 2, lambda a, b: a - b),
            integer(f"mul.lo.{kind} {{d}}, {{a}}, {{b}};", kind, 2, lambda a, b: a * b),
            integer(f"mul.hi.{kind} {{d}}, {{a}}, {{b}};", kind, 2, lambda a, b, w=width: a * b >> w),
            integer(f"mad.lo.{kind} {{d}}, {{a}}, {{b}}, {{c}};", kind, 3, lambda a, b, c: a * b + c),
            integer(f"mad.hi.{kind} {{d}}, {{a}}, {{b}}, {{c}};", kind, 3, lambda a, b, c, w=width: (a * b >> w) + c),
            integer(f"div.{kind} {{d}}, {{a}}, {{b}};", kind, 2, towards_zero, nonzero=True),
            integer(f"rem.{kind} {{d}}, {{a}}, {{b}};", kind, 2, lambda a, b: a - b * towards_zero(a, b), nonzero=True),
            integer(f"min.{kind} {{d}}, {{a}}, {{b}};", kind, 2, min),
            integer(f"max.{kind} {{d}}, {{a}}, {{b}};", kind, 2, max),
            integer(f"sad.{kind} {{d}}, {{a}}, {{b}}, {{c}};", kind, 3, lambda a, b, c: c + abs(a - b)),
        ]
        if kind[0] == "s":
            snippets += [integer(f"abs.{kind} {{d}}, {{a}};", kind, 1, abs), integer(f"neg.{kind} {{d}}, {{a}};", kind, 1, lambda a: -a)]
        if width < 64:
            wide = f"{kind[0]}{2 * width}"
            snippets.append(integer(f"mul.wide.{kind} {{d}}, {{a}}, {{b}};", kind, 2, lambda a, b: a * b, wide))
            snippets.append(Snippet(
                f"mad.wide.{kind} {{d}}, {{a}}, {{b}}, {{c}};", f"{kind} {kind} {wide}", wide,
                lambda a, b, c, k=kind, w=wide: bits(wrapped(a, k) * wrapped(b, k) + c, w), rows(f"{kind} {kind} {wide}")))
    least, most = bounds("s32")
    snippets.append(integer("add.sat.s32 {d}, {a}, {b};", "s32", 2, lambda a, b: min(max(a + b, least), most)))
    snippets.append(integer("sub.sat.s32 {d}, {a}, {b};", "s32", 2, lambda a, b: min(max(a - b, least), most)))
    check(cuda_programs / "run_ptx", snippets)


def test_sums_with_carries(cuda_programs):
    """128 bits of two registers, whose upper half needs the carry of the lower one."""
    pairs = rows("u64 u64 u64")
    add = "{{ .reg .b64 %low; add.cc.u64 %low, {a}, {b}; addc.u64 {d}, {c}, 5; }}"
    sub = "{{ .reg .b64 %low; sub.cc.u64 %low, {a}, {b}; subc.u64 {d}, {c}, 5; }}"
    check(cuda_programs / "run_ptx", [
        Snippet(add, "u64 u64 u64", "u64", lambda a, b, c: bits(c + 5 + (a + b >> 64), "u64"), pairs),
        Snippet(sub, "u64 u64 u64", "u64", lambda a, b, c: bits(c - 5 - (a < b), "u64"), pairs),
        Snippet(add.replace("64", "32"), "u32 u32 u32", "u32", lambda a, b, c: bits(c + 5 + (a + b >> 32), "u32"), rows("u32 u32 u32")),
    ])


def test_products_of_bytes(cuda_programs):
    def four(a: int, b: int, c: int, left: str, right: str) -> int:
        return bits(c + sum(wrapped(a >> n, left) * wrapped(b >> n, right) for n in (0, 8, 16, 24)), "u32")

    def two(a: int, b: int, c: int, left: str, right: str, upper: bool) -> int:
        b = b >> 16 if upper else b
        return bits(c + sum(wrapped(a >> 16 * n, left) * wrapped(b >> 8 * n, right) for n in (0, 1)), "u32")

    snippets = []
    for left, right in itertools.product("us", "us"):
        snippets.append(Snippet(f"dp4a.{left}32.{right}32 {{d}}, {{a}}, {{b}}, {{c}};", "b32 b32 b32", "b32",
                                lambda a, b, c, x=f"{left}8", y=f"{right}8": four(a, b, c, x, y), rows("b32 b32 b32")))
        for part in ("lo", "hi"):
            snippets.append(Snippet(f"dp2a.{part}.{left}32.{right}32 {{d}}, {{a}}, {{b}}, {{c}};", "b32 b32 b32", "b32",
                                    lambda a, b, c, x=f"{left}16", y=f"{right}8", u=part == "hi": two(a, b, c, x, y, u),
                                    rows("b32 b32 b32")))
    check(cuda_programs / "run_ptx", snippets)


def test_logic_and_shifts(cuda_programs):
    snippets = []
    for kind in ("b16", "b32", "b64"):
        width = WIDTHS[kind]
        distances = [(value, by) for value, in rows(kind) for by in (0, 1, 5, width - 1, width, width + 1, 255, 1 << 31)]
        snippets += [
            integer(f"and.{kind} {{d}}, {{a}}, {{b}};", kind, 2, lambda a, b: a & b),
            integer(f"or.{kind} {{d}}, {{a}}, {{b}};", kind, 2, lambda a, b: a | b),
            integer(f"xor.{kind} {{d}}, {{a}}, {{b}};", kind, 2, lambda a, b: a ^ b),
            integer(f"not.{kind} {{d}}, {{a}};", kind, 1, lambda a: ~a),
            integer(f"cnot.{kind} {{d}}, {{a}};", kind, 1, lambda a: int(a == 0)),
            Snippet(f"shl.{kind} {{d}}, {{a}}, {{b}};", f"{kind} u32", kind, lambda a, b, k=kind: bits(a << min(b, 99), k), distances),
            Snippet(f"shr.{kind} {{d}}, {{a}}, {{b}};", f"{kind} u32", kind, lambda a, b: a >> min(b, 99), distances),
            Snippet(f"shr.u{width} {{d}}, {{a}}, {{b}};", f"{kind} u32", kind, lambda a, b: a >> min(b, 99), distances),
            Snippet(f"shr.s{width} {{d}}, {{a}}, {{b}};", f"{kind} u32", kind,
                    lambda a, b, k=f"s{width}": bits(wrapped(a, k) >> min(b, 99), k), distances),
        ]
        if width > 16:
            snippets += [
                integer(f"popc.{kind} {{d}}, {{a}};", kind, 1, int.bit_count, "u32"),
                integer(f"clz.{kind} {{d}}, {{a}};", kind, 1, lambda a, w=width: w - a.bit_length(), "u32"),
                integer(f"brev.{kind} {{d}}, {{a}};", kind, 1, lambda a, w=width: int(f"{a:0{w}b}"[::-1], 2)),
                integer(f"bfind.u{width} {{d}}, {{a}};", kind, 1, lambda a: a.bit_length() - 1, "u32"),
                integer(f"bfind.shiftamt.u{width} {{d}}, {{a}};", kind, 1, lambda a, w=width: w - a.bit_length() if a else -1, "u32"),
                integer(f"bfind.s{width} {{d}}, {{a}};", f"s{width}", 1, lambda a: (~a if a < 0 else a).bit_length() - 1, "u32"),
            ]
    for name, of in (("and", int.__and__), ("or", int.__or__), ("xor", int.__xor__)):
        snippets.append(Snippet(f"{name}.pred {{d}}, {{a}}, {{b}};", "pred pred", "pred", of, rows("pred pred")))
    snippets.append(Snippet("not.pred {d}, {a};", "pred", "pred", lambda a: 1 - a, rows("pred")))
    check(cuda_programs / "run_ptx", snippets)


def test_fields_permutations_and_funnels(cuda_programs):
    fields = [(value, first, length) for value, in rows("b64") for first in (0, 3, 31, 63, 70) for length in (0, 1, 8, 32, 64, 255)]

    def extracted(a: int, first: int, length: int, kind: str) -> int:
        width = WIDTHS[kind]
        value = bits(a, kind) >> first & ((1 << length) - 1)
        if kind[0] == "s" and length:
            sign = bits(a, kind) >> min(first + length - 1, width - 1) & 1
            value |= -sign << min(length, max(width - first, 0))
        return bits(value, kind)

    def inserted(a: int, first: int, length: int, kind: str) -> int:
        mask = bits(((1 << length) - 1) << first, kind)
        return bits((a << first & mask) | (0x0123456789abcdef & ~mask), kind)

    snippets = [Snippet(f"bfe.{kind} {{d}}, {{a}}, {{b}}, {{c}};", f"{kind} u32 u32", kind,
                        lambda a, first, length, k=kind: extracted(a, first, length, k), fields)
                for kind in ("u32", "s32", "u64", "s64")]
    for kind in ("b32", "b64"):
        constant = bits(0x0123456789abcdef, kind)
        snippets.append(Snippet(f"bfi.{kind} {{d}}, {{a}}, {constant:#x}, {{b}}, {{c}};", f"{kind} u32 u32", kind,
                                lambda a, first, length, k=kind: inserted(a, first, length, k), fields))

    def permuted(a: int, b: int, by: int, way: str) -> int:
        eight = [(b << 32 | a) >> 8 * n & 255 for n in range(8)]
        if way == "":
            chosen = [eight[by >> 4 * n & 7] for n in range(4)]
            chosen = [255 * (byte >> 7) if by >> 4 * n & 8 else byte for n, byte in enumerate(chosen)]
        else:
            # The tables of the manual: bytes 3, 2, 1, 0 for each of the four modes.
            table = {"f4e": [0x3210, 0x4321, 0x5432, 0x6543], "b4e": [0x5670, 0x6701, 0x7012, 0x0123],
                     "rc8": [0x0000, 0x1111, 0x2222, 0x3333], "ecl": [0x3210, 0x3211, 0x3222, 0x3333],
                     "ecr": [0x0000, 0x1110, 0x2210, 0x3210], "rc16": [0x1010, 0x3232, 0x1010, 0x3232]}[way]
            chosen = [eight[table[by & 3] >> 4 * n & 7] for n in range(4)]
        return sum(byte << 8 * n for n, byte in enumerate(chosen))

    for way in ("", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        mode = f".{way}" if way else ""
        snippets.append(Snippet(f"prmt.b32{mode} {{d}}, {{a}}, {{b}}, {{c}};", "b32 b32 b32", "b32",
                                lambda a, b, by, w=way: permuted(a, b, by, w), rows("b32 b32 b32")))
    funnels = [(a, b, by) for a, b in rows("b32 b32") for by in (0, 1, 31, 32, 33, 200)]
    for way, far in itertools.product("lr", ("wrap", "clamp")):
        def funnel(a: int, b: int, by: int, way: str = way, far: str = far) -> int:
            by = by % 32 if far == "wrap" else min(by, 32)
            both = b << 32 | a
            return bits(both >> by if way == "r" else both << by >> 32, "b32")
        snippets.append(Snippet(f"shf.{way}.{far}.b32 {{d}}, {{a}}, {{b}}, {{c}};", "b32 b32 b32", "b32", funnel, funnels))
    for table in (0x00, 0x96, 0xe8, 0xca, 0x01):
        snippets.append(Snippet(
            f"lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, {table:#x};", "b32 b32 b32", "b32",
            lambda a, b, c, t=table: sum((t >> (4 * (a >> n & 1) + 2 * (b >> n & 1) + (c >> n & 1)) & 1) << n for n in range(32)),
            rows("b32 b32 b32")))
    check(cuda_programs / "run_ptx", snippets)


DIRECTIONS = {"rn": "n", "rz": "z", "rm": "m", "rp": "p"}


def real(text: str, kind: str, count: int, of: Callable[..., Number], mode: str, ftz: bool = False, sat: bool = False) -> Snippet:
    """An operation on numbers, whose exact result is rounded once."""
    def expected(*row: int) -> int:
        if ftz:
            row = tuple(flushed(value, kind) for value in row)
        made = of(*(number(value, kind) for value in row))
        if sat and (made.size == NAN or made.minus):
            return 0
        value = pattern(made, kind, mode)
        one = pattern(exactly(Fraction(1), False), kind)
        if sat:
            value = min(value, one)
        return flushed(value, kind) if ftz else value

    return Snippet(text, " ".join([kind] * count), kind, expected, rows(" ".join([kind] * count), most=250))


def test_floating_point_arithmetic(cuda_programs):
    snippets = []
    for kind, (name, mode) in itertools.product(("f32", "f64"), DIRECTIONS.items()):
        def less(a: Number, b: Number, mode: str = mode) -> Number:
            return added(a, Number(not b.minus, b.size), mode)

        snippets += [
            real(f"add.{name}.{kind} {{d}}, {{a}}, {{b}};", kind, 2, lambda a, b, m=mode: added(a, b, m), mode),
            real(f"sub.{name}.{kind} {{d}}, {{a}}, {{b}};", kind, 2, less, mode),
            real(f"mul.{name}.{kind} {{d}}, {{a}}, {{b}};", kind, 2, multiplied, mode),
            real(f"div.{name}.{kind} {{d}}, {{a}}, {{b}};", kind, 2, divided, mode),
            real(f"fma.{name}.{kind} {{d}}, {{a}}, {{b}}, {{c}};", kind, 3,
                 lambda a, b, c, m=mode: added(multiplied(a, b), c, m), mode),
            real(f"rcp.{name}.{kind} {{d}}, {{a}};", kind, 1, lambda a: divided(exactly(Fraction(1), False), a), mode),
            real(f"sqrt.{name}.{kind} {{d}}, {{a}};", kind, 1, root, mode),
        ]
    snippets += [
        real("add.f32 {d}, {a}, {b};", "f32", 2, lambda a, b: added(a, b, "n"), "n"),
        real("add.rn.ftz.f32 {d}, {a}, {b};", "f32", 2, lambda a, b: added(a, b, "n"), "n", ftz=True),
        real("mul.ftz.f32 {d}, {a}, {b};", "f32", 2, multiplied, "n", ftz=True),
        real("add.sat.f32 {d}, {a}, {b};", "f32", 2, lambda a, b: added(a, b, "n"), "n", sat=True),
        real("fma.rn.sat.f32 {d}, {a}, {b}, {c};", "f32", 3, lambda a, b, c: added(multiplied(a, b), c, "n"), "n", sat=True),
    ]
    check(cuda_programs / "run_ptx", snippets)


def extreme(a: int, b: int, kind: str, least: bool, nan: bool) -> int:
    left, right = number(a, kind), number(b, kind)
    if NAN in (left.size, right.size):
        if nan or left.size == right.size:
            return NO_NUMBER[kind]
        return a if right.size == NAN else b

    def place(one: Number) -> tuple[object, int]:
        size = Fraction(2) ** 2000 if one.size == INFINITY else one.size
        return (-size if one.minus else size), -int(one.minus)

    return (min if least else max)((a, b), key=lambda value: place(number(value, kind)))


def test_extremes_signs_and_comparisons(cuda_programs):
    snippets = []
    for kind in ("f32", "f64"):
        top = 1 << (WIDTHS[kind] - 1)
        pairs = rows(f"{kind} {kind}", most=600)
        for name, nan in itertools.product(("min", "max"), ("", ".NaN")):
            snippets.append(Snippet(f"{name}{nan}.{kind} {{d}}, {{a}}, {{b}};", f"{kind} {kind}", kind,
                                    lambda a, b, k=kind, m=name == "min", n=bool(nan): extreme(a, b, k, m, n), pairs))

        def signed(a: int, kind: str, change: Callable[[int], int]) -> int:
            return NO_NUMBER[kind] if number(a, kind).size == NAN else change(a)

        snippets += [
            Snippet(f"abs.{kind} {{d}}, {{a}};", kind, kind, lambda a, k=kind, t=top: signed(a, k, lambda v: v & ~t), rows(kind)),
            Snippet(f"neg.{kind} {{d}}, {{a}};", kind, kind, lambda a, k=kind, t=top: signed(a, k, lambda v: v ^ t), rows(kind)),
            Snippet(f"copysign.{kind} {{d}}, {{a}}, {{b}};", f"{kind} {kind}", kind,
                    lambda a, b, t=top: (a & t) | (b & ~t), pairs),
        ]
        orders = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
        for name, sign in orders.items():
            for unordered in (False, True):
                def compared(a: int, b: int, kind: str = kind, sign: str = sign, unordered: bool = unordered) -> int:
                    left, right = number(a, kind), number(b, kind)
                    if NAN in (left.size, right.size):
                        return int(unordered)
                    large = Fraction(2) ** 2000
                    values = [(-1 if one.minus else 1) * (large if one.size == INFINITY else one.size) for one in (left, right)]
                    return int(eval(f"x {sign} y", {"x": values[0], "y": values[1]}))
                snippets.append(Snippet(f"setp.{name}{'u' * unordered}.{kind} {{d}}, {{a}}, {{b}};", f"{kind} {kind}", "pred", compared, pairs))
        for name, wanted in (("num", 0), ("nan", 1)):
            snippets.append(Snippet(f"setp.{name}.{kind} {{d}}, {{a}}, {{b}};", f"{kind} {kind}", "pred",
                                    lambda a, b, k=kind, w=wanted: int((NAN in (number(a, k).size, number(b, k).size)) == w), pairs))
    check(cuda_programs / "run_ptx", snippets)


def test_comparisons_and_selections_of_integers(cuda_programs):
    snippets = []
    names = {"eq": int.__eq__, "ne": int.__ne__, "lt": int.__lt__, "le": int.__le__, "gt": int.__gt__, "ge": int.__ge__}
    same = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
    for kind in INTEGERS:
        for name, of in names.items():
            snippets.append(Snippet(f"setp.{name}.{kind} {{d}}, {{a}}, {{b}};", f"{kind} {kind}", "pred",
                                    lambda a, b, f=of, k=kind: int(f(wrapped(a, k), wrapped(b, k))), rows(f"{kind} {kind}")))
        if kind[0] == "u":
            for name, meaning in same.items():
                snippets.append(Snippet(f"setp.{name}.{kind} {{d}}, {{a}}, {{b}};", f"{kind} {kind}", "pred",
                                        lambda a, b, f=names[meaning]: int(f(a, b)), rows(f"{kind} {kind}")))
    for name, of in (("and", int.__and__), ("or", int.__or__), ("xor", int.__xor__)):
        for sign in ("", "!"):
            snippets.append(Snippet(f"setp.lt.{name}.s32 {{d}}|_, {{a}}, {{b}}, {sign}{{c}};", "s32 s32 pred", "pred",
                                    lambda a, b, c, f=of, s=sign: f(int(wrapped(a, "s32") < wrapped(b, "s32")), c ^ bool(s)),
                                    rows("s32 s32 pred")))
            snippets.append(Snippet(f"setp.lt.{name}.s32 _|{{d}}, {{a}}, {{b}}, {sign}{{c}};", "s32 s32 pred", "pred",
                                    lambda a, b, c, f=of, s=sign: f(int(wrapped(a, "s32") >= wrapped(b, "s32")), c ^ bool(s)),
                                    rows("s32 s32 pred")))
    for kind in ("b16", "u32", "s64", "f32", "f64"):
        snippets.append(Snippet(f"selp.{kind} {{d}}, {{a}}, {{b}}, {{c}};", f"{kind} {kind} pred", kind,
                                lambda a, b, c: a if c else b, rows(f"{kind} {kind} pred")))
        snippets.append(Snippet(f"slct.{kind}.s32 {{d}}, {{a}}, {{b}}, {{c}};", f"{kind} {kind} s32", kind,
                                lambda a, b, c: b if c >> 31 else a, rows(f"{kind} {kind} s32")))
    snippets += [
        Snippet("mov.b64 {d}, {{{a}, {b}}};", "b32 b32", "b64", lambda a, b: b << 32 | a, rows("b32 b32")),
        Snippet("mov.b32 {d}, {{{a}, {b}}};", "b16 b16", "b32", lambda a, b: b << 16 | a, rows("b16 b16")),
        Snippet("mov.b64 {{_, {d}}}, {a};", "b64", "b32", lambda a: a >> 32, rows("b64")),
        Snippet("mov.b64 {{{d}, _}}, {a};", "b64", "b32", lambda a: a & 0xffffffff, rows("b64")),
        Snippet("mov.u32 {d}, -5;", "", "u32", lambda: 0xfffffffb, [()]),
        Snippet("mov.f32 {d}, 0f3FC00000;", "", "f32", lambda: 0x3fc00000, [()]),
        Snippet("mov.pred {d}, {a};", "pred", "pred", lambda a: a, rows("pred")),
        Snippet("@!{a} mov.u32 {d}, 1; @{a} mov.u32 {d}, 2;", "pred", "u32", lambda a: 1 + a, rows("pred")),
    ]
    check(cuda_programs / "run_ptx", snippets)


def to_integer(value: Number, kind: str, source: str, mode: str) -> int:
    least, most = bounds(kind)
    if value.size == NAN:
        return 1 << (WIDTHS[kind] - 1) if source == "f64" or WIDTHS[kind] == 64 else 0
    if value.size == INFINITY:
        return bits(least if value.minus else most, kind)
    size = whole(value.size, value.minus, mode)
    return bits(min(max(-size if value.minus else size, least), most), kind)


def test_conversions(cuda_programs):
    snippets = []
    whole_kinds = ["u8", "s8", *INTEGERS]
    for to, source in itertools.product(whole_kinds, whole_kinds):
        gives = to if WIDTHS[to] > 8 else f"{to[0]}32"  # a register is wider than a byte
        snippets.append(Snippet(f"cvt.{to}.{source} {{d}}, {{a}};", source, gives,
                                lambda a, t=to, s=source, g=gives: bits(wrapped(wrapped(a, s), t), g), rows(source)))
        snippets.append(Snippet(f"cvt.sat.{to}.{source} {{d}}, {{a}};", source, gives,
                                lambda a, t=to, s=source, g=gives: bits(min(max(wrapped(a, s), bounds(t)[0]), bounds(t)[1]), g), rows(source)))
    for to, source, (name, mode) in itertools.product(FORMATS, whole_kinds, DIRECTIONS.items()):
        if to == "bf16":
            continue
        snippets.append(Snippet(f"cvt.{name}.{to}.{source} {{d}}, {{a}};", source, to,
                                lambda a, t=to, s=source, m=mode: pattern(exactly(Fraction(wrapped(a, s)), False), t, m), rows(source)))
    for to, source, (name, mode) in itertools.product(whole_kinds, ("f16", "f32", "f64"), DIRECTIONS.items()):
        gives = to if WIDTHS[to] > 8 else f"{to[0]}32"
        snippets.append(Snippet(f"cvt.{name}i.{to}.{source} {{d}}, {{a}};", source, gives,
                                lambda a, t=to, s=source, m=mode, g=gives: bits(wrapped(to_integer(number(a, s), t, s, m), t), g), near_integers(source)))
    for source, to in (("f64", "f32"), ("f32", "f16"), ("f32", "bf16"), ("f64", "f16")):
        for name, mode in DIRECTIONS.items():
            snippets.append(Snippet(f"cvt.{name}.{to}.{source} {{d}}, {{a}};", source, to,
                                    lambda a, t=to, s=source, m=mode: pattern(number(a, s), t, m), near_halves(source, to)))
    for source, to in (("f32", "f64"), ("f16", "f32"), ("bf16", "f32"), ("f16", "f64")):
        snippets.append(Snippet(f"cvt.{to}.{source} {{d}}, {{a}};", source, to, lambda a, t=to, s=source: pattern(number(a, s), t), rows(source)))
    for kind, (name, mode) in itertools.product(("f32", "f64"), DIRECTIONS.items()):
        def rounded(a: int, kind: str = kind, mode: str = mode) -> int:
            value = number(a, kind)
            if not isinstance(value.size, Fraction):
                return pattern(value, kind)
            return pattern(Number(value.minus, Fraction(whole(value.size, value.minus, mode))), kind)
        snippets.append(Snippet(f"cvt.{name}i.{kind}.{kind} {{d}}, {{a}};", kind, kind, rounded, near_integers(kind)))
    snippets.append(real("cvt.sat.f32.f32 {d}, {a};", "f32", 1, lambda a: a, "n", sat=True))
    snippets.append(Snippet("cvt.ftz.f32.f32 {d}, {a};", "f32", "f32", lambda a: pattern(number(flushed(a, "f32"), "f32"), "f32"), rows("f32")))
    for two in ("f16", "bf16"):
        snippets.append(Snippet(f"cvt.rn.{two}x2.f32 {{d}}, {{a}}, {{b}};", "f32 f32", "b32",
                                lambda a, b, t=two: pattern(number(a, "f32"), t) << 16 | pattern(number(b, "f32"), t), rows("f32 f32")))
    check(cuda_programs / "run_ptx", snippets)


def near_integers(kind: str) -> Rows:
    values = [Fraction(n, 4) for n in range(-9, 10)] + [Fraction(2) ** n + d for n in (7, 8, 15, 16, 31, 32, 63, 64) for d in (-1, 0, Fraction(1, 2))]
    return [*rows(kind), *((pattern(exactly(sign * value, False), kind),) for value in values for sign in (1, -1))]


def near_halves(source: str, to: str) -> Rows:
    """Numbers on and beside the middle between two of the other type."""
    lost = FORMATS[source][1] - FORMATS[to][1]
    found = list(rows(source))
    for value, in rows(to):
        wide = pattern(number(value, to), source) if number(value, to).size != NAN else 0
        found += [((wide + (1 << (lost - 1)) + d) & ((1 << WIDTHS[source]) - 1),) for d in (-1, 0, 1)]
    return found


@pytest.mark.parametrize(("line", "why"), [
    ("frob.u32 %r, %r, %r;", "the instruction frob is not known"),
    ("add.u8 %h, %h, %h;", "this type is not supported here"),
    ("add.q7.u32 %r, %r, %r;", ".q7 is not known here"),
    ("add.u32 %r, %r;", "an operand is missing"),
    ("add.u32 %r, %r, %r, %r;", "there is an operand too many"),
    ("add.u32 %r, %r, %d;", "%d has 64 bits, not 32"),
    ("add.u32 %r, %r, %nowhere;", "there is no register or variable %nowhere"),
    ("add.u32 %r, %r, 4294967296;", "the number does not fit 32 bits"),
    ("add.f32 %r, %r, 1;", "not an integer"),
    ("mul.u32 %r, %r, %r;", ".wide, .lo or .hi is missing"),
    ("div.f32 %r, %r, %r;", "a rounding (.rn, .rz, .rm, .rp) is missing"),
    ("div.approx.f32 %r, %r, %r;", "an approximation has no defined result"),
    ("ex2.approx.f32 %r, %r;", "the instruction ex2 is not known"),
    ("cvt.u32.f32 %r, %r;", "a rounding to integers"),
    ("cvt.f32.u32 %r, %r;", "a rounding (.rn, .rz, .rm, .rp) is missing"),
    ("cvt.rn.f64.f32 %d, %r;", "nothing is to be rounded here"),
    ("cvt.rn.satfinite.e4m3x2.f32 %h, %r, %r;", ".satfinite is not known here"),
    ("setp.ltu.s32 %p, %r, %r;", "this comparison is not for this type"),
    ("ld.global.b128 %d, [%d];", ".b128 is not known here"),
    ("ld.texture.b32 %r, [%d];", ".texture is not known here"),
    ("st.const.b32 [%d], %r;", "this space can't be written"),
    ("bra $nowhere;", "there is no label $nowhere"),
    ("shfl.down.b32 %r, %r, 1, 31;", "without .sync it is not supported"),
    ("mov.u32 %r, %clock;", "there is no register or variable %clock"),
    ("call.uni f;", "there is no function f"),
    ("call.uni %d, ();", "only functions that are named can be called"),
    ("@%r mov.u32 %r, 1;", "%r is no predicate"),
    ("cp.async.ca.shared.global [%r], [%d], 16;", "the instruction cp is not known"),
])
def test_what_is_not_known_is_refused_with_its_line(cuda_programs, line, why):
    from kernel_runs import attempt
    from ptx_snippets import HEAD

    text = f"{HEAD}.visible .entry one()\n{{\n.reg .b32 %r;\n.reg .b64 %d;\n.reg .b16 %h;\n.reg .pred %p;\n{line}\nret;\n}}\n"
    ran = attempt(cuda_programs / "run_ptx", "one", [], grid=(1, 1, 1), block=(1, 1, 1), ptx=text)
    assert ran.code == 2
    assert f"line 10 `{line}`: " in ran.said and why in ran.said, ran.said
