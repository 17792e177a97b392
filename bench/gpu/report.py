"""The raw figures as tables in Markdown, as bench/RESULTS.md has them."""
import statistics

#: Keys of a row that no table shows.
HIDDEN = {"case", "raw", "report", "right", "missing"}
#: Heads of columns.
HEADS = {"gb_s": "GB/s", "of_pinned": "of PyTorch's pinned", "of_copy": "of that copy", "images_s": "images/s",
         "gpu_busy_percent": "GPU busy, %", "nvml_percent": "NVML, %", "wait_p50_ms": "wait p50, ms",
         "wait_p99_ms": "wait p99, ms", "wait_max_ms": "longest, ms", "cpu_s_per_1000": "CPU s for 1,000 images",
         "step_ms": "ms of a step", "copied_bytes": "bytes of a copy", "differ_from_host": "differ from the host's", "said": "", "s": "s", "bytes_that_differ_percent": "bytes that differ, %",
         "bound_largest": "bound: largest", "bound_mean": "bound: mean", "decoded_there": "decoded there"}


#: Why a row has no figures, and the word for it.
REASONS = {"skipped": "skipped", "failed": "FAILED", "missing": "NOT COMPARED"}


def digits(value):
    if isinstance(value, str):
        return value.replace("|", "/").replace("\n", " ")
    if isinstance(value, int) or abs(value) >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def shown(value):
    """A list is its median and its ends."""
    if value is None or value == "":
        return ""
    if not isinstance(value, list):
        return digits(value)
    if len(value) == 1:
        return digits(value[0])
    return f"{digits(statistics.median(value))} ({digits(min(value))}-{digits(max(value))})"


def latest(rows):
    """The last word of each case."""
    return list({row["case"]: row for row in rows}.values())


def table(part):
    rows, keys = latest(part["rows"]), []
    for row in rows:
        row["case"] = f"WRONG: {row['case']}" if row.get("right") is False else row["case"]
        keys += [key for key in row if key not in HIDDEN and key not in keys and row[key] not in (None, "")]
    keys = [key for key in keys if key not in REASONS]
    why = any(key in row for row in rows for key in REASONS)
    lines = ["| " + " | ".join(["case", *(HEADS.get(key, key) for key in keys), *["why not"] * why]) + " |",
             "|---" * (1 + len(keys) + why) + "|"]
    for row in rows:
        words = [f"{word}: {row[key]}" for key, word in REASONS.items() if key in row]
        reason = ["; ".join(words)]
        cells = [row["case"], *(shown(row.get(key)) for key in keys), *map(digits, reason * why)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


#: Parts that compare.
COMPARED = ("correctness", "finished", "pixels", "beside", "prefetcher")


def verdict(parts):
    """Whether all that was compared was right, all of it was compared, and each part came to its end."""
    rows = [row for name in COMPARED for row in parts.get(name, {}).get("rows", [])]
    compared = [row for row in rows if "right" in row]
    wrong = [row["case"] for row in compared if not row["right"]]
    if wrong:
        return f"WRONG: {len(wrong)} of {len(compared)} comparisons differ: {'; '.join(wrong)}"
    unfinished = [name for name in COMPARED if name in parts and parts[name]["state"] != "ran"]
    if unfinished:
        return f"NOT COMPARED: {', '.join(unfinished)} did not come to the end"
    missing = [row for row in rows if "missing" in row]
    if missing:
        return f"NOT COMPARED: {len(missing)} cases: {missing[0]['missing']}"
    failed = [name for name, part in parts.items() if part["state"].startswith("FAILED")
              or any("failed" in row for row in part["rows"])]
    if failed:
        return f"FAILED: {', '.join(failed)}"
    batches = sum(row["batches"] for row in compared)
    return f"all {batches:,} batches that were compared are right" if compared else "nothing was compared"


def markdown(results):
    machine = {row["case"]: row.get("said", "") for row in results["parts"].get("machine", {}).get("rows", [])}
    lines = [f"## {results['title']}, {results['date'][:10]}", "", f"- {results['date']}, `{results['command']}`",
             f"- {machine.get('name', 'no GPU asked')}; {machine.get('processor', '')}, {machine.get('cores', '')}"
             f" cores, {machine.get('memory_gb', '')} GB, {machine.get('kernel', '')}",
             "- " + "; ".join(f"{name} {machine.get(name, '')}" for name in ("Python", "torch", "torchvision"))
             + f"; driver {machine.get('driver_version', '')}",
             f"- {results['data']}; {results['s']:.0f} s in all.{results['note']}", f"- {results['verdict']}"]
    for name, part in results["parts"].items():
        lines += ["", f"### {name}, {part['s']:.0f} s" + ("" if part["state"] == "ran" else f": {part['state']}"), ""]
        if part["why"]:
            lines += [digits(part["why"]), ""]
        lines += table(part) if part["rows"] else []
    return "\n".join(lines) + "\n"
