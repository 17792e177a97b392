"""Classification: classes in folders, lists, names, archives."""

from __future__ import annotations

import struct

from typing import Any

import numpy as np
import scipy.io

from miniature import Miniature, layout, packed

#: Some classes of ImageNet, in the order of their ids.
SYNSETS = ["n01440764", "n01443537", "n02012849", "n03126707"]


@layout("ImageNet, train")
def imagenet_train(new: Miniature) -> None:
    for number, synset in enumerate(SYNSETS):
        for n in range(2):
            picture = new.picture(f"train/{synset}/{synset}_{n}.JPEG".replace("JPEG", "jpeg"))
            new.expect(picture, **{"class": number, "class_name": synset})


@layout("ImageNet, val with its ground truth")
def imagenet_val(new: Miniature) -> None:
    ids = [490, 361, 171, 1000]
    for n, official in enumerate(ids, 1):
        new.expect(new.picture(f"val/ILSVRC2012_val_{n:08}.jpeg"), **{"class": official})
    new.text("ILSVRC2012_validation_ground_truth.txt", [str(official) for official in ids])


@layout("ImageNet, val in folders")
def imagenet_val_folders(new: Miniature) -> None:
    new.document("imagenet_class_index.json", {str(n): [synset, f"name {n}"] for n, synset in enumerate(SYNSETS)})
    for n in (3, 1):
        new.expect(new.picture(f"val/{SYNSETS[n]}/ILSVRC2012_val_{n:08}.jpeg"), **{"class": n, "class_name": SYNSETS[n]})


@layout("ImageNet of Kaggle, val")
def imagenet_of_kaggle_val(new: Miniature) -> None:
    texts = ["tench, Tinca tinca", "goldfish, Carassius auratus", "crane", "crane"]
    new.text("LOC_synset_mapping.txt", [f"{synset} {text}" for synset, text in zip(SYNSETS, texts)])
    rows = ["ImageId,PredictionString"]
    for n, number in enumerate([3, 0, 2], 1):
        picture = new.picture(f"val/ILSVRC2012_val_{n:08}.jpeg")
        new.expect(picture, **{"class": number, "class_name": SYNSETS[number]})
        rows.append(f"ILSVRC2012_val_{n:08},{SYNSETS[number]} 10 12 63 70 {SYNSETS[number]} 1 2 3 4 ")
    new.text("LOC_val_solution.csv", rows)


@layout("Tiny ImageNet, train")
def tiny_imagenet_train(new: Miniature) -> None:
    new.text("tiny-imagenet-200/wnids.txt", [SYNSETS[n] for n in (2, 0, 1)])
    for synset in SYNSETS[:3]:
        lines = []
        for n in range(2):
            picture = new.picture(f"tiny-imagenet-200/train/{synset}/images/{synset}_{n}.jpeg")
            new.expect(picture, **{"class": SYNSETS.index(synset), "class_name": synset})
            lines.append(f"{synset}_{n}.JPEG\t0\t10\t63\t58")
        new.text(f"tiny-imagenet-200/train/{synset}/{synset}_boxes.txt", lines)


@layout("Tiny ImageNet, val")
def tiny_imagenet_val(new: Miniature) -> None:
    new.text("tiny-imagenet-200/wnids.txt", [SYNSETS[n] for n in (2, 0, 1)])
    lines = []
    for n, synset in enumerate([SYNSETS[1], SYNSETS[0], SYNSETS[2], SYNSETS[1]]):
        picture = new.picture(f"tiny-imagenet-200/val/images/val_{n}.jpeg")
        new.expect(picture, x0=n, y1=62, **{"class": SYNSETS.index(synset), "class_name": synset})
        lines.append(f"val_{n}.jpeg\t{synset}\t{n}\t32\t44\t62")
    new.text("tiny-imagenet-200/val/val_annotations.txt", lines)


@layout("CIFAR-10 of Kaggle")
def cifar_of_kaggle(new: Miniature) -> None:
    names = ["frog", "truck", "frog", "cat"]
    for n, name in enumerate(names, 1):
        number = ["cat", "frog", "truck"].index(name)
        new.expect(new.picture(f"train/{n}.png"), id=n, **{"class": number, "class_name": name})
    new.text("trainLabels.csv", ["id,label", *(f"{n},{name}" for n, name in enumerate(names, 1))])


@layout("DTD")
def dtd(new: Miniature) -> None:
    for number, name in enumerate(["banded", "cracked"]):
        for n in range(2):
            picture = new.picture(f"dtd/images/{name}/{name}_000{n}.jpg")
            new.expect(picture, **{"class": number, "class_name": name})


