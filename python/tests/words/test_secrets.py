"""User and password of a URL, and signatures in its query, are in no text that leaves: output, reports, files, exceptions."""

from __future__ import annotations

import pathlib
import subprocess

import pytest

import servers
import tarflume
from conftest import PACK, pairs

WORD = "pa55w0rd"


class Echo(servers.RangeHandler):
    """Refuses with a page that repeats the request, as proxies do."""

    def do_GET(self) -> None:
        text = f"<html>\n<pre>{self.requestline}\n{self.headers}\nAuthorization: {WORD}</pre>" + "x" * 5000
        self.send_response(401)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    do_HEAD = do_GET


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    root = tmp_path_factory.mktemp("shards")
    pairs(root / "photos", 6)
    tarflume.pack.build(root / "photos", out=root / "set", shards=2)
    return root


def with_password(url: str) -> str:
    return url.replace("http://", f"http://me:{WORD}@")


COMMANDS = [
    "info {url}", "info --format json {url}", "ls {url}", "ls --format json {url}", "cat {url} nothing.jpg",
    "stats {url}", "stats --format json {url}", "stats {url}/shard-000000.tar",
    "verify {url} --report junit=a.xml --report sarif=a.sarif --report json=a.json --report markdown=a.md "
    "--report github=a.github --report text=a.txt --write-expect expect.json",
    "verify --require txt {url} --report junit=b.xml --report sarif=b.sarif --report json=b.json",
    "diff {url} {url}", "dedupe {url} {url} --exclude-list list.jsonl", "dedupe --format json {url}",
    "view {url} -o page.html", "unpack {url} -o files", "export {url} --to csv -o table.csv",
    "export {url} --to parquet -o parquet", "reshard {url} -o other --shards 1", "sync {url} copy",
    "plan-epoch {url}", "plan-epoch --format json {url}", "bench {url} --seconds 0.1", "bench {url} --recommend --seconds 0.1", "bench {url}/shard-000000.tar",
    "build tar:{url}/shard-000000.tar -o new --dry-run", "build {url} -o new", "plan {url} -o planned",
    "slurm {url} -o queued --nodes 2", "cache warm {url} --size 32MiB --folder cache", "index {url}",
    "tokens {url} --tokenizer {url}/t.json -o blocks --length 8", "build photos -o new --coco {url}/a.json",
]


@pytest.mark.parametrize("kind", [servers.RangeHandler, Echo])
def test_no_command_shows_or_writes_the_password_of_a_url(shards, tmp_path, kind):
    pairs(tmp_path / "photos", 2)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TARFLUME_SIDECARS": str(tmp_path / "sidecars"),
           "TMPDIR": str(tmp_path)}
    with servers.http_files(shards / "set", kind) as url:
        for words in COMMANDS:
            words = words.format(url=with_password(url)).split()
            done = subprocess.run([PACK, *words], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
            for text in (done.stdout, done.stderr):
                assert WORD not in text, (words, text)
                assert all(len(line) < 2000 for line in done.stderr.splitlines()), (words, text)
    for file in tmp_path.rglob("*"):
        assert file.is_dir() or WORD.encode() not in file.read_bytes(), file


def test_no_exception_and_no_text_of_an_object_shows_it(shards, tmp_path):
    storage = {"sidecars": str(tmp_path / "sidecars")}
    with servers.http_files(shards / "set") as url:
        data = tarflume.Dataset(with_password(url), storage=storage)
        with tarflume.Loader(with_password(url), label="/class", storage=storage, batch_size=2) as loader:
            shown = [repr(data), str(data.shards), repr(loader), str(loader.stats()), repr(loader.state_dict()), str(data[0])]
        assert not [text for text in shown if WORD in text]
    with servers.http_files(shards / "set", Echo) as url:
        url = with_password(url)
        tries = [
            lambda: tarflume.Dataset(url, storage=storage),
            lambda: tarflume.Dataset(f"{url}/a.tar", storage=storage),
            lambda: tarflume.Loader(url, storage=storage, label="/class", batch_size=2),
            lambda: list(tarflume._core.TarStream(f"{url}/a.tar")),
            lambda: tarflume.pack.verify(url),
            lambda: tarflume.pack.reshard(url, out=tmp_path / "out"),
            lambda: tarflume.pack.build(f"tar:{url}/a.tar", out=tmp_path / "new"),
        ]
        for attempt in tries:
            with pytest.raises(tarflume.errors.Error) as caught:
                attempt()
            error = caught.value
            assert WORD not in f"{error} {error!r} {error.args} {getattr(error, 'path', '')}", error
