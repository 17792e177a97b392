#!/usr/bin/env python3
"""Runs one part in a separate process, and writes a line of JSON for each row as soon as it is known.

    one.py PLAN PART OUT        run.py calls it
"""
import argparse
import importlib
import json
import pathlib
import sys


def main():
    plan, name, out = json.loads(pathlib.Path(sys.argv[1]).read_text()), sys.argv[2], pathlib.Path(sys.argv[3])
    x = argparse.Namespace(**plan)
    x.work, x.kit, x.pack = pathlib.Path(x.work), pathlib.Path(x.kit), pathlib.Path(x.pack)
    x.sizes["checks"] = {tuple(key.split("/")): count for key, count in x.sizes["checks"].items()}
    if name not in ("data", "machine"):
        from place import place
        x.place = place(x.dry, x.number)

    with out.open("a") as rows:
        def say(case, **figures):
            rows.write(json.dumps({"case": case} | figures) + "\n")
            rows.flush()
            words = " ".join(f"{key}={value}" for key, value in figures.items() if key not in ("raw", "report"))
            print(f"  {name}: {case}: {words}"[:300], file=sys.stderr, flush=True)
        importlib.import_module(name).part(x, say)


if __name__ == "__main__":
    main()
