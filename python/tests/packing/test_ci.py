"""Reports for CI against their schemas; the action and the hooks, run as their hosts run them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess

import jsonschema
import pytest
import tarflume
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


@pytest.mark.parametrize("name", ["good", "bad"])
def test_sarif_and_code_quality_have_what_their_services_demand(sets, name):
    (sets / ".git").mkdir(exist_ok=True)
    folder = sets / "inner"
    folder.mkdir(exist_ok=True)
    words = ["--schema", "../label.json", "--report", f"sarif={name}.sarif", "--report", f"gitlab={name}.json", f"../{name}"]
    assert verify(folder, *words).returncode == 1
    sarif = json.loads((folder / f"{name}.sarif").read_text())
    jsonschema.validate(sarif, json.loads((SCHEMAS / "sarif-2.1.0.json").read_text()))
    (run,) = sarif["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules)) and run["results"]
    for result in run["results"]:
        assert result["ruleId"] in rules and result["level"] in ("error", "warning", "note")
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["region"]["startLine"] >= 1
        assert place["artifactLocation"]["uri"].startswith(f"{name}/"), "relative to the root of the repository"
        assert result["partialFingerprints"]["primaryLocationLineHash"] and result["message"]["text"]
    # Stricter than the schema by which GitLab reads the artifact (codeclimate.json in its source): that demands description,
    # fingerprint, severity and location, and admits any severity and any path.
    issue = {"type": "object", "required": ["description", "check_name", "fingerprint", "severity", "location"],
             "properties": {"description": {"type": "string"}, "check_name": {"type": "string"},
                            "fingerprint": {"type": "string", "minLength": 8},
                            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
                            "location": {"type": "object", "required": ["path", "lines"],
                                         "properties": {"path": {"type": "string", "pattern": "^[^/.]"},
                                                        "lines": {"required": ["begin"],
                                                                  "properties": {"begin": {"type": "integer"}}}}}}}
    issues = json.loads((folder / f"{name}.json").read_text())
    jsonschema.validate(issues, {"type": "array", "minItems": 1, "items": issue})
    prints = [issue["fingerprint"] for issue in issues]
    assert len(prints) == len(set(prints))
    before = list(prints)
    assert verify(folder, *words).returncode == 1
    assert [issue["fingerprint"] for issue in json.loads((folder / f"{name}.json").read_text())] == before


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
        with pytest.raises(tarflume.errors.DamagedError, match=r"tarflume.pack.index\(DIR, accept_edits=True\)"):
            list(opened(tmp_path / "set"))
    accepted = tarflume.pack.index(tmp_path / "set", accept_edits=True, progress=False)
    assert not accepted["manifests"][0]["kept"]
    assert tarflume.Dataset(tmp_path / "set").classes == {0: "dog", 1: "cat"}
    report = tarflume.pack.verify(tmp_path / "set", progress=False)
    assert {problem["kind"] for problem in report["problems"]} == {"class-name"}
    # Indentation and line ends of Git or an editor are no change.
    about.write_text(json.dumps(json.loads(text), indent=1).replace("\n", "\r\n"))
    assert tarflume.Dataset(tmp_path / "set").classes == {0: "cat", 1: "dog"}


def action(root, tmp_path, reference="", **inputs):
    """Runs the step of action.yml with these inputs and the defaults of the others."""
    described = yaml.safe_load((ROOT / "action.yml").read_text())
    (step,) = described["runs"]["steps"]
    given = {name: about.get("default", "") for name, about in described["inputs"].items()} | inputs
    values = {name: given[re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", text)[1]] for name, text in step["env"].items()}
    assert "${{" not in step["run"], "an input in a script could run as a command"
    hosts = {"GITHUB_ACTION_PATH": str(ROOT), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
             "GITHUB_OUTPUT": str(tmp_path / "output"), "RUNNER_TEMP": str(tmp_path), "GITHUB_ACTION_REF": reference}
    (tmp_path / "summary").write_text("before\n")
    (tmp_path / "output").write_text("")
    env = {"PATH": os.environ["PATH"]} | values | hosts
    return subprocess.run(["bash", "-c", step["run"]], cwd=root, env=env, capture_output=True, text=True, check=False)


def outputs(tmp_path):
    """The outputs of the step; the last value of each."""
    return dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())


def test_the_action_passes_a_whole_data_set(sets, tmp_path):
    done = action(sets, tmp_path, paths="good", program=str(PACK), level="decode")
    assert done.returncode == 0, done.stderr
    assert outputs(tmp_path) == {
        "whole": "true", "installed": "true", "exit-code": "0", "problems": "0", "warnings": "0", "shards": "1",
        "samples": "6", "bytes": str((sets / "good" / "shard-000000.tar").stat().st_size)}
    summary = (tmp_path / "summary").read_text()
    assert summary.startswith("before\n") and "6 samples" in summary


def test_the_action_annotates_what_is_wrong_and_writes_reports(sets, tmp_path):
    done = action(sets, tmp_path, paths="good\nbad\n", program=str(PACK), schema="label.json", require="jpg,json",
                  profile="webdataset", junit=str(tmp_path / "out.xml"), sarif=str(tmp_path / "out.sarif"))
    assert done.returncode == 1
    assert "::error" in done.stdout and "checksum" in done.stdout
    found = outputs(tmp_path)
    assert found["whole"] == "false" and found["exit-code"] == "1" and found["shards"] == "2"
    assert int(found["problems"]) == len(annotations(done)), found
    assert (tmp_path / "out.xml").exists() and (tmp_path / "out.sarif").exists()


def test_a_line_of_paths_may_be_a_pattern(sets, tmp_path):
    done = action(sets, tmp_path, paths="g*/\r\n\n", program=str(PACK))
    assert done.returncode == 0 and outputs(tmp_path)["samples"] == "6", done.stderr
    (tmp_path / "odd names").mkdir()
    shutil.copytree(sets / "good", tmp_path / "odd names" / "a  b $(x)")
    done = action(tmp_path, tmp_path, paths="odd names/a*", program=str(PACK))
    assert done.returncode == 0 and outputs(tmp_path)["samples"] == "6", done.stderr
    done = action(sets, tmp_path, paths="none*/", program=str(PACK))
    assert done.returncode == 2 and "none*/" in done.stderr


def test_a_name_that_can_move_is_noted_and_a_commit_is_not(sets, tmp_path, monkeypatch):
    for reference, is_noted in (("main", True), ("v0.1.0", True), ("0123456789abcdef" * 2 + "01234567", False)):
        done = action(sets, tmp_path, paths="good", program=str(PACK), reference=reference)
        assert ("which can move" in done.stdout) == is_noted, done.stdout
        assert done.returncode == 0


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


def annotations(done):
    return [line for line in done.stdout.splitlines() if line.startswith("::error")]


def test_the_action_annotates_what_ended_it(sets, tmp_path):
    done = action(sets, tmp_path, paths="nowhere", program=str(PACK))
    (line,) = annotations(done)
    assert done.returncode == 2 and "exit code 2" in line and "nowhere" in line, done.stdout
    found = outputs(tmp_path)
    assert (found["whole"], found["installed"], found["exit-code"]) == ("false", "true", "2") and "problems" not in found
    done = action(sets, tmp_path, paths="good", program=str(tmp_path / "no-pack"))
    (line,) = annotations(done)
    assert done.returncode == 127 and "exit code 127" in line and "no-pack" in line, done.stdout
    assert "::" not in line.removeprefix("::error title=pack verify::") and "%0A" not in line[-3:]


# In place of python3: `-m venv DIR` makes a folder whose python notes what pip installs, and has a `pack`.
VENV = """#!/bin/sh
mkdir -p "$3/bin" && cat > "$3/bin/python" <<'END'
#!/bin/sh
for word; do echo "$word" >> "{root}/pip"; done
exit {code}
END
printf '#!/bin/sh\\nexit 0\\n' > "$3/bin/pack" && chmod +x "$3/bin/python" "$3/bin/pack"
"""


@pytest.mark.parametrize(("version", "package"), [("", None), ("0.0.1", "tarflume==0.0.1"), ("newest", "tarflume")])
def test_the_action_installs_its_own_version_and_tells_if_it_cannot(sets, tmp_path, monkeypatch, version, package):
    own = re.search(r'^version = "(.+)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    for code in (0, 1):
        stub = tmp_path / "bin" / "python3"
        stub.write_text(VENV.replace("{root}", str(tmp_path)).replace("{code}", str(code)))
        stub.chmod(0o755)
        done = action(sets, tmp_path, paths="good", version=version)
        assert (tmp_path / "pip").read_text().splitlines()[-1] == (package or f"tarflume=={own}")
        assert done.returncode == (69 if code else 0), done.stderr
        assert [("could not be installed" in line) for line in annotations(done)] == [True] * code
        assert outputs(tmp_path)["installed"] == ("false" if code else "true")


# As VENV: pip downloads a wheel of some bytes.
DOWNLOAD = """#!/bin/sh
mkdir -p "$3/bin" && cat > "$3/bin/python" <<'END'
#!/bin/sh
echo "$*" >> "{root}/pip"
previous=
for word; do
    if [ "$previous" = --dest ]; then printf wheel > "$word/tarflume-1-any.whl"; fi
    previous=$word
