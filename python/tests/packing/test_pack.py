"""Packing, verifying and indexing from Python: the same as the command, with Python's errors and Ctrl-C."""

from __future__ import annotations

import io
import pathlib
import pickle
import signal
import subprocess
import sys
import textwrap
import time
import types

import pytest

import servers
import tarflume
from conftest import pack, pairs
from patience import PATIENCE_S
from tarflume import errors, progress


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return pairs(tmp_path_factory.mktemp("photos") / "pairs", 40)


def contents(folder: pathlib.Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file()}


def test_a_build_is_byte_for_byte_that_of_the_command(photos, tmp_path):
    ours = tarflume.pack.build(photos, tmp_path / "ours", shards=3, shuffle=7, progress=False)
    pack("build", photos, "-o", tmp_path / "theirs", "--shards", 3, "--shuffle", 7)
    assert contents(tmp_path / "ours") == contents(tmp_path / "theirs")
    assert (ours["samples"], len(ours["shards"]), ours["packed"], ours["skipped"]) == (40, 3, 3, 0)
    assert ours["bytes"] == sum(shard["bytes"] for shard in ours["shards"])
    again = tarflume.pack.build([photos], tmp_path / "ours", shards=3, shuffle=7)
    assert again["packed"] == 0 and again["samples"] == 40
    assert len(tarflume.Dataset(tmp_path / "ours")) == 40


def test_a_dry_run_writes_nothing(photos, tmp_path):
    plan = tarflume.pack.build(photos, tmp_path / "out", shard_samples=15, dry_run=True)
    assert [shard["samples"] for shard in plan["shards"]] == [15, 15, 10]
    assert plan["warnings"] == []
    small = tarflume.pack.build(photos, tmp_path / "out", shard_size=256, dry_run=True)
    assert small["warnings"][0].startswith("40 samples are larger than shard_size="), small["warnings"]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"shard_size": "many"}, 'shard_size="many"'),
        ({"shards": 2, "shard_size": 5000}, "not both"),
        ({"shards": 1000}, "shards=1000, but there are only 40 samples"),
        ({"shards": 0}, "at least 1"),
        ({"names": {"dots": "replace"}}, "unknown rule 'dots'"),
        ({"check": "all"}, '"structure"'),
        ({"on_problem": "ignore"}, '"quarantine"'),
        ({"exclude": "@nowhere.txt"}, "nowhere.txt"),
        ({"prefix": "a/b"}, "letters, digits"),
        ({"jobs": 0}, "1 to 1024"),
        ({"progress": "yes"}, "progress="),
    ],
)
def test_wrong_words_are_usage_errors(photos, tmp_path, words, text):
    with pytest.raises(errors.UsageError) as caught:
        tarflume.pack.build(photos, tmp_path / "out", **words)
    assert text in str(caught.value) and "--" not in str(caught.value)


def test_bad_data_is_refused_with_its_problems_or_left_out(photos, tmp_path):
    source = tmp_path / "source"
    pairs(source, 6)
    cut = source / "0003.jpg"
    cut.write_bytes(cut.read_bytes()[:-40])
    (source / "0009.jpg").write_bytes(cut.read_bytes())
    with pytest.raises(errors.PackError) as caught:
        tarflume.pack.build(source, tmp_path / "out", shards=2)
    told = [(p["kind"], p["key"]) for p in caught.value.problems]
    assert told == [("missing-part", "0009"), ("bad-jpeg", "0003")], "names and contents, at once"
    assert 'on_problem="skip"' in str(caught.value)
    assert tarflume.pack.build(source, tmp_path / "out", dry_run=True)["problems"] == caught.value.problems[:1]
    dry = tarflume.pack.build(source, tmp_path / "out", dry_run=True, check="structure")
    assert dry["problems"] == caught.value.problems
    (source / "0009.jpg").unlink()
    with pytest.raises(errors.PackError) as caught:
        tarflume.pack.build(source, tmp_path / "out", shards=2)
    problem = caught.value.problems[0]
    assert (problem["kind"], problem["key"], problem["path"]) == ("bad-jpeg", "0003", str(cut))
    assert pickle.loads(pickle.dumps(caught.value)).problems == caught.value.problems
    assert not (tmp_path / "out" / "dataset.json").exists()
    done = tarflume.pack.build(source, tmp_path / "out", shards=2, on_problem="skip")
    assert done["samples"] == 5 and [p["key"] for p in done["problems"]] == ["0003"]


