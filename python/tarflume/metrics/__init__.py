"""The numbers of loaders for Prometheus and for OpenTelemetry.

    tarflume.metrics.write(loader, "/var/lib/node_exporter/textfile/")   # a file for node_exporter
    tarflume.metrics.serve(loader, 9400)                                 # a page for Prometheus
    tarflume.metrics.observe(loader)                                     # instruments of OpenTelemetry

A loader is any with `stats()`; a dict of several, names and loaders, gives each the label `loader`.
"""

from __future__ import annotations

from .collecting import Loaders
from .otlp import observe
from .prometheus import Collector, Server, serve, text, write

__all__ = ["Collector", "Loaders", "Server", "observe", "serve", "text", "write"]


def __dir__() -> list[str]:
    return sorted(__all__)
