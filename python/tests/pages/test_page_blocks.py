"""Every Python block and every command of every page runs, or is in a short list with the reason why it cannot.

Of all of them, also of those that do not run, the names, keywords and options exist.
"""

from __future__ import annotations

import inspect
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tfrecord
from tokenizers import Tokenizer

import page_blocks
import servers
import tarflume
from conftest import PACK, ROOT, pack, picture
from page_blocks import Block, Unknown
from page_inputs import arrays, images, texts
from test_pages import BEFORE, TUTORIALS

#: Pages that test_pages.py plays: their programs, and their commands after `$ `.
PLAYED = {f"docs/{name}" for name in [*BEFORE, *(f"tutorials/{name}" for name in TUTORIALS)]}

#: Blocks that run in another test, by page and first line: its file, which names the page.
ELSEWHERE = {
    ("docs/BUCKETS.md", "import tarflume\n\nbuckets = tarflume.Buckets.length"): "loading/test_buckets.py",
    ("docs/FRAMEWORKS.md", "import torch"): "doors/test_trainers.py",
    ("docs/FRAMEWORKS.md", "import os"): "doors/test_trainers.py",
    ("docs/FRAMEWORKS.md", "import deepspeed"): "clients/test_deepspeed.py",
    ("docs/frameworks/checkpoints.md", "import os"): "doors/test_checkpoints.py",
    ("docs/frameworks/checkpoints.md", "import tarflume.torch"): "clients/test_torchft.py",
    ("docs/frameworks/checkpoints.md", "from lightning"): "doors/test_other_ranks.py",
    ("docs/frameworks/lerobot.md", "import tarflume"): "clients/test_lerobot.py",
    ("docs/frameworks/open-clip.md", "import open_clip_train"): "clients/test_open_clip_door.py",
    ("docs/frameworks/sft.md", "import tarflume"): "doors/test_sft.py",
    ("docs/frameworks/sft.md", "import os"): "doors/test_sft.py",
    ("docs/frameworks/sft.md", "COLUMNS"): "doors/test_sft.py",
    ("docs/frameworks/timm.md", "import os"): "doors/test_timm.py",
    ("docs/frameworks/torchtitan.md", "from dataclasses"): "clients/test_torchtitan.py",
    ("docs/CLUSTERS.md", "def pack_shard"): "engines/test_dask.py",
    ("docs/CLUSTERS.md", "codes = sc."): "engines/test_spark.py",
}

#: Blocks that cannot run, by page and first line, and why. Their names and options are checked all the same.
CANNOT_RUN = {
    ("docs/FRAMEWORKS.md", "loader = tarflume.torch.Loader"): "Composer needs PyTorch 2.7",
    ("docs/READERS.md", "import ray"): "needs Ray: clients/test_clients.py calls it",
    ("docs/CLUSTERS.md", "import tarflume.ray"): "needs Ray: engines/test_ray.py calls it",
    ("FORMAT.md", "import re"): "needs the package blake3: tests/results/manifest.rs has b3sum compute it",
    ("formats/FORMAT.md", "import re"): "the same page",
    ("docs/GPU.md", "crop = tarflume.RandomResizedCrop"): "needs a GPU: `make gpu`",
    ("docs/GPU.md", "resident = tarflume.Resident"): "needs a GPU: `make gpu`",
    ("docs/TRANSFORMS.md", "image = tarflume.Image(recipe"): "needs a GPU: device/test_device_transforms.py has it on a played one",
    ("bench/dlio/README.md", "W="): "needs DLIO: engines/test_dlio.py runs it",
    ("bench/dlio/README.md", "TARFLUME_SHARDS"): "needs DLIO: engines/test_dlio.py runs it",
    ("docs/WATCHING.md", "pack doctor --watch --pid"): "needs a training: tests/examined/doctor.rs watches one",
    ("docs/CLUSTERS.md", "pack slurm"): "needs Slurm: clusters/test_slurm.py runs it",
    ("docs/CLUSTERS.md", "bsub"): "needs LSF, PBS or AWS: clusters/test_player.py plays their variables",
    ("docs/CLUSTERS.md", "torchrun"): "needs machines: clusters/test_elastic.py runs it",
    ("docs/VERIFY.md", "pack verify --changed-since"): "needs a repository of Git: tests/examined/scope.rs makes one",
    ("docs/VERIFY.md", "$ pack verify --time-budget"): "writes into the cache of the user: tests/examined/scope.rs has its own",
    ("docs/VERIFY.md", "$ pack verify data/"): "needs folders of data sets: tests/examined/scope.rs makes them",
    ("docs/INTEGRITY.md", "$ pack repair"): "needs damaged data sets: tests/examined/integrity.rs makes them",
    ("bench/gpu/README.md", "make gpu-kit"): "needs a GPU: device/test_gpu_script.py runs the script without one",
    ("bench/gpu/README.md", "python3 run.py"): "needs a GPU: device/test_gpu_script.py runs the script without one",
}

