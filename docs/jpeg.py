#!/usr/bin/env python3
"""Draws docs/jpeg.svg from docs/jpeg.json: where the time of a RandomResizedCrop(224) goes, a bar a decoder.

bench/jpeg/stages.py measures the JSON anew.
"""
import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
PATH = HERE / "jpeg.json"
LEFT, TOP, BAR, GAP, WIDTH = 20, 84, 34, 44, 760
COLORS = ["#1d5fbf", "#e08a00", "#3a9d5d", "#8a5bc7", "#5aa9c9", "#9aa5b1"]


def main():
    bars = json.loads(PATH.read_text())
    stages = list(bars[0]["stages"])
    scale = WIDTH / max(bar["us"] for bar in bars)
    height = TOP + len(bars) * (BAR + GAP)
    parts = [f'<text x="{LEFT}" y="26" class="h">RandomResizedCrop(224) of an ImageNet photograph, one thread, µs</text>']
    x = LEFT
    for stage, color in zip(stages, COLORS):
        parts.append(f'<rect x="{x}" y="42" width="12" height="12" rx="2" fill="{color}"/>'
                     f'<text x="{x + 17}" y="53" class="l">{stage}</text>')
        x += 34 + 7.1 * len(stage)
    for n, bar in enumerate(bars):
        y, at = TOP + n * (BAR + GAP) + 18, LEFT
        parts.append(f'<text x="{LEFT}" y="{y - 7}" class="t">{bar["name"]}: {bar["us"]:.0f}</text>')
        for stage, color in zip(stages, COLORS):
            width = bar["stages"][stage] * scale
            parts.append(f'<rect x="{at:.1f}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{color}"/>')
            if width > 26:
                parts.append(f'<text x="{at + width / 2:.1f}" y="{y + BAR / 2 + 5}" class="n">{bar["stages"][stage]:.0f}</text>')
            at += width
    words = "; ".join(f'{b["name"]}: {b["us"]:.0f}' for b in bars)
    (HERE / "jpeg.svg").write_text(f'''<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT * 2 + WIDTH} {height}" width="{LEFT * 2 + WIDTH}" height="{height}" role="img" aria-label="Microseconds of a crop by decoder. {words}">
<style>
text{{font-family:ui-sans-serif,Helvetica,Arial,sans-serif;fill:#1f2933}}
.h{{font-size:17px;font-weight:600}} .t{{font-size:14px;font-weight:600}} .l{{font-size:13px}}
.n{{font-size:13px;font-weight:600;fill:#ffffff;text-anchor:middle}}
.p{{fill:#ffffff}}
@media (prefers-color-scheme:dark){{ text{{fill:#e4e7eb}} .p{{fill:#11161c}} .n{{fill:#ffffff}} }}
</style>
<rect class="p" width="100%" height="100%"/>
{chr(10).join(parts)}
</svg>
''')


if __name__ == "__main__":
    main()
