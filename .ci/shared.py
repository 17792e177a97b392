#!/usr/bin/env python3
"""Compares what `make test` compiles with what the Python package and the command are built from in CI.

A crate with other features is compiled again, and so is every crate above it. Such crates are printed, and are an error.
`with-tests` of python/Cargo.toml turns on what tests do. Cargo prints its unit graph with RUSTC_BOOTSTRAP=1 only.
"""
import json
import os
import subprocess
import sys

TESTS = ["test", "--workspace", "--exclude", "tarflume-python", "--lib", "--bins", "--tests", "--no-run"]
BUILDS = [
    ["build", "--manifest-path", "python/Cargo.toml", "--lib", "--features", "with-tests"],
    ["build", "-p", "tarflume-cli", "-p", "tarflume-python", "--features", "tarflume-python/with-tests", "--bin", "pack"],
]


def units(words):
    """Each crate that is compiled as a dependency: its place, kind, and the sets of features that it has."""
    graph = [os.environ.get("CARGO", "cargo"), *words, "--locked", "--unit-graph", "-Z", "unstable-options"]
    done = subprocess.run(graph, env=os.environ | {"RUSTC_BOOTSTRAP": "1"}, stdout=subprocess.PIPE, check=True)
    found = {}
    for unit in json.loads(done.stdout)["units"]:
        if unit["mode"] == "build":
            crate = unit["pkg_id"].split("/")[-1], tuple(unit["target"]["kind"])
            found.setdefault(crate, set()).add(frozenset(unit["features"]))
    return found


def main():
    tested = units(TESTS)
    others = []
    for words in BUILDS:
        for crate, sets in sorted(units(words).items()):
            if crate[0].startswith(("python#", "crates.io-index#pyo3", "crates.io-index#target-lexicon")):
                continue  # no test links them
            for features in sets - tested.get(crate, set()):
                closest = min(tested.get(crate, {frozenset()}), key=lambda one: len(one ^ features))
                others.append(f"{crate[0]}: {', '.join(sorted(features ^ closest)) or 'no test has it'}")
    if others:
        sys.exit("CI compiles these crates twice, because tests turn on other features than `with-tests` of python/Cargo.toml:\n"
                 + "\n".join(dict.fromkeys(others)))


if __name__ == "__main__":
    main()
