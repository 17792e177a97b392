"""Annotations beside pictures on the device that fixtures/cuda simulates: the rows of the host."""

from __future__ import annotations

import textwrap

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
                    assert all(np.array_equal(one[name].numpy(), read(other[name])) for name in one)
        try:
            tarflume.Loader(SHARDS, batch_size=4, image=tarflume.Image(tarflume.RandomResizedCrop(32)), device="cuda",
                            resident="1GiB", **given).preload()
        except tarflume.Error as error:
            assert "draws the crops of a resident data set" in str(error), error
        else:
            raise AssertionError("a resident data set has no annotations")
    """, XDG_CACHE_HOME=str(tmp_path))


#: A loader with all columns of objects, with and without a device, and the bytes of a batch on the device.
OBJECTS = """
    import tarflume.transforms as T
    NAMES = ["boxes", "labels", "iscrowd", "masks", "keypoints"]
    GIVEN = {"boxes": tarflume.Boxes("/boxes", format="xywh", labels="/category_index", iscrowd="/iscrowd"),
             "masks": tarflume.Masks("/segmentation"), "keypoints": tarflume.Keypoints("/keypoints", count=3)}

    def objects(**settings):
        crop = T.Compose([T.RandomResizedCrop(48), T.RandomHorizontalFlip(0.5)])
        return tarflume.Loader(SHARDS, **({"batch_size": 5, "shuffle": "full", "seed": 3, "image": crop} | GIVEN | settings))

    def same(host, batch):
        for name in NAMES:
            right, column = host[name], batch[name]
            assert type(column) is tarflume.DeviceRagged and column.has_objects and column.dtype == right.dtype
            assert column.values.__dlpack_device__() == (2, 0) and column.values.shape == right.values.shape
            np.testing.assert_array_equal(read(column.values), right.values.numpy())
            assert column.offsets.tolist() == right.offsets.tolist() and column.shapes == right.shapes
            assert len(column) == len(right)
            for row, of_row in zip(right, column, strict=True):
                assert type(of_row) is tarflume.DeviceColumn and of_row.shape == row.shape
                np.testing.assert_array_equal(read(of_row), row.numpy())
            np.testing.assert_array_equal(batch.host[name].values.numpy(), right.values.numpy())
        for one, other in zip(host.targets(), batch.targets(), strict=True):
            assert list(one) == list(other) == NAMES
            assert all(np.array_equal(one[name].numpy(), read(other[name])) for name in NAMES)
        assert batch["key"] == host["key"]
