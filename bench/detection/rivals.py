#!/usr/bin/env python3
"""One recipe of a rival, as its users write it, over a folder in the form of COCO: prints images/s.

    python3 bench/detection/rivals.py DATA RIVAL RECIPE [--samples N] [--batch 32]

DATA is made by data.py. RIVAL is torchvision (v2 transforms on tensors, a DataLoader with two workers over a data set that
reads the file of COCO), albumentations (the same DataLoader, cv2) or dali (CPU, two threads). RECIPE is ssd, lsj or deeplab.
Images are counted from the fourth batch on, when all workers have begun.

- ssd: RandomPhotometricDistort, RandomZoomOut, RandomIoUCrop, flip, 300 x 300, float32 normalized; boxes and labels.
  In albumentations ColorJitter, Affine and BBoxSafeRandomCrop stand for the first three. DALI has the crop, and pastes
  for the zoom.
- lsj: ScaleJitter 0.1 to 2 of 640 x 640, a crop of that size, flip; boxes, labels and a mask for each object. DALI's reader
  makes no mask for each object: it has no such case.
- deeplab: RandomResize 260 to 1040, RandomCrop 480, flip; one mask of classes a picture. It is not written for DALI.
"""
import argparse
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import recipes  # noqa: E402

RECIPES = ("ssd", "lsj", "deeplab")
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
LSJ, CROP = 640, 480


class Folder:
    """The pictures of a folder with boxes, labels and masks as NumPy arrays: what the other data sets begin with."""

    def __init__(self, at, recipe):
        self.at, self.recipe = pathlib.Path(at), recipe
        data = json.loads((self.at / "instances.json").read_text())
        self.images = data["images"]
        self.objects = [[] for _ in self.images]
        for one in data["annotations"]:
            self.objects[one["image_id"]].append(one)

    def __len__(self):
        return len(self.images)

    def bytes(self, n):
        return (self.at / "pictures" / self.images[n]["file_name"]).read_bytes()

    def mask(self, n):
        return (self.at / "masks" / self.images[n]["file_name"].replace(".jpg", ".png")).read_bytes()

    def boxes(self, n):
        """Boxes as xyxy, and labels."""
        import numpy as np
        boxes = np.array([one["bbox"] for one in self.objects[n]], np.float32).reshape(-1, 4)
        boxes[:, 2:] += boxes[:, :2]
        return boxes, np.array([one["category_id"] for one in self.objects[n]], np.int64)

    def masks(self, n):
        """A mask for each object, by pycocotools, as the references of torchvision rasterize polygons."""
        import numpy as np
        from pycocotools import mask
        height, width = self.images[n]["height"], self.images[n]["width"]
        found = [mask.decode(mask.frPyObjects(one["segmentation"], height, width)).any(axis=2) for one in self.objects[n]]
        return np.stack(found).astype(np.uint8) if found else np.zeros((0, height, width), np.uint8)


class OfTorchvision(Folder):
    """Samples by v2 transforms on tensors of uint8."""

    def recipe_of(self):
        import torch
        from torchvision.transforms import v2
        finish = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
        return v2.Compose({
            "ssd": [v2.RandomPhotometricDistort(), v2.RandomZoomOut(fill=[124, 116, 104]), v2.RandomIoUCrop(),
                    v2.RandomHorizontalFlip(), v2.Resize((300, 300), antialias=True), v2.SanitizeBoundingBoxes(), *finish],
            "lsj": [v2.ScaleJitter((LSJ, LSJ), antialias=True), PaddedCrop(LSJ), v2.RandomHorizontalFlip(),
                    v2.SanitizeBoundingBoxes(), *finish],
            "deeplab": [v2.RandomResize(260, 1040, antialias=True), PaddedCrop(CROP), v2.RandomHorizontalFlip(), *finish],
        }[self.recipe])

    def __getitem__(self, n):
        import torch
        from torchvision import tv_tensors
        from torchvision.io import ImageReadMode, decode_image, decode_jpeg
        pixels = decode_jpeg(torch.frombuffer(bytearray(self.bytes(n)), dtype=torch.uint8), ImageReadMode.RGB)
        image, target = tv_tensors.Image(pixels), {}
        if self.recipe == "deeplab":
            mask = decode_image(torch.frombuffer(bytearray(self.mask(n)), dtype=torch.uint8))
            target["mask"] = tv_tensors.Mask(mask)
        else:
            boxes, labels = self.boxes(n)
            target["boxes"] = tv_tensors.BoundingBoxes(torch.from_numpy(boxes), format="XYXY", canvas_size=pixels.shape[-2:])
            target["labels"] = torch.from_numpy(labels)
        if self.recipe == "lsj":
            target["masks"] = tv_tensors.Mask(torch.from_numpy(self.masks(n)))
        self.made = getattr(self, "made", None) or self.recipe_of()
        return self.made(image, target)


