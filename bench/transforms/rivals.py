#!/usr/bin/env python3
"""One recipe of a rival, as its users write it, over the shards of a folder: prints images/s.

    python3 bench/transforms/rivals.py SHARDS RIVAL RECIPE [--samples N] [--batch 64]

RIVAL is torchvision (v2, tensors of uint8), timm (PIL), albumentations, kornia-rs or dali (CPU); RECIPE is crop,
classification, deit, simclr or dino. All but DALI read with webdataset in two worker processes; DALI has two threads. Images
are counted from the fourth batch on, when all workers have begun.

Each of the two operations of DeiT's policy is applied with the probability 0.5, as in timm's. What a rival lacks is an error
with a reason. Where a policy is missing, albumentations takes the operations that it has of it, by OneOf. timm has no solarize
outside of its policies, so its DINO leaves it out, and its blur always has 23 taps; the DINO of all others has 9. kornia-rs
has no crop that resizes: it is written by hand, as are its gray and its probabilities.
"""
import argparse
import io
import os
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import recipes  # noqa: E402

RECIPES = ("crop", "classification", "deit", "simclr", "dino")
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
WIDE, NARROW = (0.32, 1.0), (0.05, 0.32)


def times(recipe, n):
    """A list of `n` results of the recipe, each with its own draws."""
    return lambda picture: [recipe(picture) for _ in range(n)]


def dino_of(make):
    """The ten views of DINO by `make(size, scale, probability of blur, of solarize)`."""
    made = [make(224, WIDE, 1.0, 0.0), make(224, WIDE, 0.1, 0.2), *[make(96, NARROW, 0.5, 0.0)] * 8]
    return lambda picture: [recipe(picture) for recipe in made]


def of_torchvision(name):
    import torch
    from torchvision.io import ImageReadMode, decode_jpeg
    from torchvision.transforms import v2

    finish = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    cubic = v2.InterpolationMode.BICUBIC
    flip = v2.RandomHorizontalFlip()

    def crop(size, **more):
        return v2.RandomResizedCrop(size, antialias=True, **more)

    def jitter(*most):
        return v2.RandomApply([v2.ColorJitter(*most)], 0.8)

    def blur(taps, p):
        return v2.RandomApply([v2.GaussianBlur(taps, (0.1, 2.0))], p)

    def policy():
        return v2.RandomApply([v2.RandAugment(num_ops=1, interpolation=v2.InterpolationMode.BILINEAR)], 0.5)

    def dino(size, scale, blurred, solarized):
        return v2.Compose([crop(size, scale=scale, interpolation=cubic), flip, jitter(0.4, 0.4, 0.2, 0.1),
                           v2.RandomGrayscale(0.2), blur(9, blurred), v2.RandomSolarize(128, solarized), *finish])

    made = {
        "crop": lambda: v2.Compose([crop(224), flip]),
        "classification": lambda: v2.Compose([crop(224), flip, v2.TrivialAugmentWide(), *finish, v2.RandomErasing(0.1)]),
        "deit": lambda: v2.Compose([crop(224, interpolation=cubic), flip, policy(), policy(), *finish,
                                    v2.RandomErasing(0.25, value="random")]),
        "simclr": lambda: times(v2.Compose([crop(224), flip, jitter(0.8, 0.8, 0.8, 0.2), v2.RandomGrayscale(0.2),
                                            blur(23, 0.5), *finish]), 2),
        "dino": lambda: dino_of(dino),
    }[name]()
    return lambda data: made(decode_jpeg(torch.frombuffer(bytearray(data), dtype=torch.uint8), ImageReadMode.RGB))