@layout("EuroSAT RGB, zip")
def eurosat(new: Miniature) -> None:
    for number, name in enumerate(["AnnualCrop", "Forest", "River"]):
        for n in (1, 2):
            new.expect(new.picture(f"x/EuroSAT_RGB/{name}/{name}_{n}.jpg"), **{"class": number, "class_name": name})
    packed("EuroSAT_RGB.zip", new.folder / "x")


@layout("EuroSAT, 13 bands")
def eurosat_bands(new: Miniature) -> None:
    rng = np.random.default_rng(13)
    for number, name in enumerate(["AnnualCrop", "Forest"]):
        for n in (1, 2):
            data = bands_tiff(rng.integers(0, 10_000, (13, 8, 6), np.uint16))
            new.at(f"EuroSAT_MS/{name}/{name}_{n}.tif").write_bytes(data)
            new.expect(data, **{"class": number, "class_name": name})


def bands_tiff(samples: np.ndarray[Any, Any]) -> bytes:
    """A TIFF of samples of 16 bits, `[bands, height, width]`, stored pixel by pixel in one strip, as GDAL writes them."""
    bands, height, width = samples.shape
    data = np.ascontiguousarray(samples.transpose(1, 2, 0)).astype("<u2").tobytes()
    bits_at = 8 + 2 + 10 * 12 + 4
    tags = [(256, 3, 1, width), (257, 3, 1, height), (258, 3, bands, bits_at), (259, 3, 1, 1), (262, 3, 1, 1),
            (273, 4, 1, bits_at + 2 * bands), (277, 3, 1, bands), (278, 3, 1, height), (279, 4, 1, len(data)), (284, 3, 1, 1)]
    head = struct.pack("<2sHIH", b"II", 42, 8, len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags)
    return head + struct.pack("<I", 0) + struct.pack(f"<{bands}H", *[16] * bands) + data


@layout("Caltech-101, tar.gz")
def caltech(new: Miniature) -> None:
    for number, name in enumerate(["accordion", "beaver"]):
        for n in (1, 2):
            picture = new.picture(f"x/101_ObjectCategories/{name}/image_{n:04}.jpg")
            new.expect(picture, **{"class": number, "class_name": name})
    packed("101_ObjectCategories.tar.gz", new.folder / "x")


@layout("Places365, train")
def places_train(new: Miniature) -> None:
    classes = ["a/airfield", "b/bank_vault", "c/cabin/outdoor"]
    new.text("categories_places365.txt", [f"/{name} {n}" for n, name in enumerate(classes)])
    for n, name in enumerate(classes):
        new.expect(new.picture(f"data_256/{name}/00000001.jpg"), **{"class": n, "class_name": name})


@layout("Places365, val")
def places_val(new: Miniature) -> None:
    classes = ["a/airfield", "b/bank_vault", "c/cabin/outdoor"]
    new.text("categories_places365.txt", [f"/{name} {n}" for n, name in enumerate(classes)])
    lines = []
    for n, number in enumerate([2, 0, 1], 1):
        picture = new.picture(f"val_256/Places365_val_{n:08}.jpg")
        new.expect(picture, **{"class": number, "class_name": classes[number]})
        lines.append(f"Places365_val_{n:08}.jpg {number}")
    new.text("places365_val.txt", lines)


@layout("SUN397")
def sun(new: Miniature) -> None:
    classes = ["a/abbey", "b/bookstore", "b/building_facade"]
    new.text("SUN397/ClassName.txt", [f"/{name}" for name in classes])
    for n, name in enumerate(classes):
        new.expect(new.picture(f"SUN397/{name}/sun_aaa{n}.jpg"), **{"class": n, "class_name": name})


@layout("Omniglot")
def omniglot(new: Miniature) -> None:
    for n, name in enumerate(["Greek/character01", "Greek/character02", "Latin/character01"]):
        for drawing in (1, 2):
            picture = new.picture(f"images_background/{name}/{n:04}_{drawing:02}.png")
            new.expect(picture, **{"class": n, "class_name": name})


@layout("Oxford-IIIT Pets")
def pets(new: Miniature) -> None:
    for n, name in enumerate(["Abyssinian", "great_pyrenees", "pug"]):
        for number in (1, 10):
            picture = new.picture(f"images/{name}_{number}.jpg")
            new.expect(picture, **{"class": n, "class_name": name})
    new.at("images/Abyssinian_100.mat").write_bytes(b"MATLAB 5.0 MAT-file")