#: Commands that install, compile or test; the other lines of their blocks run.
NOT_OURS = {"make", "cargo", "pip"}

#: Blocks of the console whose lines follow one another; other lines are alternatives, each for its own folder.
IN_TURN = {
    ("docs/PACKING.md", "pack plan photos/ -o shards/  "),
    ("docs/CLUSTERS.md", "srun"),
    ("docs/CLUSTERS.md", "find"),
    ("docs/CLUSTERS.md", "mpiexec"),
    ("docs/VERIFY.md", "$ pack verify --write-expect"),
    ("docs/INTEGRITY.md", "pack build photos/"),
    ("docs/INTEGRITY.md", "pack sign --new-key"),
    ("docs/VIEW.md", "$ pack dedupe"),
    ("docs/REMOTE.md", "pack build photos/ -o s3:"),
    ("command/README.md", "cargo install"),
}

#: What a block has of the program around it.
RECIPE = "import numpy, tarflume, tarflume.transforms as T\nrecipe = T.Compose([T.RandomResizedCrop(32), T.ColorJitter(0.4)])"
AROUND = {
    ("docs/TRANSFORMS.md", "T.preview("): f"{RECIPE}\nloader = tarflume.Loader('shards/', batch_size=8, image=recipe)",
    ("docs/TRANSFORMS.md", "loader = "): f"{RECIPE}\noriginal = numpy.zeros((48, 64, 3), numpy.uint8)",
    ("docs/TRANSFORMS.md", "mix = "): RECIPE,
    ("docs/TRANSFORMS.md", "actions = T.draw("): f"{RECIPE}\nboxes, points = [[1, 2, 30, 40]], [[1, 2], [3, 4], [5, 6]]\n"
    "mask = numpy.zeros((480, 640), numpy.uint8)",
    ("docs/TRANSFORMS.md", "ssd = "): RECIPE,
    ("docs/TRANSFORMS.md", "import tarflume.webdataset"): RECIPE,
    ("docs/CLUSTERS.md", "if step"): "import tarflume\nstep, loader = 0, tarflume.Loader('shards/', batch_size=2)\nfor _ in loader: pass",
    ("docs/REMOTE.md", "loader = "): "import tarflume",
    ("docs/TOKENS.md", "import tarflume.torch"): "import types\nmodel = lambda **words: types.SimpleNamespace(loss=0.0)",
    ("docs/TOKENS.md", "columns = "): "import types, tarflume.torch, torch\nmodel = lambda **words: types.SimpleNamespace(loss=0.0)",
    ("docs/PATCHES.md", "import tarflume.torch"): "model = len",
    ("docs/FINE-TUNING.md", "tarflume.pack.tokens"): "import tarflume",
    ("docs/FINE-TUNING.md", "columns = "): "import types, tarflume.torch\nmodel = lambda **words: types.SimpleNamespace(loss=0.0)",
    ("docs/TOKENS.md", "tarflume.pack.tokens"): "import tarflume\nfrom transformers import PreTrainedTokenizerFast\n"
    "tok = PreTrainedTokenizerFast(tokenizer_file='tokenizer.json', eos_token='<|endoftext|>')",
}  # fmt: skip

