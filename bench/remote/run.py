"""Reads a data set from SeaweedFS with tarflume and its rivals, through a proxy with latency and limited connections.

    make python
    cargo build --profile dist -p tarflume-store --example slow_proxy
    pip install --no-deps --target target/rivals webdataset==1.0.2 s3torchconnector s3torchconnectorclient braceexpand
    .venv-python/bin/python bench/remote/run.py [--samples 3000] [--rounds 3] [--latency-ms 30] [--mb-per-s 50]

All clients read the same samples with two workers, in rounds. Each process is fresh, and its time begins behind the
imports of the interpreter alone: opening, listing and imports count. Memory is the peak of the process and of its largest
worker together. Then each client is killed in the middle of an epoch and started again with its state, if it has one; and
each reads an epoch while 1 % of the answers are 503.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python" / "tests"))
sys.path.insert(0, str(ROOT / "bench" / "remote"))

import servers  # noqa: E402
from one import CLIENTS  # noqa: E402

BYTES = 110_000


def prepare(folder: pathlib.Path, samples: int, pack: str) -> None:
    """The same samples in three formats."""
    source = folder / "source"
    source.mkdir()
    noise = random.Random(1)
    for number in range(samples):
        (source / f"{number:06}.bin").write_bytes(noise.randbytes(BYTES))
        (source / f"{number:06}.json").write_text(json.dumps({"class": number % 10}))
    run = [pack, "build", str(source), "-o", str(folder / "wds"), "--require", "bin,json", "--shard-size", "32MB", "-q"]
    subprocess.run(run, check=True)
    for form in ("mds", "litdata"):
        out = folder / form.removesuffix("data")
        subprocess.run([pack, "export", str(folder / "wds"), "--to", form, "-o", str(out), "-q"], check=True)


def upload(folder: pathlib.Path, options: dict[str, str]) -> list[str]:
    """Uploads all formats. Returns the names of the tars."""
    client = servers.s3_client(options)
    for form in ("wds", "mds", "lit"):
        for path in sorted((folder / form).rglob("*")):
            if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts):
                client.upload_file(str(path), "data", f"{form}/{path.relative_to(folder / form)}")
    return sorted(f"wds/{path.name}" for path in (folder / "wds").glob("*.tar"))


class Proxy:
    """The slow proxy: its requests, and the environment of clients that use it."""

    def __init__(self, options: dict[str, str], tars: list[str], folder: pathlib.Path, *words: int) -> None:
        port = options["endpoint"].rsplit(":", 1)[1]
        command = [str(ROOT / "target/dist/examples/slow_proxy"), port, *map(str, words)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        endpoint = f"http://127.0.0.1:{self.process.stdout.readline().strip()}"  # type: ignore[union-attr]
        signed = servers.s3_client({**options, "endpoint": endpoint})
        urls = [signed.generate_presigned_url("get_object", {"Bucket": "data", "Key": tar}) for tar in tars]
        self.environment = {
            **os.environ, "AWS_ENDPOINT_URL": endpoint, "S3_ENDPOINT_URL": endpoint, "SHARD_URLS": json.dumps(urls),
            "AWS_ACCESS_KEY_ID": servers.KEYS[0], "AWS_SECRET_ACCESS_KEY": servers.KEYS[1],
            "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1", "TARFLUME_SIDECARS": str(folder / "sidecars"),
            "PYTHONPATH": str(ROOT / "target/rivals"), "HF_HOME": str(folder / "hf"),
        }  # fmt: skip

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, usual in (("samples", 3000), ("rounds", 3), ("latency-ms", 30), ("mb-per-s", 50)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--clients", help="only clients whose names contain this")
    words = parser.parse_args()
    clients = [name for name in CLIENTS if not words.clients or words.clients in name]
    pack = os.environ.get("TARFLUME_PACK", str(ROOT / "target/dist/pack"))
    with tempfile.TemporaryDirectory() as name, servers.seaweedfs(pathlib.Path(name)) as options:
        folder = pathlib.Path(name)
        prepare(folder, words.samples, pack)
        tars = upload(folder, options)
        slow = (words.latency_ms, words.mb_per_s)
        found: dict[str, list[dict[str, float]]] = {client: [] for client in clients}
        with Proxy(options, tars, folder, *slow) as proxy:
            for _ in range(words.rounds):
                for client in clients:
                    found[client].append(measure(client, proxy))
            print("| client | samples/s | first batch, s | requests | MB | memory, MB | samples |")
            print("|---|---|---|---|---|---|---|")
            for client, runs in found.items():
                print(line(client, runs))
            print("\n| client, killed after 20 batches and started again | lost | repeated |\n|---|---|---|")
            for client in clients:
                print(killed(client, proxy, folder, words.samples), flush=True)
        print("\n| client, 1 % of answers are 503 | samples | seconds | seconds without |\n|---|---|---|---|")
        with Proxy(options, tars, folder, *slow, 10) as proxy:
            for client, runs in found.items():
                good = [run["seconds"] for run in runs if "failed" not in run]
                usual = f"{statistics.median(good):.1f}" if good else ""
                run = measure(client, proxy)
                ended = f"{run['samples']:,} | {run['seconds']:.1f}" if "failed" not in run else "failed | "
                print(f"| {client} | {ended} | {usual} |", flush=True)


def measure(client: str, proxy: Proxy, *more: str) -> dict[str, float]:
    """One epoch in a process of its own; `requests` and `bytes` are those of the proxy."""
    one = [sys.executable, str(ROOT / "bench/remote/one.py"), client, *more]
    counted(proxy.process)
    try:
        done = subprocess.run(one, env=proxy.environment, text=True, capture_output=True, timeout=300, check=False)
        facts = json.loads(done.stdout.splitlines()[-1])
    except (subprocess.TimeoutExpired, IndexError, json.JSONDecodeError) as error:
        text = done.stderr if isinstance(error, IndexError) else ""
        print(f"{client}: {error}\n{text[-1500:]}", file=sys.stderr)
        return {"failed": 1.0}
    requests, size = counted(proxy.process)
    return {**facts, "requests": requests, "bytes": size}


def killed(client: str, proxy: Proxy, folder: pathlib.Path, samples: int) -> str:
    """Kills a client in the middle of an epoch, and starts it again with the state that it had."""
    notes = folder / "killed" / client.replace(" ", "-").replace(":", "-")
    notes.mkdir(parents=True)
    one = [sys.executable, str(ROOT / "bench/remote/one.py"), client, str(notes)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([*one, "20"], env=proxy.environment, start_new_session=True, **quiet) as process:
        try:
            process.wait(300)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # workers outlive their parent
    if "failed" in measure(client, proxy, str(notes)):
        return f"| {client} | failed | |"
    rows = (notes / "rows").read_text().split()
    return f"| {client} | {samples - len(set(rows)):,} | {len(rows) - len(set(rows)):,} |"


def counted(proxy: subprocess.Popen[str]) -> tuple[int, int]:
    assert proxy.stdin and proxy.stdout
    proxy.stdin.write("\n")
    proxy.stdin.flush()
    requests, size = proxy.stdout.readline().split()
    return int(requests), int(size)


def line(client: str, runs: list[dict[str, float]]) -> str:
    good = [run for run in runs if "failed" not in run]
    if not good:
        return f"| {client} | failed | | | | | |"
    rate = [run["samples"] / run["seconds"] for run in good]
    middle = {name: statistics.median(run[name] for run in good) for name in good[0]}
    return (
        f"| {client} | {statistics.median(rate):,.0f} ({min(rate):,.0f}-{max(rate):,.0f}) | {middle['first']:.2f} "
        f"| {middle['requests']:,.0f} | {middle['bytes'] / 1e6:,.0f} | {middle['memory'] / 1e6:,.0f} "
        f"| {middle['samples']:,.0f} |"
    )


if __name__ == "__main__":
    main()