def test_images_may_be_named_by_their_content(tmp_path):
    source = tmp_path / "source"
    pairs(source, 2)
    (source / "0001.jpg").write_bytes(b"GIF89a\x01\x00\x01\x00\x00\x00\x00;")
    with pytest.raises(errors.PackError) as caught:
        tarflume.pack.build(source, tmp_path / "out")
    assert "it is not a JPEG but a GIF" in caught.value.problems[0]["reason"]
    plan = tarflume.pack.build(source, tmp_path / "named", ext_by_content=True, dry_run=True)
    assert plan["samples"] == 2 and plan["problems"] == []


def test_another_program_at_work_is_no_reason_to_give_up(photos, tmp_path):
    import fcntl

    (tmp_path / "out" / ".pack").mkdir(parents=True)
    with open(tmp_path / "out" / ".pack" / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(errors.TryAgainError, match="another pack is running"):
            tarflume.pack.build(photos, tmp_path / "out")


def test_a_report_is_a_dict_that_prints_as_text(photos, tmp_path):
    out = tmp_path / "out"
    tarflume.pack.build(photos, out, shards=2)
    report = tarflume.pack.verify(out, level="decode", require=["jpg", "json"])
    assert report.whole and report.problems == [] and report["samples"] == 40
    assert str(report).splitlines()[0].endswith(": whole")
    assert report["checked"]["jpg"] == {"checksums": 40, "decoded": 40}
    tar = out / "shard-000001.tar"
    damaged = bytearray(tar.read_bytes())
    damaged[1000] ^= 1
    tar.write_bytes(damaged)
    report = tarflume.pack.verify([out])
    assert not report.whole and {p["kind"] for p in report.problems} >= {"checksum", "digest"}
    assert report.problems[0]["path"] == str(tar) and "checksum" in str(report)
    assert str(pickle.loads(pickle.dumps(report))) == str(report)
    for wrong in ({"level": "all"}, {"jobs": 5000}):
        with pytest.raises(errors.UsageError):
            tarflume.pack.verify(out, **wrong)
    with pytest.raises(errors.UsageError, match="nowhere"):
        tarflume.pack.verify(tmp_path / "nowhere")


def test_tars_of_others_get_sidecars_and_a_manifest(photos, tmp_path):
    import tarfile

    for number in range(2):
        with tarfile.open(tmp_path / f"{number}.tar", "w") as tar:
            for n in range(number * 5, number * 5 + 5):
                for ext in ("jpg", "json"):
                    tar.add(photos / f"{n:04}.{ext}", f"{n:04}.{ext}")
    done = tarflume.pack.index(tmp_path, entry_points=True)
    assert [tar["samples"] for tar in done["tars"]] == [5, 5] and done["tars"][0]["entry_points"] == 5
    assert done["manifests"][0]["samples"] == 10 and len(tarflume.Dataset(tmp_path)) == 10
    assert tarflume.pack.index(tmp_path)["tars"][0]["kept"]
    (tmp_path / "2.tar").write_bytes(b"no tar at all" * 100)
    with pytest.raises(errors.PackError) as caught:
        tarflume.pack.index(tmp_path)
    assert [pathlib.Path(p["path"]).name for p in caught.value.problems] == ["2.tar", tmp_path.name]
    with pytest.raises(errors.UsageError, match="every byte"):
        tarflume.pack.index(tmp_path, headers=True, entry_points=True)
    with pytest.raises(errors.UsageError, match="no path"):
        tarflume.pack.index([])


def test_a_callable_gets_events_and_its_exception_ends_the_work(photos, tmp_path):
    events = []
    tarflume.pack.build(photos, tmp_path / "out", shards=4, progress=events.append)
    assert {event["phase"] for event in events} <= {"scan", "pack"}
    assert (events[-1]["phase"], events[-1]["shards"], events[-1]["samples"]) == ("pack", 4, 40)
    assert all(event["event"] == "progress" and "line" not in event for event in events)

    def stop(event):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        tarflume.pack.build(photos, tmp_path / "stopped", progress=stop)
    assert tarflume.pack.build(photos, tmp_path / "stopped")["samples"] == 40


def test_a_line_is_shown_on_terminals_and_on_request_alone(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for stream, wanted, right in [
        (Terminal(), None, "\r\x1b[Kthe line\r\x1b[Kthe end\r\x1b[K"),
        (Terminal(), False, ""),
        (io.StringIO(), None, ""),
        (io.StringIO(), True, "the line\nthe end\n"),
    ]:
        monkeypatch.setattr(sys, "stderr", stream)
        with progress.shown(wanted) as show:
            show(lambda: {"line": "the line"})
            show(lambda: pytest.fail("read too soon"))
            show(lambda: {"line": "the end"}, last=True)
        assert stream.getvalue() == right


def test_a_notebook_gets_one_line_that_replaces_itself(monkeypatch):
    """An IPython that plays a notebook."""
    shown = []

    class Handle:
        def update(self, bundle, raw):
            shown.append((bundle["text/plain"], raw))

    def display(bundle, raw, display_id):
        assert (bundle, raw, display_id) == ({"text/plain": ""}, True, True)
        return Handle()

    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    with progress.shown(None) as show:
        show(lambda: {"line": "half"})
    assert shown == [("half", True)]
    with progress.shown(False) as show:
        show(lambda: {"line": "more"})
    assert len(shown) == 1


def test_ctrl_c_ends_a_build_that_then_goes_on(tmp_path):
    """The signal comes when the first shard is finished; there are hundreds. A build may end before it is seen: again."""
    source = pairs(tmp_path / "source", 400)
    code = """
        import os, pathlib, signal, sys, tarflume
        def interrupt(event):
            if event.get("shards", 0) >= 1:
                os.kill(os.getpid(), signal.SIGINT)
        try:
            tarflume.pack.build(sys.argv[1], sys.argv[2], shards=400, jobs=1, progress=interrupt)
            print("over")
        except KeyboardInterrupt:
            print("interrupted")
        """
    for attempt in range(TRIES):
        out = tmp_path / f"out{attempt}"
        command = [sys.executable, "-c", textwrap.dedent(code), str(source), str(out)]
        done = subprocess.run(command, text=True, capture_output=True, timeout=PATIENCE_S, check=False)
        if not (out / "dataset.json").exists():
            break
    assert done.stdout == "interrupted\n", done.stderr
    assert not [file for file in (out / ".pack" / "shards").iterdir() if file.name.endswith(".tmp")]
    assert not list(out.glob("*.tar")) and not (out / "dataset.json").exists()
    manifest = tarflume.pack.build(source, out, shards=400)
    assert manifest["samples"] == 400 and 1 <= manifest["skipped"] < 400


def test_other_threads_run_while_it_works(photos, tmp_path):
    """The data set is on a server in a thread of this interpreter: with the lock held it never answers."""
    tarflume.pack.build(photos, tmp_path / "set", shards=4)
    with servers.http_files(tmp_path / "set") as url:
        assert tarflume.pack.export(url, tmp_path / "out", to="folder")["samples"] == 40


#: A build that ends before it is disturbed is built again, so often at most.
TRIES = 50
COMMAND = pathlib.Path(sys.executable).with_name("pack")


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *map(str, words)], text=True, capture_output=True, check=False)


