"""`tarflume.webdataset` beside the real webdataset: the same pipelines, the same samples in the same order."""

from __future__ import annotations

import io
import os
import pathlib
import pickle
import random
import signal
import threading
import time

import numpy as np
import pytest
from alone import alone
from patience import until
import tarflume
import tarflume.webdataset as ours
import webdataset as theirs
from tarflume.webdataset.braces import braces
from tarflume.webdataset.loader import SerialLoader
from wds_data import EACH, SHARDS, Data, plain
from wds_pipelines import PIPELINES, dataset

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return Data(tmp_path_factory.mktemp("wds"))


@pytest.mark.parametrize("name", PIPELINES)
def test_samples_and_their_order_are_webdatasets(data: Data, name: str) -> None:
    expected = [plain(sample) for sample in PIPELINES[name](theirs, data)]
    assert expected
    assert [plain(sample) for sample in PIPELINES[name](ours, data)] == expected


def test_a_pipeline_gives_the_same_again(data: Data) -> None:
    for wds in (theirs, ours):
        made = dataset(wds, data.braces).shuffle(5, seed=1).to_tuple("__key__").with_epoch(9)
        assert list(made) == list(made)


@pytest.mark.parametrize("world", [1, 2, 3])
@pytest.mark.parametrize("workers", [1, 2])
def test_shards_are_split_as_webdataset_splits_them(
    data: Data, monkeypatch: pytest.MonkeyPatch, world: int, workers: int
) -> None:
    seen: list[str] = []
    monkeypatch.setenv("WORLD_SIZE", str(world))
    monkeypatch.setenv("NUM_WORKERS", str(workers))
    for rank in range(world):
        for worker in range(workers):
            monkeypatch.setenv("RANK", str(rank))
            monkeypatch.setenv("WORKER", str(worker))

            def keys(wds, nodesplitter):
                made = dataset(wds, data.braces, nodesplitter=nodesplitter, empty_check=False)
                return [key for (key,) in made.to_tuple("__key__")]

            mine = keys(ours, ours.split_by_node)
            assert mine == keys(theirs, theirs.split_by_node)
            assert keys(ours, None) == keys(theirs, None)
            seen += mine
    assert sorted(seen) == [f"{n:04}" for n in range(SHARDS * EACH)]


