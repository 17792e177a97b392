"""tarflume.ray on a cluster of three raylets on this machine, one of which is killed."""

from __future__ import annotations

import filecmp
import json
import os
import pathlib
import sys
import threading
from collections.abc import Iterator

import pytest
import tarflume

from conftest import ROOT, pairs, picture
from patience import PATIENCE_S, until

ray = pytest.importorskip("ray", reason="ray is not installed")
pytest.importorskip("ray.data", reason="ray[data] is not installed")
from ray.cluster_utils import Cluster  # noqa: E402

import tarflume.ray  # noqa: E402

# A dead node, which refuses connections, is noticed in seconds instead of a minute; a busy one is not dead.
SHORT = {f"RAY_health_check_{name}": value for name, value in {
    "initial_delay_ms": "1000", "period_ms": "1000", "timeout_ms": "60000", "failure_threshold": "4",
}.items()}  # fmt: skip
SAMPLES = 1200


class ThreeNodes:
    """A head without processors, and nodes that run tasks."""

    def __init__(self) -> None:
        head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": 150 << 20}
        self.cluster = Cluster(initialize_head=True, head_node_args=head)
        # One after another: two that begin at once may disturb each other.
        self.nodes = [self.add(), self.add()]
        paths = os.pathsep.join([str(pathlib.Path(__file__).parent), str(ROOT / "python" / "examples")])
        ray.init(address=self.cluster.address, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": paths}})

    def add(self):
        return self.cluster.add_node(num_cpus=2, object_store_memory=150 << 20)

    def kill_one(self) -> None:
        self.cluster.remove_node(self.nodes.pop(), allow_graceful=False)

    def stop(self) -> None:
        ray.shutdown()
        self.cluster.shutdown()


@pytest.fixture(scope="module")
def cluster() -> Iterator[ThreeNodes]:
    before = {name: os.environ.get(name) for name in SHORT}
    os.environ |= SHORT | {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    made = ThreeNodes()
    yield made
    made.stop()
    for name, value in before.items():
        os.environ.pop(name, None) if value is None else os.environ.update({name: value})


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Pairs of which each shard takes a while."""
    root = tmp_path_factory.mktemp("source")
    folder = pairs(root / "pairs", 24)
    for n in range(24):
        picture(n).resize((900, 900)).save(folder / f"{n:04}.jpg", quality=95)
    for n in range(24, SAMPLES):
        os.link(folder / f"{n % 24:04}.jpg", folder / f"{n:04}.jpg")
        (folder / f"{n:04}.json").write_text(json.dumps({"class": n % 10, "n": n}))
    return folder


def assert_same(left: pathlib.Path, right: pathlib.Path) -> None:
    names = sorted(path.name for path in right.iterdir())
    assert sorted(path.name for path in left.iterdir()) == names
    _, differ, errors = filecmp.cmpfiles(left, right, names, shallow=False)
    assert not differ and not errors, (differ, errors)


def test_a_node_dies_and_the_bytes_are_those_of_one_build(
    cluster: ThreeNodes, source: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    tarflume.pack.build(source, whole, shards=24, shuffle=3)
    killed = threading.Event()

    def kill() -> None:
        until("eight shards", lambda: len(list((out / ".pack" / "shards").glob("*.record"))) >= 8)
        cluster.kill_one()
        killed.set()

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    made = tarflume.ray.pack(source, out, shards=24, shuffle=3, shards_per_task=1, stall_timeout_s=PATIENCE_S)
    killer.join(timeout=PATIENCE_S)
    assert killed.is_set()
    assert made["samples"] == SAMPLES and len(made["shards"]) == 24
    assert_same(out, whole)
    cluster.nodes.append(cluster.add())
    # A second call finds the data set.
    assert tarflume.ray.pack(source, out, shards=24, shuffle=3)["samples"] == SAMPLES


def test_bad_data_is_an_error_that_names_the_sample(cluster: ThreeNodes, tmp_path: pathlib.Path) -> None:
    folder = pairs(tmp_path / "bad", 30)
    (folder / "0017.json").write_text("{")
    with pytest.raises(tarflume.errors.PackError, match=r"0017\.json"):
        tarflume.ray.pack(folder, tmp_path / "out", shards=6, shards_per_task=2)
    assert not (tmp_path / "out" / "dataset.json").exists()
    made = tarflume.ray.pack(folder, tmp_path / "skipped", shards=6, on_problem="skip")
    assert made["samples"] == 29 and len(made["problems"]) == 1
    with pytest.raises(tarflume.errors.UsageError, match="nowhere"):
        tarflume.ray.pack(tmp_path / "nowhere", tmp_path / "other")


def test_a_data_set_is_read_with_exact_counts_and_the_parts_that_are_wanted(
    cluster: ThreeNodes, shards: pathlib.Path
) -> None:
    samples = tarflume.ray.read(shards, parts=["json"])
    assert samples.count() == 100
    assert samples.columns() == ["__key__", "json"]
    rows = sorted(samples.take_all(), key=lambda row: row["__key__"])
    dataset = tarflume.Dataset(shards)
    expected = [dataset[n] for n in range(100)]
    assert rows == [{"__key__": sample["__key__"], "json": sample["json"]} for sample in expected]
    whole = {row["__key__"]: row for row in tarflume.ray.read(shards, override_num_blocks=3).take_all()}
    assert whole == {sample["__key__"]: dict(sample) for sample in expected}
    with pytest.raises(tarflume.errors.UsageError, match="png.*jpg, json"):
        tarflume.ray.read(shards, parts=["png"])


class DiesOnce:
    """Ends its process at a row, the first time."""

    def __init__(self, mark: pathlib.Path) -> None:
        self.mark = mark

    def __call__(self, row: dict) -> dict:
        if row["__key__"] == "0060" and not self.mark.exists():
            self.mark.touch()
            os._exit(1)
        return row | {"txt": row["json"].decode()[:5]}


def test_rows_become_a_proven_data_set_although_a_task_dies(
    cluster: ThreeNodes, shards: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    out = tmp_path / "out"
    mark = tmp_path / "died"
    die = DiesOnce(mark)
    made = tarflume.ray.write(tarflume.ray.read(shards).map(lambda row: die(row)), out, prefix="made", max_samples=20)
    assert mark.exists(), "no task died"
    assert made["samples"] == 100 and made["extensions"] == {"jpg": 100, "json": 100, "txt": 100}
    assert [shard["name"] for shard in made["shards"]][:2] == ["made-000000.tar", "made-000001.tar"]
    assert not (out / ".pack").exists()
    assert tarflume.pack.verify(out).whole
    before, after = tarflume.Dataset(shards), tarflume.Dataset(out)
    for n in range(100):
        sample = before[n]
        found = after[sample["__key__"]]
        assert (found["jpg"], found["json"], found["txt"]) == (sample["jpg"], sample["json"], sample["json"][:5])
    with pytest.raises(Exception, match="holds a data set already"):
        tarflume.ray.write(tarflume.ray.read(shards), out)


def test_keys_that_repeat_in_several_tasks_are_an_error_and_publish_nothing(
    cluster: ThreeNodes, shards: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    twice = tarflume.ray.read(shards, parts=["json"]).map(lambda row: row | {"__key__": f"{int(row['__key__']) % 60:04}"})
    with pytest.raises(Exception, match="samples have keys that other samples have, too"):
        tarflume.ray.write(twice, tmp_path / "out")
    assert not (tmp_path / "out" / "dataset.json").exists()
    assert not list((tmp_path / "out").glob("*.tar"))


def test_ray_train_goes_on_after_a_worker_has_died(
    cluster: ThreeNodes, source: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray.train.torch", reason="ray[train] or torch is not installed")
    monkeypatch.syspath_prepend(str(ROOT / "python" / "examples"))
    import dying
    import ray_train

    tarflume.pack.build(source, tmp_path / "shards", shards=6, check="none")
    monkeypatch.setattr(ray_train, "train", dying.once_after(ray_train.train, tmp_path / "died", step=15))
    result = ray_train.fit(str(tmp_path / "shards"), str(tmp_path / "results"))
    assert (tmp_path / "died").exists(), "no worker died"
    ledger = tarflume.Ledger(result.metrics["ledger"])
    ledger.prove(tarflume.Ledger(result.metrics["expected"]))
    assert ledger.samples == SAMPLES


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
