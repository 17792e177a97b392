"""The recipe for Spark in local mode: a partition for each shard, one of which is run twice."""

from __future__ import annotations

import filecmp
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

from conftest import PACK, pack, pairs

pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
pytestmark = pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
SHARDS = 8


def pack_shard(out: str, program: str, number: int) -> int:
    """The function of docs/CLUSTERS.md."""
    return subprocess.run([program, "run", out, "--shard", str(number)], capture_output=True).returncode


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> Iterator[pyspark.SparkContext]:
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    # Workers import the function from this file.
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(__file__).parent), prepend=os.pathsep)
    settings = pyspark.SparkConf().setMaster("local[2,3]").setAppName("pack").set("spark.ui.enabled", "false")
    with pyspark.SparkContext(conf=settings) as made:
        made.setLogLevel("ERROR")
        yield made


def test_partitions_pack_shards_and_a_repeated_one_does_no_harm(
    context: pyspark.SparkContext, tmp_path: pathlib.Path
) -> None:
    source = pairs(tmp_path / "pairs", 80)
    whole, out = tmp_path / "whole", tmp_path / "out"
    pack("build", source, "-o", whole, "--shards", SHARDS)
    pack("plan", source, "-o", out, "--shards", SHARDS)
    place = str(out)
    numbers = [*range(SHARDS), 3, 3]  # as speculation does
    codes = context.parallelize(numbers, len(numbers)).map(lambda number: pack_shard(place, PACK, number)).collect()
    assert codes == [0] * len(numbers)
    pack("finalize", out)
    names = sorted(path.name for path in whole.iterdir())
    assert filecmp.cmpfiles(out, whole, names, shallow=False)[0] == names
