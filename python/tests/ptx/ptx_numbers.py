"""Numbers of PTX's types, computed with whole numbers and fractions: what the interpreter must agree with."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

WIDTHS = {"u8": 8, "s8": 8, "b8": 8, "u16": 16, "s16": 16, "b16": 16, "f16": 16, "bf16": 16, "u32": 32, "s32": 32,
          "b32": 32, "f32": 32, "u64": 64, "s64": 64, "b64": 64, "f64": 64, "f16x2": 32, "bf16x2": 32}
# Bits of the exponent and of the digits behind the leading one.
FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}
NO_NUMBER = {"f16": 0x7fff, "bf16": 0x7fff, "f32": 0x7fffffff, "f64": 0x7ff8 << 48}
INFINITY = "infinity"
NAN = "nan"


def wrapped(value: int, kind: str) -> int:
    """A whole number as the type holds it."""
    width = WIDTHS[kind]
    value &= (1 << width) - 1
    return value - (1 << width) if kind[0] == "s" and value >> (width - 1) else value


def bits(value: int, kind: str) -> int:
    return value & ((1 << WIDTHS[kind]) - 1)


def bounds(kind: str) -> tuple[int, int]:
    width = WIDTHS[kind]
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind[0] == "s" else (0, (1 << width) - 1)


class Number:
    """A sign, and a fraction, infinity or nan."""

    def __init__(self, minus: bool, size: Fraction | str) -> None:
        self.minus, self.size = minus, size

    @property
    def value(self) -> Fraction:
        assert isinstance(self.size, Fraction)
        return -self.size if self.minus else self.size


def number(pattern: int, kind: str) -> Number:
    exponent_bits, digit_bits = FORMATS[kind]
    minus = bool(pattern >> (exponent_bits + digit_bits))
    exponent = pattern >> digit_bits & ((1 << exponent_bits) - 1)
    digits = pattern & ((1 << digit_bits) - 1)
    if exponent == (1 << exponent_bits) - 1:
        return Number(minus, NAN if digits else INFINITY)
    bias = (1 << (exponent_bits - 1)) - 1
    if exponent == 0:
        return Number(minus, Fraction(digits) / Fraction(2) ** (bias - 1 + digit_bits))
    return Number(minus, Fraction(digits + (1 << digit_bits)) * Fraction(2) ** (exponent - bias - digit_bits))


def whole(size: Fraction, minus: bool, mode: str) -> int:
    """The size of a number, rounded to a whole one in a direction."""
    down, rest = divmod(size, 1)
    up = {"n": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and down % 2 == 1), "z": False,
          "m": minus and rest > 0, "p": not minus and rest > 0}[mode]
    return int(down) + int(up)


def pattern(value: Number, kind: str, mode: str = "n") -> int:
    """The nearest number of the type in a direction (n, z, m, p)."""
    exponent_bits, digit_bits = FORMATS[kind]
    bias = (1 << (exponent_bits - 1)) - 1
    sign = value.minus << (exponent_bits + digit_bits)
    infinite = ((1 << exponent_bits) - 1) << digit_bits
    if value.size == NAN:
        return NO_NUMBER[kind]
    if value.size == INFINITY:
        return sign | infinite
    size = value.size
    assert isinstance(size, Fraction)
    if size == 0:
        return sign
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    exponent = max(exponent, 1 - bias)
    digits = whole(size / Fraction(2) ** (exponent - digit_bits), value.minus, mode)
    if digits >> (digit_bits + 1):
        digits, exponent = digits >> 1, exponent + 1
    if exponent > bias:
        return sign | (infinite if mode == "n" or mode == ("m" if value.minus else "p") else infinite - 1)
    normal = digits >> digit_bits
    return sign | ((exponent + bias if normal else 0) << digit_bits) | (digits & ((1 << digit_bits) - 1))


def exactly(value: Fraction, zero_is_minus: bool) -> Number:
    return Number(zero_is_minus if value == 0 else value < 0, abs(value))


def added(a: Number, b: Number, mode: str) -> Number:
    if NAN in (a.size, b.size) or (a.size == b.size == INFINITY and a.minus != b.minus):
        return Number(False, NAN)
    if INFINITY in (a.size, b.size):
        return a if a.size == INFINITY else b
    # A zero of two signs is positive, except towards minus infinity.
    minus = a.minus if a.minus == b.minus else mode == "m"
    return exactly(a.value + b.value, minus)


def multiplied(a: Number, b: Number) -> Number:
    minus = a.minus != b.minus
    if NAN in (a.size, b.size) or (INFINITY in (a.size, b.size) and 0 in (a.size, b.size)):
        return Number(False, NAN)
    if INFINITY in (a.size, b.size):
        return Number(minus, INFINITY)
    return Number(minus, a.size * b.size)


def divided(a: Number, b: Number) -> Number:
    minus = a.minus != b.minus
    if NAN in (a.size, b.size) or a.size == b.size == INFINITY or a.size == b.size == 0:
        return Number(False, NAN)
    if a.size == INFINITY or b.size == 0:
        return Number(minus, INFINITY)
    return Number(minus, Fraction(0) if b.size == INFINITY else a.size / b.size)


def flushed(value: int, kind: str) -> int:
    exponent_bits, digit_bits = FORMATS[kind]
    tiny = value >> digit_bits & ((1 << exponent_bits) - 1) == 0
    return value >> (exponent_bits + digit_bits) << (exponent_bits + digit_bits) if tiny else value


def single(value: float) -> int:
    return struct.unpack("<I", struct.pack("<f", value))[0]


def root(a: Number) -> Number:
    """Of a positive number. What is behind the last computed digit is there as half of its unit, so that it rounds right."""
    if a.size == NAN or (a.minus and a.size != 0):
        return Number(False, NAN)
    if a.size in (INFINITY, 0):
        return a
    scale = 1 << 640
    scaled = a.size * scale * scale
    size = math.isqrt(int(scaled))
    return Number(False, (Fraction(size) + (0 if size * size == scaled else Fraction(1, 2))) / scale)
