"""Modules of the package import each other in one direction."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "tarflume"


def modules(folder: Path) -> dict[str, Path]:
    """The files below a folder by the name of their module; a package has the name of its folder. The extension module
    has only a stub there, and imports nothing."""
    found = {}
    for path in [*folder.rglob("*.pyi"), *folder.rglob("*.py")]:
        parts = (folder.name, *path.relative_to(folder).with_suffix("").parts)
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


def imported(name: str, path: Path, known: dict[str, Path]) -> set[str]:
    """The modules that a module imports anywhere in its file: in functions and for types, too."""
    if path.suffix == ".pyi":
        return set()
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            members = {f"{source}.{alias.name}" for alias in node.names}
            found |= (members & known.keys()) | ({source} if members - known.keys() else set())
    return (found & known.keys()) - {name}


def graph(folder: Path) -> dict[str, set[str]]:
    known = modules(folder)
    return {name: imported(name, path, known) for name, path in known.items()}


def test_no_modules_import_each_other() -> None:
    order = list(TopologicalSorter(graph(PACKAGE)).static_order())
    assert order.index("tarflume.errors") < order.index("tarflume.samples") < order.index("tarflume")


def test_a_circle_is_found_also_in_functions_and_packages(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    (folder / "below").mkdir(parents=True)
    for path, text in {
        "__init__.py": "from . import one\n",
        "one.py": "def late():\n    from .below.two import name\n",
        "below/__init__.py": "",
        "below/two.py": "import json\nfrom .three import name\n",
        "below/three.py": "from ..one import late\n",
    }.items():
        (folder / path).write_text(text)
    with pytest.raises(CycleError) as error:
        TopologicalSorter(graph(folder)).prepare()
    assert set(error.value.args[1]) == {"made.one", "made.below.two", "made.below.three"}