@layout("CUB-200-2011")
def cub(new: Miniature) -> None:
    root = "CUB_200_2011"
    files = ["001.Black_footed_Albatross/Black_Footed_Albatross_0046_18.jpg",
             "001.Black_footed_Albatross/Black_Footed_Albatross_0009_34.jpg", "002.Laysan_Albatross/Laysan_Albatross_0002_1027.jpg"]
    classes = ["001.Black_footed_Albatross", "002.Laysan_Albatross"]
    new.text(f"{root}/classes.txt", [f"{n} {name}" for n, name in enumerate(classes, 1)])
    new.text(f"{root}/images.txt", [f"{n} {file}" for n, file in enumerate(files, 1)])
    new.text(f"{root}/image_class_labels.txt", ["1 1", "2 1", "3 2"])
    new.text(f"{root}/bounding_boxes.txt", [f"{n} {n}.0 27.0 325.0 304.0" for n in (1, 2, 3)])
    new.text(f"{root}/train_test_split.txt", ["1 0", "2 1", "3 0"])
    for n, file in enumerate(files, 1):
        number = 1 + (n == 3)
        new.expect(new.picture(f"{root}/images/{file}"), id=n, x=float(n), width=325.0, is_training=int(n == 2),
                   **{"class": number, "class_name": classes[number - 1]})


@layout("FGVC Aircraft")
def aircraft(new: Miniature) -> None:
    lines = []
    for n, (image, variant) in enumerate([("0034309", "707-320"), ("1025794", "A340-300"), ("1340192", "707-320")]):
        picture = new.picture(f"images/{image}.jpg")
        new.expect(picture, **{"class": int(variant != "707-320"), "class_name": variant})
        lines.append(f"{image} {variant}")
    new.text("images_variant_train.txt", lines)


@layout("LFW")
def lfw(new: Miniature) -> None:
    for number, name in enumerate(["Aaron_Eckhart", "Zico"]):
        for n in (1, 2):
            new.expect(new.picture(f"lfw/{name}/{name}_{n:04}.jpg"), **{"class": number, "class_name": name})


@layout("Dogs vs. Cats")
def dogs_and_cats(new: Miniature) -> None:
    for number, name in enumerate(["cat", "dog"]):
        for n in (0, 1, 10):
            new.expect(new.picture(f"train/{name}.{n}.jpg"), **{"class": number, "class_name": name})


@layout("UTKFace")
def utkface(new: Miniature) -> None:
    for age, rest in [(100, "1_0_20170112213500903"), (9, "0_2_20170109150557335"), (26, "1_1_20170116"), (9, "1_3_2017")]:
        new.expect(new.picture(f"UTKFace/{age}_{rest}.jpg"), **{"class": age, "class_name": str(age)})


@layout("Market-1501")
def market(new: Miniature) -> None:
    for person, number in [("0002", 1), ("0007", 2), ("-1", 0)]:
        for camera in (1, 2):
            picture = new.picture(f"bounding_box_train/{person}_c{camera}s1_000451_03.jpg")
            new.expect(picture, **{"class": number, "class_name": person})


@layout("HAM10000")
def ham(new: Miniature) -> None:
    kinds = {"akiec": 0, "bkl": 1, "nv": 2}
    rows = ["lesion_id,image_id,dx,dx_type,age,sex,localization"]
    for n, kind in enumerate(["bkl", "nv", "akiec", "bkl"]):
        picture = new.picture(f"images/ISIC_002741{n}.jpg")
        new.expect(picture, image_id=f"ISIC_002741{n}", age=80.0 if n else None, **{"class": kinds[kind], "class_name": kind})
        rows.append(f"HAM_{n},ISIC_002741{n},{kind},histo,{'80.0' if n else ''},male,scalp")
    new.text("HAM10000_metadata.csv", rows)


@layout("ChestX-ray14")
def chest(new: Miniature) -> None:
    rows = ["Image Index,Finding Labels,Follow-up #,Patient ID"]
    for n, finding in enumerate(["Cardiomegaly|Emphysema", "No Finding"]):
        new.expect(new.picture(f"images/0000000{n}_000.png"), **{"Finding Labels": finding, "Patient ID": n})
        rows.append(f"0000000{n}_000.png,{finding},{n},{n}")
    new.text("Data_Entry_2017.csv", rows)


