"""`tarflume.pack.verify` with a policy, chosen rules and a baseline."""

from __future__ import annotations

import subprocess

import pytest

import tarflume
from conftest import PACK


@pytest.fixture
def shards(tmp_path):
    """Twelve texts with labels from 0 to 11."""
    source = tmp_path / "texts"
    source.mkdir()
    for n in range(12):
        (source / f"{n:02}.txt").write_text("a text")
        (source / f"{n:02}.json").write_text(f'{{"label": {n}}}')
    tarflume.pack.build(source, tmp_path / "shards", require="", progress=False)
    return tmp_path / "shards"


def verify(shards, **keywords):
    return tarflume.pack.verify(shards, progress=False, **keywords)


def test_a_policy_is_demanded_only_if_it_is_named(shards, monkeypatch):
    policy = shards.parent / "pack.toml"
    policy.write_text('[fields."/label"]\nmax = 9\n')
    monkeypatch.chdir(shards.parent)
    assert verify(shards).whole
    report = verify(shards, policy=policy)
    assert [problem["key"] for problem in report.problems] == ["10", "11"]
    assert "pack.toml:2: fields.\"/label\".max = 9: 10 is above it" in report.problems[0]["reason"]
    assert report["policy"] == str(policy)


def test_without_paths_the_sets_of_the_policy_are_verified(shards, monkeypatch):
    monkeypatch.chdir(shards.parent)
    policy = shards.parent / "pack.toml"
    policy.write_text('[sets.all]\npath = "shards"\ntotal = { samples = 11 }\n')
    report = tarflume.pack.verify(policy=policy, progress=False)
    assert report["counts"] == {"policy-total": 1} and report.problems[0]["path"] == "shards"
    policy.write_text("[total]\nsamples = 12\n")
    with pytest.raises(tarflume.errors.UsageError, match=r"names no data sets in \[sets\]"):
        tarflume.pack.verify(policy=policy, progress=False)
    for given in ({}, {"paths": []}, {"paths": [], "policy": policy}):
        with pytest.raises(tarflume.errors.UsageError, match="no path was given"):
            tarflume.pack.verify(**given, progress=False)


def test_chosen_rules_and_accepted_problems(shards):
    policy = shards.parent / "pack.toml"
    policy.write_text(
        '[fields."/label"]\nmax = 9\n[[accept]]\nrule = "policy-field"\nkeys = ["10"]\nreason = "old"\n'
        "until = 2999-01-01\n"
    )
    report = verify(shards, policy=policy)
    assert (report.accepted, len(report.problems)) == (1, 1)
    assert verify(shards, policy=policy, ignore=["policy-field"]).whole
    assert verify(shards, policy=policy, select=["digest"]).whole
    with pytest.raises(tarflume.errors.UsageError, match="did you mean 'policy-field'"):
        verify(shards, select=["policy-feild"])
    policy.write_text("[ruels]\n")
    with pytest.raises(tarflume.errors.UsageError, match="pack.toml:1:2: a policy has no table or key 'ruels'"):
        verify(shards, policy=policy)


def test_a_baseline_of_the_command_is_known(shards):
    policy = shards.parent / "pack.toml"
    policy.write_text('[fields."/label"]\nmax = 9\n')
    words = [PACK, "verify", "--write-baseline", "known.json", "shards"]
    subprocess.run(words, cwd=shards.parent, check=True, capture_output=True)
    report = verify(shards, policy=policy, baseline=shards.parent / "known.json")
    assert report.whole
    assert report.known == 2
    with pytest.raises(tarflume.errors.UsageError, match="there is no such baseline"):
        verify(shards, baseline=shards / "none.json")
