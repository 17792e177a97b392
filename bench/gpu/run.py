#!/usr/bin/env python3
"""All that only a GPU can show, in under eight minutes: correctness, copies, training, nvJPEG, resident epochs.

    python3 run.py [--kit DIR] [--results DIR] [--parts training,copies] [--quick] [--gpu 0] [--work DIR]
    python3 run.py --dry --driver DIR           without a GPU: tiny, against the simulated driver, to try the script

It builds nothing: the kit is what `make gpu-kit` made (the folder that this file lies in, if it is that), with the wheel
and photographs. The machine needs CUDA and Python with NumPy and PyTorch; torchvision for rivals.
Each part is a process of its own with a time limit, and fails alone. Figures go to RESULTS/TIME-MACHINE.json after each
part, tables for bench/RESULTS.md beside it and to stdout.

Exit codes: 0 done; 1 a batch on the device differed, or was not compared; 2 not set up; 77 there is no GPU.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
#: Seconds below which a part is not begun.
LEAST = 5
sys.path.insert(0, str(HERE))
import gate  # noqa: E402
import report  # noqa: E402
import sizes  # noqa: E402


def options():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--kit", type=pathlib.Path, default=HERE, help="the folder that `make gpu-kit` made [this one]")
    ap.add_argument("--results", type=pathlib.Path, help="where the figures go [KIT/results]")
    ap.add_argument("--parts", help="only these, split by commas")
    ap.add_argument("--work", type=pathlib.Path, help="keeps the data here, for the next call [a temporary folder]")
    ap.add_argument("--gpu", type=int, default=0, dest="number", metavar="N", help="which [0]")
    ap.add_argument("--quick", action="store_true", help="a fiftieth, to try the script on a GPU: no measurement")
    ap.add_argument("--dry", action="store_true", help="tiny, without a GPU: no measurement, nor proof")
    ap.add_argument("--driver", type=pathlib.Path, help="with --dry: where the simulated driver is")
    return ap.parse_args()


def refuse(text, code):
    print(f"gpu: {text}", file=sys.stderr)
    sys.exit(code)


def package(kit, work):
    """The wheel, and those of NVIDIA's libraries that were put beside it, unpacked: what children import. Nothing is
    installed; without a wheel, what is installed is taken."""
    wheels = sorted(kit.glob("tarflume-*.whl"))
    if len(wheels) > 1:
        refuse(f"{len(wheels)} wheels in the kit, one is needed: `make gpu-kit` makes it", 2)
    if not wheels:
        return []
    for path in [*wheels, *kit.glob("nvidia_*.whl")]:
        with zipfile.ZipFile(path) as wheel:
            wheel.extractall(work / "package")
    return [str(work / "package")]


def command(work):
    """The command `pack` of the wheel, as a program."""
    program = work / "pack"
    program.write_text(f"#!{sys.executable}\nimport tarflume.pack\nraise SystemExit(tarflume.pack.main())\n")
    program.chmod(0o755)
    return program


def importable(env):
    """Ends with the reason if the wheel's extension cannot be loaded: most often an older C library."""
    done = subprocess.run([sys.executable, "-c", "import tarflume"], env=env, text=True, capture_output=True, check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        refuse(f"the wheel cannot be imported with {' '.join(platform.libc_ver())}: {said}", 2)


def environment(x, work):
    given = os.environ.get("PYTHONPATH")
    env = os.environ | {"PYTHONPATH": os.pathsep.join(package(x.kit, work) + [given] * bool(given))}
    if x.dry:
        simulated = x.driver.resolve()
        env |= {"LD_LIBRARY_PATH": str(simulated), "TARFLUME_NVRTC": str(simulated / "libnvrtc.so"),
                "TARFLUME_NVJPEG": str(simulated / "libnvjpeg.so.13")}
    return env


def run_part(name, plan, limit, env, work):
    """One part: its rows, how it ended, and how long it took."""
    out, log = work / f"{name}.jsonl", work / f"{name}.log"
    out.touch()
    begun, state, why = time.monotonic(), "ran", ""
    with log.open("wb") as err:
        child = subprocess.Popen([sys.executable, HERE / "one.py", plan, name, out], env=env, stderr=err, stdout=err,
                                 stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            code = child.wait(limit)
            if code:
                state, why = f"FAILED with {code}", last(log)
        except subprocess.TimeoutExpired:
            state, why = "LATE", f"ended after {limit:.0f} s; what it had said by then stands here"
        finally:
            try:
                os.killpg(child.pid, signal.SIGKILL)  # and workers that it left
            except ProcessLookupError:
                pass
            child.wait()
    rows = [json.loads(line) for line in out.read_text().splitlines() if line.endswith("}")]
    return {"state": state, "why": why, "s": time.monotonic() - begun, "rows": rows}


def last(log):
    """The last words of a part that failed."""
    lines = [line for line in log.read_text(errors="replace").strip().splitlines() if line.strip()]
    return " ".join(lines[-1:])[-400:] or "it said nothing"


def prepared(x, chosen, env, work):
    """Makes the data, unless an earlier call left them in `--work`; the plan of all parts."""
    plan = {"dry": x.dry, "number": x.number, "work": str(work), "kit": str(x.kit.resolve()),
            "pack": str(command(work)),
            "sizes": chosen | {"checks": {"/".join(key): count for key, count in chosen["checks"].items()}}}
    file, held = work / "plan.json", work / "data.json"
    file.write_text(json.dumps(plan))
    kept = json.loads(held.read_text()) if held.exists() else None
    if kept is None or kept["sizes"] != plan["sizes"]:
        made = run_part("data", file, 60, env, work)
        if made["state"] != "ran":
            refuse(f"the data could not be made: {made['state']}: {made['why']}", 2)
        kept = {"sizes": plan["sizes"], "data": made["rows"][0]}
        held.write_text(json.dumps(kept))
    plan["data"] = kept["data"]
    file.write_text(json.dumps(plan))
    return file


def in_turn(parts, left, limits, run, after):
    """Each part by `run(name, limit)`, then `after(done)`; not begun where so little of the time for all is `left()`
    that it would say nothing."""
    done = {}
    for name in parts:
        most = left()
        if most < LEAST:
            why = "no time was left: run it alone, by --parts"
            done[name] = {"state": "SKIPPED", "why": why, "s": 0.0, "rows": []}
        else:
            done[name] = run(name, min(most, limits[name]))
        part = done[name]
        print(f"{name}: {part['state']}, {part['s']:.1f} s {part['why']}", file=sys.stderr, flush=True)
        after(done)
    return done


def title(x):
    kind = "tried without a GPU" if x.dry else "quick" if x.quick else ""
    return f"GPU ({kind})" if kind else "GPU", f" **{kind}: no measurement.**" if kind else ""


def machine_word(parts, dry):
    """For the name of a file: the GPU's."""
    rows = {row["case"]: row.get("said", "") for row in parts.get("machine", {}).get("rows", [])}
    word = "no-gpu" if dry else str(rows.get("name") or "gpu")
    return re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")


def placeless(value):
    """Without the folders of absolute paths: no figure names a machine's folders."""
    if isinstance(value, dict):
        return {key: placeless(one) for key, one in value.items()}
    if isinstance(value, list):
        return [placeless(one) for one in value]
    return re.sub(r"(?<![\w.:/])/(?:[\w.+@-]+/)+", "", value) if isinstance(value, str) else value


def write(x, results):
    """Figures and tables so far, in their files; the tables."""
    results = placeless(results)
    results["verdict"] = report.verdict(results["parts"])
    folder = x.results or x.kit / "results"
    folder.mkdir(parents=True, exist_ok=True)
    kind = "-quick" if x.quick else ""
    minute = re.sub(r"\D+", "-", results["date"]).strip("-")  # two calls of a day each keep theirs
    name = f"{minute}-{machine_word(results['parts'], x.dry)}{kind}"
    (folder / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n")
    text = report.markdown(json.loads(json.dumps(results)))
    (folder / f"{name}.md").write_text(text)
    return text


def checked(x):
    """The parts and the sizes that are asked for; ends with the reason if nothing can be measured."""
    why = None if x.dry else gate.refusal()
    if why:
        refuse(why, gate.NO_GPU)
    if x.dry and not x.driver:
        refuse("--dry needs --driver DIR: `bash fixtures/cuda/build.sh DIR driver` makes it", 2)
    if not (x.kit / "photographs").is_dir():
        refuse(f"no kit in {x.kit}: make it with `make gpu-kit`, and copy the folder here", 2)
    parts = x.parts.split(",") if x.parts else [name for name in sizes.LIMITS if name != "engines"]
    if unknown := [name for name in parts if name not in sizes.LIMITS]:
        refuse(f"no part {unknown[0]}: there are {', '.join(sizes.LIMITS)}", 2)
    return parts, sizes.DRY if x.dry else sizes.QUICK if x.quick else sizes.FULL


def measure(x, parts, chosen, work):
    """Runs the parts; the exit code."""
    begun, since = datetime.datetime.now(datetime.timezone.utc), time.monotonic()
    env = environment(x, work)
    importable(env)
    plan = prepared(x, chosen, env, work)
    made = json.loads(plan.read_text())["data"]
    head, note = title(x)
    words = [word if os.sep not in word else pathlib.Path(word).name for word in sys.argv[1:]]

    def results(done):
        return {"title": head, "date": begun.strftime("%Y-%m-%d %H:%M UTC"), "note": note, "s": time.monotonic() - since,
                "command": f"run.py {shlex.join(words)}".strip(),
                "data": f"{made['picture_count']} JPEGs: {made['photographs']} photographs of "
                        f"{made['picture_bytes'] / 1e3:.0f} kB over and over",
                "sizes": {key: value for key, value in chosen.items() if key != "checks"}, "parts": done}

    done = in_turn(parts, lambda: sizes.IN_ALL - (time.monotonic() - since), sizes.LIMITS,
                   lambda name, limit: run_part(name, plan, limit, env, work), lambda done: write(x, results(done)))
    print(write(x, results(done)), flush=True)
    verdict = report.verdict(done)
    print(f"gpu: {verdict}", file=sys.stderr)
    return 0 if verdict.startswith(("all ", "nothing ")) else 1


def main():
    x = options()
    parts, chosen = checked(x)
    if x.work:
        x.work.mkdir(parents=True, exist_ok=True)
        sys.exit(measure(x, parts, chosen, x.work.resolve()))
    with tempfile.TemporaryDirectory(prefix="tarflume-gpu-") as folder:
        sys.exit(measure(x, parts, chosen, pathlib.Path(folder)))


if __name__ == "__main__":
    main()
