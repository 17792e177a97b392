"""The tutorials, and pages with commands and outputs: every program and command runs, in order, and prints what the page shows.

`TARFLUME_PAGES=write pytest test_pages.py` writes the outputs into the pages instead of comparing them.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tarflume
from PIL import Image

import page_inputs
import pages
from conftest import PACK, ROOT

TUTORIALS = sorted(path.name for path in (ROOT / "docs" / "tutorials").glob("*.md"))
WRITE = os.environ.get("TARFLUME_PAGES") == "write"


def play(text: str, folder: pathlib.Path, before: Callable[[pathlib.Path], None] | None = None) -> list[str]:
    """What the steps of a page print in a new folder, which `before` fills."""
    folder.mkdir()
    if before is not None:
        before(folder)
    command = shutil.which(PACK)
    assert command is not None, f"no command {PACK}; TARFLUME_PACK names it"
    return [pages.run(step, folder, os.path.abspath(command)) for step in pages.steps(text)]


def photographs(folder: pathlib.Path, *names: str) -> None:
    """Puts the photographs of the project into a folder, all or some, without their JSON."""
    photos = ROOT / "fixtures" / "photos"
    for path in [photos / name for name in names] or sorted(photos.glob("*/*.jpg")):
        target = folder / path.relative_to(photos)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


def labels(folder: pathlib.Path) -> None:
    photographs(folder / "photos")


def joins(folder: pathlib.Path) -> None:
    photographs(folder / "photos", "living/cat.jpg", "living/flower.jpg", "places/temple.jpg", "things/coffee.jpg")
    rows = ["filename,label,score,site", "flower.jpg,2,0.5,007", "cat.jpg,0,1,012", "temple.jpg,1,,101"]
    (folder / "labels.csv").write_text("\n".join([*rows, ""]))
    (folder / "val").mkdir()
    images = []
    for number, name in [(397133, "cat.jpg"), (397134, "flower.jpg")]:
        source = next((ROOT / "fixtures" / "photos").glob(f"*/{name}"))
        shutil.copy(source, folder / "val" / name)
        width, height = Image.open(source).size
        images.append({"id": number, "file_name": name, "width": width, "height": height})
    boxes = [(1, 17, [72.0, 20.5, 310.0, 270.0]), (2, 64, [0.0, 0.0, 88.0, 120.0])]
    keys = ("id", "category_id", "bbox")
    annotations = [dict(zip(keys, box, strict=True), image_id=397133, iscrowd=0) for box in boxes]
    categories = [{"id": 17, "name": "cat"}, {"id": 64, "name": "potted plant"}]
    coco = {"images": images, "annotations": annotations, "categories": categories}
    (folder / "instances.json").write_text(json.dumps(coco))


def annotations(folder: pathlib.Path) -> None:
    joins(folder)
    path = folder / "instances.json"
    coco = json.loads(path.read_text())
    for of in coco["annotations"]:
        x, y, w, h = of["bbox"]
        of["area"] = w * h
        of["segmentation"] = [[x, y, x + w, y, x + w, y + h, x, y + h]]
    path.write_text(json.dumps(coco))


def sources(folder: pathlib.Path) -> None:
    rows = np.arange(12 * 768, dtype=np.float32).reshape(12, 768)
    np.save(folder / "embeddings.npy", rows)
    rows.tofile(folder / "memmap.dat")
    table = pa.table({"vector": pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 768)})
    pq.write_table(table, folder / "table.parquet", compression="none", use_dictionary=False)
    np.save(folder / "x.npy", np.arange(3000, dtype=np.float32).reshape(1000, 3))
    np.save(folder / "y.npy", np.arange(1000) % 10)
    np.savez(folder / "digits.npz", images=page_inputs.PIXELS, labels=np.arange(12))
    page_inputs.mnist(folder / "mnist")


def sorted_classes(folder: pathlib.Path) -> None:
    with tarflume.ShardWriter(folder / "shards") as writer:
        for n in range(4000):
            writer.write({"__key__": f"{n:05}", "cls": n // 400, "txt": f"sample {n}"})


#: What a page needs before its first step. A tutorial makes its input.
BEFORE = {"ANNOTATIONS.md": annotations, "LABELS.md": labels, "JOIN.md": joins, "OBJECTS.md": joins, "SOURCES.md": sources,
          "MIXING.md": sorted_classes}  # fmt: skip
#: Tutorials whose input is the photographs of the project.
PHOTOGRAPHED = {"tutorials/recipes.md": labels}


@pytest.mark.parametrize("name", [*(f"tutorials/{name}" for name in TUTORIALS), *BEFORE])
def test_a_page_shows_what_its_steps_print(name, tmp_path):
    path = ROOT / "docs" / name
    text = path.read_text()
    printed = play(text, tmp_path / "work", BEFORE.get(name) or PHOTOGRAPHED.get(name))
    if WRITE:
        path.write_text(pages.renewed(text, printed))
        return
    for step, output in zip(pages.steps(text), printed, strict=True):
        assert pages.same(step.shown, output), f"{name} shows\n{step.shown}but this prints\n{output}:\n{step.code}"


def test_the_pages_are_those_that_the_site_lists():
    listed = re.findall(r"tutorials/(\S+\.md)", (ROOT / "mkdocs.yml").read_text())
    assert sorted(listed) == TUTORIALS and len(TUTORIALS) >= 5


def test_the_index_of_decisions_lists_each_file_and_numbers_are_unique():
    folder = ROOT / "docs" / "decisions"
    files = sorted(path.name for path in folder.glob("[0-9]*.md"))
    listed = re.findall(r"\]\((\d+-\S+\.md)\)", (folder / "README.md").read_text())
    assert sorted(listed) == files
    assert len({name.partition("-")[0] for name in files}) == len(files)


PAGE = """# A page