def PaddedCrop(side):
    """A crop of `side`: pictures that are smaller are padded on all sides first. v2 has no FixedSizeCrop."""
    from torchvision import tv_tensors
    from torchvision.transforms import v2
    fill = {tv_tensors.Image: 0, tv_tensors.Mask: 0}
    return v2.RandomCrop((side, side), pad_if_needed=True, fill=fill)


class OfAlbumentations(Folder):
    """Samples by albumentations, decoded by cv2."""

    def recipe_of(self):
        import albumentations as A
        import cv2
        from albumentations.pytorch import ToTensorV2
        cv2.setNumThreads(0)
        finish = [A.Normalize(MEAN, STD), ToTensorV2()]
        boxes = A.BboxParams("pascal_voc", label_fields=["labels"], min_width=1, min_height=1)
        steps = {
            "ssd": [A.ColorJitter((0.875, 1.125), (0.5, 1.5), (0.5, 1.5), 0.05, p=0.5),
                    A.Affine(scale=(0.25, 1.0), keep_ratio=True, fill=(124, 116, 104), p=0.5), A.BBoxSafeRandomCrop(p=0.85), A.HorizontalFlip(),
                    A.Resize(300, 300)],
            "lsj": [A.LongestMaxSize(list(range(LSJ // 10, 2 * LSJ + 1))), A.PadIfNeeded(LSJ, LSJ), A.RandomCrop(LSJ, LSJ),
                    A.HorizontalFlip()],
            "deeplab": [A.SmallestMaxSize(list(range(260, 1041))), A.PadIfNeeded(CROP, CROP),
                        A.RandomCrop(CROP, CROP), A.HorizontalFlip()],
        }[self.recipe]
        return A.Compose([*steps, *finish], bbox_params=None if self.recipe == "deeplab" else boxes)

    def __getitem__(self, n):
        import cv2
        import numpy as np
        pixels = cv2.cvtColor(cv2.imdecode(np.frombuffer(self.bytes(n), np.uint8), cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
        self.made = getattr(self, "made", None) or self.recipe_of()
        if self.recipe == "deeplab":
            made = self.made(image=pixels, mask=cv2.imdecode(np.frombuffer(self.mask(n), np.uint8), cv2.IMREAD_UNCHANGED))
            return made["image"], made["mask"]
        boxes, labels = self.boxes(n)
        masks = {"masks": list(self.masks(n))} if self.recipe == "lsj" else {}
        made = self.made(image=pixels, bboxes=boxes, labels=labels, **masks)
        return made.pop("image"), made


def together(samples):
    """A batch as the references of torchvision make it: pictures of one size in a tensor, targets in a list."""
    import torch
    return torch.stack([image for image, _ in samples]), [target for _, target in samples]


def started(_):
    """One thread for each worker."""
    import torch
    torch.set_num_threads(1)


def with_workers(data, batch):
    """Batches without an end, by two worker processes."""
    import torch
    from torch.utils.data import DataLoader
    torch.set_num_threads(1)
    loader = DataLoader(data, batch_size=batch, shuffle=True, drop_last=True, num_workers=2, worker_init_fn=started,
                        collate_fn=together, persistent_workers=True)
    while True:
        yield from loader


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("data")
    ap.add_argument("rival", choices=["torchvision", "albumentations", "dali"])
    ap.add_argument("recipe", choices=RECIPES)
    ap.add_argument("--samples", type=int, default=1024)
    ap.add_argument("--batch", type=int, default=32)
    x = ap.parse_args()
    os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")
    if x.rival == "dali":
        import dali_cpu
        batches = dali_cpu.batches(x.data, x.recipe, x.batch)
    else:
        kind = OfTorchvision if x.rival == "torchvision" else OfAlbumentations
        batches = with_workers(kind(x.data, x.recipe), x.batch)
    recipes.measure(batches, x.samples, lambda _: x.batch)
    os._exit(0)  # no wait for workers that still decode


if __name__ == "__main__":
    main()