def test_several_ranks_need_a_splitter(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    for wds in (theirs, ours):
        with pytest.raises(ValueError, match="nodesplitter"):
            list(dataset(wds, data.braces))


def test_a_rank_without_shards_is_told(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKER", "7")
    monkeypatch.setenv("NUM_WORKERS", "8")
    for wds in (theirs, ours):
        with pytest.raises(ValueError, match="fewer shards than"):
            list(dataset(wds, data.braces))
        assert list(dataset(wds, data.braces, empty_check=False)) == []


def test_errors_are_raised_where_nothing_else_is_said(data: Data) -> None:
    with pytest.raises(tarflume.errors.ReadError) as missing:
        list(dataset(ours, [data.plain(0), data.missing]))
    assert missing.value.path == data.missing
    with pytest.raises(ours.DecodingError, match=r"1\.json") as bad:
        list(dataset(ours, data.bad_json).decode())
    assert (bad.value.path, bad.value.key, bad.value.k) == (data.bad_json, "1", "json")
    assert isinstance(bad.value, tarflume.errors.DecodeError)
    with pytest.raises(tarflume.errors.MissingPartError, match="jpg"):
        list(dataset(ours, data.braces).to_tuple("jpg"))


@pytest.mark.parametrize("name", ["warn_and_continue", "warn_and_stop"])
def test_handlers_warn(data: Data, name: str) -> None:
    with pytest.warns(UserWarning, match="missing"):
        ours_keys = [s["__key__"] for s in dataset(ours, [data.missing, data.plain(0)], handler=getattr(ours, name),
                                                   empty_check=False)]  # fmt: skip
    assert len(ours_keys) == (EACH if name == "warn_and_continue" else 0)


def test_a_cut_tar_gives_whole_samples_only(data: Data) -> None:
    found = []
    errors: list[Exception] = []

    def noted(exn: Exception) -> bool:
        errors.append(exn)
        return True

    for sample in dataset(ours, [data.cut, data.plain(2)], handler=noted):
        found.append(plain(sample))
    (error,) = errors
    assert isinstance(error, tarflume.errors.TruncatedError)
    assert error.path == data.cut
    whole = [plain(s | {"__url__": data.cut, "__local_path__": data.cut}) for s in dataset(ours, data.plain(1))]
    after = [plain(s) for s in dataset(theirs, data.plain(2))]
    cut = found[: -len(after)]
    assert found[-len(after) :] == after
    assert 0 < len(cut) < len(whole)
    assert cut == whole[: len(cut)]


def test_a_part_that_stands_twice_is_an_error_and_not_a_choice(data: Data) -> None:
    with pytest.raises(tarflume.errors.DamagedError, match="twice") as twice:
        list(dataset(ours, data.doubled))
    assert twice.value.key == "b"
    kept = dataset(ours, data.doubled, handler=ours.ignore_and_continue)
    assert [sample["__key__"] for sample in kept] == ["a", "c"]


@pytest.mark.parametrize("handler", ["reraise_exception", "ignore_and_continue", "ignore_and_stop"])
def test_pickles_are_refused_whatever_the_handler(data: Data, handler: str) -> None:
    with pytest.raises(ours.RefusedError, match=r'0\.pyd.*allow=\("pickle",\)'):
        list(dataset(ours, data.pickled).decode(handler=getattr(ours, handler)))


@pytest.mark.parametrize("handler", ["reraise_exception", "ignore_and_continue", "ignore_and_stop"])
def test_commands_are_refused_whatever_the_handler(tmp_path: pathlib.Path, handler: str) -> None:
    made = dataset(ours, f"pipe:touch {tmp_path}/ran", handler=getattr(ours, handler))
    with pytest.raises(ours.RefusedError, match=r'allow=\("pipe",\)'):
        list(made)
    assert not (tmp_path / "ran").exists()


def test_a_command_that_fails_is_told(data: Data) -> None:
    made = dataset(ours, f"pipe:cat {data.plain(0)}; exit 3", allow=("pipe",))
    with pytest.raises(tarflume.errors.ReadError, match="exit code 3"):
        list(made)
    assert len(list(made.slice(2))) == 2  # who stops early does not ask


def test_what_cannot_be_asked_for_is_said_at_once() -> None:
    with pytest.raises(tarflume.errors.UsageError, match="allow"):
        ours.WebDataset("a.tar", shardshuffle=False, allow=("everything",))
    with pytest.raises(ours.RefusedError, match="pipe:aws s3 cp"):
        list(dataset(ours, "ais://bucket/a.tar", handler=ours.ignore_and_continue))
    with pytest.raises(tarflume.errors.UsageError, match="rgb8"):
        dataset(ours, "a.tar").decode("rgb9")
    with pytest.raises(tarflume.errors.UsageError, match="balanced"):
        dataset(ours, "{a.tar")
    with pytest.warns(UserWarning, match="shardshuffle"):
        ours.WebDataset("a.tar")


@pytest.mark.parametrize(
    "pattern",
    ["a", "{a,b}", "x{1..3}y", "{08..11}", "{3..1}", "{a..e..2}", "{a,{b,c}}d", "{x}", "a,b", "{,a}", "{1..5..2}{a,b}"]
    + ["\\{a,b\\}", "{-2..2}", "{a,b}{c,d}", "{001..10}", "{{a,b},c}", "{c..a}", "x{a,b{1..2}}y"],
)
def test_braces_stand_for_the_same_names(pattern: str) -> None:
    from braceexpand import braceexpand

    assert braces(pattern) == list(braceexpand(pattern))


def test_a_folder_stands_for_its_tars(data: Data, tmp_path: pathlib.Path) -> None:
    for n in (2, 0):
        os.link(data.plain(n), tmp_path / f"{n}.tar")
    keys = [sample["__key__"] for sample in dataset(ours, f"{tmp_path}/")]
    assert keys == [f"{n:04}" for shard in (0, 2) for n in range(shard * EACH, (shard + 1) * EACH)]


def test_resampled_shards_have_no_end(data: Data) -> None:
    shards = {s["__url__"] for s in dataset(ours, data.braces, shardshuffle=False, resampled=True).slice(EACH * 60)}
    assert shards == {data.plain(n) for n in range(SHARDS)}
    drawn = [list(zip(range(9), ours.ResampledShards(data.braces, seed=seed, deterministic=True), strict=False))
             for seed in (1, 1, 2)]  # fmt: skip
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_sample_larger_than_the_memory_says_what_to_do(data: Data) -> None:
    with pytest.raises(tarflume.errors.LimitError, match="raise its memory"):
        big = data.root / "big.tar"
        with ours.TarWriter(str(big)) as out:
            out.write({"__key__": "big", "bin": bytes(20 << 20)})
        list(dataset(ours, str(big), memory_limit=64 << 20))
    (sample,) = dataset(ours, str(big))
    assert len(sample["bin"]) == 20 << 20


def kept(batch: object) -> object:
    return batch  # torch's DataLoader would make tensors of arrays


def test_loaders_give_the_samples(data: Data) -> None:
    made = dataset(ours, data.braces).decode().to_tuple("cls", "vec.npy").batched(4)
    expected = [plain(batch) for batch in made]
    assert [plain(batch) for batch in ours.WebLoader(made, batch_size=None, collate_fn=kept)] == expected
    rows = [
        plain(row) for row in ours.WebLoader(made, batch_size=None, collate_fn=kept, num_workers=0).unbatched().slice(6)
    ]
    assert rows == [plain(row) for row in made.unbatched().slice(6)]
    singles = dataset(ours, data.braces).decode().to_tuple("cls", "vec.npy")
    assert [plain(batch) for batch in SerialLoader(singles, batch_size=4)] == expected
    assert len(list(SerialLoader(singles, batch_size=5, drop_last=True))) == SHARDS * EACH // 5
    with pytest.raises(tarflume.errors.UsageError, match="torch"):
        SerialLoader(singles, num_workers=2)


def test_a_pipeline_reaches_another_process(data: Data) -> None:
    made = dataset(ours, data.braces).shuffle(5, seed=1).decode("rgb8").to_tuple("png", "cls").batched(3)
    again = pickle.loads(pickle.dumps(made.with_length(10, silent=True)))
    assert len(again) == 10
    assert [plain(batch) for batch in again] == [plain(batch) for batch in made]
    with pytest.raises(TypeError):
        len(dataset(ours, data.braces))  # type: ignore[arg-type]


@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_workers_of_torch_give_each_sample_once(data: Data, context: str) -> None:
    pytest.importorskip("torch", reason="torch is not installed here")
    made = dataset(ours, data.braces).decode("torchrgb").to_tuple("__key__", "png").with_length(99, silent=True)
    loader = ours.WebLoader(made, batch_size=None, num_workers=2, multiprocessing_context=context)
    found = {key: picture for key, picture in loader}
    alone = list(dataset(ours, data.braces).decode("rgb").to_tuple("__key__", "png"))
    assert len(list(loader)) == len(found) == len(alone) == SHARDS * EACH
    for key, picture in alone:
        assert found[key].permute(1, 2, 0).numpy().tobytes() == picture.tobytes()


def test_a_fork_in_the_middle_reads_anew(data: Data) -> None:
    made = dataset(ours, data.braces).to_tuple("__key__")
    running = iter(made)
    next(running)
    child = os.fork()
    if child == 0:
        whole = len(list(made)) == SHARDS * EACH
        try:
            list(running)
            refused = False
        except tarflume.errors.UsageError:
            refused = True
        del running
        os._exit(0 if whole and refused else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(list(running)) == SHARDS * EACH - 1


def open_things() -> tuple[int, int]:
    """Threads and files of this process."""
    return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))


def leave_loops(shards: str, shard: str) -> None:
    made = [dataset(ours, shards), dataset(ours, [f"pipe:cat {shard}; sleep 100"], allow=("pipe",))]
    before = open_things()
    for _ in range(20):
        for one in made:
            assert next(iter(one))["__key__"] == "0000"
    # A thread that has ended is listed for a moment.
    until("no thread and no file is left", lambda: open_things() == before)


def test_a_loop_that_is_left_leaves_nothing(data: Data) -> None:
    alone(leave_loops, data.braces, data.plain(0))


def test_ctrl_c_ends_a_wait(tmp_path: pathlib.Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    held: list[int] = []

    def interrupt() -> None:
        held.append(os.open(pipe, os.O_WRONLY))  # once the stream has opened it; nothing is ever written
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        next(iter(dataset(ours, str(pipe))))
    thread.join()
    os.close(held[0])


def sample(n: int) -> dict[str, object]:
    return {
        "__key__": f"train/{n:03}",
        "__note__": "not written",
        "png": (np.arange(48, dtype=np.uint8).reshape(4, 4, 3) + n).astype(np.uint8),
        "gray.png": np.linspace(0.0, 1.0, 12).reshape(3, 4),
        "jpg": np.full((8, 8, 3), n, dtype=np.uint8),
        "cls": n,
        "json": {"n": n},
        "txt": f"ä {n}",
        "npy": np.arange(n + 1),
        "raw": bytes([n]),
        "pyd": [n],
    }


@pytest.mark.parametrize(
    "words",
    [{}, {"keep_meta": True}, {"user": "a", "mode": 0o600}, {"format": "PAX_FORMAT"}, {"mtime": 1.5}]
    + [{"compress": kind} for kind in (False, "bz2", "xz")],
)
def test_tars_are_written_as_webdataset_writes_them(words: dict[str, object]) -> None:
    written = []
    for wds in (theirs, ours):
        out = io.BytesIO()
        with wds.TarWriter(out, **{"mtime": 1234567890, **words}) as tar:
            sizes = [tar.write(sample(n)) for n in range(3)]
            for key in ("ä ö/1", "k" * 300):
                sizes.append(tar.write({"__key__": key, "txt": "a name that needs more than one header"}))
        written.append((out.getvalue(), sizes))
    assert written[0] == written[1]


def test_what_is_written_is_read(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.tar"
    # A zip has the time in it, so that no two are the same.
    parts = {"npz": {"a": np.zeros(3), "b": np.ones((2, 2))}, "json": [1, {"a": None}], "cls": 7, "npy": np.eye(2)}
    with ours.TarWriter(path) as out:
        with pytest.raises(tarflume.errors.UsageError, match="objects"):
            out.write({"__key__": "k", "npz": {"a": np.array([None])}})
        out.write({"__key__": "k", "txt": "ä", "txt.gz": "packed", "pyd": {1: 2}, **parts})
    (found,) = dataset(ours, str(path), allow=("pickle",)).decode()
    assert found.pop("txt.gz") == "packed"
    assert (found["txt"], found["pyd"]) == ("ä", {1: 2})
    assert {name: plain(found[name]) for name in parts} == {name: plain(value) for name, value in parts.items()}


def test_half_a_sample_is_never_written(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.tar"
    with ours.TarWriter(path) as tar:
        with pytest.raises(tarflume.errors.UsageError, match=r"obj.*list"):
            tar.write({"__key__": "0", "a": b"1", "obj": [1]})
        tar.encoder = ours.TarWriter(io.BytesIO(), encoder=False).encoder
        with pytest.raises(tarflume.errors.UsageError, match=r"0\.obj.*list"):
            tar.write({"__key__": "0", "a": b"1", "obj": [1]})
        with pytest.raises(tarflume.errors.UsageError, match="__key__"):
            tar.write({"txt": b"no key"})
        tar.write({"__key__": "1", "txt": b"whole"})
    assert [s["__key__"] for s in dataset(ours, str(path))] == ["1"]


def test_shards_are_webdatasets_and_have_sidecars(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, wds in (("theirs", theirs), ("ours", ours)):
        (tmp_path / name).mkdir()
        posted: list[str] = []
        words = {"maxcount": 4, "maxsize": 1e9, "start_shard": 3, "post": posted.append, "mtime": 0, "verbose": 0}
        with wds.ShardWriter(str(tmp_path / name / "%03d.tar"), **words) as out:
            for n in range(10):
                out.write(sample(n))
            assert (out.total, out.count) == (10, 2)
        assert [os.path.basename(path) for path in posted] == ["003.tar", "004.tar", "005.tar"]
    assert capsys.readouterr().out == ""
    for path in sorted((tmp_path / "theirs").iterdir()):
        assert path.read_bytes() == (tmp_path / "ours" / path.name).read_bytes()
    written = tarflume.Dataset([tmp_path / "ours" / f"{n:03}.tar" for n in (3, 4, 5)])
    assert [written.key(n) for n in range(len(written))] == [f"train/{n:03}" for n in range(10)]
    assert written[7]["txt"] == "ä 7".encode()


def test_shards_end_by_size_and_may_go_without_sidecars(tmp_path: pathlib.Path) -> None:
    for name, words in (("a", {"sidecar": False}), ("b", {"compress": True}), ("c", {})):
        (tmp_path / name).mkdir()
        with ours.ShardWriter(str(tmp_path / name / "%d.tar"), maxsize=2500, verbose=0, **words) as out:
            for n in range(6):
                out.write({"__key__": str(n), "bin": random.Random(n).randbytes(1000)})
        names = sorted(path.name for path in (tmp_path / name).iterdir())
        assert [n for n in names if n.endswith(".tar")] == ["0.tar", "1.tar"]
        assert len(names) == (4 if name == "c" else 2)
        assert [s["__key__"] for s in dataset(ours, str(tmp_path / name))] == list("012345")


def test_a_shard_that_readers_would_read_differently_is_refused(tmp_path: pathlib.Path) -> None:
    out = ours.ShardWriter(str(tmp_path / "%d.tar"), verbose=0)
    out.write({"__key__": "a", "TXT": "one", "txt": "two"})
    with pytest.raises(tarflume.errors.DamagedError, match="twice|more than once|same part"):
        out.close()
    assert not list(tmp_path.glob("*.index"))