def of_timm(name):
    from PIL import Image
    from timm.data import create_transform

    def made(size=224, **settings):
        return create_transform(size, is_training=True, **{"color_jitter": None, **settings})

    def views(size, jitter, blur, **settings):
        return made(size, color_jitter=jitter, color_jitter_prob=0.8, grayscale_prob=0.2, gaussian_blur_prob=blur, **settings)

    def dino(size, scale, blurred, solarized):
        return views(size, (0.4, 0.4, 0.2, 0.1), blurred, scale=scale, interpolation="bicubic")

    makers = {
        "crop": lambda: made(interpolation="bilinear", normalize=False),
        "deit": lambda: made(interpolation="bicubic", auto_augment="rand-m9-mstd0.5-inc1", re_prob=0.25, re_mode="pixel"),
        "simclr": lambda: times(views(224, (0.8, 0.8, 0.8, 0.2), 0.5, interpolation="bilinear"), 2),
        "dino": lambda: dino_of(dino),
    }
    if name not in makers:
        sys.exit(f"timm has no TrivialAugmentWide, which {name} needs")
    recipe = makers[name]()
    return lambda data: recipe(Image.open(io.BytesIO(data)).convert("RGB"))


def of_albumentations(name):
    import albumentations as A
    import cv2
    import numpy as np
    from albumentations.pytorch import ToTensorV2

    cv2.setNumThreads(0)
    finish = [A.Normalize(MEAN, STD), ToTensorV2()]
    cubic = cv2.INTER_CUBIC

    def crop(size, **more):
        return A.RandomResizedCrop((size, size), **more)

    def policy(strength):
        """The operations of RandAugment that the library has. `strength` is that of its changes of colors."""
        colors = [{"brightness": (1 - strength, 1 + strength)}, {"contrast": (1 - strength, 1 + strength)},
                  {"saturation": (1 - strength, 1 + strength)}]
        still = {"brightness": (1, 1), "contrast": (1, 1), "saturation": (1, 1), "hue": (0, 0), "p": 1}
        return [A.NoOp(), A.Affine(shear={"x": (-17, 17), "y": (0, 0)}, p=1), A.Affine(shear={"x": (0, 0), "y": (-17, 17)}, p=1),
                A.Affine(translate_percent={"x": (-0.45, 0.45), "y": (0, 0)}, p=1),
                A.Affine(translate_percent={"x": (0, 0), "y": (-0.45, 0.45)}, p=1), A.Rotate(30, p=1),
                *[A.ColorJitter(**{**still, **color}) for color in colors], A.Sharpen(p=1), A.Posterize(4, p=1),
                A.Solarize((0.5, 0.5), p=1), A.AutoContrast(p=1), A.Equalize(p=1)]

    def dino(size, scale, blurred, solarized):
        return single(crop(size, scale=scale, interpolation=cubic), A.HorizontalFlip(), A.ColorJitter(0.4, 0.4, 0.2, 0.1, p=0.8),
                      A.ToGray(p=0.2), A.GaussianBlur((9, 9), (0.1, 2.0), p=blurred), A.Solarize((0.5, 0.5), p=solarized), *finish)

    def single(*steps):
        made = A.Compose(list(steps))
        return lambda picture: made(image=picture)["image"]

    made = {
        "crop": lambda: single(crop(224), A.HorizontalFlip(), ToTensorV2()),
        "classification": lambda: single(crop(224), A.HorizontalFlip(), A.OneOf(policy(0.99), p=1), *finish[:1],
                                         A.Erasing(p=0.1), ToTensorV2()),
        "deit": lambda: single(crop(224, interpolation=cubic), A.HorizontalFlip(), A.OneOf(policy(0.27), p=0.5),
                               A.OneOf(policy(0.27), p=0.5), *finish[:1], A.Erasing(fill="random", p=0.25), ToTensorV2()),
        "simclr": lambda: times(single(crop(224), A.HorizontalFlip(), A.ColorJitter(0.8, 0.8, 0.8, 0.2, p=0.8), A.ToGray(p=0.2),
                                       A.GaussianBlur((23, 23), (0.1, 2.0), p=0.5), *finish), 2),
        "dino": lambda: dino_of(dino),
    }[name]()

    def one(data):
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
        return made(cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB))
    return one