```python
print("one", 1 + 1)
```

```text
one 2
```

```console
$ echo made in 0.25 s
made in 0.31 s
$ printf 'a\\n' \\
    | cat; (exit 1); echo "exit code $?"
a
exit code 1
```
"""


def test_an_output_that_differs_is_found_and_written_in_its_place(tmp_path):
    page = PAGE
    printed = play(page, tmp_path / "work")
    assert printed == ["one 2\n", "made in 0.25 s\n", "a\nexit code 1\n"]
    assert all(pages.same(step.shown, output) for step, output in zip(pages.steps(page), printed, strict=True))
    assert pages.renewed(page, printed) == page  # a duration alone changes nothing
    for old, new in [("one 2\n", "one 3\n"), ("a\nexit code 1\n", ""), ("made in 0.31 s\n", "made of 0.31 s\n")]:
        other = page.replace(old, new, 1)
        assert other != page
        wrong = [
            step for step, output in zip(pages.steps(other), printed, strict=True) if not pages.same(step.shown, output)
        ]
        assert len(wrong) == 1
        assert pages.same(pages.renewed(other, printed), page)


def test_a_step_that_fails_and_an_output_without_a_block_are_errors(tmp_path):
    with pytest.raises(AssertionError, match="exit code 3"):
        play("```console\n$ exit 3\n```\n", tmp_path / "a")
    with pytest.raises(AssertionError, match="no block for this output"):
        pages.renewed("```python\nprint(1)\n```\n", ["1\n"])
    silent = pages.steps("```python\nprint(1)\n```\n")
    assert not pages.same(silent[0].shown, "1\n")
    with pytest.raises(ValueError, match="before the first command"):
        pages.steps("```console\n1\n$ echo 1\n```\n")


def test_a_block_that_follows_no_program_is_for_reading():
    page = (
        "```text\na tree\n```\n```python\nf()\n```\nIt prints:\n```text\n1\n```\n```console\npack build a/ -o b/\n```\n"
    )
    assert [(step.code, step.place) for step in pages.steps(page)] == [("f()\n", None)]
