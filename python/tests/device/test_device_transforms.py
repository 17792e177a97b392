"""Recipes on the device that fixtures/cuda plays: the rows of the host, byte for byte."""

from __future__ import annotations

from device_program import run


def test_recipes_on_the_gpu_give_the_rows_of_the_host(driver, shards, tmp_path):
    run(driver, shards, """
        import pickle
        import tarflume.transforms as T
        recipe = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(),
                            T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8), T.GaussianBlur(5),
                            T.RandAugment(), T.RandomErasing(0.5, value="random")])
        mix = tarflume.Mix(mixup_alpha=0.8, cutmix_alpha=1.0, num_classes=100)
        for words in ({}, {"dtype": "float32", "layout": "chw", "normalize": "imagenet"}, {"dtype": "float16"}):
            for mixed in ({}, {"mix": mix}):
                right = list(loader(image=tarflume.Image(recipe, **words), **mixed).epoch(0))
                for place in ("device", "auto"):
                    image = pickle.loads(pickle.dumps(tarflume.Image(recipe, transforms_on=place, **words)))
                    ours = loader(image=image, device="cuda", **mixed)
                    for host, batch in zip(right, ours.epoch(0), strict=True):
                        assert "image" in batch.device_columns and batch["key"] == host["key"]
                        np.testing.assert_array_equal(read(batch["image"]), host["image"].numpy())
                    assert ours.stats()["warning"] is None, ours.stats()["warning"]
                    if place == "device":
                        assert ours.stats()["operations"] == []
    """, XDG_CACHE_HOME=str(tmp_path))


def test_what_no_gpu_can_do_is_named(driver, shards, tmp_path):
    run(driver, shards, """
        import tarflume.transforms as T
        crop = T.RandomResizedCrop(16)
        for operation, says in [(T.JPEG((50, 90)), "JPEG has no kernel for a device"),
                                (T.RandomApply([T.ElasticTransform()], p=0.5), "ElasticTransform has no kernel"),
                                (T.AugMix(), "AugMix has no kernel")]:
            try:
                tarflume.Image(T.Compose([crop, operation]), transforms_on="device")
            except tarflume.Error as error:
                assert says in str(error) and 'transforms_on="host"' in str(error), error
            else:
                raise AssertionError(operation)
            automatic = tarflume.Image(T.Compose([crop, operation]), transforms_on="auto")
            assert len(next(loader(image=automatic, device="cuda").epoch(0))["key"]) > 0
        try:
            tarflume.Image(crop, transforms_on="gpu")
        except tarflume.Error as error:
            assert "'host', 'device' or 'auto'" in str(error), error
        else:
            raise AssertionError
        alone = loader(image=tarflume.Image(T.Compose([crop, T.RandomInvert(1.0)]), transforms_on="device"))
        next(alone.epoch(0))
        assert "transforms run on the CPU" in alone.stats()["warning"]
    """, XDG_CACHE_HOME=str(tmp_path))
