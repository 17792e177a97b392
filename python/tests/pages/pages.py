"""Pages whose blocks are run: the blocks of a page, what they print, and the page with these outputs.

A block `python` is a program, and a block `text` that follows it holds its output. A block `console` holds commands
after `$ ` and the output of each below it. All blocks of a page run in order in one folder. A command that is meant
to fail shows its exit code: `$ pack verify shards/; echo "exit code $?"`.

Other blocks are for reading: another language, a `text` that follows no program, a `console` without `$ `.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import subprocess
import sys

import forked

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.S | re.M)

#: What a page shows in place of the folder in which it runs.
FOLDER = "/data"

#: Texts that differ from run to run: durations and rates.
VARYING = [
    (re.compile(r"\b\d[\d,.]*\s?(?:ns|µs|ms|s|min|h)\b(?!\w)"), "DURATION"),
    (re.compile(r"\b\d[\d,.]*\s?(?:[kMG]i?B|samples|images|ids|tokens)/s\b"), "RATE"),
]


@dataclasses.dataclass
class Step:
    """A program or a command of a page, and the output that the page shows."""

    language: str
    code: str
    shown: str
    #: Where the shown output begins and ends in the page; None if the page shows none.
    place: tuple[int, int] | None


def steps(text: str) -> list[Step]:
    """The programs and commands of a page, in order."""
    found: list[Step] = []
    end = 0
    for block in BLOCK.finditer(text):
        language, body, start = block[1], block[2], block.start(2)
        follows = not text[end : block.start()].strip()
        end = block.end()
        if language == "python":
            found.append(Step("python", body, "", None))
        elif language == "console" and re.search(r"^\$ ", body, re.M):
            found += _commands(body, start)
        elif language == "text" and follows and found and found[-1].language == "python":
            found[-1].shown, found[-1].place = body, (start, start + len(body))
    return found


def _commands(body: str, start: int) -> list[Step]:
    found: list[Step] = []
    continued = False
    for line in body.splitlines(keepends=True):
        end = start + len(line)
        if continued:
            found[-1].code += line
            found[-1].place = (end, end)
        elif line.startswith("$ "):
            found.append(Step("console", line[2:], "", (end, end)))
        elif not found:
            raise ValueError(f"output before the first command: {line!r}")
        else:
            found[-1].shown += line
            found[-1].place = (found[-1].place[0], end)
        continued = line.endswith("\\\n") and found[-1].code.endswith(line.removeprefix("$ "))
        start = end
    return found


def run(step: Step, folder: pathlib.Path, pack: str) -> str:
    """What a step prints, errors included, in the order in which it prints them."""
    bin = folder.parent / "bin"
    bin.mkdir(exist_ok=True)
    for name, target in (("pack", pack), ("python", sys.executable)):
        if not (bin / name).is_symlink():
            (bin / name).symlink_to(target)
    settings = {"PATH": f"{bin}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "HF_HUB_OFFLINE": "1", "TZ": "UTC"}
    words = [sys.executable, "-c", step.code]
    if step.language == "console":
        words = ["bash", "-uo", "pipefail", "-c", step.code]
    start = forked.run if "torch" in step.code and step.language == "python" else subprocess.run
    done = start(
        words, cwd=folder, env=os.environ | settings, text=True, check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, f"exit code {done.returncode} of\n{step.code}\n{done.stdout}"
    output = done.stdout.replace(str(folder), FOLDER)
    return output if output.endswith("\n") or not output else output + "\n"


def same(shown: str, printed: str) -> bool:
    """Whether two outputs are equal but for durations and rates."""
    return _constant(shown) == _constant(printed)


def _constant(text: str) -> str:
    for pattern, name in VARYING:
        text = pattern.sub(name, text)
    return text


def renewed(text: str, printed: list[str]) -> str:
    """The page with the outputs of its steps, in order. An output that is the same stays as it is."""
    pieces, end = [], 0
    for step, output in zip(steps(text), printed, strict=True):
        if step.place is None:
            assert not output, f"the page has no block for this output:\n{output}of\n{step.code}"
            continue
        pieces += [text[end : step.place[0]], step.shown if same(step.shown, output) else output]
        end = step.place[1]
    return "".join([*pieces, text[end:]])
