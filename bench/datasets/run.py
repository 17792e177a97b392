#!/usr/bin/env python3
"""Five data sets in the form in which they are downloaded: the commands of docs/DATASETS.md beside the scripts of rivals.

    PYTHON bench/datasets/run.py --photos DIR [--pack PATH] [--img2dataset PATH] [--work DIR] [--rounds 2] [--append]

PYTHON has mosaicml-streaming, datasets, torchvision and pillow; a rival that is missing is a row with its reason. The sets are
made of the photographs of DIR, each picture with bytes of its own. All samples that arrive are compared with the source.
"""
import hashlib
import io
import json
import pathlib
import pickle
import shlex
import shutil
import subprocess
import sys
import tarfile

import numpy as np
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import common  # noqa: E402
import recipes  # noqa: E402

SPLITS, PORT = ("train", "val"), 18765  # where img2dataset finds the pictures
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
#: Runs a script of Python and says its seconds after the imports. Two scripts of Streaming state the counts of pictures, and
#: torchvision the MD5 of the files of CIFAR: here they accept sets of another size.
TIMED = """import importlib.util, os, pathlib, sys, time
path = sys.argv.pop(1)
source = pathlib.Path(importlib.util.find_spec(path).origin if path.startswith("streaming.") else path).read_text()
for name in [name for name in ("streaming", "torch", "torchvision", "datasets") if f"{name} import" in source or f"{name}." in source]:
    importlib.import_module(name)
if "torchvision" in sys.modules:
    sys.modules["torchvision"].datasets.cifar.check_integrity = lambda path, md5=None: True
for old, new in zip(["117266", "4952,", "20206", "2000,"], os.environ["COUNTS"].split()):
    source = source.replace(old, new)
begun = time.perf_counter()
exec(compile(source, path, "exec"), {"__name__": "__main__"})
print(f"\\nseconds={time.perf_counter() - begun}")
"""
CONVERT = "python -m streaming.vision.convert.{} --in_root . --out_root OUT\n".format
SORT, PACK, MOSAIC, HF, IMG2DATASET = "python folders.py .\n", "pack", "MosaicML streaming", "Hugging Face datasets", "img2dataset"
#: Of each set, who packs it and with which commands, in the folder of the set.
SETS = {
    "ImageNet": {PACK: "pack build train -o OUT/train --label folder\npack build val -o OUT/val --join LOC_val_solution.csv:"
                 "key=ImageId --label '/PredictionString~^n[0-9]+' --classes LOC_synset_mapping.txt\n",
                 MOSAIC: SORT + CONVERT("imagenet"), HF: SORT + "python imagefolder.py . OUT\n"},
    "CIFAR-10": {PACK: CIFAR.format("data_batch_*.bin", "train") + CIFAR.format("test_batch.bin", "val"), MOSAIC: CONVERT("cifar10")},
    "COCO": {PACK: "".join(f"pack build {s}2017 -o OUT/{s} --coco annotations/instances_{s}2017.json\n" for s in SPLITS),
             MOSAIC: CONVERT("coco")},
    "ADE20K": {PACK: "pack build . -o OUT --pair images=jpg annotations=mask.png --split-by folder=1\n", MOSAIC: CONVERT("ade20k")},
    "CC3M": {PACK: "pack build 'csv:train.tsv?header=caption+path&jpg=@path' -o OUT\n", MOSAIC: "python writer.py OUT\n",
             HF: "python generator.py OUT\n", IMG2DATASET: "sed -i '1i caption\turl' urls.tsv\nimg2dataset --url_list urls.tsv "
             "--input_format tsv --url_col url --caption_col caption --output_format webdataset --output_folder OUT --resize_mode no "
             "--skip_reencode True --processes_count 2 --thread_count 16\n"},
}
NOTES = """"after the start" leaves the imports of the rivals out, which are most of their seconds at this size; the start of pack is
in both columns. "half a JPEG is" says what becomes of a picture whose second half is lost. "to write" counts the words of all
commands and the lines of scripts in Python that do not come with the rival. pack reads every Huffman code of a JPEG, writes
indexes and waits for the disk, with two threads; the rivals have one process, and img2dataset two, which download from this machine."""


