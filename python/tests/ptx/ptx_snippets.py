"""Instructions of PTX, one at a time: each is run over rows of operands, and its results are returned."""

from __future__ import annotations

import pathlib
import struct

from collections.abc import Callable, Sequence

from kernel_runs import Array, run
from ptx_numbers import WIDTHS

HEAD = ".version 9.2\n.target sm_90\n.address_size 64\n"
Rows = Sequence[tuple[int, ...]]


class Snippet:
    """`text`, which has the operands {a}, {b}, {c} of the types `takes` and makes {d} of the type `gives`."""

    def __init__(self, text: str, takes: str, gives: str, expected: Callable[..., int], rows: Rows) -> None:
        self.text, self.takes, self.gives, self.expected, self.rows = text, takes.split(), gives, expected, rows

    def body(self, number: int) -> str:
        """Reads operands from %in, writes the result to %out; `number` is its place among others."""
        names = {}
        lines = ["{"]
        for place, (name, kind) in enumerate(zip("abc", self.takes, strict=False)):
            names[name] = f"%{name}"
            if kind == "pred":
                lines += [f".reg .b32 %w{name};", f".reg .pred %{name};",
                          f"ld.global.b32 %w{name}, [%in+{number * 24 + place * 8}];", f"setp.ne.b32 %{name}, %w{name}, 0;"]
                continue
            width = max(WIDTHS[kind], 16)
            lines += [f".reg .b{width} %{name};", f"ld.global.b{width} %{name}, [%in+{number * 24 + place * 8}];"]
        if self.gives == "pred":
            lines += [".reg .pred %d;", ".reg .b32 %e;", self.text.format(d="%d", **names), "selp.b32 %e, 1, 0, %d;",
                      f"st.global.b32 [%out+{number * 8}], %e;"]
        else:
            width = max(WIDTHS[self.gives], 16)
            lines += [f".reg .b{width} %d;", self.text.format(d="%d", **names), f"st.global.b{width} [%out+{number * 8}], %d;"]
        return "\n".join([*lines, "}"])


def check(program: pathlib.Path, snippets: Sequence[Snippet]) -> None:
    """Asserts that each instruction makes what is expected of it, for each of its rows."""
    rows = max(len(snippet.rows) for snippet in snippets)
    operands = b"".join(
        struct.pack("<3Q", *(value & (1 << 64) - 1 for value in [*snippet.rows[row % len(snippet.rows)], 0, 0, 0][:3]))
        for row in range(rows) for snippet in snippets)
    made = run(program, "snippets", [Array(operands), Array(bytes(8 * rows * len(snippets)), out=True)], ptx=kernel(snippets),
               grid=(rows, 1, 1), block=(1, 1, 1)).outputs[0]
    found = struct.unpack(f"<{rows * len(snippets)}Q", made)
    wrong = []
    for number, snippet in enumerate(snippets):
        for row, given in enumerate(snippet.rows):
            value = found[row * len(snippets) + number] & ((1 << (WIDTHS | {"pred": 1})[snippet.gives]) - 1)
            wanted = snippet.expected(*given)
            if value != wanted:
                wrong.append(f"{snippet.text} of {', '.join(map(hex, given))} is {value:#x}, not {wanted:#x}")
    assert not wrong, f"{len(wrong)} results:\n" + "\n".join(wrong[:20])


def kernel(snippets: Sequence[Snippet]) -> str:
    bodies = "\n".join(snippet.body(number) for number, snippet in enumerate(snippets))
    count = len(snippets)
    return f"""{HEAD}
.visible .entry snippets(.param .u64 from, .param .u64 to)
{{
.reg .b64 %in, %out, %n;
.reg .b32 %row;
mov.u32 %row, %ctaid.x;
cvt.u64.u32 %n, %row;
ld.param.u64 %in, [from];
ld.param.u64 %out, [to];
mad.lo.u64 %in, %n, {24 * count}, %in;
mad.lo.u64 %out, %n, {8 * count}, %out;
{bodies}
ret;
}}
"""