"""


def test_objects_on_the_device_are_those_of_the_host(driver, tmp_path):
    annotated.write(tmp_path / "shards", 23)
    run(driver, tmp_path / "shards", textwrap.dedent(OBJECTS) + textwrap.dedent("""
        for settings in ({}, {"mosaic": tarflume.Mosaic(p=0.6)}, {"image": T.Compose([T.Resize([160, 160])])}):
            host, ours = objects(**settings), objects(device="cuda", **settings)
            for epoch in range(2):
                for right, batch in zip(host.epoch(epoch), ours.epoch(epoch), strict=True):
                    same(right, batch)

        # A job that goes on in the middle of an epoch.
        first = objects(device="cuda")
        epoch = first.epoch(0)
        next(epoch), next(epoch)
        second = objects(device="cuda")
        second.load_state_dict(first.state_dict())
        for right, batch in zip(list(objects().epoch(0))[2:], second.epoch(0), strict=True):
            same(right, batch)
    """), FAKECUDA_DELAY_US="50-400")


def test_a_batch_is_one_copy_for_its_pictures_and_one_for_its_objects(driver, tmp_path):
    annotated.write(tmp_path / "shards", 20)
    log = tmp_path / "log"
    run(driver, tmp_path / "shards", textwrap.dedent(OBJECTS) + textwrap.dedent("""
        ours = objects(device="cuda")
        sizes = []
        for batch in ours.epoch(0):
            sizes.append(sum(batch.host[name].values.nbytes for name in NAMES))
            read(batch["image"])  # waits for the copy
        assert len(sizes) == 4 and min(sizes) > 0
        # In the memory that is copied, each of five columns begins at a multiple of 256 bytes. The room for masks is much larger.
        uploaded = ours.stats()["stages"]["upload"]["bytes"]
        of_pictures = 4 * 5 * 48 * 48 * 3
        assert sum(sizes) + of_pictures <= uploaded <= sum(sizes) + of_pictures + 4 * 5 * 256, (sizes, uploaded)
        assert ours.stats()["device_memory"]["pinned_bytes"] > 0 and ours.stats()["warning"] is None
    """), FAKECUDA_LOG=str(log))
    copies = [line for line in log.read_text().splitlines() if line.startswith("cuMemcpyHtoDAsync_v2 ")]
    assert len(copies) == 2 * 4, copies


def test_tensors_of_objects_are_views_of_one_tensor_a_column(driver, tmp_path):
    annotated.write(tmp_path / "shards", 20)
    run(driver, tmp_path / "shards", textwrap.dedent(OBJECTS) + textwrap.dedent("""
        import torch
        import tarflume.torch

        # This build of PyTorch has no GPU: its tensors are copies of what is on the simulated one.
        taken = []
        def tensor(column):
            if type(column) is tarflume.DeviceColumn:
                taken.append(column)
                return torch.from_numpy(read(column))
            return torch.from_numpy(column.numpy().copy())
        sys.modules["tarflume.torch.tensors"].tensor = tensor

        words = {"batch_size": 5, "seed": 3, "image": tarflume.RandomResizedCrop(48)}
        for deliver in ("torch", "ring"):
            ours = tarflume.torch.Loader(SHARDS, device="cuda", deliver=deliver, **words, **GIVEN)
            for batch, right in zip(ours, tarflume.torch.Loader(SHARDS, **words, **GIVEN), strict=True):
                assert len(taken) == 1 + len(NAMES), "a tensor for each column"
                taken.clear()
                for one, other in zip(batch.targets(), right.targets(), strict=True):
                    assert list(one) == list(other) == NAMES
                    for name in NAMES:
                        assert torch.equal(one[name], other[name]) and one[name].shape == other[name].shape
                        storage = batch[name].values.untyped_storage().data_ptr()
                        assert one[name].untyped_storage().data_ptr() == storage
                boxes, mask = batch["boxes"].padded()
                assert torch.equal(boxes, right["boxes"].padded()[0]) and torch.equal(mask, right["boxes"].padded()[1])
    """))


def test_what_only_the_host_has_is_named(driver, tmp_path):
    annotated.write(tmp_path / "shards", 7)
    run(driver, tmp_path / "shards", textwrap.dedent(OBJECTS) + textwrap.dedent("""
        from collections.abc import Sequence
        batch = next(iter(objects(device="cuda", columns={"text": tarflume.Text("json")}).epoch(0)))
        boxes = batch["boxes"]
        assert isinstance(boxes, Sequence) and repr(boxes) == "DeviceRagged(float32, 5 rows, device 2:0)"
        assert isinstance(batch["text"], tarflume.Ragged) and batch["text"][0].startswith("{")
        assert [row.shape for row in boxes[1:3]] == [boxes[1].shape, boxes[2].shape] and boxes[-1].shape == boxes[4].shape
        assert batch.numpy()["labels"][1].tolist() == batch.host["labels"][1].numpy().tolist()
        for wrong, said in ((lambda: boxes.padded(), 'batch.host["boxes"] has them in host memory'),
                            (lambda: boxes[5], "row 5 of 5"), (lambda: boxes["x"], "takes the number of a row")):
            try:
                wrong()
            except (AttributeError, IndexError, TypeError) as error:
                assert said in str(error), error
            else:
                raise AssertionError(said)
        batch.release()
        assert read(boxes.values).shape == boxes.values.shape  # a view keeps the memory
        try:
            batch.targets()
        except tarflume.errors.UsageError as error:
            assert "was released" in str(error)
        else:
            raise AssertionError("a batch that was given back")
    """))
