"""Packs of tokens and patches for a GPU, through the CUDA driver that fixtures/cuda plays."""

from __future__ import annotations

import numpy as np

import tarflume
from device_program import run


def test_packs_are_on_the_device_as_on_the_host(driver, tmp_path):
    texts = tmp_path / "texts"
    with tarflume.ShardWriter(texts, max_samples=40) as writer:
        for n in range(80):
            ids = np.arange(n * 37 % 61, dtype=np.uint32) + 100 * n
            writer.write({"__key__": f"{n:03}", "ids.npy": ids, "json": {"tokens": len(ids)}})
    run(driver, texts, """
        def packs(**settings):
            columns = tarflume.token_columns(64, labels=True, position_ids=True, segment_ids=True)
            return tarflume.Loader(SHARDS, shuffle="full", seed=5, columns=columns, batch_size=4,
                                   pack=tarflume.Pack(64, "/tokens"), **settings)
        right = [batch.numpy() for batch in packs().epoch(1)]
        ours = packs(device="cuda:0")
        for step, batch in enumerate(ours.epoch(1)):
            for name in ("input_ids", "labels", "position_ids", "segment_ids"):
                assert batch[name].shape == right[step][name].shape == (batch.packs, 64), name
                np.testing.assert_array_equal(read(batch[name], 2), right[step][name], name)
        assert step + 1 == len(right) == len(ours)
        ours.ledger().prove(ours.expected(1))
    """)


def test_patches_are_on_the_device_padded_and_without_gaps(driver, shards):
    run(driver, shards, """
        from tarflume import transforms as T
        def patches(**settings):
            resize = T.PatchResize(8, 12)
            columns = tarflume.patch_columns(resize, 8, 12) | {"ragged": tarflume.Patches(resize, 8)}
            return tarflume.Loader(SHARDS, shuffle="full", seed=5, columns=columns, batch_size=6, **settings)
        right = list(patches().epoch(1))
        for step, batch in enumerate(patches(device="cuda:0").epoch(1)):
            for name in ("patches", "patch_coord", "patch_valid"):
                np.testing.assert_array_equal(read(batch[name], 2), np.asarray(right[step][name]), name)
            values = np.asarray(right[step]["ragged"].values)
            assert batch["ragged"].values.shape == values.shape and values.shape[1:] == (192,), values.shape
            np.testing.assert_array_equal(read(batch["ragged"].values, 2), values)
        assert step + 1 == len(right)
    """)
