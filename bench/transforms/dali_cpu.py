"""The recipes of rivals.py as pipelines of DALI on the CPU, with two threads."""
import pathlib

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
WIDE, NARROW = (0.32, 1.0), (0.05, 0.32)


def batches(shards, recipe, batch):
    """Batches without an end."""
    from nvidia.dali import fn, pipeline_def, types
    from nvidia.dali.auto_aug import rand_augment, trivial_augment
    from nvidia.dali.plugin.base_iterator import LastBatchPolicy
    from nvidia.dali.plugin.pytorch import DALIGenericIterator

    paths = [str(path) for path in sorted(pathlib.Path(shards).glob("*.tar"))]

    def with_probability(p):
        return fn.random.coin_flip(probability=p, dtype=types.BOOL)

    def mirrored(pixels):
        return fn.flip(pixels, horizontal=fn.random.coin_flip(probability=0.5))

    def finished(pixels):
        return fn.crop_mirror_normalize(pixels, mean=[255 * x for x in MEAN], std=[255 * x for x in STD])

    def factor(most):
        return fn.random.uniform(range=[1 - most, 1 + most])

    def view(pixels, size, scale, most, taps, blurred, solarized, filter_):
        """A view of the whole picture, which is decoded once for all views."""
        pixels = fn.random_resized_crop(pixels, size=[size, size], random_area=list(scale), interp_type=filter_)
        pixels = mirrored(pixels)
        if with_probability(0.8):
            pixels = fn.color_twist(pixels, brightness=factor(most[0]), contrast=factor(most[1]), saturation=factor(most[2]),
                                    hue=fn.random.uniform(range=[-360 * most[3], 360 * most[3]]))
        if with_probability(0.2):
            pixels = fn.hsv(pixels, saturation=0.0)
        if with_probability(blurred):
            pixels = fn.gaussian_blur(pixels, window_size=taps, sigma=fn.random.uniform(range=[0.1, 2.0]))
        if solarized > 0 and with_probability(solarized):
            bright = fn.cast(pixels >= 128, dtype=types.UINT8)
            pixels = fn.cast(bright * (255 - pixels) + (1 - bright) * pixels, dtype=types.UINT8)
        return finished(pixels)

    def single(data, policy):
        cubic = types.INTERP_CUBIC if policy is rand_augment.rand_augment else types.INTERP_LINEAR
        pixels = fn.decoders.image_random_crop(data, device="cpu", random_area=[0.08, 1.0])
        pixels = mirrored(fn.resize(pixels, size=[224, 224], interp_type=cubic))
        if recipe == "classification":
            pixels = policy(pixels, shape=[224, 224])
        elif recipe == "deit":
            for _ in range(2):
                if with_probability(0.5):
                    pixels = policy(pixels, n=1, m=9, shape=[224, 224])
        else:
            return pixels
        area = 0.15
        p = 0.25 if recipe == "deit" else 0.1
        pixels = finished(pixels)
        if with_probability(p):
            anchor = fn.random.uniform(range=[0.0, 1.0 - area**0.5], shape=2)
            pixels = fn.erase(pixels, anchor=anchor, shape=[area**0.5, area**0.5], axis_names="HW", normalized=True)
        return pixels

    @pipeline_def(batch_size=batch, num_threads=2, device_id=None, enable_conditionals=True)
    def pipeline():
        data = fn.readers.webdataset(paths=paths, ext=["jpg"], random_shuffle=True, missing_component_behavior="error", name="read")
        if recipe in ("crop", "classification", "deit"):
            policies = {"classification": trivial_augment.trivial_augment_wide, "deit": rand_augment.rand_augment}
            return single(data, policies.get(recipe))
        pixels = fn.decoders.image(data, device="cpu")
        if recipe == "simclr":
            strong = (0.8, 0.8, 0.8, 0.2)
            return tuple(view(pixels, 224, (0.08, 1.0), strong, 23, 0.5, 0.0, types.INTERP_LINEAR) for _ in range(2))
        groups = [(224, WIDE, 1.0, 0.0), (224, WIDE, 0.1, 0.2), *[(96, NARROW, 0.5, 0.0)] * 8]
        weak, cubic = (0.4, 0.4, 0.2, 0.1), types.INTERP_CUBIC
        return tuple(view(pixels, size, scale, weak, 9, blurred, solarized, cubic) for size, scale, blurred, solarized in groups)

    made = pipeline()
    made.build()
    names = [f"view{n}" for n in range({"simclr": 2, "dino": 10}.get(recipe, 1))]
    iterator = DALIGenericIterator(made, names, reader_name="read", last_batch_policy=LastBatchPolicy.DROP, auto_reset=True)
    while True:
        yield from iterator