def of_kornia_rs(name):
    import numpy as np
    import torch
    from kornia_rs import augmentations, imgproc
    from kornia_rs import io as images
    from kornia_rs.image import Image
    from torchvision.transforms.v2 import RandomResizedCrop

    def resized(pixels, size, scale, filter_):
        height, width = pixels.shape[:2]
        draw = RandomResizedCrop(size, scale)
        box = draw.make_params([torch.empty(3, height, width, device="meta")])
        part = imgproc.crop(pixels, box["left"], box["top"], box["width"], box["height"])
        return imgproc.resize(part, (size, size), filter_)

    def finished(pixels):
        floats = imgproc.normalize_mean_std(pixels, [255 * x for x in MEAN], [255 * x for x in STD])
        return np.ascontiguousarray(floats.transpose(2, 0, 1))

    def view(size, scale, most, taps, blurred, solarized, filter_):
        jitter = augmentations.ColorJitter(*most)

        def one(pixels):
            pixels = flipped(resized(pixels, size, scale, filter_))
            if random.random() < 0.8:
                pixels = jitter(Image(pixels)).numpy()
            if random.random() < 0.2:
                pixels = imgproc.rgb_from_gray(imgproc.gray_from_rgb(pixels))
            if random.random() < blurred:
                sigma = random.uniform(0.1, 2.0)
                pixels = imgproc.gaussian_blur(pixels, (taps, taps), (sigma, sigma))
            if random.random() < solarized:
                pixels = np.where(pixels >= 128, 255 - pixels, pixels)
            return finished(pixels)
        return one

    def flipped(pixels):
        return imgproc.horizontal_flip(pixels) if random.random() < 0.5 else pixels

    def dino(size, scale, blurred, solarized):
        return view(size, scale, (0.4, 0.4, 0.2, 0.1), 9, blurred, solarized, "bicubic")

    makers = {
        "crop": lambda: lambda pixels: flipped(resized(pixels, 224, (0.08, 1.0), "bilinear")),
        "simclr": lambda: times(view(224, (0.08, 1.0), (0.8, 0.8, 0.8, 0.2), 23, 0.5, 0.0, "bilinear"), 2),
        "dino": lambda: dino_of(dino),
    }
    if name not in makers:
        sys.exit(f"kornia-rs has no policies, which {name} needs")
    made = makers[name]()

    def one(data):
        pixels = images.decode_image_jpeg(data)
        if pixels.shape[2] == 1:
            pixels = np.repeat(pixels, 3, axis=2)
        return made(pixels)
    return one


MAKERS = {"torchvision": of_torchvision, "timm": of_timm, "albumentations": of_albumentations, "kornia-rs": of_kornia_rs}


def started(_):
    """One thread for each worker."""
    import torch
    torch.set_num_threads(1)


def with_webdataset(shards, rival, recipe, batch):
    """Batches without an end of pictures that two worker processes decode and transform."""
    import torch
    import webdataset
    from torch.utils.data import DataLoader

    torch.set_num_threads(1)
    paths = [str(path) for path in sorted(pathlib.Path(shards).glob("*.tar"))]
    dataset = webdataset.WebDataset(paths, resampled=True, shardshuffle=False)
    dataset = dataset.shuffle(1000).to_tuple("jpg").map_tuple(MAKERS[rival](recipe))
    return DataLoader(dataset, batch_size=batch, num_workers=2, worker_init_fn=started)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("shards")
    ap.add_argument("rival", choices=[*MAKERS, "dali"])
    ap.add_argument("recipe", choices=RECIPES)
    ap.add_argument("--samples", type=int, default=4096)
    ap.add_argument("--batch", type=int, default=64)
    x = ap.parse_args()
    os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")
    os.environ.setdefault("RAYON_NUM_THREADS", "1")  # of kornia-rs, in each worker
    if x.rival == "dali":
        import dali_cpu
        batches = dali_cpu.batches(x.shards, x.recipe, x.batch)
    else:
        batches = with_webdataset(x.shards, x.rival, x.recipe, x.batch)
    recipes.measure(batches, x.samples, lambda _: x.batch)
    os._exit(0)  # no wait for workers that still decode


if __name__ == "__main__":
    main()
