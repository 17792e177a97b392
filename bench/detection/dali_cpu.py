"""The recipe ssd of rivals.py as a pipeline of DALI on the CPU, with two threads, by its own reader of COCO."""
import pathlib
import sys

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def batches(data, recipe, batch):
    """Batches without an end."""
    from nvidia.dali import fn, pipeline_def, types
    from nvidia.dali.plugin.pytorch import DALIGenericIterator

    if recipe != "ssd":
        sys.exit({"lsj": "DALI's reader of COCO makes polygons or one mask of classes, and no mask for each object",
                  "deeplab": "this recipe is not written for DALI"}[recipe])
    at = pathlib.Path(data)

    def factor(low, high):
        return fn.random.uniform(range=[low, high])

    @pipeline_def(batch_size=batch, num_threads=2, device_id=None, enable_conditionals=True)
    def pipeline():
        encoded, boxes, labels = fn.readers.coco(
            file_root=str(at / "pictures"), annotations_file=str(at / "instances.json"), random_shuffle=True, ratio=True,
            ltrb=True, skip_empty=False, name="read")
        pixels = fn.decoders.image(encoded, device="cpu")
        if fn.random.coin_flip(probability=0.5, dtype=types.BOOL):
            pixels = fn.color_twist(pixels, brightness=factor(0.875, 1.125), contrast=factor(0.5, 1.5),
                                    saturation=factor(0.5, 1.5), hue=factor(-18, 18))
        if fn.random.coin_flip(probability=0.5, dtype=types.BOOL):
            ratio, x, y = factor(1.0, 4.0), factor(0.0, 1.0), factor(0.0, 1.0)
            pixels = fn.paste(pixels, ratio=ratio, paste_x=x, paste_y=y, fill_value=(124, 116, 104))
            boxes = fn.bbox_paste(boxes, ratio=ratio, paste_x=x, paste_y=y, ltrb=True)
        begin, size, boxes, labels = fn.random_bbox_crop(
            boxes, labels, bbox_layout="xyXY", thresholds=[0.0, 0.1, 0.3, 0.5, 0.7, 0.9], aspect_ratio=[0.5, 2.0],
            scaling=[0.3, 1.0], allow_no_crop=True, num_attempts=40)
        pixels = fn.slice(pixels, begin, size, out_of_bounds_policy="trim_to_shape")
        pixels = fn.resize(pixels, size=[300, 300], interp_type=types.INTERP_LINEAR)
        mirror = fn.random.coin_flip(probability=0.5)
        boxes = fn.bb_flip(boxes, ltrb=True, horizontal=mirror)
        pixels = fn.crop_mirror_normalize(pixels, mirror=mirror, mean=[255 * x for x in MEAN], std=[255 * x for x in STD])
        return pixels, fn.pad(boxes, fill_value=-1), fn.pad(labels, fill_value=-1)

    made = pipeline()
    made.build()
    iterator = DALIGenericIterator(made, ["image", "boxes", "labels"], reader_name="read", auto_reset=True)
    while True:
        yield from iterator