#: Texts of pages that are too large for a test, and what takes their place.
SMALLER = [
    ("range(90)", "range(1)"), ("s3://bucket", "s3://data"), ("200GiB", "64MiB"), ("{000..099}", "{000..001}"),
    ("shards/{000..765}", "shards/shard-{000000..000001}"), ("--shards 64", "--shards 6"), ("living/cat.json", "000.json"),
    ("--world-size 8 ", "--world-size 2 --batch-size 2 "), ("parquet:train-*.parquet?key=id", "parquet:hub-*.parquet?key=id"),
    ("/mnt/bucket", "photos"), ("--class json:/label shards/", "--class json:/class shards/"), ("--files manifest.json", "--files list.txt"),
]  # fmt: skip

#: Exit codes other than 0 that say what was found, not that the command failed.
FINDS = ("pack dedupe", "pack doctor", "pack verify --expect")


def key_of(block: Block, keys) -> tuple[str, str] | None:
    """The key of a list to which a block belongs."""
    return next((key for key in keys if key[0] == block.page and block.code.startswith(key[1])), None)


def blocks(language: str) -> list[Block]:
    return [block for page in page_blocks.pages() for block in page_blocks.of_page(page) if block.language == language]


def is_played(block: Block) -> bool:
    return block.page in PLAYED and (block.language == "python" or re.search(r"^\$ ", block.code, re.M) is not None)


def runs_here(block: Block) -> bool:
    return not is_played(block) and key_of(block, [*ELSEWHERE, *CANNOT_RUN]) is None


def smaller(code: str) -> str:
    for old, new in SMALLER:
        code = code.replace(old, new)
    return code


def test_the_lists_name_blocks_that_there_are():
    everything = [*blocks("python"), *blocks("console")]
    assert len(everything) > 140
    for key in [*ELSEWHERE, *CANNOT_RUN, *IN_TURN, *AROUND]:
        assert any(block.page == key[0] and block.code.startswith(key[1]) for block in everything), key
    for (page, _), file in ELSEWHERE.items():
        assert page in (ROOT / "python" / "tests" / file).read_text(), f"{file} does not name {page}"
    for reason in CANNOT_RUN.values():
        for file in re.findall(r"\S+\.py", reason):
            assert (ROOT / "python" / "tests" / file).exists(), reason


def test_names_and_options_of_all_blocks_exist():
    resolved = 0
    wrong = []
    for block in [*blocks("python"), *blocks("console")]:
        try:
            if block.language == "python":
                resolved += page_blocks.check_python(block.code)
            else:
                for command in page_blocks.commands(block):
                    page_blocks.check_command(command)
        except (Unknown, SyntaxError) as error:
            wrong.append(f"{block}: {error}")
    assert not wrong
    assert resolved > 150  # or nothing was looked at


def test_every_function_and_class_has_a_signature():
    """Editors and the tests above look keywords up in it."""
    made_here = {"Diagnosis", "Sample"}  # no program makes them
    names = {name for name in dir(tarflume) if callable(getattr(tarflume, name))} - made_here
    assert len(names) > 25
    for name in names:
        assert inspect.signature(getattr(tarflume, name)) is not None


#: Names in a text that are none of the package, or need what is not installed here.
OTHER_NAMES = ("tarflume.json", "tarflume.dlio")


def test_names_and_options_in_sentences_exist():
    found, wrong = 0, []
    for path in [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("[ft]*/*.md"), *ROOT.glob("*.md"), *ROOT.glob("*/README.md")]:
        sentences = re.sub(r"^( *)```.*?^ *```", "", path.read_text(), flags=re.S | re.M)
        for span in re.findall(r"`((?:tarflume[.]|pack )[^`\n]+)`", sentences):
            if span.startswith((*OTHER_NAMES, "pack help")):
                continue
            found += 1
            try:
                if span.startswith("pack "):
                    page_blocks.check_command(span.replace("\\|", "|"))
                else:
                    page_blocks.check_python(re.sub(r"=(?=[,)])", "=0", span))
            except (Unknown, SyntaxError) as error:
                wrong.append(f"{path.name}: {span}: {error}")
    assert not wrong
    assert found > 400


