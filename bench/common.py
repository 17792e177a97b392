"""Shared by the benchmark scripts: run a case in its own process, in interleaved rounds, print a table.

Wall seconds are taken around the child; CPU seconds and peak RSS (of the largest process in its
tree) come from wait4(). A child's RSS can't read lower than this script's own, about 20 MB. A case with
`tree` runs once more after the last round, untimed, while memory.py watches it: looking costs the case time.
"""
import contextlib
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable

import memory

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# What is measured has the optimization of released programs; the other profiles are quick to build.
PROFILE = "dist"
PROGRAMS = TARGET / PROFILE
WORK = ROOT / "target" / "bench"
RESULTS = ROOT / "bench" / "RESULTS.md"
_hidden = {}  # path -> the word printed for it


class CaseError(Exception):
    """A case that ran but did not do its work."""


@dataclasses.dataclass
class Case:
    """One row. `before` prepares (untimed); `check` raises CaseError when the output is incomplete."""

    name: str
    cmd: list
    rivals: tuple = ()
    before: Callable = lambda: None
    check: Callable = lambda run: None
    cwd: object = None
    items: int = 0
    mbytes: float = 0.0
    tree: bool = False
    timeout: float = 900.0
    runs: list = dataclasses.field(default_factory=list)
    watched: dict = dataclasses.field(default_factory=dict)
    error: str = ""


def hide(path, word):
    """Print `word` wherever `path` would stand: no table names a machine's folders."""
    _hidden[str(pathlib.Path(path).resolve())] = word


def matches(pattern, name):
    return re.search(pattern, name) is not None


def clean(text):
    for path in sorted(_hidden, key=len, reverse=True):
        text = text.replace(path, _hidden[path])
    return text.replace(str(ROOT), ".")


