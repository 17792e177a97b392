"""What the benchmarks of recipes have in common: their options, the cases of a table, and the rate that a case prints."""
import importlib.metadata as metadata
import json
import pathlib
import sys
import time

import common

#: Images are counted from this batch on, when all threads and workers have begun.
FIRST = 4


def endless(loader):
    """The batches of all epochs of a loader of tarflume."""
    epoch = 0
    while True:
        yield from loader.epoch(epoch)
        epoch += 1


def measure(batches, samples, rows):
    """Prints the rate at which `samples` images arrive. `rows` returns the images of a batch."""
    seen, start = 0, 0.0
    for n, batch in enumerate(batches, 1):
        if n == FIRST:
            start = time.perf_counter()
        elif n > FIRST:
            seen += rows(batch)
            if seen >= samples:
                break
    seconds = time.perf_counter() - start
    print(f"images={seen}\nseconds={seconds}\nrate={seen / seconds:.1f}", flush=True)


def photographs(x):
    """The photographs in the folder of the options."""
    photos = sorted(path for path in x.photos.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    if not photos:
        sys.exit(f"no photographs in {x.photos}: give --photos DIR")
    return photos


def stamp(photos, x):
    """What a data set is made of. One with the same stamp is used again."""
    return {"photos": len(photos), "bytes": sum(path.stat().st_size for path in photos), "pictures": x.pictures}


def counted(run):
    if float(run["vals"]["rate"]) <= 0:
        raise common.CaseError("it counted no image")


def case(name, script, words, samples, x, rivals=()):
    cmd = [x.python, script, *words, "--samples", samples, "--batch", x.batch]
    return common.Case(name, cmd, rivals, check=counted, timeout=x.timeout)


def seconds(run):
    """Of an image."""
    return 1.0 / float(run["vals"]["rate"])


def rates(one):
    return common.spread(float(run["vals"]["rate"]) for run in one.runs)


def table(title, cases, ours):
    """A table of rates. `ours` is the name of the case that the others are compared with."""
    found = next((one for one in cases if one.name == ours and not one.error), None)

    def ratios(one):
        """How many times its rate ours is."""
        if one is found or found is None or not found.runs:
            return ""
        return common.ratio(found, one, seconds).removesuffix(f" against {one.name}")

    columns = [("images/s, median (min-max)", rates), ("tarflume is faster by", ratios)]
    return common.columns_table(title, cases, columns)


def kept(cases):
    """All rates, for the JSON."""
    return {one.name: {"rates": [float(run["vals"]["rate"]) for run in one.runs], "error": common.clean(one.error)} for one in cases}


def rate(results, recipe, name):
    """The rate of a case in the middle; None if it has none."""
    found = results.get(recipe, {}).get(name)
    return common.middle(found["rates"]) if found and found["rates"] and not found["error"] else None


def fastest(results, ours, rivals):
    """For each recipe a sentence with the ratio to the fastest rival."""
    lines = []
    for recipe, cases in results.items():
        found = {name: rate(results, recipe, name) for name in cases if name in rivals and rate(results, recipe, name)}
        if found and rate(results, recipe, ours):
            best = max(found, key=found.get)
            lines.append(f"- {recipe}: {rate(results, recipe, ours) / found[best]:.2f} times the fastest rival, {best}.")
    return lines


def options(doc, recipes, **defaults):
    """The options of a benchmark, whose defaults are `pictures`, `samples` and `batch`; `rivals` says what those decode."""
    ap = common.options(doc)
    ap.add_argument("--photos", type=pathlib.Path, default=common.ROOT / "fixtures" / "photos")
    ap.add_argument("--python", type=pathlib.Path, default=pathlib.Path(sys.executable), help="an environment with the packages")
    ap.add_argument("--pictures", type=int, default=defaults["pictures"], help="samples in the shards")
    ap.add_argument("--samples", type=int, default=defaults["samples"], help=f"samples that ours decodes; {defaults['rivals']}")
    ap.add_argument("--batch", type=int, default=defaults["batch"])
    ap.add_argument("--recipes", default=",".join(recipes))
    ap.add_argument("--timeout", type=float, default=900.0, help="seconds of a case")
    ap.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write all rates to FILE")
    ap.add_argument("--small", action="store_true", help="few pictures, to try the script")
    x = ap.parse_args()
    if x.small:
        x.pictures, x.samples, x.batch = 256, 64, 16
    common.hide(x.photos, "PHOTOS")
    common.hide(x.work, "WORK")
    common.hide(x.python.parent.parent, "ENVIRONMENT")
    x.work.mkdir(parents=True, exist_ok=True)
    return x


def versions(packages):
    # Of two versions on the path, the first is the one that is imported.
    installed = {}
    for dist in metadata.distributions():
        installed.setdefault(dist.metadata["Name"].lower().replace("_", "-"), dist.version)
    return "; ".join(f"{name} {installed.get(name, 'missing')}" for name in packages)


def run(x, title, tables, cases_of, ours, about, packages, verdicts):
    """Runs the tables, and publishes them under a title. Exits with 1 if a case of ours fails.

    `tables` are titles and recipes, `cases_of(recipe)` makes the cases, `about` are the sentence and the JSON about the data,
    `verdicts(results)` makes the sentences below.
    """
    made, results, failed = [], {}, False
    for heading, recipe in tables:
        if recipe in x.recipes.split(","):
            cases = cases_of(recipe)
            common.rounds(heading, cases, x.rounds, x.work / "log.jsonl")
            made.append(table(heading, cases, ours))
            results[recipe] = kept(cases)
            failed |= any(one.error for one in cases if one.name.startswith("tarflume"))
    note = " **--small: a trial of the script, no measurement.**" if x.small else ""
    found = versions(packages)
    head = f"{common.machine(x.rounds, [found])}\n{about[0]}{note}"
    common.publish("\n\n".join([f"## {title}, {common.now()[:10]}", head, *made, "\n".join(verdicts(results))]), x.append)
    if x.json:
        x.json.parent.mkdir(parents=True, exist_ok=True)
        x.json.write_text(json.dumps({"date": common.now(), "data": about[1], "versions": found, "small": x.small,
                                      "rounds": x.rounds, "recipes": results}, indent=1) + "\n")
    sys.exit(failed)
