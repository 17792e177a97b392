#!/usr/bin/env python3
"""The oldest Rust that is promised (`rust-version` in Cargo.toml) is stated once, and compiles the workspace.

Manifests of other workspaces and pages that name a version must name that one. If the compiler at hand is another one,
`cargo +VERSION check` compiles the workspace with the promised one; rustup must have it.

    release/msrv.py            checks
    release/msrv.py --print    prints the version, for workflows
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARGO = os.environ.get("CARGO", "cargo")
STATED = re.compile(r'rust-version\s*=\s*"([\d.]+)"|[Rr]ust (\d+\.\d+) or later')


def repeated(promised: str) -> list[str]:
    """Files that name another version."""
    found = subprocess.run(["git", "ls-files", "*Cargo.toml", "*.md"], cwd=ROOT, capture_output=True, text=True)
    faults = []
    for name in found.stdout.split():
        path = ROOT / name
        for first, second in STATED.findall(path.read_text()) if path.exists() else ():
            if (stated := first or second) != promised:
                faults.append(f"{name} has Rust {stated}, Cargo.toml {promised}")
    return faults


def main() -> None:
    promised = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    if sys.argv[1:] == ["--print"]:
        print(promised)
        return
    if faults := repeated(promised):
        sys.exit("\n".join(faults))
    ours = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    if ours.startswith(promised + "."):
        print(f"rustc {ours} is the promised Rust {promised}: what compiles here keeps the promise")
        return
    print(f"rustc {ours} is not the promised Rust {promised}: checking with that one")
    words = [f"+{promised}", "check", "--workspace", "--locked", "--all-targets"]
    sys.exit(subprocess.run([CARGO, *words], cwd=ROOT).returncode)


if __name__ == "__main__":
    main()
