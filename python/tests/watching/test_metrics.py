"""Numbers of loaders for Prometheus and OpenTelemetry, as the parsers of their own projects read them."""

from __future__ import annotations

import json
import pathlib
import re
import urllib.request

import pytest

prometheus = pytest.importorskip("prometheus_client")

from prometheus_client import parser  # noqa: E402
from prometheus_client.openmetrics import parser as openmetrics  # noqa: E402

import tarflume  # noqa: E402
from tarflume import errors, metrics  # noqa: E402
from tarflume.metrics.families import METRICS  # noqa: E402

ROOT = pathlib.Path(__file__).parents[3]

STAGE = {"busy_s": 1.5, "waiting_input_s": 0.25, "waiting_output_s": 0.125, "items": 7, "bytes": 1 << 40}
OPERATION = {"column": "image", "name": "ColorJitter", "calls": 3, "busy_s": 0.5}
#: Everything that `stats()` can have.
FULL = {
    "num_threads": 4, "running_s": 10.5, "starved": 0.4, "bottleneck": "storage", "verdict": "Storage is the limit.",
    "hidden": 0.75, "device": "cuda:0", "device_slots": {"requests": 5, "missing": 2, "ready": 9, "slots": 15, "occupancy": 0.6},
    "device_memory": {"bytes": 1 << 33, "pinned_bytes": 1 << 29, "allocations": 21, "late_allocations": 3},
    "decoder": {"about": "a", "decoded": 11, "refused": 1, "why": None, "share": 500, "waited_s": 0.5, "redone_s": 0.125},
    "stages": {"read": STAGE, "decode": STAGE | {"items": 8}}, "idle_s": {"memory": 0.0, "plan": 2.5}, "reads_asleep_s": 3.25,
    "startup_s": 0.5, "functions": {"calls": 6, "busy_s": 0.5, "waiting_s": 0.25},
    "operations": [OPERATION, OPERATION | {"name": "Blur"}, OPERATION],
    "fetch": {
        "requests": 100, "retries": 2, "hedges": 3, "throttled": 1, "bytes": 12345, "first_byte_p50_s": 0.01,
        "first_byte_p95_s": 0.03, "usd": 0.0004,
        "cache": {"bytes": 1 << 30, "hits": 9, "hit_bytes": 900, "misses": 1, "fills": 4, "evictions": 5, "damaged": 6,
                  "errors": 7},
    },
    "reread": 2, "reread_texts": ["a part"], "warning": "little memory", "jpeg_blocks_skipped": 0.5, "jpegs_irregular": 1,
    "jpegs_damaged": 2, "batch_wait_s": {"count": 8, "mean": 0.5, "p50": 0.4, "p95": 1.25, "p99": 1.5, "max": 2.0},
    "waiting_s": 0.125, "ready_batches": {"requests": 10, "missing": 3, "ready": 12, "slots": 40, "occupancy": 0.3},
}  # fmt: skip
#: What Prometheus must read of it, without the labels that all have.
EXPECTED = """
threads 4 | running_seconds_total 10.5 | startup_seconds_total 0.5 | starved_ratio 0.4 | bottleneck{bottleneck=storage} 1
warning 1 | batch_wait_seconds{quantile=0.5} 0.4 | batch_wait_seconds{quantile=0.95} 1.25 | batch_wait_seconds{quantile=0.99} 1.5
batch_wait_seconds_sum 4 | batch_wait_seconds_count 8 | batch_wait_max_seconds 2
waiting_seconds 0.125 | batch_requests_total 10 | batch_misses_total 3 | batch_occupancy_ratio 0.3
stage_busy_seconds_total{stage=read} 1.5 | stage_busy_seconds_total{stage=decode} 1.5
stage_waiting_seconds_total{side=input,stage=read} 0.25 | stage_waiting_seconds_total{side=output,stage=read} 0.125
stage_waiting_seconds_total{side=input,stage=decode} 0.25 | stage_waiting_seconds_total{side=output,stage=decode} 0.125
stage_items_total{stage=read} 7 | stage_items_total{stage=decode} 8
stage_bytes_total{stage=read} 1099511627776 | stage_bytes_total{stage=decode} 1099511627776
idle_seconds_total{cause=memory} 0 | idle_seconds_total{cause=plan} 2.5 | reads_asleep_seconds_total 3.25
function_calls_total 6 | function_busy_seconds_total 0.5 | function_waiting_seconds_total 0.25
operation_calls_total{column=image,operation=ColorJitter} 6 | operation_calls_total{column=image,operation=Blur} 3
operation_busy_seconds_total{column=image,operation=ColorJitter} 1
operation_busy_seconds_total{column=image,operation=Blur} 0.5
rereads_total 2 | jpeg_blocks_skipped_ratio 0.5 | jpegs_irregular_total 1 | jpegs_damaged_total 2
fetch_requests_total 100 | fetch_retries_total 2 | fetch_hedges_total 3 | fetch_throttled_total 1 | fetch_bytes_total 12345
fetch_first_byte_seconds{quantile=0.5} 0.01 | fetch_first_byte_seconds{quantile=0.95} 0.03 | fetch_cost_usd_total 0.0004
cache_bytes 1073741824 | cache_hits_total 9 | cache_hit_bytes_total 900 | cache_misses_total 1 | cache_fills_total 4
cache_evictions_total 5 | cache_damaged_total 6 | cache_errors_total 7
copy_hidden_ratio 0.75 | slot_requests_total 5 | slot_misses_total 2 | slot_occupancy_ratio 0.6
gpu_memory_bytes 8589934592 | gpu_pinned_bytes 536870912 | gpu_allocations_total 21 | gpu_late_allocations_total 3
gpu_pictures_decoded_total 11 | gpu_pictures_refused_total 1 | gpu_decoder_waited_seconds_total 0.5
gpu_pictures_redone_seconds_total 0.125
"""