@pytest.mark.parametrize(("code", "said"), [
    ("import tarflume.torch as t\nt.Loadre('a')", "tarflume.torch has no 'Loadre'|t has no 'Loadre'"),
    ("tarflume.Loader('a', batch=3)", "tarflume.Loader has no keyword 'batch'"),
    ("tarflume.torch.Loader('a', shufle=True)", "has no keyword 'shufle'"),
    ("loader = tarflume.Loader('a')\nfor b in loader.epochs(0): pass", "loader has no 'epochs'"),
    ("from tarflume import Lodaer", "tarflume has no 'Lodaer'"),
    ("import tarflume.ray\ntarflume.ray.packs('a', 'b')", "tarflume.ray has no 'packs'"),
    ("tarflume.RandomResizedCrop(224, flop=1)", "has no keyword 'flop'"),
])  # fmt: skip
def test_a_name_that_does_not_exist_is_found(code, said):
    with pytest.raises(Unknown, match=said):
        page_blocks.check_python(code)


@pytest.mark.parametrize(("command", "said"), [
    ("pack biuld a -o b", "no command 'biuld'"),
    ("srun -n4 pack build a --shard 3", "pack build has no option --shard$"),
    ("A=b pack ls x | pack info -q", "pack info has no option -q"),
    ("make gpukit", "Makefile"),
    ("pip install 'tarflume[torhc]'", "no extra torhc"),
    ("cargo run --example epcoh", "no example epcoh"),
    ("python -m tarflume.dlioo x", "no module"),
    ("python3 bench/dlio/run_it.py", "no file"),
])  # fmt: skip
def test_an_option_that_does_not_exist_is_found(command, said):
    with pytest.raises(Unknown, match=said):
        page_blocks.check_command(command)


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> pathlib.Path:
    """The files that commands take, and in `sets` the data sets."""
    root = tmp_path_factory.mktemp("tree")
    inputs, sets = root / "inputs", root / "sets"
    inputs.mkdir()
    sets.mkdir()
    for make in (images, arrays, texts):
        make(inputs)
    (inputs / "bad.jsonl").write_text('{"key": "000"}\n')
    (inputs / "s.json").write_text('{"required": ["class"]}')
    (inputs / "text").mkdir()
    shutil.copytree(inputs / "photos", inputs / "scans")
    for n in range(12):
        (inputs / "text" / f"{n}.txt").write_text("a text " * n + "\n")
        (inputs / "scans" / f"{n:03}.json").rename(inputs / "scans" / f"{n:03}.txt")
        picture(n).save(inputs / "scans" / f"{n:03}.png")
        (inputs / "scans" / f"{n:03}.jpg").unlink()
    shutil.copytree(inputs / "old", sets / "old-shards")
    for name, path in zip(("train", "val"), sorted((sets / "old-shards").iterdir()), strict=True):
        path.rename(path.with_name(f"{name}-000.tar"))
    for path in sorted((inputs / "old").iterdir()):
        subprocess.run(["gzip", "-k", path], check=True)
    pack("build", inputs / "photos", "-o", sets / "shards", "--shards", 4)
    pack("verify", "--write-expect", inputs / "data.json", "--class", "json:/class", sets / "shards")
    (root / "others").mkdir()
    for path in (inputs / "photos").iterdir():
        shutil.copy(path, root / "others" / f"b{path.name}")
    pack("build", root / "others", "-o", sets / "b")
    with tarflume.Loader(sets / "shards") as loader:
        assert sum(1 for _ in loader) == 12
        (inputs / "stats").mkdir()
        loader.stats().append(inputs / "stats")
    rows = [{"bytes": path.read_bytes(), "path": path.name} for path in sorted((inputs / "images").iterdir())]
    pq.write_table(pa.table({"id": range(12), "image": rows, "label": range(12)}), inputs / "hub-0.parquet")
    records = tfrecord.TFRecordWriter(str(inputs / "train-0.tfrecord"))
    for n, row in enumerate(rows):
        records.write({"image/filename": (row["path"].encode(), "byte"), "image/encoded": (row["bytes"], "byte"), "label": (n, "int")})
    records.close()
    words = ["--tokenizer", inputs / "tokenizer.json", "--length", 2048]
    pack("tokens", inputs / "corpus", "-o", sets / "tokens", *words)
    tokenizer = Tokenizer.from_file(str(inputs / "tokenizer.json"))
    tokenizer.add_special_tokens(["<|endoftext|>"])
    tokenizer.save(str(inputs / "tokenizer.json"))
    (inputs / "model").mkdir(exist_ok=True)
    tokenizer.save(str(inputs / "model" / "tokenizer.json"))
    (inputs / "model" / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    tokenizer.save(str(inputs / "auto.json"))
    words = ["--tokenizer", inputs / "model" / "tokenizer.json", "--messages", "messages", "--mask-prompt"]
    pack("tokens", inputs / "chats.jsonl", "-o", sets / "sft", *words)
    return root


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """The environment of a store with the bucket "data"."""
    with servers.seaweedfs(tmp_path_factory.mktemp("store")) as options:
        yield {
            "AWS_ENDPOINT_URL": options["endpoint"], "AWS_ACCESS_KEY_ID": options["access_key_id"],
            "AWS_SECRET_ACCESS_KEY": options["secret_access_key"], "AWS_REGION": options["region"], "AWS_ALLOW_HTTP": "true",
        }  # fmt: skip


#: Programs of clusters, as far as they give each task its number.
LAUNCHER = """#!/bin/bash
count=$1; shift
[ "$count" = -n ] && { count=$1; shift; }
count=${count#-n}
for n in $(seq 0 $((count - 1))); do %s "$@" || exit; done
"""


#: A reader of the page that a server shows: asks for it once, and ends the server as Ctrl-C does.
VISITOR = """#!{python}
import signal, subprocess, sys, urllib.request
with subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True) as server:
    with urllib.request.urlopen(server.stdout.readline().strip()) as page:
        page.read()
    server.send_signal(signal.SIGINT)
    sys.exit(server.wait())
"""


def programs(folder: pathlib.Path) -> str:
    """A search path with `pack`, with what stands in for a launcher, and with `visit`."""
    folder.mkdir()
    (folder / "visit").write_text(VISITOR.format(python=sys.executable))
    (folder / "visit").chmod(0o755)
    (folder / "pack").symlink_to(os.path.abspath(shutil.which(PACK)))
    launchers = {"srun": "SLURM_STEP_ID=0 SLURM_PROCID=$n SLURM_NTASKS=$count", "mpiexec": "OMPI_COMM_WORLD_RANK=$n OMPI_COMM_WORLD_SIZE=$count"}
    for name, variables in launchers.items():
        (folder / name).write_text(LAUNCHER % variables)
        (folder / name).chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def places(commands: list[str], inputs: pathlib.Path) -> tuple[set[str], set[str]]:
    """The names that commands make, and those of the data sets that they read."""
    makes: set[str] = set()
    reads: set[str] = set()
    for words in [words for command in commands for words in page_blocks.words_of(command) if "pack" in words]:
        command, *rest = words[words.index("pack") + 1 :]
        out = rest[rest.index("-o") + 1].rstrip("/") if "-o" in rest else None
        if command == "append" and out not in makes:
            reads.add(out)
        elif out is not None:
            makes.add(out)
        if command in ("build", "append", "plan", "scan", "tokens"):
            continue  # from files
        for name, slash, rest_of_path in (word.partition("/") for word in rest):
            is_set = (slash and not (rest_of_path and (inputs / name).exists())) or name == "imagenet"
            if is_set and re.fullmatch(r"[\w-]+", name) and name not in makes:
                reads.add(name)
    return makes, reads


def lay(tree: pathlib.Path, folder: pathlib.Path, commands: list[str]) -> None:
    """Fills a folder for some commands: their sources, their data sets, and nothing where they write."""
    makes, reads = places(commands, tree / "inputs")
    folder.mkdir()
    for path in (tree / "inputs").iterdir():
        if path.name in makes | reads or path.stem in makes:
            continue
        if path.name == "photos":  # `find` enters no link
            shutil.copytree(path, folder / path.name)
        else:
            (folder / path.name).symlink_to(path)
    for name in reads:
        made = tree / "sets" / name
        shutil.copytree(made if made.is_dir() else tree / "sets" / "shards", folder / name)


def groups(block: Block) -> list[list[str]]:
    """The commands that run in one folder: each alone, or all of a block one after the other."""
    found = [smaller(line) for line in page_blocks.commands(block) if line.split()[0] not in NOT_OURS]
    return [found] if found and key_of(block, IN_TURN) else [[line] for line in found]


def console_pages() -> list[str]:
    pages = {block.page for block in blocks("console") if runs_here(block) and groups(block)}
    return sorted(pages - {"docs/IN-OUT.md", "README.md"})  # test_in_and_out.py runs them, and compares what they make


@pytest.mark.parametrize("page", console_pages())
def test_the_commands_of_a_page_run(page, tree, tmp_path, request):
    path = programs(tmp_path / "bin")
    env = os.environ | {"PATH": path, "LC_ALL": "C.UTF-8"}
    if page == "docs/REMOTE.md":
        env |= request.getfixturevalue("store")
    wrong = []
    for block in page_blocks.of_page(page):
        if block.language != "console" or not runs_here(block):
            continue
        for n, lines in enumerate(groups(block)):
            folder = tmp_path / f"{block.line}-{n}"
            lay(tree, folder, lines)
            code = re.sub(r"pack bench(?!.*--seconds)", "pack bench --seconds 0.2", "\n".join(lines))
            code = code.replace("s3://data/", "s3://data/commands/")
            code = re.sub(r"^pack view(?![^#\n]* -o )", "visit pack view", code, flags=re.M)
            env["GITHUB_STEP_SUMMARY"] = str(folder / "summary")
            done = subprocess.run(["bash", "-uo", "pipefail", "-c", f"set -e\n{code}"], cwd=folder, env=env, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, check=False)  # fmt: skip
            finds = done.returncode == 1 and any(command in code for command in FINDS)
            if done.returncode != 0 and not finds:
                wrong.append(f"{block}: {code}\nexit code {done.returncode}\n{done.stdout[-500:]}{done.stderr[-1500:]}")
    assert not wrong, "\n\n".join(wrong)


@pytest.fixture(scope="module")
def errors(tree, store, tmp_path_factory) -> dict[str, str]:
    """The errors of all programs, by the block."""
    root = tmp_path_factory.mktemp("programs")
    photos, shards = root / "photos", root / "shards"
    photos.mkdir()
    for n in range(300):
        picture(n).resize((64, 48)).save(photos / f"{n:04}.jpg")  # one size: a snippet batches them uncut
        (photos / f"{n:04}.json").write_text(f'{{"class": {n % 10}}}')
    pack("build", photos, "-o", shards, "--shards", 2)
    env = os.environ | store | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(root / "hf"), "TARFLUME_SIDECARS": str(root / "sidecars"),
                                "HF_DATASETS_CACHE": str(root / "hf"), "XDG_CACHE_HOME": str(root / "cache")}  # fmt: skip
    subprocess.run([PACK, "build", photos, "-o", "s3://data/photos", "--shards", "2"], env=env, check=True, capture_output=True)
    client = servers.s3_client({"endpoint": store["AWS_ENDPOINT_URL"], "region": "us-east-1",
                                "access_key_id": store["AWS_ACCESS_KEY_ID"], "secret_access_key": store["AWS_SECRET_ACCESS_KEY"]})
    for n in range(2):
        client.upload_file(str(shards / f"shard-{n:06}.tar"), "data", f"train-{n:03}.tar")
    given = []
    # `tarflume.webdataset.instead` changes what later blocks import: last.
    for block in sorted(blocks("python"), key=lambda block: "webdataset.instead" in block.code):
        if not runs_here(block):
            continue
        folder = root / str(block).replace("/", "_")
        folder.mkdir()
        writes = re.findall(r'pack\.\w+\(\s*"[^"]*",\s*"([^"/]+)', block.code)
        for path in [shards, *(tree / "inputs").iterdir(), tree / "sets" / "tokens", tree / "sets" / "sft"]:
            if path.name not in writes:
                (folder / path.name).symlink_to(path)
        around = key_of(block, AROUND)
        code = (AROUND[around] + "\n" if around else "") + smaller(block.code)
        given.append({"name": str(block), "folder": str(folder), "code": code})
    script = pathlib.Path(__file__).with_name("run_blocks.py")
    done = subprocess.run([sys.executable, script], input=json.dumps(given), env=env, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("block", [str(block) for block in blocks("python") if runs_here(block)])
def test_a_program_of_a_page_runs(block, errors):
    assert errors[block] == "", errors[block]
