"""The operations of operations.py in other libraries: functions of `{row: pixels [height, width, 3]}` that return what is
called for each row that the library has."""


def of_torchvision(pixels):
    """torchvision v2 on tensors of uint8 [3, height, width]."""
    import torch
    from torchvision.transforms import v2

    torch.set_num_threads(1)
    tensors = {name: torch.from_numpy(array).permute(2, 0, 1).contiguous() for name, array in pixels.items()}
    return called(steps_of_v2(v2), tensors)


def of_pil(pixels):
    """The same classes on PIL's pictures, and timm's policies."""
    import timm.data.auto_augment as policies
    from PIL import Image
    from timm.data.transforms import RandomResizedCropAndInterpolation
    from torchvision.transforms import v2

    pictures = {name: Image.fromarray(array) for name, array in pixels.items()}
    without = ("GaussianNoise", "RandomErasing", "RandomGamma", "JPEG(50)", "AutoAugment", "RandAugment", "AugMix")
    steps = {name: step for name, step in steps_of_v2(v2).items() if name not in without}
    hparams = {"translate_const": 100, "img_mean": (124, 116, 104)}
    steps["AutoAugment"] = policies.auto_augment_transform("original", hparams)
    steps["RandAugment"] = policies.rand_augment_transform("rand-m9", hparams)
    steps["AugMix"] = policies.augment_and_mix_transform("augmix-m3", hparams)
    steps['timm("rand-m9-mstd0.5-inc1")'] = policies.rand_augment_transform("rand-m9-mstd0.5-inc1", hparams)
    for name, word in {"wide, RandomResizedCrop(224)": "bilinear", "wide, RandomResizedCrop(224), bicubic": "bicubic"}.items():
        steps[name] = RandomResizedCropAndInterpolation(224, interpolation=word)
    return called(steps, pictures)


def called(steps, pictures):
    return {name: call_of(step, pictures[name]) for name, step in steps.items() if name in pictures}


def call_of(step, picture):
    return lambda: step(picture)


def steps_of_v2(v2):
    cubic, bilinear = v2.InterpolationMode.BICUBIC, v2.InterpolationMode.BILINEAR
    return {
        "wide, RandomResizedCrop(224)": v2.RandomResizedCrop(224, antialias=True),
        "wide, RandomResizedCrop(224), bicubic": v2.RandomResizedCrop(224, interpolation=cubic, antialias=True),
        "wide, Resize(224)": v2.Resize((224, 224), antialias=True),
        "wide, Resize(224), bicubic": v2.Resize((224, 224), cubic, antialias=True),
        "wide, CenterCrop(224)": v2.CenterCrop(224),
        "RandomCrop(224, padding=28)": v2.RandomCrop(224, padding=28),
        "Pad(28, reflect)": v2.Pad(28, padding_mode="reflect"),
        "RandomHorizontalFlip": v2.RandomHorizontalFlip(1.0),
        "RandomVerticalFlip": v2.RandomVerticalFlip(1.0),
        "RandomRotation(30)": v2.RandomRotation(30),
        "RandomRotation(30), bilinear": v2.RandomRotation(30, bilinear),
        "RandomAffine": v2.RandomAffine(30, (0.1, 0.1), (0.8, 1.2), 5),
        "RandomAffine, bilinear": v2.RandomAffine(30, (0.1, 0.1), (0.8, 1.2), 5, interpolation=bilinear),
        "RandomAffine, bicubic": v2.RandomAffine(30, (0.1, 0.1), (0.8, 1.2), 5, interpolation=cubic),
        "RandomPerspective": v2.RandomPerspective(0.5, 1.0),
        "ElasticTransform": v2.ElasticTransform(),
        "ColorJitter(0.4, 0.4, 0.4, 0.1)": v2.ColorJitter(0.4, 0.4, 0.4, 0.1),
        "brightness": v2.ColorJitter(brightness=0.4),
        "contrast": v2.ColorJitter(contrast=0.4),
        "saturation": v2.ColorJitter(saturation=0.4),
        "hue": v2.ColorJitter(hue=0.1),
        "RandomGrayscale": v2.RandomGrayscale(1.0),
        "RandomInvert": v2.RandomInvert(1.0),
        "RandomPosterize(4)": v2.RandomPosterize(4, 1.0),
        "RandomSolarize(128)": v2.RandomSolarize(128, 1.0),
        "RandomAutocontrast": v2.RandomAutocontrast(1.0),
        "RandomEqualize": v2.RandomEqualize(1.0),
        "RandomAdjustSharpness(2)": v2.RandomAdjustSharpness(2, 1.0),
        "RandomGamma": lambda picture: v2.functional.adjust_gamma(picture, 1.1),
        "RandomChannelPermutation": v2.RandomChannelPermutation(),
        "RandomPhotometricDistort": v2.RandomPhotometricDistort(p=1.0),
        "GaussianBlur(23)": v2.GaussianBlur(23, (0.1, 2.0)),
        "GaussianNoise": v2.GaussianNoise(),
        "JPEG(50)": v2.JPEG(50),
        "RandomErasing": v2.RandomErasing(1.0),
        "AutoAugment": v2.AutoAugment(),
        "RandAugment": v2.RandAugment(),
        "TrivialAugmentWide": v2.TrivialAugmentWide(),
        "AugMix": v2.AugMix(),
    }