class Played:
    """A loader with given numbers."""

    def __init__(self, stats: dict) -> None:
        self.numbers, self.calls = stats, 0

    def stats(self) -> dict:
        self.calls += 1
        return self.numbers


def parsed(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Each sample by its name and labels; a parser of the text format reads it."""
    found = {}
    for family in parser.text_string_to_metric_families(text):
        assert family.documentation and family.type != "unknown"
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found
            found[key] = sample.value
    return found


def expected(**labels: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    found = {}
    for word in re.split(r"\n| \| ", EXPECTED.strip()):
        name, more, number = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", word).groups()
        own = dict(pair.split("=") for pair in more.split(",")) if more else {}
        found[f"tarflume_{name}", tuple(sorted((labels | own).items()))] = float(number)
    return found


LABELS = {"loader": "train", "rank": "2", "world_size": "4"}


def test_every_number_is_what_a_parser_reads():
    loader = Played(FULL)
    text = metrics.text(loader, rank=2, world_size=4)
    assert parsed(text) == expected(**LABELS) and loader.calls == 1
    assert len(parsed(text)) > len(METRICS)


def test_names_follow_the_rules_of_prometheus():
    kinds = {family.name: family for family in parser.text_string_to_metric_families(metrics.text(Played(FULL)))}
    for metric in METRICS:
        family = kinds[metric.family]
        assert family.type == metric.kind and family.documentation == metric.help
        assert re.fullmatch(r"tarflume_[a-z]+(_[a-z]+)*", metric.exposed) and metric.help.endswith(".")
        assert (metric.kind == "counter") == metric.exposed.endswith("_total")
        assert metric.unit in ("seconds", "bytes", "ratio", "usd", "")
        assert ("quantile" in metric.labels) == (metric.kind == "summary")
        assert not set(metric.labels) & {"loader", "rank", "world_size"}
    assert len({metric.exposed for metric in METRICS}) == len(METRICS) == len(kinds)


def test_a_loader_without_a_store_and_a_gpu_has_no_numbers_of_them():
    less = FULL | dict.fromkeys(("fetch", "hidden", "device_slots", "device_memory", "decoder", "warning")) | {"operations": []}
    del less["batch_wait_s"]
    found = {name for name, _ in parsed(metrics.text(Played(less)))}
    assert not any(word in name for name in found for word in ("fetch", "cache", "slot", "gpu", "copy", "wait_", "operation"))
    assert ("tarflume_warning", (("loader", "train"), ("rank", "0"), ("world_size", "1"))) in parsed(metrics.text(Played(less)))


def test_numbers_of_a_real_loader_are_all_there(shards):
    """Each number of `stats()` is a sample: a new one is noticed here."""
    with tarflume.Loader(shards, batch_size=10, image=tarflume.Resize((16, 24))) as loader:
        for _ in loader.epoch(0):
            pass
        stats = loader.stats()
        found = parsed(metrics.text({"one": loader, "two": loader}))
    one = {key: number for key, number in found.items() if ("loader", "one") in key[1]}
    assert len(found) == 2 * len(one)
    own = (("loader", "one"), ("rank", "0"), ("world_size", "1"))
    for stage, numbers in stats["stages"].items():
        labels = tuple(sorted((*own, ("stage", stage))))
        assert one["tarflume_stage_items_total", labels] == numbers["items"]
        assert one["tarflume_stage_bytes_total", labels] == numbers["bytes"]
    # The words are 1, and the mean wait is there as the sum.
    assert len(one) == len(numbers_in(dict(stats) | {"bottleneck": 1.0, "warning": 0.0}))


def numbers_in(value) -> list[float]:
    if isinstance(value, dict):
        return [number for part in value.values() for number in numbers_in(part)]
    return [float(value)] if isinstance(value, (bool, int, float)) else []


def test_waits_of_a_real_loader_are_a_summary(shards):
    with tarflume.Loader(shards, batch_size=10, label="/n") as loader:
        taken = sum(1 for _ in loader.epoch(0))
        found = {(name, dict(labels).get("quantile")): number for (name, labels), number in parsed(metrics.text(loader)).items()}
    assert found["tarflume_batch_wait_seconds_count", None] == taken
    quantiles = [found["tarflume_batch_wait_seconds", word] for word in ("0.5", "0.95", "0.99")]
    assert quantiles == sorted(quantiles) and quantiles[-1] <= found["tarflume_batch_wait_max_seconds", None]


def test_names_of_loaders_are_escaped():
    name = 'a "b"\\\nc é'
    (found,) = {dict(labels)["loader"] for _, labels in parsed(metrics.text({name: Played(FULL)}))}
    assert found == name


def test_a_file_is_replaced_as_a_whole(tmp_path, monkeypatch):
    loader = Played(FULL)
    file = metrics.write(loader, tmp_path, rank=2, world_size=4)
    assert file == tmp_path / "tarflume-rank-00002.prom" and parsed(file.read_text()) == expected(**LABELS)
    made = metrics.write(loader, tmp_path / "new" / "train.prom") if (tmp_path / "new").mkdir() is None else None
    assert made.read_text() == metrics.text(loader)
    assert [each.name for each in (tmp_path / "new").iterdir()] == ["train.prom"]
    before = file.read_bytes()
    monkeypatch.setattr("os.rename", lambda *names: (_ for _ in ()).throw(OSError(28, "no space left on device")))
    loader.numbers = FULL | {"reread": 99}
    with pytest.raises(OSError, match="no space left"):
        metrics.write(loader, file, rank=2, world_size=4)
    assert file.read_bytes() == before and len(list(tmp_path.iterdir())) == 2
    with pytest.raises(errors.UsageError, match=r"write to .*train\.txt\.prom, or to a folder"):
        metrics.write(loader, tmp_path / "train.txt")


def test_the_rank_of_the_launcher_is_a_label(monkeypatch, tmp_path):
    monkeypatch.setattr("tarflume.metrics.collecting.rank_and_world_size", lambda: (3, 8))
    assert metrics.write(Played(FULL), f"{tmp_path}/made/").name == "tarflume-rank-00003.prom"
    assert 'rank="3",world_size="8"' in metrics.text(Played(FULL))


def test_a_page_is_served_until_it_is_closed():
    loader = Played(FULL)
    with metrics.serve(loader, 0, rank=2, world_size=4) as server:
        assert server.url == f"http://127.0.0.1:{server.port}/metrics" and server.url in repr(server)
        with urllib.request.urlopen(server.url) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=")
            assert parsed(answer.read().decode()) == expected(**LABELS)
        loader.numbers = FULL | {"reread": 3}
        wanted = urllib.request.Request(server.url, headers={"Accept": "application/openmetrics-text; version=1.0.0"})
        with urllib.request.urlopen(wanted) as answer:
            families = {family.name: family for family in openmetrics.text_string_to_metric_families(answer.read().decode())}
        assert families["tarflume_rereads"].samples[0].value == 3 and len(families) == len(METRICS)
    with pytest.raises(OSError):
        urllib.request.urlopen(server.url)


def test_a_collector_joins_a_registry_and_its_names_are_taken():
    registry = prometheus.CollectorRegistry()
    registry.register(metrics.Collector(Played(FULL), rank=2, world_size=4))
    assert parsed(prometheus.generate_latest(registry).decode()) == expected(**LABELS)
    with pytest.raises(ValueError, match="Duplicated"):
        registry.register(metrics.Collector(Played(FULL)))


def test_what_has_no_numbers_is_refused():
    with pytest.raises(errors.UsageError, match=r"'train' has no stats\(\): it is list.*diagnose"):
        metrics.text([])
    with pytest.raises(errors.UsageError, match="'val' has no"):
        metrics.serve({"train": Played(FULL), "val": 3}, 0)
    with pytest.raises(errors.UsageError, match="together"):
        metrics.text(Played(FULL), rank=1)


@pytest.mark.parametrize(
    ("package", "call"),
    [("prometheus_client", lambda: metrics.text(Played(FULL))), ("opentelemetry", lambda: metrics.observe(Played(FULL)))],
)
def test_a_missing_package_is_named_with_its_command(monkeypatch, package, call):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=f"pip install {package}"):
        call()


def test_opentelemetry_reads_the_same_numbers():
    sdk = pytest.importorskip("opentelemetry.sdk.metrics")
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader, Sum

    reader, loader = InMemoryMetricReader(), Played(FULL)
    provider = sdk.MeterProvider([reader])
    metrics.observe(loader, provider.get_meter("test"), rank=2, world_size=4)

    def read() -> dict:
        found = {}
        (resource,) = reader.get_metrics_data().resource_metrics
        for metric in (metric for scope in resource.scope_metrics for metric in scope.metrics):
            assert metric.unit in ("s", "By", "1", "{USD}") and metric.description
            total = "_total" if isinstance(metric.data, Sum) and not metric.name.endswith(("_sum", "_count")) else ""
            unit = {"s": "_seconds", "By": "_bytes", "{USD}": "_usd"}.get(metric.unit, "")
            base, tail = re.fullmatch(r"tarflume\.(.*?)(_sum|_count)?", metric.name).groups()
            if tail:
                unit = "_seconds"
            if base in RATIOS:
                unit = "_ratio"
            for point in metric.data.data_points:
                name = f"tarflume_{base}{unit}{tail or ''}{total}"
                found[name, tuple(sorted(point.attributes.items()))] = point.value
        return found

    assert read() == expected(**LABELS) and loader.calls == 1
    loader.numbers = FULL | {"reread": 5}
    assert read()["tarflume_rereads_total", tuple(sorted(LABELS.items()))] == 5 and loader.calls == 2
    provider.shutdown()


RATIOS = {metric.name for metric in METRICS if metric.unit == "ratio"}


def test_the_panel_of_grafana_asks_for_metrics_that_exist():
    board = json.loads((ROOT / "docs/grafana/tarflume.json").read_text())
    known = {metric.exposed: {"loader", "rank", "world_size", *metric.labels} for metric in METRICS}
    words = {name for name, _ in expected()}
    asked = set()
    places = []
    for panel in board["panels"]:
        place = panel["gridPos"]
        places += [(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])]
        assert place["x"] + place["w"] <= 24 and panel["description"] and panel["targets"]
        for target in panel["targets"]:
            for name, labels in re.findall(r"(tarflume_\w+)(?:\{([^}]*)\})?", target["expr"]):
                asked.add(name)
                assert name in words and {"loader", "rank"} <= set(re.findall(r"(\w+)[=!~]+\"", labels))
                assert set(re.findall(r"(\w+)(?:=~|!=|=)\"", labels)) <= known[name]
                assert target["expr"].count(f"rate({name}") == 0 or name.endswith("_total")
            for group in re.findall(r"by \(([^)]*)\)", target["expr"]):
                assert all(set(group.replace(" ", "").split(",")) <= known[name]
                           for name in re.findall(r"tarflume_\w+", target["expr"]))  # fmt: skip
    assert len(asked) > 20 and len(places) == len(set(places))
    assert all(variable["definition"].startswith("label_values(tarflume_threads") for variable in board["templating"]["list"][1:])


def test_the_page_lists_every_metric():
    page = (ROOT / "docs/METRICS.md").read_text()
    rows = dict(re.findall(r"^\| `(tarflume_\w+)` \|(.*)\|$", page, re.MULTILINE))
    assert rows.keys() == {metric.exposed for metric in METRICS}
    for metric in METRICS:
        assert metric.kind in rows[metric.exposed] and metric.help in rows[metric.exposed]
        assert all(f"`{label}`" in rows[metric.exposed] for label in metric.labels)
