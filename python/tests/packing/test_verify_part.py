"""Verifying a part of the data: what `tarflume.pack.verify` takes beside the command."""

import time

import pytest
import tarflume


def test_slices_read_all_bytes_together(shards):
    reports = [tarflume.pack.verify(shards, slice=f"{n}/5", progress=False) for n in range(1, 6)]
    assert not any(report.problems for report in reports)
    assert sum(report["coverage"]["bytes"] for report in reports) == reports[0]["bytes"]
    assert sum(report["coverage"]["samples"] for report in reports) == 100
    assert not any(report.whole for report in reports)
    one = tarflume.pack.verify(shards, sample="20%", seed=3, progress=False)
    assert one["coverage"]["of_samples"] == 100 and "read " in str(one)
    assert tarflume.pack.verify(shards, sample="100%", progress=False).whole


def test_a_cache_and_a_time(shards, tmp_path):
    time.sleep(0.06)  # a file that has just changed is not remembered
    words = {"cache": tmp_path / "known", "progress": False}
    assert tarflume.pack.verify(shards, **words).whole
    again = tarflume.pack.verify(shards, **words, time_budget=0)
    assert again.whole and again["coverage"]["unchanged"] == 4
    late = tarflume.pack.verify(shards, time_budget=0, progress=False)
    assert not late.whole and late["coverage"]["ended_early"] and not late.problems


def test_a_manifest_alone(shards):
    report = tarflume.pack.verify(shards, manifest_only=True, progress=False)
    assert not report.whole and not report.problems and report["coverage"]["bytes"] == 0


@pytest.mark.parametrize(("words", "text"), [
    ({"slice": "6/5"}, "give a slice N/COUNT"),
    ({"sample": "3"}, "give a percentage"),
    ({"sample": "3%", "slice": "1/2"}, "two ways to choose a part"),
    ({"time_budget": -1.0}, "a number of seconds"),
    ({"slice": "1/2", "level": "quick"}, "slice= limits what is read, and level=\"quick\" reads no data|limits what is read"),
    ({"manifest_only": True, "time_budget": 5}, "opens no tar"),
    ({"changed_since": "main"}, "in no repository of Git|no commit"),
])  # fmt: skip
def test_wrong_words_are_usage_errors(shards, words, text):
    with pytest.raises(tarflume.errors.UsageError, match=text):
        tarflume.pack.verify(shards, **words, progress=False)
