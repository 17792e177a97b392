#!/usr/bin/env python3
"""Five data sets in the form in which they are downloaded: the commands of docs/DATASETS.md beside the scripts of rivals.

    PYTHON bench/datasets/run.py --photos DIR [--pack PATH] [--img2dataset PATH] [--work DIR] [--rounds 2] [--append]

PYTHON has mosaicml-streaming, datasets, torchvision and pillow; img2dataset may be in an environment of its own. A rival that
is missing is a row with its reason. The sets are made of the photographs of DIR, each picture with bytes of its own. All
samples that arrive are compared with the source. A last run packs each set after one JPEG has lost its second half.
"""
import ast
import hashlib
import importlib.util
import io
import json
import pathlib
import pickle
import shlex
import subprocess
import sys
import tarfile

import numpy as np
from PIL import Image

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402
import recipes  # noqa: E402

SPLITS = ("train", "val")
IDS = [n for n in range(1, 91) if n not in (12, 26, 29, 30, 45, 66, 68, 69, 71, 83)]
CIFAR = "pack build 'raw:cifar-10-batches-bin/{}?record=label:u1,image:3x32x32u1&png=image&layout=chw' -o OUT/{}\n"
#: What a user of a rival writes when no command does it.
SCRIPTS = {"folders": """import csv, os, sys
folder = sys.argv[1]
for row in csv.DictReader(open(f"{folder}/LOC_val_solution.csv")):
    synset, name = row["PredictionString"].split()[0], row["ImageId"] + ".JPEG"
    os.renames(f"{folder}/val/{name}", f"{folder}/val/{synset}/{name}")
""", "imagefolder": """import sys
from datasets import load_dataset
for split, rows in load_dataset("imagefolder", data_dir=sys.argv[1]).items():
    rows.save_to_disk(f"{sys.argv[2]}/{split}")
""", "generator": """import sys
from datasets import Dataset, Features, Image, Value
def rows():
    for line in open("train.tsv"):
        caption, path = line.rstrip("\\n").split("\\t")
        yield {"image": path, "caption": caption}
made = Dataset.from_generator(rows, Features({"image": Image(), "caption": Value("string")}))
made.save_to_disk(sys.argv[1] + "/train")
""", "writer": """import sys
from streaming import MDSWriter
with MDSWriter(out=sys.argv[1] + "/train", columns={"image": "jpeg", "caption": "str"}, hashes=["sha1", "xxh64"]) as out:
    for line in open("train.tsv"):
        caption, path = line.rstrip("\\n").split("\\t")
        out.write({"image": open(path, "rb").read(), "caption": caption})
"""}
#: Runs a script of Streaming on sets of another size: two of them state counts, and torchvision the MD5 of the files of CIFAR.
SCALED = """import hashlib, importlib.util, os, pathlib, sys
name = sys.argv.pop(1)
source = pathlib.Path(importlib.util.find_spec("streaming.vision.convert." + name).origin).read_text()
for old, new in zip(["117266", "4952,", "20206", "2000,"], os.environ["COUNTS"].split()):
    source = source.replace(old, new)
if name == "cifar10":
    from torchvision.datasets import CIFAR10 as cifar
    md5 = lambda file: hashlib.md5(pathlib.Path(cifar.base_folder, file).read_bytes()).hexdigest()
    cifar.train_list, cifar.test_list = ([[file, md5(file)] for file, _ in a] for a in (cifar.train_list, cifar.test_list))
    cifar.meta["md5"] = md5(cifar.meta["filename"])
exec(compile(source, name, "exec"), {"__name__": "__main__"})
"""
CONVERT = "python -m streaming.vision.convert.{} --in_root . --out_root OUT\n"
SORT, PACK, MOSAIC, HF, IMG2DATASET = "python folders.py .\n", "pack", "MosaicML streaming", "Hugging Face datasets", "img2dataset"
#: Of each set, who packs it and with which commands, in the folder of the set.
SETS = {
    "ImageNet, train and val of Kaggle": {
        PACK: "pack build train -o OUT/train --label folder\npack build val -o OUT/val --join LOC_val_solution.csv:key=ImageId "
              "--label '/PredictionString~^n[0-9]+' --classes LOC_synset_mapping.txt\n",
        MOSAIC: SORT + CONVERT.format("imagenet"), HF: SORT + "python imagefolder.py . OUT\n"},
    "CIFAR-10": {PACK: CIFAR.format("data_batch_*.bin", "train") + CIFAR.format("test_batch.bin", "val"),
                 MOSAIC: CONVERT.format("cifar10")},
    "COCO instances": {PACK: "".join(f"pack build {s}2017 -o OUT/{s} --coco annotations/instances_{s}2017.json\n" for s in SPLITS),
                       MOSAIC: CONVERT.format("coco")},
    "ADE20K": {PACK: "pack build . -o OUT --pair images=jpg annotations=mask.png --split-by folder=1\n",
               MOSAIC: CONVERT.format("ade20k")},
    "CC3M, list and pictures": {
        PACK: "pack build 'csv:train.tsv?header=caption+path&jpg=@path' -o OUT\n", MOSAIC: "python writer.py OUT\n",
        HF: "python generator.py OUT\n",
        IMG2DATASET: "sed -i '1i caption\\turl' urls.tsv\nimg2dataset --url_list urls.tsv --input_format tsv --url_col url --caption_col "
                     "caption --output_format webdataset --output_folder OUT --resize_mode no --skip_reencode True "
                     "--processes_count 2 --thread_count 16\n"},
}


