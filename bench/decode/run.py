#!/usr/bin/env python3
"""Decoding alone, from memory: ours beside Pillow, 1 and 2 threads, the same pictures.

    python3 bench/decode/run.py --photos FOLDER [--count 1500] [--rounds 3] [--append]

Ours is the example `decode` of tarflume, Pillow's is pillow.py; both read the folder first, which counts in
the seconds of both. `crop` is RandomResizedCrop(224) with flip, `evaluation` the shorter side to 256 and the
middle 224 x 224; rows are u8, height x width x 3.
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402
from common import Case, first_line  # noqa: E402


def main():
    ap = common.options(__doc__)
    ap.add_argument("--photos", type=pathlib.Path, default=common.ROOT / "fixtures" / "photos")
    ap.add_argument("--count", type=int, default=1500)
    x = ap.parse_args()
    common.hide(x.photos, "PHOTOS")
    example = common.PROGRAMS / "examples" / "decode"
    cases = []
    for column in ["whole", "crop", "evaluation"]:
        for threads in [1, 2]:
            words = [x.photos, column, threads, x.count]
            rival = f"Pillow, {column}, {threads} threads"
            cases.append(Case(f"tarflume, {column}, {threads} threads", [example, *words], (rival,), items=x.count))
            cases.append(Case(rival, [sys.executable, HERE / "pillow.py", *words], items=x.count))
    cases = [c for c in cases if common.matches(x.cases, c.name)]
    common.built("examples/decode", "-p", "tarflume", "--example", "decode")
    work = x.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    common.rounds("decode", cases, x.rounds, work / "log.jsonl")
    pillow = first_line(sys.executable, "-c", "import PIL; print('Pillow', PIL.__version__)")
    common.publish("\n\n".join([f"## Decode, {common.now()[:10]}", common.machine(x.rounds, [first_line("rustc", "--version"), pillow]),
                                common.table(f"decode: {x.count:,} pictures", cases, "pictures", vals=True)]), x.append)
    sys.exit(any(c.error for c in cases))


if __name__ == "__main__":
    main()
