"""Numbers of loaders as Prometheus reads them: a file, a page, or a collector for a registry."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .collecting import Loaders, Watched, watched
from .families import METRICS, Metric

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family

__all__ = ["Collector", "Server", "serve", "text", "write"]


class Collector:
    """The numbers of loaders in a registry of `prometheus_client`, beside those of the program:

    prometheus_client.REGISTRY.register(tarflume.metrics.Collector(loader))

    Each collection calls `stats()` once for each loader. Needs `prometheus_client` (`pip install tarflume[prometheus]`).

    `rank` and `world_size` are labels; without them, those of torch's process group or of the launcher at each collection.

    Raises:
        UsageError: a loader has no `stats()`.
        ModuleNotFoundError: `prometheus_client` is not installed.
    """

    def __init__(self, loaders: Loaders, *, rank: int | None = None, world_size: int | None = None) -> None:
        _client()
        self._watched = watched(loaders, rank, world_size)

    def collect(self) -> Iterator[Family]:
        """The families of metrics that have numbers."""
        stats = self._watched.stats()
        for metric in METRICS:
            family = _family(metric)
            suffix = "_total" if metric.kind == "counter" else ""
            for labels, numbers in stats:
                own = dict(zip(Watched.LABELS, labels, strict=True))
                for sample in metric.samples(numbers):
                    more = dict(zip(metric.labels, sample.labels, strict=True))
                    family.add_sample(family.name + suffix, own | more, sample.number)
                totals = None if metric.totals is None else metric.totals(numbers)
                if totals is not None:
                    family.add_sample(f"{family.name}_sum", own, totals.sum)
                    family.add_sample(f"{family.name}_count", own, totals.count)
            if family.samples:
                yield family

    def describe(self) -> list[Family]:
        """The names, without numbers: a registry asks for them when the collector is registered."""
        return [_family(metric) for metric in METRICS]


def text(loaders: Loaders, *, rank: int | None = None, world_size: int | None = None) -> str:
    """The numbers in the text format of Prometheus, as `Collector` gives them."""
    made: bytes = _client().generate_latest(_registry(loaders, rank, world_size))
    return made.decode()


def write(
    loaders: Loaders, path: str | os.PathLike[str], *, rank: int | None = None, world_size: int | None = None
) -> pathlib.Path:
    """Writes the numbers into a file for the textfile collector of node_exporter, and returns its path. The file is
    replaced as a whole. For a folder, the file is `tarflume-rank-00007.prom` in it, so ranks of a machine share the folder.

        if step % 100 == 0:
            tarflume.metrics.write(loader, "/var/lib/node_exporter/textfile/")

    Raises:
        UsageError: the name of the file does not end in `.prom`; node_exporter reads no other.
        OSError: it cannot be written.
    """
    from ..errors import UsageError

    place = watched(loaders, rank, world_size).place()
    file = pathlib.Path(path)
    if file.is_dir() or os.fspath(path).endswith(("/", os.sep)):
        file.mkdir(parents=True, exist_ok=True)
        file /= f"tarflume-rank-{place.rank:05}.prom"
    if file.suffix != ".prom":
        raise UsageError(f"{file}: node_exporter reads only files that end in .prom; write to {file}.prom, or to a folder")
    _client().write_to_textfile(os.fspath(file), _registry(loaders, place.rank, place.world_size))
    return file


class Server:
    """A page for Prometheus, served by a thread of this process. `url` is its address, `port` its port; `close` ends it."""

    def __init__(self, server: Any, thread: Any, host: str) -> None:
        self._server, self._thread = server, thread
        self.port: int = server.server_port
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{self.port}/metrics"

    def close(self) -> None:
        """Ends the thread and frees the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"tarflume.metrics.Server({self.url!r})"


def serve(
    loaders: Loaders, port: int, *, host: str = "127.0.0.1", rank: int | None = None, world_size: int | None = None
) -> Server:
    """Serves the numbers at `http://host:port/metrics`, by default to this machine alone; `host="0.0.0.0"` to all that
    reach it. Port 0 takes a free one. Ranks of one machine need a port each: `9400 + local_rank`.

    Raises:
        OSError: the port is taken.
    """
    server, thread = _client().start_http_server(port, addr=host, registry=_registry(loaders, rank, world_size))
    return Server(server, thread, host)


def _client() -> Any:
    try:
        import prometheus_client
    except ModuleNotFoundError as error:
        if error.name != "prometheus_client":
            raise
        raise ModuleNotFoundError(
            "this needs prometheus_client: pip install prometheus_client", name="prometheus_client"
        ) from None
    return prometheus_client


def _registry(loaders: Loaders, rank: int | None, world_size: int | None) -> Any:
    registry = _client().CollectorRegistry()
    registry.register(Collector(loaders, rank=rank, world_size=world_size))
    return registry


def _family(metric: Metric) -> Family:
    from prometheus_client.metrics_core import Metric as Family

    return Family(metric.family, metric.help, metric.kind)
