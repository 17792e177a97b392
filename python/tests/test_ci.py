"""Reports for CI against their schemas; the action and the hooks, run as their hosts run them."""

from __future__ import annotations

import json
import os
import re
import subprocess

import jsonschema
import pytest
import xmlschema
import yaml

import tarflume
import tarflume.torch
from conftest import PACK, ROOT, pack, picture

SCHEMAS = ROOT / "python" / "tests" / "schemas"


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """A whole data set, and one with a damaged part and a JSON that breaks its schema."""
    root = tmp_path_factory.mktemp("ci")
    (root / "photos").mkdir()
    for n in range(6):
        picture(n).save(root / "photos" / f"{n}.jpg")
        (root / "photos" / f"{n}.json").write_text(json.dumps({"label": "cat", "note": "<&\"> ' \n"} if n else {}))
    (root / "label.json").write_text('{"required": ["label"]}')
    for name in ("good", "bad"):
        pack("build", root / "photos", "-o", root / name)
    tar = root / "bad" / "shard-000000.tar"
    data = bytearray(tar.read_bytes())
    data[len(data) // 2] ^= 1
    tar.write_bytes(data)
    return root


def verify(root, *words):
    return subprocess.run([PACK, "verify", *words], cwd=root, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["good", "bad"])
def test_junit_and_sarif_are_valid_by_their_schemas(sets, name):
    done = verify(sets, "--schema", "label.json", "--report", f"junit={name}.xml", "--report", f"sarif={name}.sarif",
                  name)
    assert done.returncode == 1, done.stderr
    xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd").validate(sets / f"{name}.xml")
    sarif = json.loads((sets / f"{name}.sarif").read_text())
    jsonschema.validate(sarif, json.loads((SCHEMAS / "sarif-2.1.0.json").read_text()))
    rules = {result["ruleId"] for result in sarif["runs"][0]["results"]}
    assert "schema" in rules and ("checksum" in rules) == (name == "bad")
    for rule in sarif["runs"][0]["tool"]["driver"]["rules"]:
        assert rule["fullDescription"]["text"] and rule["help"]["text"]
    assert all(result["partialFingerprints"] for result in sarif["runs"][0]["results"])


def test_reports_of_what_was_not_checked_are_valid_and_no_success(sets):
    done = verify(sets, "--schema", "nope=label.json", "--report", "junit=nope.xml", "--report", "sarif=nope.sarif",
                  "good", "nowhere")
    assert done.returncode == 2, done.stderr
    xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd").validate(sets / "nope.xml")
    sarif = json.loads((sets / "nope.sarif").read_text())
    jsonschema.validate(sarif, json.loads((SCHEMAS / "sarif-2.1.0.json").read_text()))
    (invocation,) = sarif["runs"][0]["invocations"]
    assert not invocation["executionSuccessful"] and len(invocation["toolExecutionNotifications"]) == 2
    report = tarflume.pack.verify(sets / "good", schema={"nope": sets / "label.json"}, progress=False)
    assert not report.whole and "no part 'nope'" in report["unchecked"][0]


def test_exchanged_classes_never_reach_a_loader(tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        picture(len(name)).save(tmp_path / "photos" / name / "a.jpg")
    pack("build", tmp_path / "photos", "-o", tmp_path / "set", "--label", "folder")
    about = tmp_path / "set" / "dataset.json"
    text = about.read_text()
    about.write_text(text.replace('"cat"', '"?"').replace('"dog"', '"cat"').replace('"?"', '"dog"'))
    for opened in (tarflume.Loader, tarflume.Dataset, tarflume.torch.Dataset):
        with pytest.raises(tarflume.errors.DamagedError, match="pack index --accept-edits"):
            list(opened(tmp_path / "set"))
    accepted = tarflume.pack.index(tmp_path / "set", accept_edits=True, progress=False)
    assert not accepted["manifests"][0]["kept"]
    assert tarflume.Dataset(tmp_path / "set").classes == {0: "dog", 1: "cat"}
    report = tarflume.pack.verify(tmp_path / "set", progress=False)
    assert {problem["kind"] for problem in report["problems"]} == {"class-name"}
    # Indentation and line ends of Git or an editor are no change.
    about.write_text(json.dumps(json.loads(text), indent=1).replace("\n", "\r\n"))
    assert tarflume.Dataset(tmp_path / "set").classes == {0: "cat", 1: "dog"}


def action(root, tmp_path, **inputs):
    """Runs the step of action.yml with these inputs and the defaults of the others."""
    described = yaml.safe_load((ROOT / "action.yml").read_text())
    (step,) = described["runs"]["steps"]
    given = {name: about.get("default", "") for name, about in described["inputs"].items()} | inputs
    values = {name: given[re.fullmatch(r"\$\{\{ inputs\.(\w+) \}\}", text)[1]] for name, text in step["env"].items()}
    assert "${{" not in step["run"], "an input in a script could run as a command"
    hosts = {"GITHUB_ACTION_PATH": str(ROOT), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
             "GITHUB_OUTPUT": str(tmp_path / "output"), "RUNNER_TEMP": str(tmp_path)}
    (tmp_path / "summary").write_text("before\n")
    env = {"PATH": os.environ["PATH"]} | values | hosts
    return subprocess.run(["bash", "-c", step["run"]], cwd=root, env=env, capture_output=True, text=True, check=False)


def test_the_action_passes_a_whole_data_set(sets, tmp_path):
    done = action(sets, tmp_path, paths="good", program=str(PACK), level="decode")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "output").read_text() == "whole=true\n"
    summary = (tmp_path / "summary").read_text()
    assert summary.startswith("before\n") and "6 samples" in summary


def test_the_action_annotates_what_is_wrong_and_writes_reports(sets, tmp_path):
    done = action(sets, tmp_path, paths="good\nbad\n", program=str(PACK), schema="label.json", require="jpg,json",
                  profile="webdataset", junit=str(tmp_path / "out.xml"), sarif=str(tmp_path / "out.sarif"))
    assert done.returncode == 1
    assert "::error" in done.stdout and "checksum" in done.stdout
    assert (tmp_path / "output").read_text() == "whole=false\n"
    assert (tmp_path / "out.xml").exists() and (tmp_path / "out.sarif").exists()


def test_text_in_an_input_is_never_a_command(sets, tmp_path):
    evil = f"$(touch {tmp_path}/ran)\n; touch {tmp_path}/ran\n`touch {tmp_path}/ran`\n--write-expect={tmp_path}/ran"
    done = action(sets, tmp_path, paths=evil, schema=evil, require=evil, program=str(PACK))
    assert done.returncode == 2, done.stdout
    assert not (tmp_path / "ran").exists()


def test_the_action_compares_with_an_expectation(sets, tmp_path):
    assert verify(sets, "--write-expect", "data.json", "good").returncode == 0
    assert action(sets, tmp_path, paths="good", program=str(PACK), expect="data.json").returncode == 0
    done = action(sets, tmp_path, paths="bad", program=str(PACK), expect="data.json")
    assert done.returncode == 1


def test_the_hooks_run_the_program(sets, tmp_path):
    hooks = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    assert re.search(hooks["pack-verify"]["files"], "data/good/dataset.json")
    assert not re.search(hooks["pack-verify"]["files"], "data/my-dataset.json")
    # quick reads no data, but for a tar that was changed after its sidecar
    for name, code, said in [("good", 0, ""), ("bad", 1, "the tar was changed after its sidecar was made")]:
        words = hooks["pack-verify"]["entry"].split() + [f"{name}/dataset.json"]
        done = subprocess.run([PACK, *words[1:]], cwd=sets, capture_output=True, text=True, check=False)
        assert done.returncode == code and said in done.stdout, done.stdout
    (sets / "bad" / "shard-000000.index").rename(tmp_path / "away")
    done = subprocess.run([PACK, "verify", "--quiet", "--level", "quick", "bad/dataset.json"], cwd=sets,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "shard-000000" in done.stdout
    (tmp_path / "away").rename(sets / "bad" / "shard-000000.index")
