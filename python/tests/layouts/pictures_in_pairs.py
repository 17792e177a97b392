"""Pictures with pictures: masks, depth, views."""

from __future__ import annotations

from miniature import Miniature, layout


@layout("ADE20K")
def ade20k(new: Miniature) -> None:
    for split in ("training", "validation"):
        for n in (1, 2):
            name = f"ADE_{split[:5]}_0000000{n}"
            picture = new.picture(f"ADEChallengeData2016/images/{split}/{name}.jpg")
            mask = new.mask(f"ADEChallengeData2016/annotations/{split}/{name}.png", 150)
            new.expect(picture, parts={"mask.png": mask}, split=split)


@layout("Depth: NYU in folders")
def nyu(new: Miniature) -> None:
    for n in (0, 1):
        picture = new.picture(f"nyu/rgb/{n:05}.png")
        depth = new.mask(f"nyu/depth/{n:05}.png", 7)
        new.expect(picture, parts={"depth.png": depth})


@layout("Cityscapes")
def cityscapes(new: Miniature) -> None:
    for split in ("train", "val"):
        for n in (19, 20):
            name = f"{split}/aachen/aachen_000000_0000{n}"
            picture = new.picture(f"cityscapes/leftImg8bit/{name}_leftImg8bit.png")
            mask = new.mask(f"cityscapes/gtFine/{name}_gtFine_labelIds.png", 34)
            new.mask(f"cityscapes/gtFine/{name}_gtFine_color.png", 5)
            new.expect(picture, split, parts={"mask.png": mask})


@layout("Pascal VOC segmentation")
def voc_masks(new: Miniature) -> None:
    root = "VOCdevkit/VOC2012"
    for n, split in [("2007_000032", "train"), ("2007_000033", "val")]:
        picture = new.picture(f"{root}/JPEGImages/{n}.jpg")
        mask = new.mask(f"{root}/SegmentationClass/{n}.png", 21, "P")
        new.text(f"{root}/ImageSets/Segmentation/{split}.txt", [n])
        new.expect(picture, split, parts={"mask.png": mask})
    new.picture(f"{root}/JPEGImages/2007_000027.jpg")  # without a mask


@layout("Penn-Fudan")
def penn_fudan(new: Miniature) -> None:
    for n in (1, 2):
        picture = new.picture(f"PennFudanPed/PNGImages/FudanPed0000{n}.png")
        mask = new.mask(f"PennFudanPed/PedMasks/FudanPed0000{n}_mask.png")
        new.text(f"PennFudanPed/Annotation/FudanPed0000{n}.txt", "# Compatible with PASCAL\n")
        new.expect(picture, parts={"mask.png": mask})


@layout("Carvana")
def carvana(new: Miniature) -> None:
    for n in (1, 2):
        picture = new.picture(f"carvana/train/0cdf5b5d0ce1_0{n}.jpg")
        mask = new.mask(f"carvana/train_masks/0cdf5b5d0ce1_0{n}_mask.gif", 2, "P")
        new.expect(picture, parts={"mask.gif": mask})


@layout("DeepGlobe roads")
def deepglobe(new: Miniature) -> None:
    for n in (104, 10013):
        picture = new.picture(f"train/{n}_sat.jpg")
        new.expect(picture, parts={"mask.png": new.mask(f"train/{n}_mask.png", 2)})


@layout("ISIC 2018")
def isic(new: Miniature) -> None:
    for n in (0, 1):
        picture = new.picture(f"isic/ISIC2018_Task1-2_Training_Input/ISIC_000000{n}.jpg")
        mask = new.mask(f"isic/ISIC2018_Task1_Training_GroundTruth/ISIC_000000{n}_segmentation.png", 2)
        new.expect(picture, parts={"mask.png": mask})


@layout("BUSI")
def busi(new: Miniature) -> None:
    for number, name in enumerate(["benign", "normal"]):
        for n in (1, 2):
            picture = new.picture(f"BUSI/{name}/{name} ({n}).png")
            parts = {"mask.png": new.mask(f"BUSI/{name}/{name} ({n})_mask.png", 2)}
            if (number, n) == (0, 1):
                parts["mask_1.png"] = new.mask(f"BUSI/{name}/{name} ({n})_mask_1.png", 2)
            new.expect(picture, parts=parts, **{"class": number, "class_name": name})


@layout("Views of things in folders")
def views(new: Miniature) -> None:
    for thing in ("car", "cup"):
        pictures = [new.picture(f"views/{thing}/view{n}.jpg") for n in (1, 2, 10)]
        new.expect(pictures[0], key=thing, parts={f"{n}.jpg": picture for n, picture in enumerate(pictures)})


@layout("BigEarthNet")
def bigearthnet(new: Miniature) -> None:
    for patch in ("S2A_MSIL2A_1_2", "S2B_MSIL2A_3_4"):
        parts = {}
        for band in ("B02", "B8A", "B11"):
            parts[f"{band.lower()}.tif"] = new.picture(f"BigEarthNet-v1.0/{patch}/{patch}_{band}.tif")
        labels = {"labels": ["Pastures", patch]}
        new.document(f"BigEarthNet-v1.0/{patch}/{patch}_labels_metadata.json", labels)
        new.expect(parts["b02.tif"], key=patch, parts=parts, **labels)
