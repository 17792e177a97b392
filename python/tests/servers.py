"""Servers of object stores for the tests: SeaweedFS (S3), azurite (Azure), rclone (an S3 gateway that ignores
conditions), and a plain HTTP server with ranges. Each listens on a free port of this machine."""

from __future__ import annotations

import base64
import contextlib
import email.utils
import errno
import hashlib
import hmac
import http.server
import itertools
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator

from patience import PATIENCE_S

KEYS = ("TESTKEY", "testsecret")
ACCOUNT = "devstoreaccount1"
# The published key of azurite's only account.
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
# Where `make python` installs azurite.
AZURITE = pathlib.Path(__file__).resolve().parents[2] / "target" / "azurite" / "node_modules" / ".bin" / "azurite-blob"


# Two workers of pytest-xdist have 10,000 ports each, below those that the system gives to connections: between the search
# for a port and the start of its server nothing else takes it.
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 2
PORTS = itertools.count(10_000 + 10_000 * WORKER + 64 * os.getpid() % 10_000)


def free_port() -> int:
    for port in PORTS:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
            else:
                return port
    raise AssertionError("there is no end of ports")


def script(name: str) -> str:
    """A program that a package of this interpreter has installed."""
    beside = pathlib.Path(sys.executable).parent / name
    found = shutil.which(name) or (str(beside) if beside.is_file() else None)
    assert found, f"{name} is not installed: see requirements.txt"
    return found


def wait_for(url: str, process: subprocess.Popen[bytes]) -> bool:
    """Waits until a server answers, whatever it says. Returns False if it has ended."""
    end = time.monotonic() + PATIENCE_S
    while process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=10).close()
            return True
        except urllib.error.HTTPError:
            return True
        except OSError:
            time.sleep(0.1)
        if time.monotonic() > end:
            raise AssertionError(f"{url} does not answer")
    return False


@contextlib.contextmanager
def server(
    command: list[str], url: str, folder: pathlib.Path, environment: dict[str, str] | None = None
) -> Iterator[None]:
    log = folder / "log"
    # Another process may hold a port that was free a moment ago, until its connection has ended.
    for attempt in range(100):
        with (
            log.open("wb") as out,
            subprocess.Popen(command, stdout=out, stderr=out, cwd=folder, env=environment) as process,
        ):
            try:
                if wait_for(url, process):
                    yield
                    return
            finally:
                process.kill()
        said = log.read_text(errors="replace")
        if attempt == 99 or "in use" not in said.lower():
            raise AssertionError(said[-2000:])
        time.sleep(1)


def s3_options(port: int) -> dict[str, str]:
    return {
        "endpoint": f"http://127.0.0.1:{port}",
        "allow_http": "true",
        "region": "us-east-1",
        "access_key_id": KEYS[0],
        "secret_access_key": KEYS[1],
    }


def s3_client(options: dict[str, str], **words: object):
    """A client. `words` are those of `botocore.config.Config`."""
    import boto3
    import botocore.config

    return boto3.client(
        "s3",
        config=botocore.config.Config(**words),
        endpoint_url=options["endpoint"],
        region_name=options["region"],
        aws_access_key_id=options["access_key_id"],
        aws_secret_access_key=options["secret_access_key"],
    )


def make_bucket(options: dict[str, str], name: str, patience_s: float) -> None:
    """A server may listen before it can make a bucket."""
    # A request that a starting server never answers, and pauses between attempts, would take a minute.
    client = s3_client(options, read_timeout=10, retries={"max_attempts": 0})
    end = time.monotonic() + patience_s
    while True:
        try:
            client.create_bucket(Bucket=name)
            client.put_object(Bucket=name, Key="first", Body=b"x")
            return
        except Exception:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


