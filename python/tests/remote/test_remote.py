"""Data sets in object stores, on real servers: the epochs of the files, whichever server has them."""

from __future__ import annotations

import json
import multiprocessing
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import zarr

import servers
import tarflume
from conftest import PACK, pairs
from patience import PATIENCE_S

pytestmark = pytest.mark.usefixtures("sidecars")


@pytest.fixture(autouse=True)
def sidecars(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sidecars and shards in work stay in the folder of the test; the environment has no credentials."""
    monkeypatch.setenv("TARFLUME_SIDECARS", str(tmp_path / "sidecars"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory):
    with servers.seaweedfs(tmp_path_factory.mktemp("seaweedfs")) as options:
        yield options


@pytest.fixture(scope="module")
def azure(tmp_path_factory: pytest.TempPathFactory):
    if not servers.AZURITE.exists():
        pytest.skip("azurite is not installed: `make python` does")
    with servers.azurite(tmp_path_factory.mktemp("azurite")) as options:
        yield options


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return pairs(tmp_path_factory.mktemp("source") / "pairs", 60)


@pytest.fixture(scope="module")
def local(source: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    out = tmp_path_factory.mktemp("local") / "set"
    tarflume.pack.build(source, out, shards=4)
    return out


def run(*words: object, options: dict[str, str] | None = None, code: int = 0) -> str:
    given = [f"--storage={name}={value}" for name, value in (options or {}).items()]
    done = subprocess.run([PACK, *map(str, words), *given], text=True, capture_output=True, check=False)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def epoch(shards: object, **words: object) -> tuple[list[tuple[str, bytes, int]], str]:
    """The keys, the JPEGs and the classes of an epoch in order, and its ledger."""
    settings = {"batch_size": 7, "shuffle": "full", "seed": 3, "columns": {"jpg": "jpg"}, "label": "/class"}
    loader = tarflume.Loader(shards, **{**settings, **words})
    rows = [
        (key, bytes(jpg), int(label))
        for batch in loader
        for key, jpg, label in zip(batch["key"], batch["jpg"], batch["label"], strict=True)
    ]
    assert loader.ledger() == loader.expected(0)
    return rows, str(loader.ledger())


def names(options: dict[str, str], prefix: str) -> dict[str, int]:
    listed = servers.s3_client(options).list_objects_v2(Bucket="data", Prefix=f"{prefix}/")
    return {item["Key"].removeprefix(f"{prefix}/"): item["Size"] for item in listed.get("Contents", [])}


def uploads(options: dict[str, str]) -> list[str]:
    found = servers.s3_client(options).list_multipart_uploads(Bucket="data")
    return [upload["Key"] for upload in found.get("Uploads", [])]


def test_a_set_in_s3_gives_the_epochs_of_the_files(s3: dict[str, str], source: pathlib.Path, local: pathlib.Path) -> None:
    built = tarflume.pack.build(source, "s3://data/epochs", shards=4, storage=s3)
    assert built["packed"] == 4
    there, here = names(s3, "epochs"), {path.name: path.stat().st_size for path in local.iterdir() if path.is_file()}
    assert {name: size for name, size in there.items() if not name.startswith(".pack/")} == here
    for shuffle in ("none", "shards", "buffer", "blocks", "full"):
        assert epoch("s3://data/epochs", storage=s3, shuffle=shuffle) == epoch(local, shuffle=shuffle)
    loader = tarflume.Loader("s3://data/epochs", storage=s3, image=tarflume.ResizeCenterCrop(32, 32), batch_size=16)
    pixels = [batch["image"].numpy().copy() for batch in loader]
    files = tarflume.Loader(local, image=tarflume.ResizeCenterCrop(32, 32), batch_size=16)
    assert all((a == batch["image"].numpy()).all() for a, batch in zip(pixels, files, strict=True))
    stats = loader.stats()
    fetch = stats["fetch"]
    assert fetch["usd"] is None, "the price of this server is not known"
    # A server that is slow to answer is asked again.
    assert fetch["requests"] >= 4 and fetch["bytes"] > 0 and fetch["retries"] <= fetch["requests"], fetch
    assert files.stats()["fetch"] is None
    assert f"Store: {fetch['requests']} requests" in str(stats)


def test_samples_by_number_key_and_slice(s3: dict[str, str], source: pathlib.Path, local: pathlib.Path) -> None:
    tarflume.pack.build(source, "s3://data/samples", shards=2, storage=s3)
    remote, files = tarflume.Dataset("s3://data/samples", storage=s3), tarflume.Dataset(local)
    assert len(remote) == 60 and remote["0007"] == files["0007"] and remote[-1] == files[-1]
    assert remote[5:8] == files[5:8] and "nothing" not in remote
    again = pickle.loads(pickle.dumps(remote))
    assert again[3] == files[3]
    assert remote.shards == [f"s3://data/samples/shard-{n:06}.tar" for n in range(2)]
    assert len(tarflume.Dataset(pathlib.Path("s3://data/samples"), storage=s3)) == 60


def test_a_spawned_process_reads_it(s3: dict[str, str], source: pathlib.Path, local: pathlib.Path) -> None:
    tarflume.pack.build(source, "s3://data/processes", shards=4, storage=s3)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        words = [("s3://data/processes", s3)] * 2
        assert pool.starmap(_ledger, words) == [epoch(local)[1]] * 2


def _ledger(url: str, options: dict[str, str]) -> str:
    return epoch(url, storage=options)[1]


def test_two_ranks_stopped_and_resumed_with_three(s3: dict[str, str], source: pathlib.Path) -> None:
    tarflume.pack.build(source, "s3://data/ranks", shards=3, storage=s3)

    def loader(rank: int, world: int) -> tarflume.Loader:
        return tarflume.Loader(
            "s3://data/ranks", storage=s3, batch_size=4, shuffle="full", seed=1, rank=rank, world_size=world,
            columns=["json"], drop_last="uneven",
        )

    first = [loader(rank, 2) for rank in range(2)]
    seen: list[str] = []
    for running in first:
        epoch = iter(running)
        seen += [key for _ in range(3) for key in next(epoch)["key"]]
    state = first[0].state_dict()
    assert state == first[1].state_dict()
    for rank in range(3):
        again = loader(rank, 3)
        again.load_state_dict(state)
        seen += [key for batch in again for key in batch["key"]]
    assert sorted(seen) == [f"{n:04}" for n in range(60)]


def test_the_command_reads_and_writes_it(s3: dict[str, str], source: pathlib.Path, local: pathlib.Path) -> None:
    url = "s3://data/command"
    assert "60 samples" in run("build", source, "-o", url, "--shards", 4, options=s3)
    assert "60 samples" in run("build", source, "-o", url, "--shards", 4, options=s3)  # nothing to do
    assert run("ls", url, options=s3).split() == run("ls", local).split()
    assert run("cat", url, "0007.json", options=s3) == run("cat", local, "0007.json")
    assert "60" in run("info", url, options=s3)


def test_verify_names_the_url_of_what_is_damaged(s3: dict[str, str], source: pathlib.Path) -> None:
    url = "s3://data/verified"
    tarflume.pack.build(source, url, shards=3, storage=s3)
    assert "whole" in run("verify", url, options=s3)
    client, name = servers.s3_client(s3), "verified/shard-000001.tar"
    body = bytearray(client.get_object(Bucket="data", Key=name)["Body"].read())
    body[700] ^= 1
    client.put_object(Bucket="data", Key=name, Body=bytes(body))
    client.delete_object(Bucket="data", Key="verified/shard-000002.tar")
    report = tarflume.pack.verify(url, storage=s3)
    found = {(problem["kind"], problem["path"]) for problem in report["problems"]}
    damaged = f"{url}/shard-000001.tar"
    assert {("checksum", damaged), ("digest", damaged), ("missing-shard", f"{url}/shard-000002.tar")} <= found, found
    assert "/tmp" not in str(report), report
    assert "--level full" in run("verify", "--level", "quick", url, options=s3, code=2)


def test_tars_of_other_tools_get_sidecars(
    s3: dict[str, str], source: pathlib.Path, local: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    client, url = servers.s3_client(s3), "s3://data/foreign"
    for tar in local.glob("*.tar"):
        client.put_object(Bucket="data", Key=f"foreign/{tar.name}", Body=tar.read_bytes())
    run("index", "--entry-points", url, options=s3)
    assert epoch(url, storage=s3) == epoch(local)
    again = tarflume.pack.index(url, storage=s3)
    assert [tar["kept"] for tar in again["tars"]] == [True] * 4 and again["manifests"][0]["kept"]
    assert again["tars"][0]["path"] == f"{url}/shard-000000.tar"
    assert "whole" in run("verify", url, options=s3)
    run("unpack", url, "-o", tmp_path / "out", options=s3)
    unpacked = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert unpacked == {path.name: path.read_bytes() for path in source.iterdir()}
    tarflume.pack.export(url, tmp_path / "mds", to="mds", storage=s3)
    tarflume.pack.export(local, tmp_path / "mds-local", to="mds")
    for path in (tmp_path / "mds-local").iterdir():
        assert path.read_bytes() == (tmp_path / "mds" / path.name).read_bytes(), path.name


def test_machines_share_nothing_but_the_bucket(
    s3: dict[str, str], source: pathlib.Path, local: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "s3://data/machines"
    run("plan", source, "-o", url, "--shards", 4, options=s3)
    for number in range(4):
        home = tmp_path / str(number)
        home.mkdir()
        monkeypatch.setenv("TMPDIR", str(home))
        run("run", url, "--shard", number, options=s3)
        assert list(home.iterdir()) == []
    assert "4 of 4" in run("status", url, options=s3)
    run("finalize", url, options=s3)
    assert epoch(url, storage=s3) == epoch(local)


def test_builds_that_are_killed_publish_one_right_set(
    s3: dict[str, str], source: pathlib.Path, local: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "s3://data/killed"
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    given = [f"--storage={name}={value}" for name, value in s3.items()]
    command = [PACK, "build", str(source), "-o", url, "--shards", "4", *given]
    client = servers.s3_client(s3)
    kills, attempts = 0, int(os.environ.get("TARFLUME_TEST_KILLS", "20"))
    for number in range(attempts):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            # Once it has made some objects and uploads, or has ended.
            while process.poll() is None and len(names(s3, "killed")) + len(uploads(s3)) < number:
                time.sleep(0.001)
            kills += process.poll() is None
            process.send_signal(signal.SIGKILL)
        if "dataset.json" in names(s3, "killed"):
            for path in local.iterdir():
                if path.is_file():
                    stored = client.get_object(Bucket="data", Key=f"killed/{path.name}")["Body"].read()
                    assert stored == path.read_bytes(), "what is published is whole"
            assert [key for key in uploads(s3) if key.startswith("killed/")] == []
            for name in names(s3, "killed"):
                client.delete_object(Bucket="data", Key=f"killed/{name}")
    print(f"{kills} of {attempts} builds were killed")
    run("build", source, "-o", url, "--shards", 4, options=s3)
    assert epoch(url, storage=s3) == epoch(local)
    assert {name for name in names(s3, "killed")} == {path.name for path in local.iterdir() if path.is_file()}
    assert [key for key in uploads(s3) if key.startswith("killed/")] == []


def test_a_program_writes_samples_to_a_bucket(
    s3: dict[str, str], source: pathlib.Path, local: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(out: object, **words: object) -> None:
        with tarflume.ShardWriter(out, max_samples=16, **words) as writer:
            for jpeg in sorted(source.glob("*.jpg")):
                json_part = jpeg.with_suffix(".json").read_bytes()
                writer.write({"__key__": jpeg.stem, "jpg": jpeg.read_bytes(), "json": json_part})
        assert writer.manifest["samples"] == 60

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    write("s3://data/written", storage=s3)
    write(tmp_path / "written")
    client = servers.s3_client(s3)
    files = {path.name: path.read_bytes() for path in (tmp_path / "written").iterdir()}
    stored = {n: client.get_object(Bucket="data", Key=f"written/{n}")["Body"].read() for n in names(s3, "written")}
    assert stored == files and len(files) == 9
    assert epoch("s3://data/written", storage=s3)[0] == epoch(local)[0]
    with pytest.raises(tarflume.errors.UsageError, match="holds a data set already"):
        tarflume.ShardWriter("s3://data/written", storage=s3)
    with pytest.raises(ValueError, match="broken") as broken, tarflume.ShardWriter(
        "s3://data/half", storage=s3, max_samples=1
    ) as writer:
        for n in range(3):
            writer.write({"__key__": str(n), "json": {"n": n}})
        raise ValueError("broken")
    # An upload that is in progress is ended.
    assert re.search("[12] samples are in s3://data/half; start again with fresh=True", broken.value.__notes__[0])
    assert "dataset.json" not in names(s3, "half")
    with pytest.raises(tarflume.errors.UsageError, match="unfinished data set; set `fresh` to true"):
        tarflume.ShardWriter("s3://data/half", storage=s3)
    with tarflume.ShardWriter("s3://data/half", storage=s3, fresh=True) as writer:
        writer.write({"__key__": "0", "json": {}})
    assert sorted(names(s3, "half")) == ["dataset.json", "shard-000000.index", "shard-000000.tar"]
    with pytest.raises(tarflume.errors.UsageError, match="storage= is for"):
        tarflume.ShardWriter(tmp_path / "folder", storage=s3)
    # A killed process: its last upload is in no listing of objects, and cannot be aborted without its id.
    client.put_object(Bucket="data", Key="torn/.pack/uploads/shard-000000.tar-1", Body=b'{"object": "shard-000000.tar"}')
    with pytest.warns(UserWarning, match="unfinished upload of s3://data/torn/shard-000000.tar"):
        tarflume.ShardWriter("s3://data/torn", storage=s3, fresh=True).abandon()
    assert not names(s3, "torn")


def test_sync_copies_between_folders_and_buckets(
    s3: dict[str, str], source: pathlib.Path, local: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    assert "4 shards, 4 copied" in run("sync", local, "s3://data/synced", options=s3)
    assert "4 shards, 0 copied" in run("sync", local, "s3://data/synced", options=s3)
    assert epoch("s3://data/synced", storage=s3) == epoch(local)
    run("verify", "s3://data/synced", options=s3)
    assert "4 shards, 4 copied" in run("sync", "s3://data/synced", "s3://data/again", options=s3)
    assert names(s3, "again") == names(s3, "synced")
    assert "4 shards, 4 copied" in run("sync", "s3://data/again", tmp_path / "back", options=s3)
    for path in local.iterdir():
        if path.is_file():
            assert (tmp_path / "back" / path.name).read_bytes() == path.read_bytes()
    tarflume.pack.build(pairs(tmp_path / "other", 5), tmp_path / "others")
    assert "another data set" in run("sync", tmp_path / "others", "s3://data/synced", options=s3, code=2)
    with servers.http_files(local) as url:
        assert "4 shards, 4 copied" in run("sync", url, tmp_path / "fetched")
        assert "takes no shards" in run("sync", local, url, code=2)


def test_a_sync_that_was_killed_leaves_no_upload(
    s3: dict[str, str], local: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    client, url = servers.s3_client(s3), "s3://data/sync-killed"
    left = client.create_multipart_upload(Bucket="data", Key="sync-killed/shard-000000.tar")
    note = json.dumps({"object": "shard-000000.tar", "upload": left["UploadId"]})
    client.put_object(Bucket="data", Key="sync-killed/.pack/uploads/shard-000000.tar-1", Body=note.encode())
    assert [key for key in uploads(s3) if key.startswith("sync-killed/")]
    text = run("sync", local, url, options=s3)
    assert "1 unfinished uploads of killed attempts were aborted" in text, text
    assert not [key for key in uploads(s3) if key.startswith("sync-killed/")]
    assert not [name for name in names(s3, "sync-killed") if name.startswith(".pack")]


def test_an_object_that_is_replaced_ends_the_epoch(s3: dict[str, str], source: pathlib.Path) -> None:
    url = "s3://data/replaced"
    tarflume.pack.build(source, url, shards=2, storage=s3)
    loader = tarflume.Loader(url, storage=s3, batch_size=2, columns=["jpg"], prefetch=1, num_threads=1)
    running = iter(loader)
    next(running)
    client = servers.s3_client(s3)
    for name in ("replaced/shard-000000.tar", "replaced/shard-000001.tar"):
        body = bytearray(client.get_object(Bucket="data", Key=name)["Body"].read())
        body[700] ^= 1
        client.put_object(Bucket="data", Key=name, Body=bytes(body))
    with pytest.raises(tarflume.Error, match=r"shard-00000\d\.tar.*replaced"):
        for _ in running:
            pass


def test_what_is_wrong_is_said(s3: dict[str, str], tmp_path: pathlib.Path) -> None:
    with pytest.raises(tarflume.Error, match=r"there is no dataset\.json"):
        tarflume.Dataset("s3://data/nothing", storage=s3)
    wrong = {**s3, "secret_access_key": "other-secret"}
    with pytest.raises(tarflume.Error) as refused:
        tarflume.Dataset("s3://data/nothing", storage=wrong)
    assert "other-secret" not in str(refused.value)
    assert "the secret key does not belong to the key id" in str(refused.value), refused.value
    with pytest.raises(tarflume.errors.UsageError, match="'endpiont'; there are endpoint"):
        tarflume.Dataset("s3://data/nothing", storage={"endpiont": "x"})
    with pytest.raises(tarflume.errors.UsageError, match="cannot open ftp://"):
        tarflume.Loader("ftp://data/nothing")
    with pytest.raises(tarflume.errors.UsageError, match="storage= is for"):
        tarflume.pack.build(tmp_path, tmp_path / "out", storage={})


def test_arrays_of_zarr_are_read_from_a_bucket(s3: dict[str, str], tmp_path: pathlib.Path) -> None:
    rows = np.arange(120, dtype="int16").reshape(30, 4)
    array = zarr.create_array(tmp_path / "x.zarr", name="a/x", shape=rows.shape, dtype="int16", chunks=(4, 2), shards=(12, 4), fill_value=7)
    array[:24] = rows[:24]
    client = servers.s3_client(s3)
    for path in (path for path in (tmp_path / "x.zarr").rglob("*") if path.is_file()):
        client.put_object(Bucket="data", Key=f"zarr/{path.relative_to(tmp_path)}", Body=path.read_bytes())
    found = tarflume.ArrayDataset("s3://data/zarr/x.zarr", "a/x", storage=s3)
    assert np.array_equal(np.asarray(found[:]), array[:])


def test_azure(azure: dict[str, str], source: pathlib.Path, local: pathlib.Path) -> None:
    tarflume.pack.build(source, "az://data/set", shards=4, storage=azure)
    assert epoch("az://data/set", storage=azure) == epoch(local)
    assert epoch("az://data/set", storage=azure, shuffle="blocks") == epoch(local, shuffle="blocks")
    assert run("cat", "az://data/set", "0007.json", options=azure) == run("cat", local, "0007.json")


def test_http(local: pathlib.Path) -> None:
    with servers.http_files(local.parent) as url:
        assert epoch(f"{url}/set") == epoch(local)
        assert epoch(f"{url}/set/dataset.json") == epoch(local)
        assert run("cat", f"{url}/set", "0007.json") == run("cat", local, "0007.json")
        with pytest.raises(tarflume.Error, match="there is no dataset"):
            tarflume.Dataset(f"{url}/nothing")


def test_the_hub(
    source: pathlib.Path, local: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HF_TOKEN", "HF_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with servers.hub(local) as endpoint:
        monkeypatch.setenv("HF_ENDPOINT", endpoint)
        assert epoch("hf://datasets/me/set@main") == epoch(local)
        assert run("cat", "hf://datasets/me/set", "0007.json") == run("cat", local, "0007.json")
        assert run("ls", "hf://datasets/me/set").split() == run("ls", local).split()
        assert "whole" in run("verify", "hf://datasets/me/set")
        assert "hf upload" in run("build", source, "-o", "hf://datasets/me/set", code=2)


def test_a_list_of_urls(local: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with servers.http_files(local) as url:
        lines = [f"{url}/{path.name}?secret={n}" for n, path in enumerate(local.iterdir()) if path.is_file()]
        (tmp_path / "set.urls").write_text("\n".join(lines) + "\n")
        assert epoch(str(tmp_path / "set.urls")) == epoch(local)


def build_without_conditions(source: pathlib.Path, options: dict[str, str], lacks: str) -> None:
    """Packs into a store that lacks conditions: refused, then as the only writer."""
    words = ("build", source, "-o", "s3://data/set", "--shards", 4)
    text = run(*words, options=options, code=2)
    assert lacks in text and "--single-writer" in text, text
    run(*words, "--single-writer", options=options)


def test_a_store_that_ignores_conditions_is_refused(
    source: pathlib.Path, local: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    with servers.rclone(tmp_path) as options:
        build_without_conditions(source, options, "condition")
        stored = tmp_path / "data" / "data" / "set"
        assert epoch(stored) == epoch(local)
        with pytest.raises(tarflume.Error, match="range"):
            epoch("s3://data/set", storage=options)


def test_a_gateway_without_conditions_and_tags_is_refused_or_read_right(source: pathlib.Path, local: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with servers.juicefs(tmp_path) as options:
        build_without_conditions(source, options, "If-None-Match")
        assert epoch("s3://data/set", storage=options) == epoch(local)
        assert "whole" in run("verify", "s3://data/set", options=options)


def test_the_environment_says_where_the_store_is(
    s3: dict[str, str], source: pathlib.Path, local: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3["endpoint"])
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("AWS_REGION", s3["region"])
    (tmp_path / "credentials").write_text(
        f"[work]\naws_access_key_id = {servers.KEYS[0]}\naws_secret_access_key = {servers.KEYS[1]}\n"
    )
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_PROFILE", "work")
    run("build", source, "-o", "s3://data/environment", "--shards", 4)
    assert epoch("s3://data/environment") == epoch(local)