def test_the_package_brings_the_command(photos, tmp_path):
    done = run("build", photos, "-o", tmp_path / "out", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    pack("verify", tmp_path / "out")
    assert run("--version").stdout == f"pack {tarflume.__version__}\n"
    assert "Exit codes" in run("--help").stdout
    assert run("build").returncode == 2
    missing = run("verify", tmp_path / "nowhere")
    assert missing.returncode == 2 and "nowhere" in missing.stderr
    (tmp_path / "out" / "shard-000000.tar").write_bytes(b"")
    assert run("verify", tmp_path / "out").returncode == 1


def test_the_command_has_a_second_name():
    other = subprocess.run([COMMAND.with_name("tarflume"), "build", "--help"], text=True, capture_output=True, check=False)
    assert other.returncode == 0 and "Usage: tarflume build" in other.stdout
    assert other.stdout.replace("Usage: tarflume ", "Usage: pack ") == run("build", "--help").stdout


def test_the_command_ends_by_signals_as_a_program_does(tmp_path):
    source = pairs(tmp_path / "source", 300)
    for number, code in [(signal.SIGINT, 130), (signal.SIGTERM, 143)]:
        for attempt in range(TRIES):
            out = tmp_path / f"{number.name}{attempt}"
            words = ["build", source, "-o", out, "--shards", 300, "--jobs", 1]
            child = subprocess.Popen([COMMAND, *map(str, words)], stderr=subprocess.PIPE, text=True)
            while child.poll() is None and not list((out / ".pack" / "shards").glob("*.record")):
                time.sleep(0.001)
            child.send_signal(number)
            _, told = child.communicate(timeout=PATIENCE_S)
            if child.returncode != 0:  # it may end before it is seen to run
                break
        assert child.returncode == code, told
        assert run("build", source, "-o", out, "--shards", 300).returncode == 0