done
END
printf '#!/bin/sh\\nexit 0\\n' > "$3/bin/pack" && chmod +x "$3/bin/python" "$3/bin/pack"
"""


def test_the_action_installs_no_wheel_of_another_digest(sets, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    stub = tmp_path / "bin" / "python3"
    stub.write_text(DOWNLOAD.replace("{root}", str(tmp_path)))
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    right = hashlib.sha256(b"wheel").hexdigest()
    for digest, code in ((right, 0), ("0" * 64, 69)):
        (tmp_path / "pip").write_text("")
        done = action(sets, tmp_path, paths="good", sha256=digest)
        assert done.returncode == code, done.stderr
        assert ("install /" in (tmp_path / "pip").read_text()) == (code == 0)
        assert (f"has the SHA-256 digest {right}" in done.stdout) == (code == 69)


def test_the_action_builds_its_own_checkout(sets, tmp_path, monkeypatch):
    """`cargo` is one that copies the program."""
    (tmp_path / "bin").mkdir()
    cargo = tmp_path / "bin" / "cargo"
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    for code in (0, 1):
        cargo.write_text(f"#!/bin/sh\necho \"$*\" > {tmp_path}/cargo\nfor root; do :; done\nmkdir -p \"$root/bin\"\n"
                         f"cp {PACK} \"$root/bin/pack\"\nexit {code}\n")
        cargo.chmod(0o755)
        done = action(sets, tmp_path, paths="good", version="checkout")
        assert done.returncode == (69 if code else 0), done.stderr
        words = (tmp_path / "cargo").read_text()
        assert words.startswith("install --quiet --locked --path ") and f"{ROOT}/command" in words
        assert outputs(tmp_path)["installed"] == ("false" if code else "true")


def template(kind):
    """The lines of shell in a template of docs/VERIFY.md."""
    page = (ROOT / "docs" / "VERIFY.md").read_text()
    block = re.search(rf"## {kind}\n\n```\w+\n(.+?)\n```", page, re.DOTALL)[1]
    if kind == "GitLab":
        return "\n".join(yaml.safe_load(block)["verify-data"]["script"])
    return re.search(r"sh \'\'\'(.+?)\'\'\'", block, re.DOTALL)[1]


@pytest.mark.parametrize("kind", ["GitLab", "Jenkins"])
@pytest.mark.parametrize(("name", "code"), [("good", 0), ("bad", 1)])
def test_the_templates_of_other_services_run(sets, tmp_path, kind, name, code):
    """As their runners do: one shell that ends at the first error. `python` notes what pip installs."""
    for split in ("train", "val"):
        shutil.copytree(sets / (name if split == "val" else "good"), tmp_path / "data" / split)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "pack").symlink_to(PACK)
    python = tmp_path / "bin" / "python"
    python.write_text(f'#!/bin/sh\necho "$*" > {tmp_path}/pip\nexit ${{PIP_CODE:-0}}\n')
    python.chmod(0o755)
    env = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "TARFLUME_VERSION": "0.1.0"}
    run = ["bash", "-e", "-c", template(kind)]
    done = subprocess.run(run, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert "tarflume==0.1.0" in (tmp_path / "pip").read_text()
    xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd").validate(tmp_path / "verify.xml")
    done = subprocess.run(run, cwd=tmp_path, env=env | {"PIP_CODE": "1"}, capture_output=True, check=False)
    assert done.returncode == 69


def hook(sets, *files):
    """Runs the hook pack-verify for the files that its pattern takes."""
    hooks = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    taken = [file for file in files if re.search(hooks["pack-verify"]["files"], file)]
    words = [PACK, *hooks["pack-verify"]["entry"].split()[1:], *taken]
    return taken, subprocess.run(words, cwd=sets, capture_output=True, text=True, check=False)


def test_the_hook_takes_manifests_sidecars_and_tars(sets):
    names = ["good/dataset.json", "good/shard-000000.tar", "good/shard-000000.index"]
    taken, done = hook(sets, *names, "good/my-dataset.json", "photos/0.jpg", "tar", "x.tar.txt")
    assert taken == names and done.returncode == 0 and done.stdout == "", done.stdout
    # quick reads no data, but for a tar that was changed after its sidecar: the manifest need not be in the commit
    for name in ("dataset.json", "shard-000000.tar", "shard-000000.index"):
        _, done = hook(sets, f"bad/{name}")
        assert done.returncode == 1 and "the tar was changed after its sidecar was made" in done.stdout, done.stdout


def test_the_hook_takes_files_of_dvc_for_data_sets_alone(sets, tmp_path):
    shutil.copytree(sets / "good", tmp_path / "set")
    (tmp_path / "model.pt").write_bytes(b"weights")
    (tmp_path / "photos").mkdir()
    size = (tmp_path / "set" / "shard-000000.tar").stat().st_size
    for name in ("set", "set/shard-000000.tar", "model.pt", "photos", "gone.tar"):
        (tmp_path / f"{name}.dvc").write_text(f"outs:\n- size: {size}\n  path: {os.path.basename(name)}\n")
    for name in ("set.dvc", "set/shard-000000.tar.dvc", "model.pt.dvc", "photos.dvc", "gone.tar.dvc"):
        taken, done = hook(tmp_path, name)
        assert taken == [name] and done.returncode == 0 and done.stdout == "", (name, done)
    (tmp_path / "set" / "shard-000000.tar.dvc").write_text(f"outs:\n- size: {size - 1}\n  path: shard-000000.tar\n")
    _, done = hook(tmp_path, "set/shard-000000.tar.dvc")
    assert done.returncode == 1 and "`dvc checkout` restores" in done.stdout, done.stdout


def pointer(size):
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize {size}\n"


def test_the_hook_needs_no_tars(sets, tmp_path):
    """Without tars that Git ignores, and with pointers of Git LFS; what is stated about them is compared."""
    root = tmp_path / "repository"
    shutil.copytree(sets / "good", root / "set")
    tar, index = root / "set" / "shard-000000.tar", root / "set" / "shard-000000.index"
    size = tar.stat().st_size
    tar.unlink()
    assert hook(root, "set/dataset.json")[1].returncode == 0
    tar.write_text(pointer(size))
    assert hook(root, "set/shard-000000.tar")[1].returncode == 0
    tar.write_text(pointer(size - 512))
    _, done = hook(root, "set/shard-000000.tar")
    assert done.returncode == 1 and f"{size - 512} is found" in done.stdout, done.stdout
    tar.unlink()
    index.write_bytes(index.read_bytes()[:-1])
    assert hook(root, "set/dataset.json")[1].returncode == 1
    index.unlink()
    assert hook(root, "set/dataset.json")[1].returncode == 0
    # By themselves, and in every reader, pointers are what they are.
    shutil.copy(sets / "good" / "shard-000000.index", index)
    tar.write_text(pointer(size))
    for words in (["verify", "--level", "quick", "set"], ["verify", "set"], ["verify", "set/shard-000000.tar"],
                  ["ls", "set"], ["info", "set/shard-000000.tar"], ["unpack", "set", "-o", "files"],
                  ["reshard", "set", "-o", "other"], ["index", "set"], ["stats", "set"], ["dedupe", "set"]):
        done = subprocess.run([PACK, *words], cwd=root, capture_output=True, text=True, check=False)
        assert done.returncode in (1, 2, 65), (words, done)
        said = done.stdout + done.stderr
        assert "Git LFS pointer" in said and "git lfs pull" in said and " cut" not in said, (words, said)
    index.unlink()
    (root / "set" / "dataset.json").unlink()
    for words in (["ls", "set/shard-000000.tar"], ["index", "set"], ["build", "tar:set/shard-000000.tar", "-o", "new"]):
        done = subprocess.run([PACK, *words], cwd=root, capture_output=True, text=True, check=False)
        assert done.returncode != 0 and "Git LFS pointer" in done.stdout + done.stderr, (words, done)
    with pytest.raises(tarflume.errors.Error, match="git lfs pull"):
        list(tarflume._core.TarStream(str(tar)))
    (root / "set" / "dataset.json").write_text(pointer(300))
    with pytest.raises(tarflume.errors.Error, match="git lfs pull"):
        tarflume.Dataset(root / "set")
