#!/usr/bin/env python3
"""sit.py COUNT CMD...: starts COUNT processes at once and weighs them while all sit (by run.py).

{rank} in CMD is the process's number. Each prints KEY=VALUE lines, then `ready`, and sits until its stdin closes; it
may have children of its own, which are weighed with it. Prints the sum of what they said where that is a count
(draws), its median where it is a time (open_ms, first_ordinal_us), and the memory of them all as memory.py means it.
"""
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import memory  # noqa: E402


def until_ready(child):
    """What a process says before it is ready."""
    said = {}
    for line in child.stdout:
        if line.strip() == "ready":
            return said
        key, equals, value = line.strip().partition("=")
        if equals:
            said[key] = value
    raise SystemExit(f"a process ended before it was ready: rc {child.wait()}")


def main():
    count, cmd = int(sys.argv[1]), sys.argv[2:]
    start = time.monotonic()
    sitting = [subprocess.Popen([w.replace("{rank}", str(rank)) for w in cmd], text=True, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE) for rank in range(count)]
    said = [until_ready(child) for child in sitting]
    print(f"ready_s={time.monotonic() - start:.2f}")
    trees = [memory.tree(child.pid) for child in sitting]
    everyone = [pid for tree in trees for pid in tree]
    pss, own = memory.of(everyone)
    print(f"processes={len(everyone)}\npss_mb={pss:.1f}\nown_mb={own:.1f}")
    for key in sorted({key for one in said for key in one}):
        values = [one[key] for one in said if key in one]
        if key.endswith(("_ms", "_us", "_s")):
            print(f"{key}={statistics.median(map(float, values))}\n{key}_max={max(map(float, values))}")
        elif key in ("draws", "copies"):
            print(f"{key}={sum(map(int, values))}")
        elif len(set(values)) == 1:
            print(f"{key}={values[0]}")
        else:
            raise SystemExit(f"the processes differ in {key}: {', '.join(sorted(set(values))[:3])}")
    sys.stdout.flush()
    for child in sitting:
        child.stdin.close()
    for child in sitting:
        try:
            child.wait(timeout=60)
        except subprocess.TimeoutExpired:
            child.kill()
    os._exit(0)


if __name__ == "__main__":
    main()
