"""What bench/read needs before it measures: an environment with the rivals, the pairs, shards and peer formats.

Everything is made once; a file NAME.done beside it says that it is whole and of which photographs.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import common
import layout

HERE = pathlib.Path(__file__).resolve().parent
PAIRS, SMALL = 20_000, 400
# What fails to install or to be written is no reason to stop: its rows say FAILED, with the reason.
FORMATS = ("mds", "litdata", "array_record", "idx")


def say(text):
    print(f"  {text}", file=sys.stderr, flush=True)


def venv(at):
    """The environment's python. When the whole list can't be had, package by package: the rest still runs."""
    wanted = (HERE / "requirements.txt").read_text()
    python, ready = at / "bin" / "python", at / "ready"
    if ready.exists() and ready.read_text() == wanted:
        return python
    need = 12e9
    at.parent.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(at.parent).free < need:
        sys.exit(f"the rivals need {need / 1e9:.0f} GB of free disk while they are installed: give --venv DIR")
    say("installing the rivals (a download of about 3 GB)")
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(at)], check=True)
    pip = [str(python), "-m", "pip", "install", "-q", "--no-cache-dir", "--disable-pip-version-check"]
    if subprocess.run([*pip, "-r", str(HERE / "requirements.txt")], check=False).returncode:
        for line in wanted.splitlines():
            if line.strip() and not line.startswith("#") and subprocess.run([*pip, line], check=False).returncode:
                say(f"{line} can't be installed")
    ready.write_text(wanted)
    return python


def versions(python, names=()):
    names = names or [line.split("==")[0] for line in (HERE / "requirements.txt").read_text().splitlines()
                      if "==" in line]
    script = ("import importlib.metadata as m, sys\n"
              "for p in sys.argv[1:]:\n"
              "    try: print(p, m.version(p), end='; ')\n"
              "    except m.PackageNotFoundError: print(p, 'missing', end='; ')")
    return common.first_line(str(python), "-c", script, *names).rstrip("; ")


def photographs(folder):
    sizes = [p.stat().st_size for p in folder.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg")]
    if not sizes:
        sys.exit(f"no photographs in {folder}: give --photos DIR")
    return len(sizes), sum(sizes)


def pairs(python, photos, work, small):
    """The folder of pairs and what it holds: that of bench/pack where it was made of the same photographs."""
    count, size = photographs(photos)
    wanted = SMALL if small else PAIRS
    for data in (work / ("data-small" if small else "data"), work / ("read-small" if small else "read") / "data"):
        stamp = data / "data.json"
        made = json.loads(stamp.read_text()) if stamp.exists() else {}
        if (made.get("photos"), made.get("photo_bytes")) == (count, size) and made["pairs"]["pairs"] == wanted:
            return data / "pairs", made
    common.remove(data)
    data.mkdir(parents=True)
    need = 5 * size / count * wanted + 1e9
    if shutil.disk_usage(data).free < need:
        sys.exit(f"needs {need / 1e9:.0f} GB of free disk")
    say(f"making {wanted:,} pairs")
    make = common.ROOT / "bench" / "pack" / "make.py"
    subprocess.run([str(python), str(make), str(photos), str(data), str(wanted), "0"], check=True)
    return data / "pairs", json.loads(stamp.read_text())


def once(at, name, identity, write):
    """Make AT/name by write() unless it is there whole. Returns why it could not be made, or nothing."""
    done = at / f"{name}.done"
    if done.exists() and done.read_text() == identity:
        return ""
    done.unlink(missing_ok=True)
    common.remove(at / name)
    say(f"writing {name}")
    try:
        write()
    except (common.CaseError, OSError) as e:
        say(f"{name} can't be written: {common.clean(str(e))}")
        return f"{name} can't be written: {e}"
    done.write_text(identity)
    return ""


def checked(cmd):
    got = common.run(cmd)
    if got["rc"]:
        raise common.CaseError(common.reason(got))


def formats(at, python, pack, source, made, small):
    """Shards, and the same samples in every format a rival needs. Returns {format: why it is not there}."""
    identity = json.dumps([made["photos"], made["photo_bytes"], made["pairs"]])
    size = "8MB" if small else f"{layout.SHARD_BYTES // 1_000_000}MB"
    why = once(at, "shards", identity, lambda: checked(
        [pack, "build", source, "-o", at / "shards", "--quiet", "--shard-size", size, "--no-entry-points"]))
    if why:
        sys.exit(why)

    def points():
        """The same tars, their sidecars with entry points."""
        (at / "points").mkdir()
        for shard in layout.shards(at):
            os.link(shard, at / "points" / pathlib.Path(shard).name)
        checked([pack, "index", at / "points", "--entry-points", "--quiet"])

    def idx():
        (at / "idx").mkdir()
        for shard, index in zip(layout.shards(at), layout.indexes(at), strict=True):
            checked([python.parent / "wds2idx", shard, index])

    lost = {"idx": once(at, "idx", identity, idx), "points": once(at, "points", identity, points)}
    for name in FORMATS[:-1]:
        lost[name] = once(at, name, identity, lambda name=name: checked([python, HERE / "write.py", name, source, at]))
    return {name: why for name, why in lost.items() if why}
