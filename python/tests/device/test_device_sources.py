"""Arrays on the device that fixtures/cuda plays, and data sets that stay there."""

from __future__ import annotations

import numpy as np
from device_program import run


def test_rows_of_arrays_on_the_device_are_those_of_the_file(driver, tmp_path):
    x = np.random.default_rng(1).standard_normal((53, 4, 3)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", np.arange(53))
    told = run(driver, tmp_path, """
        x, y = np.load(SHARDS + "/x.npy"), np.load(SHARDS + "/y.npy")
        arrays = {name: tarflume.ArrayDataset(f"{SHARDS}/{name}.npy") for name in "xy"}
        there = tarflume.Loader(arrays, batch_size=10, shuffle="full", seed=3, device="cuda:0")
        seen = []
        for batch in there:
            rows = batch["row"].tolist()
            assert np.array_equal(read(batch["x"]), x[rows]) and np.array_equal(read(batch["y"]), y[rows])
            seen += rows
        assert sorted(seen) == list(range(53)) and seen != sorted(seen)
        there.ledger().prove(there.expected(0))
        assert there.stats()["device_slots"]["requests"] == 6 and "cuda:0" in there.stats()["device"]
        print("done")
    """)
    assert told.split() == ["done"]


def test_a_data_set_stays_on_the_gpu(driver, shards, tmp_path):
    run(driver, shards, """
        import pickle
        image = tarflume.Image(tarflume.RandomResizedCrop(16, flip=0.5), dtype="float32", reducing_gap=None)
        resident = pickle.loads(pickle.dumps(tarflume.Resident("64MiB", side=128)))
        ours = loader(image=image, device="cuda", resident=resident)
        assert ours.resident["samples"] == 100 and ours.resident["bytes"] == 100 * (64 + 3 * 128 * 128 + 8)
        for epoch in (0, 1):
            for host, batch in zip(loader(image=image).epoch(epoch), ours.epoch(epoch), strict=True):
                assert batch.device_columns == ["image", "label"] and batch["key"] == host["key"]
                np.testing.assert_array_equal(read(batch["label"]), host["label"].numpy())
                apart = np.abs(read(batch["image"]) - host["image"].numpy())
                assert apart.mean() < 0.02 and apart.max() < 0.1, (apart.mean(), apart.max())
        halved = loader(image=image, device="cuda", resident=tarflume.Resident("64MiB", side=128, format="yuv420"))
        told = []
        def stop(there, all):
            told.append((there, all))
            if there >= 30: raise KeyboardInterrupt
        try:
            halved.preload(stop)
        except KeyboardInterrupt:
            assert told == [(0, 100), (10, 100), (20, 100), (30, 100)], told
        else:
            raise AssertionError
        halved.preload()
        first = next(halved.epoch(0))["key"]
        state = halved.state_dict()
        halved.load_state_dict(state)
        assert next(halved.epoch(0))["key"] != first
        try:
            halved.load_state_dict(loader(image=image, seed=4).state_dict())
        except tarflume.Error:
            pass
        else:
            raise AssertionError
        assert len(list(halved.epoch(0))) == 8  # where it was
        assert halved.resident["bytes"] < 0.6 * ours.resident["bytes"]
        next(halved.epoch(0))
        assert loader().resident is None
        for wrong, says in [({"resident": "1MB"}, "does not fit the device"),
                            ({"resident": 7}, "resident= takes a size"),
                            ({"resident": "1GiB", "device": None}, 'device="cuda"')]:
            try:
                loader(image=image, **({"device": "cuda"} | wrong))
            except tarflume.Error as error:
                assert says in str(error), error
            else:
                raise AssertionError(wrong)
    """, XDG_CACHE_HOME=str(tmp_path))


def test_a_data_set_stays_on_the_gpu_as_jpegs(driver, shards, tmp_path):
    run(driver, shards, """
        crop = tarflume.RandomResizedCrop(16, flip=0.5)
        image = tarflume.Image(crop, dtype="float32", mean=[0] * 3, std=[1] * 3)
        ours = loader(image=image, device="cuda", resident=tarflume.Resident("64MiB", format="jpeg"))
        assert 0 < ours.resident["jpeg_bytes"] < ours.resident["bytes"], ours.resident
        for epoch in (0, 1):
            for host, batch in zip(loader(image=image).epoch(epoch), ours.epoch(epoch), strict=True):
                np.testing.assert_array_equal(read(batch["label"]), host["label"].numpy())
                apart = np.abs(read(batch["image"]) - host["image"].numpy())
                assert apart.mean() < 0.01 and apart.max() < 0.06, (apart.mean(), apart.max())
    """, XDG_CACHE_HOME=str(tmp_path), TARFLUME_NVJPEG=str(driver / "libnvjpeg.so.13"))


def test_the_gpu_resizes_and_decodes_its_share(driver, shards, tmp_path):
    run(driver, shards, """
        import pickle
        crop = tarflume.RandomResizedCrop(16, flip=0.5)
        right = list(loader(image=tarflume.Image(crop, dtype="float32", mean=[0] * 3, std=[1] * 3)).epoch(0))
        for words in [{"resize_on_device": 64}, {"device_decoder": 0.5}, {"device_decoder": "auto"}]:
            image = tarflume.Image(crop, dtype="float32", mean=[0] * 3, std=[1] * 3, **words)
            ours = loader(image=pickle.loads(pickle.dumps(image)), device="cuda")
            for host, batch in zip(right, ours.epoch(0), strict=True):
                assert batch.device_columns == ["image"] and batch["key"] == host["key"]
                apart = np.abs(read(batch["image"]) - host["image"].numpy())
                assert apart.mean() < 0.01 and apart.max() < 0.06, (words, apart.mean(), apart.max())
            stats = ours.stats()
            assert stats["warning"] is None, stats["warning"]
            if "device_decoder" in words:
                assert 0 < stats["decoder"]["decoded"] < 100 and stats["decoder"]["refused"] == 0, stats["decoder"]
            else:
                assert stats["decoder"] is None
        alone = loader(image=tarflume.Image(crop, device_decoder=0.5))
        next(alone.epoch(0))
        assert "CPU" in alone.stats()["warning"]
        for wrong in (2, "most", -0.1):
            try:
                tarflume.Image(crop, device_decoder=wrong)
            except ValueError as error:
                assert 'a share, 0 to 1, "auto", or "kernels"' in str(error)
            else:
                raise AssertionError(wrong)
    """, XDG_CACHE_HOME=str(tmp_path), TARFLUME_NVJPEG=str(driver / "libnvjpeg.so.13"))
