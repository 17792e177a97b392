#!/usr/bin/env python3
"""What each crate of the workspace would publish, checked without a registry that has the earlier ones.

    release/packages.py            manifests and contents of all packages, in seconds; compiles nothing
    release/packages.py --verify   also compiles each package from its own files, in the order of publishing

A crate is published unless its manifest has `publish = false`. There is no list to keep.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARGO = os.environ.get("CARGO", "cargo")

#: Workspaces whose members are published after those of this one.
ELSEWHERE = ("adapters", "adapters/tch")
#: Files that each package has.
NEEDED = ("Cargo.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE")
#: Fields of a manifest that crates.io shows, or that a user looks for.
FIELDS = ("description", "license", "repository", "readme", "rust_version", "authors", "keywords", "categories")
#: Bytes of all files of one package. Sources of the largest crate are half of it; test data is far above.
LARGEST = 3 << 20
INCLUDED = re.compile(r'include(?:_str|_bytes)?!\(\s*"([^"]+)"')
LINK = re.compile(r"\]\(([^)]+)\)")


def cargo(*words: str) -> str:
    """What a command of cargo prints on standard output; its warnings are dropped, its errors end this program."""
    done = subprocess.run([CARGO, *words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"cargo {' '.join(words)}\n{done.stderr}")
    return done.stdout


def is_for_tests(path: Path) -> bool:
    """Whether a source file is compiled for tests alone: they may include files that are not packed."""
    return "tests" in path.parts or path.stem == "tests"


def manifest_faults(package: dict) -> list[str]:
    faults = [f"its manifest has no `{field}`" for field in FIELDS if not package[field]]
    if len(package["keywords"]) > 5:
        faults.append("more than 5 keywords: crates.io refuses it")
    for used in package["dependencies"]:
        if used.get("path") and used["kind"] != "dev" and used["req"] == "*":
            faults.append(f"{used['name']} is used by path, without a version")
    return faults


def contents_faults(package: dict, names: set[str], texts: dict[str, str], size: int) -> list[str]:
    faults = [f"{name} is not packed" for name in NEEDED if name not in names]
    if size > LARGEST:
        faults.append(f"{size} bytes are packed, more than {LARGEST}: is there test data among them?")
    for name, text in texts.items():
        path = Path(name)
        if path.suffix == ".rs" and not is_for_tests(path):
            for target in INCLUDED.findall(text):
                if os.path.normpath(path.parent / target) not in names:
                    faults.append(f"{name} includes {target}, which is not packed")
    for link in LINK.findall(texts.get("README.md", "")):
        if not link.startswith(("https://", "#")):
            faults.append(f"README.md links {link}: a page on crates.io needs absolute URLs")
    return faults


def packed(package: dict) -> tuple[set[str], dict[str, str], int]:
    """Names, texts and bytes of what a package holds; links are followed, as cargo follows them."""
    manifest = package["manifest_path"]
    names = set(cargo("package", "--list", "--allow-dirty", "--manifest-path", manifest).split())
    texts, size = {}, 0
    for name in names:
        path = Path(manifest).parent / name
        if path.is_file():  # Cargo.toml.orig and the like are made by cargo
            size += path.stat().st_size
            if name.endswith((".rs", ".md")):
                texts[name] = path.read_text()
    return names, texts, size


def published(folder: str) -> tuple[list[dict], list[dict]]:
    """The members of a workspace that are published, and the others."""
    words = ("metadata", "--no-deps", "--format-version", "1", "--manifest-path", str(ROOT / folder / "Cargo.toml"))
    members = json.loads(cargo(*words))["packages"]
    ours = [member for member in members if member["publish"] is None]
    return ours, [member for member in members if member not in ours]


def from_nothing(ours: list[dict]) -> str:
    """An empty folder to verify in.

    Cargo takes a package for something that never changes under its version: it would compile against the copy of an
    earlier crate that the last run unpacked (in a separate folder of the registry's sources) and compiled.
    """
    base = json.loads(cargo("metadata", "--no-deps", "--format-version", "1"))["target_directory"]
    folder = Path(base) / "packages"
    shutil.rmtree(folder, ignore_errors=True)
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    for unpacked in (home / "registry" / "src").glob("-*"):
        for package in ours:
            shutil.rmtree(unpacked / f"{package['name']}-{package['version']}", ignore_errors=True)
    return str(folder)


def main() -> None:
    verify = sys.argv[1:] == ["--verify"]
    if sys.argv[1:] and not verify:
        sys.exit(__doc__)
    ours, others = published(".")
    left_out = [word for member in others for word in ("--exclude", member["name"])]
    words = ["package", "--workspace", *left_out, "--locked", "--allow-dirty"]
    cargo(*words, *(["--target-dir", from_nothing(ours)] if verify else ["--no-verify"]))
    # These need the published crates of the workspace: their contents are checked, and nothing is compiled.
    ours += [member for folder in ELSEWHERE for member in published(folder)[0]]
    faults = []
    for package in ours:
        names, texts, size = packed(package)
        found = manifest_faults(package) + contents_faults(package, names, texts, size)
        faults += [f"{package['name']}: {fault}" for fault in found]
        print(f"{package['name']} {package['version']}: {len(names)} files, {size:,} bytes")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
