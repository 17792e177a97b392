"""A tar in a bucket that was replaced after its sidecar was made."""

from __future__ import annotations

import datetime
import json
import pathlib
import re
import time

import pytest

import servers
import tarflume
from test_remote import run, s3, sidecars  # noqa: F401

pytestmark = pytest.mark.usefixtures("sidecars")


def test_a_tar_that_was_replaced_after_it_was_indexed(s3: dict[str, str], tmp_path: pathlib.Path) -> None:  # noqa: F811
    """The object is replaced by one of equal length: every command and every reader notices, and the named one mends it."""
    client, url = servers.s3_client(s3), "s3://data/changed"
    tars = {}
    for name, classes in {"old": [1, 2], "new": [3, 4]}.items():
        for n, label in enumerate(classes):
            (tmp_path / name).mkdir(exist_ok=True)
            (tmp_path / name / f"s{n}.json").write_text(json.dumps({"class": label}))
        tarflume.pack.build(tmp_path / name, tmp_path / f"{name}-set", require="json")
        tars[name] = (tmp_path / f"{name}-set" / "shard-000000.tar").read_bytes()
    assert len(tars["old"]) == len(tars["new"])

    def put(name: str) -> None:
        client.put_object(Bucket="data", Key="changed/a.tar", Body=tars[name])

    def changed(name: str) -> datetime.datetime:
        return client.head_object(Bucket="data", Key=f"changed/{name}")["LastModified"]

    def put_later(name: str) -> None:
        """Replaces the tar at a later second than before: times of a bucket are whole seconds."""
        before = max(changed("a.tar"), changed("a.index"))
        put(name)
        while changed("a.tar") <= before:
            time.sleep(0.05)
            put(name)

    def labels(**words: object) -> list[int]:
        loader = tarflume.Loader(url, storage=s3, label="/class", batch_size=2, shuffle="none", **words)
        return [int(label) for batch in loader for label in batch["label"]]

    put("old")
    run("index", "--columns", "class:u32", url, options=s3)
    assert labels() == [1, 2]
    put_later("old")  # another time of the same bytes
    assert labels(verify="all") == [1, 2]
    put_later("new")
    renewal = f'tarflume.pack.index("{url}", force=True, columns="class=json:/class:u32")'
    for use in (
        labels,
        lambda: labels(verify="all"),
        lambda: tarflume.Dataset(url, storage=s3).numbers("/class"),
        lambda: tarflume.Dataset(url, storage=s3)[0],
        lambda: tarflume.pack.index(url, storage=s3),
    ):
        with pytest.raises(tarflume.Error, match=re.escape(renewal)):
            use()
    report = run("verify", url, options=s3, code=1)
    assert f"{url}/a.tar" in report and "/tmp" not in report, report
    run("index", "--force", "--columns", "class=json:/class:u32", url, options=s3)
    assert labels() == [3, 4]
    assert "whole" in run("verify", url, options=s3)
    assert tarflume.pack.index(url, storage=s3)["tars"][0]["kept"]