def digest(content):
    return hashlib.sha256(content).hexdigest()


def name_of(title):
    return title.split()[0].strip(",")


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def make(at, photos, count, port):
    """Makes the sets below `at`. Returns the truth of each: the hash of a picture, and its split and label."""
    imagenet, cifar, coco, ade, captions = (at / name_of(title) for title in SETS)
    sources, sizes, rng = [path.read_bytes() for path in photos], [Image.open(path).size for path in photos], np.random.default_rng(7)
    truth = {path.name: {} for path in (imagenet, cifar, coco, ade, captions)}
    val, urls, table, documents = ["ImageId,PredictionString"], [], [], {s: ([], []) for s in SPLITS}
    synsets = [f"n{1440764 + 4321 * k:08}" for k in range(100)]
    for n in range(count):
        split, number, (width, height) = SPLITS[n >= count * 4 // 5], n * 7 % 100, sizes[n % len(sizes)]
        # A comment makes the bytes of each picture its own.
        picture = b"\xff\xd8\xff\xfe\x00\x0e" + f"{n:012}".encode() + sources[n % len(sources)][2:]
        folder = synsets[number] if split == "train" else "."
        put(imagenet / split / folder / f"ILSVRC2012_{split}_{n:08}.JPEG", picture)
        val += [f"ILSVRC2012_val_{n:08},{synsets[number]} 10 12 63 70 "] * (split == "val")
        objects, (images, annotations) = [], documents[split]
        for k in range(0 if n % 100 == 0 else 1 + n % 13):  # as many a picture, and as many pictures without any, as in COCO
            x, y, w, h = (int(v) / 4 for v in rng.integers(40, [2 * width, 2 * height, 2 * width - 40, 2 * height - 40]))
            objects.append([[x, y, w, h], (n + 11 * k) % 80])
            corners = np.round(rng.random((20, 2)) * [w, h] + [x, y], 2).ravel().tolist()
            annotations.append({"id": 20 * n + k + 1, "image_id": n + 1, "category_id": IDS[objects[-1][1]], "iscrowd": 0,
                                "bbox": objects[-1][0], "area": w * h / 2, "segmentation": [corners]})
        images.append({"id": n + 1, "file_name": f"{n + 1:012}.jpg", "width": width, "height": height})
        put(coco / f"{split}2017" / images[-1]["file_name"], picture)
        place, mask = f"{'training' if split == 'train' else 'validation'}/ADE_{split}_{n:08}", io.BytesIO()
        areas = Image.fromarray(rng.integers(0, 151, (12, 16), np.uint8)).resize((width, height), Image.Resampling.NEAREST)
        areas.save(mask, "PNG")
        put(ade / "images" / f"{place}.jpg", picture)
        put(ade / "annotations" / f"{place}.png", mask.getvalue())
        caption, path = f'picture {n}: a "typical" bus station, {n % 7} people and a <PERSON>', f"pictures/{n // 1000}/{n}.jpg"
        put(captions / path, picture)
        table.append(f"{caption}\t{path}\n")
        urls.append(f"{caption}\thttp://127.0.0.1:{port}/{path}\n")
        for name, label in [(imagenet, number), (coco, objects), (ade, digest(mask.getvalue()))]:
            truth[name.name][digest(picture)] = [split, label]
        truth[captions.name][digest(picture)] = ["train", caption]
    put(imagenet / "LOC_val_solution.csv", "\n".join(val) + "\n")
    put(imagenet / "LOC_synset_mapping.txt", "".join(f"{s} name of {s}, other\n" for s in synsets))
    put(captions / "train.tsv", "".join(table))
    put(captions / "urls.tsv", "".join(urls))
    for split, (images, annotations) in documents.items():
        categories = [{"id": i, "name": f"thing {i}"} for i in IDS]
        put(coco / "annotations" / f"instances_{split}2017.json",
            json.dumps({"images": images, "annotations": annotations, "categories": categories}))
    small = [np.asarray(Image.open(path).convert("RGB").resize((96, 96))) for path in photos]
    for batch, name in enumerate([f"data_batch_{n}" for n in range(1, 6)] + ["test_batch"]):
        labels, rows = rng.integers(0, 10, count * 5 // 6), []
        for n, (y, x, label) in enumerate(zip(*rng.integers(0, 64, (2, len(labels))), labels)):
            image = small[n % len(small)][y:y + 32, x:x + 32].copy()
            image[0, 0] = batch, n // 256, n % 256
            truth[cifar.name][digest(image.tobytes())] = [SPLITS[batch == 5], int(label)]
            rows.append(image.transpose(2, 0, 1).ravel())
        put(cifar / "cifar-10-batches-py" / name, pickle.dumps({"data": np.stack(rows), "labels": labels.tolist()}))
        put(cifar / "cifar-10-batches-bin" / f"{name}.bin", b"".join(bytes([label]) + row.tobytes() for label, row in zip(labels, rows)))
    put(cifar / "cifar-10-batches-py" / "batches.meta", pickle.dumps({"label_names": [f"class {n}" for n in range(10)]}))
    return truth


def of_tars(out):
    """The picture, split and label of each sample in the shards of pack and of img2dataset."""
    for path in sorted(out.rglob("*.tar")):
        samples, split = {}, SPLITS["val" in str(path.relative_to(out))]
        with tarfile.open(path) as tar:
            for member in tar:
                folder, _, base = member.name.rpartition("/")
                samples.setdefault((folder, base.split(".")[0]), {})[base.partition(".")[2]] = tar.extractfile(member).read()
        for parts in samples.values():
            row = json.loads(parts.get("json", b"{}"))
            label = row.get("caption", row.get("class", row.get("label")))
            label = [list(one) for one in zip(row["boxes"], row["category_index"])] if "boxes" in row else label
            label = digest(parts["mask.png"]) if "mask.png" in parts else label
            yield parts["jpg"] if "jpg" in parts else np.asarray(Image.open(io.BytesIO(parts["png"]))).tobytes(), split, label


def of_mds(out):
    from streaming.base.local import LocalDataset
    for split in SPLITS:
        rows = LocalDataset(local=str(out), split=split) if (out / split).exists() else []
        for shard in getattr(rows, "shards", []):  # the bytes of files, not the pixels
            shard.column_encodings = ["bytes" if one in ("jpeg", "png") else one for one in shard.column_encodings]
        for row in rows:
            picture, label = row.get("x", row.get("img", row.get("image"))), row.get("caption", row.get("y"))
            if "bbox_sizes" in row:
                sides = np.round(row["bbox_sizes"].reshape(-1, 4) * ([row["wtot"], row["htot"]] * 2) * 4) / 4
                label = [[[a, b, c - a, d - b], int(i) - 1] for (a, b, c, d), i in zip(sides.tolist(), row["bbox_labels"])]
            label = digest(label) if isinstance(label, bytes) else label
            yield picture if isinstance(picture, bytes) else picture.tobytes(), split, label


def of_arrow(out):
    import pyarrow
    for path in sorted(out.glob("*/data-*.arrow")):
        for row in pyarrow.ipc.open_stream(path).read_all().to_pylist():
            yield row["image"]["bytes"], SPLITS["val" in path.parent.name], row.get("caption", row.get("label"))


def lines_of(source):
    """Lines with code: no blanks, comments and docstrings."""
    texts = {n for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
             for n in range(node.lineno, node.end_lineno + 1)}
    return sum(n not in texts and bool(line.split("#")[0].strip()) for n, line in enumerate(source.split("\n"), 1))


def written(script):
    """What the user writes, and how long the rival's own script is."""
    said = [f"{len(shlex.split(script))} words", *(f"{lines_of(SCRIPTS[name])} lines" for name in SCRIPTS if f"{name}.py" in script)]
    if "vision.convert" in script and (found := importlib.util.find_spec("streaming")):
        at = pathlib.Path(found.origin).parent / "vision" / "convert" / (script.split("convert.")[1].split()[0] + ".py")
        said.append(f"its own script: {lines_of(at.read_text())} lines")
    return "; ".join(said)


def case(x, truth, title, packer, script):
    copy, out, said = x.work / "copy", x.work / "out", written(script)
    for old, new in [("OUT", out), ("python -m streaming.vision.convert.", f"python {x.work}/scaled.py "), ("python ", f"{sys.executable} "),
                     ("pack build", f"{x.pack} build"), ("img2dataset --", f"{x.img2dataset} --"),
                     *((f" {one}.py", f" {x.work}/{one}.py") for one in SCRIPTS)]:
        script = script.replace(old, str(new))
    counts = " ".join(str(sum(split == s for split, label in truth.values() if label != [])) + "," * (s == "val") for s in SPLITS * 2)

    def before():
        """The scripts of rivals rename files: each run has links of its own."""
        for path in (copy, out):
            common.remove(path)
        common.sh(f"mkdir {out}; cp -al {x.work / 'sets' / name_of(title)} {copy}; touch {copy}/urls.tsv; sed -i '' {copy}/urls.tsv")

    def check(run):
        read = {MOSAIC: of_mds, HF: of_arrow}.get(packer, of_tars)
        one.found = {digest(picture): [split, label] for picture, split, label in read(out)}
        good = sum(one.found.get(key) == label for key, label in truth.items())
        size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file() and "cache" not in path.parts)
        run["vals"].update(good=f"{good:,} of {len(truth):,}", mb=f"{size / 1e6:,.0f}")
    head = f"export HF_HOME={out}/cache COUNTS='{counts}'\n"
    one = common.Case(packer, common.bash(head + script), (PACK,), before, check, copy, len(truth))
    one.said, one.script = said, script
    return one


def damaged(one, victim):
    """What becomes of a JPEG of which half is lost."""
    whole = victim.read_bytes()
    victim.write_bytes(whole[:len(whole) // 2])
    one.before()
    got = common.run(one.cmd, one.cwd)
    said = "refused" if got["rc"] else one.check(got) or ("packed" if digest(whole[:len(whole) // 2]) in one.found else "left out")
    victim.write_bytes(whole)
    return said


def main():
    ap = common.options(__doc__)
    ap.add_argument("--photos", type=pathlib.Path, required=True)
    ap.add_argument("--img2dataset", type=pathlib.Path, default="img2dataset", help="the program")
    ap.add_argument("--pictures", type=int, default=2000, help="of each set; CIFAR-10 has five times as many")
    ap.add_argument("--port", type=int, default=18765, help="where img2dataset finds the pictures")
    x = ap.parse_args()
    x.pack, x.work = common.pack_binary(x.pack), x.work.resolve() / "datasets"
    for path, word in [(x.photos, "PHOTOS"), (x.work, "WORK"), (pathlib.Path(sys.executable).parent.parent, "ENVIRONMENT")]:
        common.hide(path, word)
    common.remove(x.work)
    truths = make(x.work / "sets", recipes.photographs(x), x.pictures, x.port)
    for name, text in [*SCRIPTS.items(), ("scaled", SCALED)]:
        put(x.work / f"{name}.py", text)
    python = [sys.executable, "-c"]
    starts = {name: common.Case(name, cmd) for name, cmd in [
        (PACK, [x.pack, "--version"]), (MOSAIC, [*python, "import streaming"]), (HF, [*python, "import datasets"]),
        (IMG2DATASET, [x.img2dataset, "--help"])]}
    common.rounds("start", list(starts.values()), x.rounds, x.work / "log.jsonl")

    def seconds(one):
        return common.middle(map(common.wall_of, one.runs))
    columns = [("s, median (min-max)", lambda one: common.spread(map(common.wall_of, one.runs))),
               ("images/s", lambda one: f"{one.items / seconds(one):,.0f}"),
               ("without the start", lambda one: f"{one.items / (seconds(one) - seconds(starts[one.name])):,.0f}"),
               ("arrived with its label", lambda one: one.runs[-1]["vals"]["good"]), ("MB", lambda one: one.runs[-1]["vals"]["mb"]),
               ("half a JPEG is", lambda one: one.half), ("to write", lambda one: one.said)]
    tables, log = [], x.work / "log.jsonl"
    serve = [sys.executable, "-m", "http.server", str(x.port), "--bind", "127.0.0.1", "--directory", x.work / "sets" / "CC3M"]
    server = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for title, scripts in SETS.items():
            cases = [case(x, truths[name_of(title)], title, *one) for one in scripts.items() if common.matches(x.cases, f"{title} {one[0]}")]
            common.rounds(title, cases, x.rounds, log)
            pictures = sorted((x.work / "sets" / name_of(title)).rglob("*.[jJ]*[gG]"))
            for one in cases:
                one.half = damaged(one, pictures[1]) if pictures and not one.error else ""
            tables.append(common.columns_table(title, cases, columns))
    finally:
        server.terminate()
    started = ", ".join(f"{name} {seconds(one):.1f} s" for name, one in starts.items() if one.runs)
    found = recipes.versions(["mosaicml-streaming", "datasets", "torch", "torchvision", "pillow"])
    head = [f"## Data sets as they are downloaded, {common.now()[:10]}", f"{common.machine(x.rounds, [found])}\n- Start: {started}."]
    common.publish("\n\n".join([*head, *tables]), x.append)


if __name__ == "__main__":
    main()
