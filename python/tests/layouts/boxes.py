"""Detection: COCO, YOLO, VOC, and lists of boxes."""

from __future__ import annotations

import json

from typing import Any

from miniature import Miniature, layout, packed

#: Three of the 80 categories of COCO, whose ids have gaps up to 90.
CATEGORIES = [{"id": 1, "name": "person"}, {"id": 17, "name": "cat"}, {"id": 90, "name": "toothbrush"}]


def coco(new: Miniature, folder: str, more: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """Two pictures with objects and one without; the document of their annotations."""
    images, annotations = [], []
    for n, categories in [(139, [17, 1]), (285, [90]), (632, [])]:
        images.append({"id": n, "file_name": f"{n:012}.jpg", "width": 32, "height": 24, **(more or {})})
        boxes = [[1.5 * k, 2.0, 10.25, 5.0] for k, _ in enumerate(categories)]
        ids = [10 * n + k for k, _ in enumerate(categories)]
        for annotation, category, box in zip(ids, categories, boxes):
            annotations.append({"id": annotation, "image_id": n, "category_id": category, "bbox": box, "iscrowd": 0, "area": 51.25, **fields})
        positions = [[1, 17, 90].index(category) for category in categories]
        values = {name: [value] * len(ids) for name, value in fields.items()}
        new.expect(new.picture(f"{folder}/{n:012}.jpg"), boxes=boxes, category_id=categories, category_index=positions,
                   annotation_id=ids, id=n, **values)
    return {"images": images, "annotations": annotations, "categories": CATEGORIES}


@layout("COCO instances")
def coco_instances(new: Miniature) -> None:
    new.document("instances_val2017.json", coco(new, "val2017", segmentation=[[1, 2, 11, 2, 6, 7.5]]))


@layout("COCO keypoints")
def coco_keypoints(new: Miniature) -> None:
    new.document("person_keypoints_val2017.json", coco(new, "val2017", keypoints=[5, 6, 2] * 17, num_keypoints=17))


@layout("COCO instances and captions")
def coco_both(new: Miniature) -> None:
    document = coco(new, "val2017")
    new.document("instances_val2017.json", document)
    captions = []
    for sample, image in zip(new.expected, document["images"]):
        captions += [{"id": image["id"] * 7 + k, "image_id": image["id"], "caption": f"{k} of {image['id']}"} for k in range(2)]
        sample.json["caption"] = [f"{k} of {image['id']}" for k in range(2)]
    new.document("captions_val2017.json", {"images": document["images"], "annotations": captions})


@layout("COCO test")
def coco_test(new: Miniature) -> None:
    for n in (1, 16):
        new.expect(new.picture(f"test2017/{n:012}.jpg"))


@layout("COCO panoptic")
def coco_panoptic(new: Miniature) -> None:
    images, annotations = [], []
    for n in (139, 285):
        picture = new.picture(f"coco/val2017/{n:012}.jpg")
        mask = new.mask(f"coco/panoptic_val2017/{n:012}.png")
        segments = [{"id": 3226956 + k, "category_id": 17 - 16 * k, "iscrowd": 0, "bbox": [k, 1, 2, 3], "area": 6} for k in range(2)]
        images.append({"id": n, "file_name": f"{n:012}.jpg", "width": 32, "height": 24})
        annotations.append({"image_id": n, "file_name": f"{n:012}.png", "segments_info": segments})
        new.expect(picture, category_id=[17, 1], segment_id=[3226956, 3226957], parts={"mask.png": mask})
    new.document("panoptic_val2017.json", {"images": images, "annotations": annotations, "categories": CATEGORIES})


@layout("LVIS")
def lvis(new: Miniature) -> None:
    document = coco(new, "val2017", segmentation=[[1, 2, 11, 2, 6, 7]])
    for image in document["images"]:
        image["coco_url"] = f"http://images.cocodataset.org/val2017/{image.pop('file_name')}"
        image.update(neg_category_ids=[3, 4], not_exhaustive_category_ids=[])
    new.document("lvis_v1_val.json", document)


@layout("iNaturalist 2021")
def inaturalist(new: Miniature) -> None:
    images, annotations = [], []
    categories = [{"id": n, "name": name, "supercategory": "Fungi"} for n, name in enumerate(["Lumbricus terrestris", "Sabella spallanzanii"])]
    for n, category in [(0, 1), (1, 0)]:
        name = f"train_mini/0000{category}_Animalia/{n}.jpg"
        new.expect(new.picture(f"inaturalist/{name}"), **{"class": category, "class_name": str(category)})
        images.append({"id": n, "file_name": name, "width": 32, "height": 24})
        annotations.append({"id": n, "image_id": n, "category_id": category})
    new.document("train_mini.json", {"images": images, "annotations": annotations, "categories": categories})


@layout("Pascal VOC detection")
def voc(new: Miniature) -> None:
    root = "VOCdevkit/VOC2012"
    for n, objects in [("2007_000027", ["person"]), ("2007_000032", ["aeroplane", "person"])]:
        boxes = [[5.0 * k + 1, 2, 20, 12] for k, _ in enumerate(objects)]
        xml = "".join(
            f"<object><name>{name}</name><difficult>{k}</difficult><bndbox><xmin>{box[0]:g}</xmin><ymin>{box[1]}</ymin>"
            f"<xmax>{box[2]}</xmax><ymax>{box[3]}</ymax></bndbox></object>" for k, (name, box) in enumerate(zip(objects, boxes)))
        new.text(f"{root}/Annotations/{n}.xml", f"<annotation><filename>{n}.jpg</filename><size><width>32</width>"
                 f"<height>24</height><depth>3</depth></size>{xml}</annotation>")
        numbers = [["aeroplane", "person"].index(name) for name in objects]
        new.expect(new.picture(f"{root}/JPEGImages/{n}.jpg"), boxes=boxes, difficult=list(range(len(objects))), **{"class": numbers})


@layout("YOLO v8 detection")
def yolo(new: Miniature) -> None:
    new.text("coco8/data.yaml", ["path: ../coco8", "train: images/train", "names:", "  0: person", "  1: dog"])
    for n, lines in [(9, ["1 0.479492 0.688771 0.955609 0.5955", "0 0.5 0.5 0.25 0.25"]), (25, [])]:
        new.text(f"coco8/labels/train/{n:012}.txt", lines)
        boxes = [[float(number) for number in line.split()[1:]] for line in lines]
        new.expect(new.picture(f"coco8/images/train/{n:012}.jpg"), boxes=boxes, **{"class": [int(line[0]) for line in lines]})


@layout("YOLO oriented boxes")
def yolo_oriented(new: Miniature) -> None:
    new.text("dota8/data.yaml", ["train: images/train", "names: [plane, ship]"])
    corners = [0.1, 0.1, 0.4, 0.1, 0.4, 0.3, 0.1, 0.3]
    new.text("dota8/labels/train/P0861.txt", ["1 " + " ".join(map(str, corners))])
    new.expect(new.picture("dota8/images/train/P0861.jpg"), segmentation=[corners], **{"class": [1]})


@layout("Roboflow COCO")
def roboflow(new: Miniature) -> None:
    document = coco(new, "train")
    new.document("train/_annotations.coco.json", document)


@layout("Open Images")
def open_images(new: Miniature) -> None:
    new.text("class-descriptions-boxable.csv", ["/m/011k07,Tortoise", "/m/01yrx,Cat"])
    rows = ["ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside"]
    for n, labels in [("000002b66c9c498e", ["/m/01yrx", "/m/011k07"]), ("000002b97e5471a0", ["/m/01yrx"])]:
        rows += [f"{n},xclick,{label},1,0.0125,0.195312,0.148438,0.5875,0,1,0,0,0" for label in labels]
        new.expect(new.picture(f"train/{n}.jpg"), boxes=[[0.0125, 0.148438, 0.195312, 0.5875]] * len(labels),
                   IsTruncated=[1] * len(labels), **{"class": [int(label == "/m/01yrx") for label in labels]})
    new.text("train-annotations-bbox.csv", rows)


@layout("CrowdHuman")
def crowdhuman(new: Miniature) -> None:
    lines = []
    for n in ("273271,c9db000d5146c15", "273278,c9db000e5ff0e3d"):
        boxes = [{"tag": "person", "fbox": [72, 202, 163, 503]}]
        new.expect(new.picture(f"Images/{n}.jpg"), gtboxes=boxes)
        lines.append(json.dumps({"ID": n, "gtboxes": boxes}))
    new.text("annotation_train.odgt", lines)


@layout("KITTI detection")
def kitti(new: Miniature) -> None:
    for n in ("000000", "000001"):
        text = "Pedestrian 0.00 0 -0.20 712.40 143.00 810.73 307.92 1.89 0.48 1.20 1.84 1.47 8.41 0.01\n"
        new.text(f"training/label_2/{n}.txt", text)
        new.expect(new.picture(f"training/image_2/{n}.png"), parts={"txt": text.encode()})


@layout("KITTI detection, boxes as numbers")
def kitti_numbers(new: Miniature) -> None:
    for n, objects in (("000000", 2), ("000001", 1)):
        lines = [f"{'Car' if i else 'Pedestrian'} 0.00 {i} -0.20 {712.5 + i} 143.00 810.73 307.92 1.89 0.48 1.20 1.84 1.47 8.41 0.01"
                 for i in range(objects)]
        new.text(f"training/label_2/{n}.txt", lines)
        new.expect(new.picture(f"training/image_2/{n}.png"), type=["Pedestrian", "Car"][:objects],
                   left=[712.5, 713.5][:objects], occluded=[0, 1][:objects], bottom=[307.92] * objects)


@layout("COCO in zips")
def coco_zips(new: Miniature) -> None:
    document = coco(new, "x/val2017")
    new.document("annotations/instances_val2017.json", document)
    packed("val2017.zip", new.folder / "x")


@layout("Roboflow YOLO")
def roboflow_yolo(new: Miniature) -> None:
    new.text("rf/data.yaml", ["train: ../train/images", "val: ../valid/images", "nc: 2", "names: ['cat', 'dog']"])
    new.text("rf/README.roboflow.txt", "made by Roboflow\n")
    for split in ("train", "valid", "test"):
        for n in range(2):
            name = f"img{n}_jpg.rf.{n}{split[:2]}abc"  # the last part differs for each picture
            new.text(f"rf/{split}/labels/{name}.txt", [f"{n} 0.5 0.5 0.25 0.125"])
            new.expect(new.picture(f"rf/{split}/images/{name}.jpg"), split, boxes=[[0.5, 0.5, 0.25, 0.125]], **{"class": [n]})