@contextlib.contextmanager
def with_bucket(
    start: Callable[[pathlib.Path], contextlib.AbstractContextManager[dict[str, str]]], folder: pathlib.Path
) -> Iterator[dict[str, str]]:
    """A server of S3 with the bucket "data". One that listens and never serves is started again, on other ports. Each start
    has twice the time of the one before, so that a slow machine only needs more of them."""
    for attempt in range(6):
        patience_s = 60.0 * 2**attempt
        at = folder / str(attempt)
        at.mkdir()
        with start(at) as options:
            try:
                make_bucket(options, "data", patience_s)
            except Exception as error:
                said = (at / "log").read_text(errors="replace")[-4000:]
                print(f"a server without a bucket after {patience_s} s: {error}\n{said}", file=sys.stderr)
                if patience_s > PATIENCE_S:
                    raise
            else:
                yield options
                return


def seaweedfs(folder: pathlib.Path) -> contextlib.AbstractContextManager[dict[str, str]]:
    """SeaweedFS with the bucket "data"."""
    return with_bucket(start_seaweedfs, folder)


@contextlib.contextmanager
def start_seaweedfs(folder: pathlib.Path) -> Iterator[dict[str, str]]:
    ports = {name: free_port() for name in ("s3", "master", "volume", "filer")}
    grpc = {name: free_port() for name in ("s3", "master", "volume", "filer")}
    credentials = [{"accessKey": KEYS[0], "secretKey": KEYS[1]}]
    actions = ["Admin", "Read", "Write", "List", "Tagging"]
    identities = {"identities": [{"name": "tests", "credentials": credentials, "actions": actions}]}
    (folder / "s3.json").write_text(json.dumps(identities))
    (folder / "data").mkdir()
    command = [script("weed"), "server", f"-dir={folder / 'data'}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3"]
    command += [f"-s3.config={folder / 's3.json'}", "-master.volumeSizeLimitMB=64", "-volume.max=100"]
    command += ["-master.peers=none"]  # an election of the only server takes up to two minutes
    command += [f"-{name}.port={port}" for name, port in ports.items()]
    command += [f"-{name}.port.grpc={port}" for name, port in grpc.items()]
    options = s3_options(ports["s3"])
    with server(command, options["endpoint"], folder):
        yield options


@contextlib.contextmanager
def rclone(folder: pathlib.Path) -> Iterator[dict[str, str]]:
    """An S3 gateway before a folder. It ignores conditions."""
    (folder / "data" / "data").mkdir(parents=True)
    port = free_port()
    command = [script("rclone"), "serve", "s3", str(folder / "data"), "--addr", f"127.0.0.1:{port}"]
    command += ["--auth-key", ",".join(KEYS), "--config", str(folder / "none")]
    options = s3_options(port)
    with server(command, options["endpoint"], folder):
        yield options


def juicefs(folder: pathlib.Path) -> contextlib.AbstractContextManager[dict[str, str]]:
    """An S3 gateway before JuiceFS, with the bucket "data". It ignores If-None-Match, and If-Match never fits."""
    return with_bucket(start_juicefs, folder)


@contextlib.contextmanager
def start_juicefs(folder: pathlib.Path) -> Iterator[dict[str, str]]:
    meta, port = f"sqlite3://{folder / 'meta.db'}", free_port()
    make = [script("juicefs"), "format", meta, "data", "--storage", "file", "--bucket", f"{folder / 'blocks'}/"]
    subprocess.run(make, check=True, capture_output=True, cwd=folder)
    environment = {**os.environ, "MINIO_ROOT_USER": "testuser", "MINIO_ROOT_PASSWORD": "testsecret"}
    command = [script("juicefs"), "gateway", meta, f"127.0.0.1:{port}", "--cache-dir", str(folder / "cache")]
    options = {**s3_options(port), "access_key_id": "testuser", "secret_access_key": "testsecret"}
    with server(command, options["endpoint"], folder, environment):
        yield options


def azure_options(port: int) -> dict[str, str]:
    return {
        "endpoint": f"http://127.0.0.1:{port}/{ACCOUNT}",
        "allow_http": "true",
        "account": ACCOUNT,
        "account_key": ACCOUNT_KEY,
    }


