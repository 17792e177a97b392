#!/usr/bin/env python3
"""Draws docs/flow.svg: from folders to shards to their readers."""
import pathlib

W, H = 1050, 300
INK, LINE, SOFT, ACCENT = "#1f2933", "#52606d", "#f0f4f8", "#d9e8ff"
parts = []


def box(x, y, w, h, title, lines, fill=SOFT):
    parts.append(f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="8" fill="{fill}" stroke="{LINE}"/>')
    parts.append(f'<text x="{x + 14}" y="{y + 24}" class="t">{title}</text>')
    for i, line in enumerate(lines):
        parts.append(f'<text x="{x + 14}" y="{y + 46 + 19 * i}" class="l">{line}</text>')


def arrow(x1, y1, x2, y2):
    parts.append(f'<path d="M{x1} {y1} L{x2} {y2}" stroke="{LINE}" stroke-width="2" marker-end="url(#a)"/>')


box(20, 90, 190, 120, "folders", ["cats/001.jpg", "cats/001.json", "dogs/007.jpg", "..."])
box(270, 40, 230, 220, "pack build", [
    "scan: names and sizes", "plan: what each shard holds", "run: read, check, hash, append",
    "finalize: publish, manifest last", "", "same bytes for any threads,", "machines, kills and restarts",
], ACCENT)
box(560, 60, 190, 180, "a data set", [
    "shard-000000.tar", "shard-000000.index", "shard-000001.tar", "shard-000001.index",
    "...", "dataset.json",
])
box(800, 34, 230, 70, "WebDataset readers", ["plain tar"])
box(800, 115, 230, 70, "pack verify", ["in CI: exit code 0 or 1"])
box(800, 196, 230, 70, "training", ["by offset, without parsing"])
arrow(212, 150, 264, 150)
arrow(502, 150, 554, 150)
for y in (69, 150, 231):
    arrow(752, 150, 794, y)
svg = f'''<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {W} {H}" width="{W}" height="{H}" role="img" aria-label="Folders become shards through pack build: scan, plan, run, finalize">
<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{LINE}"/></marker></defs>
<style>text{{font-family:ui-sans-serif,Helvetica,Arial,sans-serif;fill:{INK}}} .t{{font-size:16px;font-weight:600}} .l{{font-size:13px}}</style>
<rect width="{W}" height="{H}" fill="#ffffff"/>
{chr(10).join(parts)}
</svg>
'''
pathlib.Path(__file__).with_name("flow.svg").write_text(svg)
