"""Annotations beside pictures on the device that fixtures/cuda simulates: the rows of the host."""

from __future__ import annotations

import annotated
from device_program import run


def test_annotations_follow_pictures_that_a_device_finishes(driver, tmp_path):
    annotated.write(tmp_path / "shards", 12)
    run(driver, tmp_path / "shards", """
        import tarflume.transforms as T
        crop = T.Compose([T.RandomResizedCrop(32), T.RandomHorizontalFlip(0.5), T.ColorJitter(0.4, 0.4)])
        given = {"boxes": tarflume.Boxes("/boxes", format="xywh", labels="/category_index"),
                 "masks": tarflume.Masks("/segmentation"), "mask": tarflume.Mask("mask.png")}
        for words in ({}, {"dtype": "float16"}, {"transforms_on": "device"}):
            image = tarflume.Image(crop, **words)
            right = list(tarflume.Loader(SHARDS, batch_size=4, image=image, **given).epoch(0))
            ours = tarflume.Loader(SHARDS, batch_size=4, image=image, device="cuda", **given)
            for host, batch in zip(right, ours.epoch(0), strict=True):
                np.testing.assert_array_equal(read(batch["mask"]), host["mask"].numpy())
                np.testing.assert_array_equal(read(batch["image"]), host["image"].numpy())
                for one, other in zip(host.targets(), batch.targets(), strict=True):
                    assert list(one) == list(other) == ["boxes", "labels", "masks"]
                    assert all(np.array_equal(one[name], other[name]) for name in one)
        try:
            tarflume.Loader(SHARDS, batch_size=4, image=tarflume.Image(tarflume.RandomResizedCrop(32)), device="cuda",
                            resident="1GiB", **given).preload()
        except tarflume.Error as error:
            assert "draws the crops of a resident data set" in str(error), error
        else:
            raise AssertionError("a resident data set has no annotations")
    """, XDG_CACHE_HOME=str(tmp_path))