def of_albumentations(pixels):
    import albumentations as A
    import cv2

    cv2.setNumThreads(0)
    cubic, lanczos, nearest = cv2.INTER_CUBIC, cv2.INTER_LANCZOS4, cv2.INTER_NEAREST
    still = {"brightness": (1, 1), "contrast": (1, 1), "saturation": (1, 1), "hue": (0, 0), "p": 1}
    affine = {"scale": (0.8, 1.2), "translate_percent": (-0.1, 0.1), "rotate": (-30, 30), "shear": (-5, 5), "p": 1}
    steps = {
        "wide, RandomResizedCrop(224)": A.RandomResizedCrop((224, 224)),
        "wide, RandomResizedCrop(224), bicubic": A.RandomResizedCrop((224, 224), interpolation=cubic),
        "wide, Resize(224)": A.Resize(224, 224),
        "wide, Resize(224), bicubic": A.Resize(224, 224, interpolation=cubic),
        "wide, Resize(224), lanczos": A.Resize(224, 224, interpolation=lanczos),
        "wide, CenterCrop(224)": A.CenterCrop(224, 224),
        "RandomCrop(224, padding=28)": A.Compose([A.Pad(28, p=1), A.RandomCrop(224, 224)]),
        "Pad(28, reflect)": A.Pad(28, border_mode=cv2.BORDER_REFLECT_101, p=1),
        "RandomHorizontalFlip": A.HorizontalFlip(p=1),
        "RandomVerticalFlip": A.VerticalFlip(p=1),
        "RandomQuarterTurn": A.RandomRotate90(p=1),
        "RandomRotation(30)": A.Rotate(30, nearest, p=1),
        "RandomRotation(30), bilinear": A.Rotate(30, p=1),
        "RandomAffine": A.Affine(interpolation=nearest, **affine),
        "RandomAffine, bilinear": A.Affine(**affine),
        "RandomAffine, bicubic": A.Affine(interpolation=cubic, **affine),
        "RandomPerspective": A.Perspective(scale=(0.05, 0.25), p=1),
        "ElasticTransform": A.ElasticTransform(alpha=50, sigma=5, p=1),
        "ColorJitter(0.4, 0.4, 0.4, 0.1)": A.ColorJitter(0.4, 0.4, 0.4, 0.1, p=1),
        "brightness": A.ColorJitter(**{**still, "brightness": (0.6, 1.4)}),
        "contrast": A.ColorJitter(**{**still, "contrast": (0.6, 1.4)}),
        "saturation": A.ColorJitter(**{**still, "saturation": (0.6, 1.4)}),
        "hue": A.ColorJitter(**{**still, "hue": (-0.1, 0.1)}),
        "RandomGrayscale": A.ToGray(p=1),
        "RandomInvert": A.InvertImg(p=1),
        "RandomPosterize(4)": A.Posterize(4, p=1),
        "RandomSolarize(128)": A.Solarize((0.5, 0.5), p=1),
        "RandomAutocontrast": A.AutoContrast(p=1),
        "RandomEqualize": A.Equalize(p=1),
        "RandomAdjustSharpness(2)": A.Sharpen((1, 1), (1, 1), p=1),
        "RandomGamma": A.RandomGamma((80, 120), p=1),
        "RandomChannelPermutation": A.ChannelShuffle(p=1),
        "GaussianBlur(23)": A.GaussianBlur((23, 23), (0.1, 2.0), p=1),
        "GaussianNoise": A.GaussNoise((0.1, 0.1), p=1),
        "JPEG(50)": A.ImageCompression(quality_range=(50, 50), p=1),
        "RandomErasing": A.Erasing(p=1),
    }
    return {name: named_call_of(step, pixels[name]) for name, step in steps.items() if name in pixels}


def named_call_of(step, picture):
    return lambda: step(image=picture)


def of_kornia_rs(pixels):
    from kornia_rs import augmentations, imgproc
    from kornia_rs.image import Image

    turn = [0.866, 0.5, -41.0, -0.5, 0.866, 71.0]
    size = (224, 224)
    functions = {
        "wide, Resize(224)": lambda array: imgproc.resize(array, size, "bilinear"),
        "wide, Resize(224), bicubic": lambda array: imgproc.resize(array, size, "bicubic"),
        "wide, Resize(224), lanczos": lambda array: imgproc.resize(array, size, "lanczos"),
        "wide, CenterCrop(224)": lambda array: imgproc.crop(array, 138, 75, 224, 224),
        "RandomHorizontalFlip": imgproc.horizontal_flip,
        "RandomVerticalFlip": imgproc.vertical_flip,
        "RandomRotation(30)": lambda array: imgproc.warp_affine(array, turn, size, "nearest"),
        "RandomRotation(30), bilinear": lambda array: imgproc.warp_affine(array, turn, size, "bilinear"),
        "RandomGrayscale": lambda array: imgproc.rgb_from_gray(imgproc.gray_from_rgb(array)),
        "GaussianBlur(23)": lambda array: imgproc.gaussian_blur(array, (23, 23), (1.0, 1.0)),
    }
    jitters = {
        "ColorJitter(0.4, 0.4, 0.4, 0.1)": (0.4, 0.4, 0.4, 0.1), "brightness": (0.4, 0, 0, 0), "contrast": (0, 0.4, 0, 0),
        "saturation": (0, 0, 0.4, 0), "hue": (0, 0, 0, 0.1),
    }
    found = {name: call_of(function, pixels[name]) for name, function in functions.items() if name in pixels}
    for name, most in jitters.items():
        if name in pixels:
            found[name] = jitter_call_of(augmentations.ColorJitter(*most), Image, pixels[name])
    return found


def jitter_call_of(jitter, image, picture):
    return lambda: jitter(image(picture)).numpy()


LIBRARIES = {
    "torchvision uint8": of_torchvision,
    "PIL": of_pil,
    "albumentations": of_albumentations,
    "kornia-rs": of_kornia_rs,
}
