"""Reads a data set from SeaweedFS with tarflume and its rivals, through a proxy with latency and limited connections.

    make python
    cargo build --release -p tarflume-store --example slow_proxy
    pip install --no-deps --target target/rivals webdataset==1.0.2 s3torchconnector s3torchconnectorclient braceexpand
    .venv-python/bin/python bench/remote/run.py [--samples 3000] [--rounds 3] [--latency-ms 30] [--mb-per-s 50]

All clients read the same samples with two workers, in rounds. Each process is fresh, and its time begins behind the
imports of the interpreter alone: opening, listing and imports count.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
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


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, usual in (("samples", 3000), ("rounds", 3), ("latency-ms", 30), ("mb-per-s", 50)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    words = parser.parse_args()
    pack = os.environ.get("TARFLUME_PACK", str(ROOT / "target/release/pack"))
    with tempfile.TemporaryDirectory() as name, servers.seaweedfs(pathlib.Path(name)) as options:
        folder = pathlib.Path(name)
        prepare(folder, words.samples, pack)
        tars = upload(folder, options)
        port = options["endpoint"].rsplit(":", 1)[1]
        command = [str(ROOT / "target/release/examples/slow_proxy"), port, str(words.latency_ms), str(words.mb_per_s)]
        proxy = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        endpoint = f"http://127.0.0.1:{proxy.stdout.readline().strip()}"  # type: ignore[union-attr]
        signed = servers.s3_client({**options, "endpoint": endpoint})
        urls = [signed.generate_presigned_url("get_object", {"Bucket": "data", "Key": tar}) for tar in tars]
        environment = {
            **os.environ, "AWS_ENDPOINT_URL": endpoint, "S3_ENDPOINT_URL": endpoint, "SHARD_URLS": json.dumps(urls),
            "AWS_ACCESS_KEY_ID": servers.KEYS[0], "AWS_SECRET_ACCESS_KEY": servers.KEYS[1],
            "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1", "TARFLUME_SIDECARS": str(folder / "sidecars"),
            "PYTHONPATH": str(ROOT / "target/rivals"),
        }  # fmt: skip
        found: dict[str, list[dict[str, float]]] = {client: [] for client in CLIENTS}
        for _ in range(words.rounds):
            for client in CLIENTS:
                found[client].append(measure(client, environment, proxy))
        proxy.kill()
    print("| client | samples/s | first batch, s | requests | MB | samples |\n|---|---|---|---|---|---|")
    for client, runs in found.items():
        print(line(client, runs))


def measure(client: str, environment: dict[str, str], proxy: subprocess.Popen[str]) -> dict[str, float]:
    """One epoch in a process of its own; `requests` and `bytes` are those of the proxy."""
    one = [sys.executable, str(ROOT / "bench/remote/one.py"), client]
    counted(proxy)
    try:
        done = subprocess.run(one, env=environment, text=True, capture_output=True, timeout=300, check=False)
        facts = json.loads(done.stdout.splitlines()[-1])
    except (subprocess.TimeoutExpired, IndexError, json.JSONDecodeError) as error:
        text = getattr(error, "stderr", None) or (done.stderr if isinstance(error, IndexError) else "")
        print(f"{client}: {error}\n{text[-1500:] if text else ''}", file=sys.stderr)
        return {"failed": 1.0}
    requests, size = counted(proxy)
    return {**facts, "requests": requests, "bytes": size}


def counted(proxy: subprocess.Popen[str]) -> tuple[int, int]:
    assert proxy.stdin and proxy.stdout
    proxy.stdin.write("\n")
    proxy.stdin.flush()
    requests, size = proxy.stdout.readline().split()
    return int(requests), int(size)


def line(client: str, runs: list[dict[str, float]]) -> str:
    good = [run for run in runs if "failed" not in run]
    if not good:
        return f"| {client} | failed | | | | |"
    rate = [run["samples"] / run["seconds"] for run in good]
    middle = {name: statistics.median(run[name] for run in good) for name in good[0]}
    return (
        f"| {client} | {statistics.median(rate):,.0f} ({min(rate):,.0f}-{max(rate):,.0f}) | {middle['first']:.2f} "
        f"| {middle['requests']:,.0f} | {middle['bytes'] / 1e6:,.0f} | {middle['samples']:,.0f} |"
    )


if __name__ == "__main__":
    main()
