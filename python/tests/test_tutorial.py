"""The tutorial runs from its first cell to its last, and its classifier learns something."""

from __future__ import annotations

import pathlib
import re

import nbformat
from nbclient import NotebookClient

ROOT = pathlib.Path(__file__).resolve().parents[2]


def printed(book: nbformat.NotebookNode) -> str:
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    return "".join(output.get("text", "") for output in outputs if output.output_type == "stream")


def test_the_tutorial_runs_and_its_classifier_learns(tmp_path, monkeypatch):
    monkeypatch.setenv("PHOTOS", str(ROOT / "fixtures" / "photos"))
    book = nbformat.reads((ROOT / "docs" / "tutorial.ipynb").read_text(), as_version=4)
    committed = printed(book)
    NotebookClient(book, timeout=600, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    for text in (committed, printed(book)):
        assert "every sample of it was seen once" in text
        assert "Own functions: 576 calls" in text
        accuracy = re.search(r"never seen: (\d+)%", text)
        assert accuracy is not None and int(accuracy[1]) >= 50  # by chance it would be 11
