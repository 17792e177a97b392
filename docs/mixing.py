#!/usr/bin/env python3
"""Draws docs/mixing.svg from docs/mixing.json: sixteen batches of each shuffle, index against position.

bench/order/run.py --figures measures the JSON anew.
"""
import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
PANEL_W, PANEL_H, GAP, LEFT, TOP, FOOT = 226, 190, 22, 40, 66, 72
COLUMNS = 4
TITLES = {
    "Buffer 1000": "Buffer, 1,000 samples", "Buffer 100000": "Buffer, 100,000 samples",
    "Blocks 64x16": "Blocks of 64, window 16", "Blocks 64x256": "Blocks of 64, window 256",
    "Blocks 256x64": "Blocks of 256, window 64",
}


def number(x):
    return f"{x:.0f}" if x >= 10 else f"{x:.1f}" if x >= 0.1 else "below 0.1"


def panel(data, name, x, y):
    slots, score, step = data["slots"][name], data["scores"][name], data["step"]
    xs = [x + 6 + (PANEL_W - 12) * i / len(slots) for i in range(len(slots))]
    ys = [y + PANEL_H - 6 - (PANEL_H - 12) * slot / data["samples"] for slot in slots]
    dots = "".join(f"M{a:.0f} {b:.0f}h0" for a, b in zip(xs, ys))
    lines = "".join(f"M{x + 6 + (PANEL_W - 12) * i / 16:.0f} {y + PANEL_H}v-4" for i in range(1, 16))
    assert len(slots) * step == 16 * data["batch"]
    return [
        f'<text x="{x}" y="{y - 8}" class="t">{TITLES.get(name, name)}</text>',
        f'<rect x="{x}" y="{y}" width="{PANEL_W}" height="{PANEL_H}" rx="4" class="f"/>',
        f'<path d="{lines}" class="g"/><path d="{dots}" class="d"/>',
        f'<text x="{x}" y="{y + PANEL_H + 18}" class="l">a batch is worth <tspan class="b">{number(score["effective"])}</tspan> of {data["batch"]}</text>',
        f'<text x="{x}" y="{y + PANEL_H + 35}" class="l">reads a batch: {number(score["reads_per_batch"])} alone,</text>',
        f'<text x="{x}" y="{y + PANEL_H + 52}" class="l">{number(score["reads_ahead_64"])} with 64 batches together</text>',
    ]


def main():
    data = json.loads((HERE / "mixing.json").read_text())
    names = list(data["slots"])
    rows = -(-len(names) // COLUMNS)
    width, height = LEFT + COLUMNS * (PANEL_W + GAP), TOP + rows * (PANEL_H + FOOT + GAP) - 8
    parts = [f'<text x="{LEFT}" y="26" class="h">Sixteen batches of {data["batch"]} in the middle of a pass over '
             f'{data["samples"]:,} samples in {data["shards"]} shards</text>']
    for i, name in enumerate(names):
        x, y = LEFT + i % COLUMNS * (PANEL_W + GAP), TOP + i // COLUMNS * (PANEL_H + FOOT + GAP)
        parts += panel(data, name, x, y)
        if i % COLUMNS == 0:
            parts.append(f'<text transform="translate({x - 12} {y + PANEL_H}) rotate(-90)" class="l">index in the data set →</text>')
    words = "; ".join(f"{n}: {data['scores'][n]['effective']:.0f}" for n in names)
    svg = f'''<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="Index against position of eight shuffles. Independent samples that a batch of {data["batch"]} is worth: {words}">
<style>
text{{font-family:ui-sans-serif,Helvetica,Arial,sans-serif;fill:#1f2933}}
.h{{font-size:17px;font-weight:600}} .t{{font-size:15px;font-weight:600}} .l{{font-size:13px}} .b{{font-weight:700}}
.p{{fill:#ffffff}} .f{{fill:#f5f7fa;stroke:#9aa5b1}} .g{{stroke:#9aa5b1}}
.d{{stroke:#1d5fbf;stroke-width:2.2;stroke-linecap:round;fill:none}}
@media (prefers-color-scheme:dark){{
text{{fill:#e4e7eb}} .p{{fill:#11161c}} .f{{fill:#1b222b;stroke:#616e7c}} .g{{stroke:#616e7c}} .d{{stroke:#7db4ff}}
}}
</style>
<rect width="{width}" height="{height}" class="p"/>
{chr(10).join(parts)}
</svg>
'''
    (HERE / "mixing.svg").write_text(svg)


if __name__ == "__main__":
    main()