def digest(content):
    return hashlib.sha256(content).hexdigest()


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def make(at, photos, count):
    """Makes the sets below `at`. Returns the truth of each: the hash of a picture, and its split and label."""
    sources, sizes, rng = [path.read_bytes() for path in photos], [Image.open(path).size for path in photos], np.random.default_rng(7)
    truth, documents = {name: {} for name in SETS}, {split: ([], []) for split in SPLITS}
    val, urls, table, synsets = ["ImageId,PredictionString\n"], [], [], [f"n{1440764 + 4321 * k:08}" for k in range(100)]
    for n in range(count):
        split, number, (width, height), old = SPLITS[n >= count * 4 // 5], n * 7 % 100, sizes[n % len(sizes)], sources[n % len(sources)]
        cut = 4 + int.from_bytes(old[4:6], "big")  # a comment behind the first segment makes the bytes of each picture its own
        picture = old[:cut] + b"\xff\xfe\x00\x0e" + f"{n:012}".encode() + old[cut:]
        put(at / "ImageNet" / split / (synsets[number] if split == "train" else ".") / f"ILSVRC2012_{split}_{n:08}.JPEG", picture)
        val += [f"ILSVRC2012_val_{n:08},{synsets[number]} 10 12 63 70 \n"] * (split == "val")
        objects, (images, annotations) = [], documents[split]
        for k in range(0 if n % 100 == 0 else 1 + n % 13):  # as many a picture, and as many pictures without any, as in COCO
            x, y, w, h = (int(v) / 4 for v in rng.integers(40, [2 * width, 2 * height, 2 * width - 40, 2 * height - 40]))
            objects.append([[x, y, w, h], (n + 11 * k) % 80])
            annotations.append({"id": 20 * n + k, "image_id": n + 1, "category_id": IDS[objects[-1][1]], "bbox": objects[-1][0], "iscrowd": 0,
                                "area": w * h / 2, "segmentation": [np.round(rng.random(40) * 99, 2).tolist()]})
        images.append({"id": n + 1, "file_name": f"{n + 1:012}.jpg", "width": width, "height": height})
        place, mask = f"{'training' if split == 'train' else 'validation'}/ADE_{split}_{n:08}", io.BytesIO()
        Image.fromarray(rng.integers(0, 151, (12, 16), np.uint8)).resize((width, height), Image.Resampling.NEAREST).save(mask, "PNG")
        caption, path = f'picture {n}: a "typical" bus station, {n % 7} people and a <PERSON>', f"pictures/{n // 1000}/{n}.jpg"
        for file, content in [(f"COCO/{split}2017/{n + 1:012}.jpg", picture), (f"ADE20K/images/{place}.jpg", picture),
                              (f"ADE20K/annotations/{place}.png", mask.getvalue()), (f"CC3M/{path}", picture)]:
            put(at / file, content)
        table.append(f"{caption}\t{path}\n")
        urls.append(f"{caption}\thttp://127.0.0.1:{PORT}/{path}\n")
        for name, label in [("ImageNet", number), ("COCO", objects), ("ADE20K", digest(mask.getvalue())), ("CC3M", caption)]:
            truth[name][digest(picture)] = ["train" if name == "CC3M" else split, label]
    for path, lines in [("ImageNet/LOC_val_solution.csv", val), ("CC3M/train.tsv", table), ("CC3M/urls.tsv", urls),
                        ("ImageNet/LOC_synset_mapping.txt", [f"{s} name of {s}, other\n" for s in synsets])]:
        put(at / path, "".join(lines))
    for split, (images, annotations) in documents.items():
        document = {"images": images, "annotations": annotations, "categories": [{"id": i, "name": f"thing {i}"} for i in IDS]}
        put(at / f"COCO/annotations/instances_{split}2017.json", json.dumps(document))
    small = [np.asarray(Image.open(path).convert("RGB").resize((96, 96))) for path in photos]
    for batch, name in enumerate([*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]):
        labels, rows = rng.integers(0, 10, count if batch == 5 else count * 4 // 5), []
        for n, (y, x, label) in enumerate(zip(*rng.integers(0, 64, (2, len(labels))), labels)):
            image = small[n % len(small)][y:y + 32, x:x + 32].copy()
            image[0, 0] = batch, n // 256, n % 256
            truth["CIFAR-10"][digest(image.tobytes())] = [SPLITS[batch == 5], int(label)]
            rows.append(image.transpose(2, 0, 1).ravel())
        put(at / "CIFAR-10/cifar-10-batches-py" / name, pickle.dumps({"data": np.stack(rows), "labels": labels.tolist()}))
        put(at / "CIFAR-10/cifar-10-batches-bin" / f"{name}.bin", b"".join(bytes([i]) + row.tobytes() for i, row in zip(labels, rows)))
    put(at / "CIFAR-10/cifar-10-batches-py/batches.meta", pickle.dumps({"label_names": [f"class {n}" for n in range(10)]}))
    return truth


def of_tars(out):
    """The picture, split and label of each sample in the shards of pack and of img2dataset."""
    for path in sorted(out.rglob("*.tar")):
        samples = {}
        with tarfile.open(path) as tar:
            for member in tar:
                folder, _, base = member.name.rpartition("/")
                samples.setdefault((folder, base.split(".")[0]), {})[base.partition(".")[2]] = tar.extractfile(member).read()
        for parts in samples.values():
            row = json.loads(parts.get("json", b"{}"))
            label = digest(parts["mask.png"]) if "mask.png" in parts else row.get("caption", row.get("class", row.get("label")))
            label = [list(one) for one in zip(row["boxes"], row["category_index"])] if "boxes" in row else label
            yield parts["jpg"] if "jpg" in parts else np.asarray(Image.open(io.BytesIO(parts["png"]))).tobytes(), SPLITS["val" in path.parent.name + path.name], label


def of_mds(out):
    from streaming.base.local import LocalDataset
    for split in [split for split in SPLITS if (out / split).exists()]:
        for shard in (rows := LocalDataset(local=str(out), split=split)).shards:  # the bytes of files, not the pixels
            shard.column_encodings = ["bytes" if one in ("jpeg", "png") else one for one in shard.column_encodings]
        for row in rows:
            picture, label = row.get("x", row.get("img", row.get("image"))), row.get("caption", row.get("y"))
            if "bbox_sizes" in row:
                sides = np.round(row["bbox_sizes"].reshape(-1, 4) * ([row["wtot"], row["htot"]] * 2) * 4) / 4
                label = [[[a, b, c - a, d - b], int(i) - 1] for (a, b, c, d), i in zip(sides.tolist(), row["bbox_labels"])]
            yield getattr(picture, "tobytes", lambda: picture)(), split, digest(label) if isinstance(label, bytes) else label


def of_arrow(out):
    import pyarrow
    for path in sorted(out.glob("*/data-*.arrow")):
        for row in pyarrow.ipc.open_stream(path).read_all().to_pylist():
            yield row["image"]["bytes"], SPLITS["val" in path.parent.name], row.get("caption", row.get("label"))


def case(x, truth, name, packer, script):
    copy, out, words = x.work / "copy", x.work / "out", len(shlex.split(script))
    own = [f"; {text.count(chr(10))} lines" for file, text in SCRIPTS.items() if f"{file}.py" in script]
    for old, new in [("OUT", out), ("python -m ", "python "), ("python ", f"{sys.executable} {x.work}/timed.py "),
                     ("pack build", f"{x.pack} build"), ("img2dataset --", f"{x.img2dataset} --"),
                     *((f" {one}.py", f" {x.work}/{one}.py") for one in SCRIPTS)]:
        script = script.replace(old, str(new))
    counts = " ".join(str(sum(split == s for split, label in truth.values() if label != [])) + "," * (s == "val") for s in SPLITS * 2)

    links = f"rm -rf {copy} {out}; mkdir {out}; cp -al {x.work}/sets/{name} {copy}"  # a script of a rival renames files

    def check(run):
        one.found = {digest(row[0]): list(row[1:]) for row in {MOSAIC: of_mds, HF: of_arrow}.get(packer, of_tars)(out)}
        good = sum(one.found.get(key) == label for key, label in truth.items())
        size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file() and "cache" not in path.parts)
        for stats in out.glob("*_stats.json"):  # what img2dataset says of itself
            run["vals"]["seconds"] = json.loads(stats.read_text())["duration"]
        run["vals"].update(good=f"{good:,} of {len(truth):,}", mb=f"{size / 1e6:,.0f}")
    script = common.bash(f"export HF_HOME={out}/cache COUNTS='{counts}'\n{script}")
    one = common.Case(packer, script, (), lambda: common.sh(links), check, copy, len(truth))
    one.said, one.half = f"{words} words{''.join(own)}", ""
    return one


def main():
    ap = common.options(__doc__)
    ap.add_argument("--photos", type=pathlib.Path, required=True)
    ap.add_argument("--img2dataset", type=pathlib.Path, default=shutil.which("img2dataset") or "img2dataset")
    ap.add_argument("--pictures", type=int, default=2000, help="of each set; of CIFAR-10 five times as many")
    x = ap.parse_args()
    x.pack, x.work, x.img2dataset = common.pack_binary(x.pack), x.work.resolve() / "datasets", x.img2dataset.absolute()
    common.hide(x.work, "WORK")
    common.remove(x.work)
    truths, log, tables = make(x.work / "sets", recipes.photographs(x), x.pictures), x.work / "log.jsonl", []
    for name, text in {**SCRIPTS, "timed": TIMED}.items():
        put(x.work / f"{name}.py", text)

    def seconds(one, own=False):
        return common.middle(float(run["vals"].get("seconds", run["wall"]) if own else run["wall"]) for run in one.runs)
    columns = [("s, median (min-max)", lambda one: common.spread(map(common.wall_of, one.runs))),
               ("images/s", lambda one: f"{one.items / seconds(one):,.0f}"),
               ("after the start", lambda one: f"{one.items / seconds(one, True):,.0f}"),
               ("arrived with its label", lambda one: one.runs[-1]["vals"]["good"]), ("MB", lambda one: one.runs[-1]["vals"]["mb"]),
               ("half a JPEG is", lambda one: one.half), ("to write", lambda one: one.said)]
    serve = [sys.executable, "-m", "http.server", str(PORT), "--bind", "127.0.0.1", "--directory", x.work / "sets" / "CC3M"]
    server = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for name, scripts in SETS.items():
            cases = [case(x, truths[name], name, *one) for one in scripts.items() if common.matches(x.cases, f"{name} {one[0]}")]
            common.rounds(name, cases, x.rounds, log)
            pictures = sorted((x.work / "sets" / name).rglob("*.[jJ]*[gG]"))
            for one in [one for one in cases if pictures and not one.error]:  # what becomes of a JPEG of which half is lost
                whole = pictures[1].read_bytes()
                pictures[1].write_bytes(half := whole[:len(whole) // 2])
                one.before()
                got = common.run(one.cmd, one.cwd)
                one.half = "refused" if got["rc"] else one.check(got) or ("packed" if digest(half) in one.found else "left out")
                pictures[1].write_bytes(whole)
            tables.append(common.columns_table(f"{name}, {len(truths[name]):,} pictures", cases, columns))
    finally:
        server.terminate()
    about = common.machine(x.rounds, [recipes.versions("mosaicml-streaming datasets torch torchvision pillow".split())])
    common.publish("\n\n".join([f"## Data sets as they are downloaded, {common.now()[:10]}", about, *tables, NOTES.replace("\n", " ")]), x.append)


if __name__ == "__main__":
    main()
