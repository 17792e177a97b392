"""The program that `make demo` prints and runs where the package is installed."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]


def test_the_program_of_the_demo_shuffles_stops_and_resumes(shards):
    words = [sys.executable, ROOT / "demo" / "demo.py", shards]
    lines = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()
    whole, first, rest = lines
    order = [int(word) for word in whole.removeprefix("epoch 0: [").removesuffix("]").split(", ")]
    assert sorted(order) == list(range(100)) != order
    assert first.startswith(f"stopped after one batch: {order[:3]} images (3, 224, 224, 3) labels [")
    assert rest == f"resumed: {order[3:]}"