def make_container(endpoint: str, name: str) -> None:
    """Creates a container, by the rules for shared keys of the Blob service."""
    date, version = email.utils.formatdate(usegmt=True), "2021-12-02"
    headers = f"x-ms-date:{date}\nx-ms-version:{version}\n"
    text = "PUT" + "\n" * 12 + headers + f"/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
    digest = hmac.new(base64.b64decode(ACCOUNT_KEY), text.encode(), hashlib.sha256).digest()
    signature = base64.b64encode(digest).decode()
    request = urllib.request.Request(f"{endpoint}/{name}?restype=container", method="PUT", data=b"")
    request.remove_header("Content-type")
    request.add_unredirected_header("Content-Type", "")
    request.add_header("x-ms-date", date)
    request.add_header("x-ms-version", version)
    request.add_header("Authorization", f"SharedKey {ACCOUNT}:{signature}")
    urllib.request.urlopen(request, timeout=PATIENCE_S).close()


@contextlib.contextmanager
def azurite(folder: pathlib.Path) -> Iterator[dict[str, str]]:
    """A server of Azure's Blob service with the container "data"."""
    port = free_port()
    command = [str(AZURITE), "--silent", "--location", str(folder), "--blobHost", "127.0.0.1"]
    command += ["--blobPort", str(port), "--skipApiVersionCheck", "--loose", "--disableTelemetry"]
    options = azure_options(port)
    with server(command, f"http://127.0.0.1:{port}", folder):
        make_container(options["endpoint"], "data")
        yield options


class RangeHandler(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, with ETag and ranges, as servers of downloads have them."""

    protocol_version = "HTTP/1.1"

    def send_head(self):
        path = pathlib.Path(self.translate_path(self.path))
        try:
            data = path.read_bytes()
        except OSError:
            self.send_error(404)
            return None
        tag = f'"{hashlib.md5(data).hexdigest()}"'
        start, end, status = 0, len(data), 200
        if wanted := self.headers.get("Range"):
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            start, end, status = int(first), min(int(last) + 1 if last else len(data), len(data)), 206
        if self.headers.get("If-Match", tag) != tag:
            self.send_error(412)
            return None
        self.send_response(status)
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(data)}")
        self.send_header("Content-Length", str(end - start))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", tag)
        self.send_header("Last-Modified", self.date_time_string(int(os.stat(path).st_mtime)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data[start:end])
        return None

    def log_message(self, *_: object) -> None:
        pass


class HubHandler(RangeHandler):
    """A repository of the Hugging Face Hub, me/set, whose only commit has the files of a folder."""

    commit = "0123456789abcdef0123456789abcdef01234567"

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path.startswith("/api/datasets/me/set/revision/"):
            self.answer({"sha": self.commit})
        elif path.startswith(f"/api/datasets/me/set/tree/{self.commit}"):
            files = [path for path in sorted(pathlib.Path(self.directory).iterdir()) if path.is_file()]
            self.answer([{"type": "file", "path": path.name, "size": path.stat().st_size} for path in files])
        elif path.startswith(f"/datasets/me/set/resolve/{self.commit}/"):
            self.path = "/" + path.rsplit("/", 1)[1]
            super().do_GET()
        else:
            self.send_error(404)

    def answer(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextlib.contextmanager
def hub(folder: pathlib.Path) -> Iterator[str]:
    """The endpoint of a Hub."""
    with http_files(folder, HubHandler) as url:
        yield url


@contextlib.contextmanager
def http_files(folder: pathlib.Path, kind: type[RangeHandler] = RangeHandler) -> Iterator[str]:
    """The URL of a folder."""

    def handler(*args: object) -> RangeHandler:
        return kind(*args, directory=str(folder))  # type: ignore[arg-type]

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as served:
        thread = threading.Thread(target=served.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{served.server_address[1]}"
        served.shutdown()
