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
