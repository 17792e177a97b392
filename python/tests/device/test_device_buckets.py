"""Batches by buckets for a GPU, through the CUDA driver that fixtures/cuda plays."""

from __future__ import annotations

from device_program import run


def test_numbers_of_each_batch_are_on_the_device_and_pictures_of_buckets_on_the_host(driver, shards):
    run(driver, shards, """
        from tarflume import transforms as T
        def buckets(**settings):
            return tarflume.Loader(SHARDS, shuffle="full", seed=5, image=T.BucketCrop(), label="/class", batch_size=6,
                                   bucket=tarflume.Buckets.aspect(32 * 32, 8), **settings)
        right = [batch.numpy() for batch in buckets().epoch(1)]
        ours = buckets(device="cuda:0")
        for step, batch in enumerate(ours.epoch(1)):
            np.testing.assert_array_equal(read(batch["label"], 2), right[step]["label"])
            assert batch["image"].shape == right[step]["image"].shape, batch["image"].shape
            np.testing.assert_array_equal(batch["image"].numpy(), right[step]["image"])
        assert step + 1 == len(right) == len(ours)
        ours.ledger().prove(ours.expected(1))
    """)
