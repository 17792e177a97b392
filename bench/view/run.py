#!/usr/bin/env python3
"""`pack stats` and `pack view` on a million small samples: time, peak memory, the bytes of the page, answers of the server.

    python3 bench/view/run.py [--samples 1000000] [--rounds 3] [--append]

The samples are pictures of fixtures with a small JSON each, in tars of 10,000, with sidecars by `pack index`. The first run
makes them.
"""

from __future__ import annotations

import json
import pathlib
import signal
import subprocess
import sys
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402

SHARD = 10_000
QUERIES = ["limit=120", "offset={last}&limit=120", "class=class-7&limit=120", "text=00123&limit=120", "min_width=100&min_height=100&limit=120"]


def member(name: str, body: bytes) -> bytes:
    """One member of a ustar."""
    head = bytearray(512)
    fields = [(0, name.encode()), (100, b"0000644\0"), (108, b"0000000\0"), (116, b"0000000\0"), (124, b"%011o\0" % len(body)),
              (136, b"00000000000\0"), (148, b" " * 8), (156, b"0"), (257, b"ustar\00000")]
    for at, field in fields:
        head[at:at + len(field)] = field
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head) + body + bytes(-len(body) % 512)


def make(work: pathlib.Path, samples: int, pack: pathlib.Path) -> pathlib.Path:
    shards = work / f"shards-{samples}"
    if (shards / "dataset.json").exists():
        return shards
    common.remove(work / "pictures") if (work / "pictures").exists() else None
    fixtures = common.built("tarflume-fixtures", "-p", "tarflume-fixtures")
    subprocess.run([fixtures, "folder", work / "pictures", "--pairs", "64", "--mixed"], check=True, stdout=subprocess.DEVNULL)
    pictures = [path.read_bytes() for path in sorted((work / "pictures").rglob("*.jpg"))]
    shards.mkdir(parents=True, exist_ok=True)
    for first in range(0, samples, SHARD):
        with (shards / f"shard-{first // SHARD:06}.tar").open("wb") as tar:
            for n in range(first, min(first + SHARD, samples)):
                label = json.dumps({"label": f"class-{n * 2654435761 % 1000}", "number": n}).encode()
                tar.write(member(f"s{n:08}.jpg", pictures[n * 40503 % len(pictures)]) + member(f"s{n:08}.json", label))
            tar.write(bytes(1024))
    subprocess.run([pack, "index", shards, "-q"], check=True)
    return shards


def serve(pack: pathlib.Path, shards: pathlib.Path, samples: int) -> list[str]:
    """Lines of a table: the start of the server, and the answers to queries."""
    lines = []
    start = time.monotonic()
    with subprocess.Popen([pack, "view", shards, "--serve"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout
        address = server.stdout.readline().strip()
        lines.append(f"| until the server answers | {time.monotonic() - start:.2f} | |")
        for query in QUERIES:
            query = query.format(last=samples - 120)
            times, total = [], 0
            for turn in range(2):  # the second answer is the next page of the same filter
                begin = time.monotonic()
                url = f"{address}api/samples?{query}" + (f"&offset={turn * 120}" if "offset" not in query else "")
                total = json.load(urllib.request.urlopen(url))["total"]
                times.append(time.monotonic() - begin)
            lines.append(f"| `{query}`: first and next answer | {times[0]:.3f}, {times[1]:.3f} | {total:,} |")
        status = pathlib.Path(f"/proc/{server.pid}/status").read_text()
        peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024
        lines.append(f"| peak RSS of the server, MB | {peak:.0f} | |")
        server.send_signal(signal.SIGINT)
    return lines


def main() -> None:
    parser = common.options(__doc__)
    parser.add_argument("--samples", type=int, default=1_000_000)
    x = parser.parse_args()
    work = x.work.resolve() / "view"
    work.mkdir(parents=True, exist_ok=True)
    pack = common.pack_binary(x.pack)
    shards = make(work, x.samples, pack)
    tars = sum(path.stat().st_size for path in shards.glob("*.tar"))
    page = work / "page.html"
    cases = [("pack info", ["info", shards]), ("pack stats --examine 0", ["stats", shards, "--examine", "0"]),
             ("pack stats", ["stats", shards]), ("pack stats --examine all", ["stats", shards, "--examine", "all"]),
             ("pack view -o page.html", ["view", shards, "-o", page, "--force"]),
             ("pack view -o page.html --thumbnails 2000", ["view", shards, "-o", page, "--force", "--thumbnails", "2000"])]
    lines = ["| case | s, median (min-max) | samples/s | peak RSS MB | bytes of the page |", "|---|---|---|---|---|"]
    for name, words in cases:
        page.unlink(missing_ok=True)
        runs = [common.run([pack, *words]) for _ in range(x.rounds)]
        assert all(one["rc"] == 0 for one in runs), runs
        wall = sorted(one["wall"] for one in runs)
        size = f"{page.stat().st_size:,}" if page.exists() else ""
        middle, rss = wall[len(wall) // 2], max(one["rss_mb"] for one in runs)
        lines.append(f"| {name} | {middle:.2f} ({wall[0]:.2f}-{wall[-1]:.2f}) | {x.samples / middle:,.0f} | {rss:.0f} | {size} |")
    head = common.machine(x.rounds, [f"{x.samples:,} samples of JPEG and JSON, {tars / 1e9:.1f} GB, {len(list(shards.glob('*.tar')))} shards"])
    server = ["| server | s | samples that pass |", "|---|---|---|", *serve(pack, shards, x.samples)]
    text = "\n".join(["## Looking at a data set", "", head.replace("interleaved rounds", "rounds"), "", *lines, "", *server])
    common.publish(text, x.append)


if __name__ == "__main__":
    main()