def sh(script, **kw):
    """Run a shell script outside any timing; its stdout comes back."""
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)
    if done.returncode:
        raise CaseError(f"rc {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout


def bash(script):
    return ["bash", "-euo", "pipefail", "-c", script]


def run(cmd, cwd=None, timeout=900.0, tree=False):
    """One run in a separate session. Lines KEY=VALUE of its stdout are kept as `vals`."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        child = subprocess.Popen([str(c) for c in cmd], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                 cwd=cwd, start_new_session=True)
        late = threading.Timer(timeout, lambda: os.killpg(child.pid, signal.SIGKILL))
        late.start()
        watch = memory.Peak(child.pid) if tree else None
        try:
            _, status, used = os.wait4(child.pid, 0)
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
        finally:
            late.cancel()
        wall = time.monotonic() - start
        pss, own = watch.stop() if watch else (0.0, 0.0)
        child.returncode = os.waitstatus_to_exitcode(status)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # whatever the case left in its own session
        texts = []
        for f in (out, err):
            f.seek(0, os.SEEK_END)
            f.seek(max(0, f.tell() - 4000))
            texts.append(f.read().decode(errors="replace"))
    vals = dict(line.split("=", 1) for line in texts[0].splitlines() if "=" in line)
    if child.returncode == -signal.SIGKILL and wall >= timeout:
        texts[1] += f"\nkilled after {timeout:.0f} s"
    return {"rc": child.returncode, "wall": wall, "cpu": used.ru_utime + used.ru_stime,
            "rss_mb": used.ru_maxrss / 1024, "pss_mb": pss, "own_mb": own, "vals": vals, "err": texts[1]}


def reason(got):
    """Why a run failed: the last line of a traceback, else the last words of its stderr. Paths are hidden before it
    is cut, for of half a path nothing could be hidden."""
    text = clean(got["err"]).strip() or "no message"
    last = text.splitlines()[-1]
    return f"rc {got['rc']}: {last if re.match(r'[A-Za-z_.]*(Error|Exception)', last) else text[-300:]}"


def once(title, case, round_, log, tree=False):
    """One run of a case, checked and logged; None when it failed."""
    try:
        case.before()
        got = run(case.cmd, case.cwd, case.timeout, tree)
        if got["rc"]:
            raise CaseError(reason(got))
        case.check(got)
    except (CaseError, OSError, KeyError, ValueError) as e:
        case.error = f"it doesn't say {e}" if isinstance(e, KeyError) else str(e)
        print(f"  {title} / {round_} / {case.name}: FAILED {clean(case.error)}", file=sys.stderr, flush=True)
        return None
    print(f"  {title} / {round_} / {case.name}: {got['wall']:.2f} s", file=sys.stderr, flush=True)
    with pathlib.Path(log).open("a") as f:
        f.write(json.dumps({"time": now(), "table": title, "case": case.name, "round": round_,
                            **{k: got[k] for k in ("wall", "cpu", "rss_mb", "pss_mb", "own_mb", "vals")}}) + "\n")
    return got


def rounds(title, cases, n, log):
    """Every case once a round, each round starting one case later, so that noise hits all alike."""
    for r in range(n):
        at = r % max(1, len(cases))
        for case in cases[at:] + cases[:at]:
            if not case.error and (got := once(title, case, f"round {r + 1}", log)):
                case.runs.append(got)
    for case in cases:
        if case.tree and not case.error:
            case.watched = once(title, case, "memory", log, tree=True) or {}


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def digits(x):
    return f"{x:.3f}" if x < 1 else f"{x:.2f}" if x < 100 else f"{x:,.0f}"


def wall_of(run_):
    return run_["wall"]


def middle(values):
    return statistics.median(values)


def spread(values, show=digits):
    """Median (min-max)."""
    values = list(values)
    return f"{show(middle(values))} ({show(min(values))}-{show(max(values))})"


def ratio(case, rival, seconds=wall_of):
    """How many times the rival's seconds: above 1 the case is the faster. Range over paired rounds."""
    mine, its = list(map(seconds, case.runs)), list(map(seconds, rival.runs))
    both = [b / a for a, b in zip(mine, its)]
    return (f"{statistics.median(its) / statistics.median(mine):.2f}x ({min(both):.2f}-{max(both):.2f})"
            f" against {rival.name}")


def ratios(case, by, seconds=wall_of):
    """The case against each of its rivals that ran; `by` finds a case by its name."""
    return "; ".join(ratio(case, by[x], seconds) for x in case.rivals if x in by and by[x].runs and not by[x].error)


def failed(case, width):
    """A row for a case that has no number to show, or None."""
    if case.runs and not case.error:
        return None
    why = " ".join(clean(case.error or "did not run").replace("|", "/").split())
    return "| " + " | ".join([case.name, f"FAILED: {why}"] + [""] * (width - 2)) + " |"


def columns_table(title, cases, columns):
    """A Markdown table of columns (head, function of a case that ran)."""
    rows = [f"### {title}", "", "| " + " | ".join(["case"] + [h for h, _ in columns]) + " |",
            "|---" * (len(columns) + 1) + "|"]
    for c in cases:
        row = failed(c, len(columns) + 1)
        rows.append(row or "| " + " | ".join([c.name] + [show(c) for _, show in columns]) + " |")
    return "\n".join(rows)


def table(title, cases, items="files", vals=False):
    """A Markdown table of the cases that ran; failed cases are marked."""
    by = {c.name: c for c in cases}
    rates = any(c.items or c.mbytes for c in cases)
    head = ["case", "s, median (min-max)"] + [f"{items}/s", "MB/s"] * rates
    head += ["CPU s", "peak RSS MB", "speed against the rival"] + ["says"] * vals
    rows = [f"### {title}", "", "| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for c in cases:
        if failed(c, len(head)):
            rows.append(failed(c, len(head)))
            continue
        mid = statistics.median(map(wall_of, c.runs))
        row = [c.name, spread(map(wall_of, c.runs))]
        if rates:
            row += [f"{x / mid:,.0f}" if x else "" for x in (c.items, c.mbytes)]
        row += [digits(statistics.median(r["cpu"] for r in c.runs)),
                f"{statistics.median(r['rss_mb'] for r in c.runs):,.0f}",
                ratios(c, by)]
        if vals:
            row.append(", ".join(f"{k}={v}" for k, v in c.runs[-1]["vals"].items()))
        rows.append("| " + " | ".join(row) + " |")
    return "\n".join(rows)


def first_line(*cmd):
    try:
        text = subprocess.run(cmd, text=True, capture_output=True, check=False).stdout
    except OSError:
        return "missing"
    return text.strip().splitlines()[0] if text.strip() else "missing"


def machine(rounds_, versions):
    """Date, command, machine and versions: what every table must say."""
    cpu = "unknown CPU"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.split(":", 1)[1].strip()
            break
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    words = [os.path.relpath(os.path.abspath(sys.argv[0]), ROOT)]
    for a in sys.argv[1:]:  # a folder outside the project is named by its last part only
        flag, eq, value = a.partition("=") if a.startswith("-") else ("", "", a)
        if os.sep in value:
            p = pathlib.Path(value).resolve()
            value = str(p.relative_to(ROOT)) if p.is_relative_to(ROOT) else p.name
        words.append(flag + eq + value)
    return "\n".join([
        f"- {now()}, `python3 {shlex.join(words)}`",
        f"- {cpu}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GB, Linux {platform.release().split('-')[0]};"
        f" {rounds_} interleaved rounds, warm page cache",
        "- " + "; ".join([f"Python {platform.python_version()}", *versions]),
    ])


def publish(text, append):
    text = clean(text)
    print(text, flush=True)
    if append:
        with open(append, "a") as f:
            f.write("\n" + text + "\n")


def built(name, *args):
    """Build with these arguments, and the path of a program; the script stops when that fails."""
    words = ["cargo", "build", "--profile", PROFILE, *args]
    if subprocess.run(words, cwd=ROOT, check=False).returncode:
        sys.exit(f"{' '.join(words)} failed")
    return PROGRAMS / name


def compile_c(source, exe):
    """Compile a C helper unless its binary is newer."""
    exe.parent.mkdir(parents=True, exist_ok=True)
    if not exe.exists() or exe.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["cc", "-O2", "-Wall", "-pthread", str(source), "-o", str(exe)], check=True)
    return exe


def remove(path):
    path = pathlib.Path(path)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def options(doc):
    """The options all scripts share."""
    import argparse
    ap = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--work", type=pathlib.Path, default=WORK, help="data, outputs and log.jsonl [target/bench]")
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--cases", default="", help="regular expression: only the cases whose names match")
    ap.add_argument("--pack", type=pathlib.Path, help="this binary instead of building one")
    ap.add_argument("--append", nargs="?", const=RESULTS, type=pathlib.Path, metavar="FILE",
                    help="add the tables to FILE [bench/RESULTS.md]")
    return ap


def pack_binary(given):
    if given:
        return given.resolve()
    return built("pack", "-p", "tarflume-cli", "--bin", "pack")