@layout("CelebA")
def celeba(new: Miniature) -> None:
    names = ["000001.jpg", "000002.jpg", "000003.jpg"]
    attributes = ["3", "5_o_Clock_Shadow Arched_Eyebrows "]
    for n, name in enumerate(names):
        attributes.append(f"{name} {'-1' if n else ' 1'}  1")
        new.expect(new.picture(f"img_align_celeba/{name}"), identity=2880 + n, x_1=95, **{
            "5_o_Clock_Shadow": -1 if n else 1, "Arched_Eyebrows": 1})
    new.text("list_attr_celeba.txt", attributes)
    new.text("identity_CelebA.txt", [f"{name} {2880 + n}" for n, name in enumerate(names)])
    boxes = [f"{name}    95  71 226 313" for name in names]
    new.text("list_bbox_celeba.txt", ["3", "image_id x_1 y_1 width height", *boxes])


@layout("CelebA of Kaggle")
def celeba_of_kaggle(new: Miniature) -> None:
    rows = ["image_id,Smiling,Young"]
    for n in (1, 2):
        new.expect(new.picture(f"img_align_celeba/00000{n}.jpg"), Smiling=-1, Young=1)
        rows.append(f"00000{n}.jpg,-1,1")
    new.text("list_attr_celeba.csv", rows)


@layout("ImageNet, tar of tars")
def imagenet_tars(new: Miniature) -> None:
    for number, synset in enumerate(SYNSETS):
        for n in range(2):
            picture = new.picture(f"x/{synset}/{synset}_{n}.jpeg")
            new.expect(picture, **{"class": number, "class_name": synset})
        packed(f"{synset}.tar", new.folder / "x" / synset)
    packed("ILSVRC2012_img_train.tar", new.folder / "x")


@layout("Food-101")
def food(new: Miniature) -> None:
    train, test = [], []
    for number, name in enumerate(["apple_pie", "waffles"]):
        for n in (1005649, 134, 99):
            lines = test if n == 134 else train
            lines.append(f"{name}/{n}")
            picture = new.picture(f"food-101/images/{name}/{n}.jpg")
            new.expect(picture, "test" if n == 134 else "train", **{"class": number, "class_name": name})
    new.text("food-101/meta/train.txt", train)
    new.text("food-101/meta/test.txt", test)


@layout("Flowers-102")
def flowers(new: Miniature) -> None:
    labels = [77, 102, 1]
    for n, label in enumerate(labels, 1):
        new.expect(new.picture(f"jpg/image_{n:05}.jpg"), **{"class": label})
    scipy.io.savemat(new.at("imagelabels.mat"), {"labels": np.array([labels], dtype=np.uint8)})


@layout("Stanford Cars")
def cars(new: Miniature) -> None:
    kind = np.dtype([(name, object) for name in ("bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2", "class", "fname")])
    rows = np.zeros((1, 3), dtype=kind)
    for n, label in enumerate([14, 3, 196], 1):
        new.expect(new.picture(f"cars_train/{n:05}.jpg"), bbox_x1=30 + n, bbox_y2=1569, **{"class": label})
        rows[0, n - 1] = (np.uint8(30 + n), np.uint8(52), np.uint16(2), np.uint16(1569), np.uint8(label), f"{n:05}.jpg")
    scipy.io.savemat(new.at("devkit/cars_train_annos.mat"), {"annotations": rows})


@layout("GTSRB")
def gtsrb(new: Miniature) -> None:
    for number in (0, 1, 14):
        rows = ["Filename;Width;Height;Roi.X1;ClassId"]
        for n in range(2):
            picture = new.picture(f"GTSRB/Final_Training/Images/{number:05}/{n:05}_00000.ppm")
            new.expect(picture, ClassId=number, Width=32, **{"class": [0, 1, 14].index(number), "class_name": f"{number:05}"})
            rows.append(f"{n:05}_00000.ppm;32;24;5;{number}")
        new.text(f"GTSRB/Final_Training/Images/{number:05}/GT-{number:05}.csv", rows)


@layout("UCF101")
def ucf(new: Miniature) -> None:
    train = []
    for number, name in enumerate(["ApplyEyeMakeup", "YoYo"]):
        for group in (1, 8):
            content = f"video {name} {group}".encode()
            key = f"{name}/v_{name}_g{group:02}_c01"
            new.at(f"UCF-101/{key}.avi").write_bytes(content)
            new.expect(None, "test" if group == 1 else "train", key=key, parts={"avi": content}, **{
                "class": number, "class_name": name})
            if group == 8:
                train.append(f"{key}.avi {number + 1}")
    new.text("trainlist01.txt", train)
