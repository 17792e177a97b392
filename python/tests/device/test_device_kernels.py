"""JPEGs that tarflume's kernels decode on the device that fixtures/cuda simulates: batches are the host's to the byte."""

from __future__ import annotations

import os
import pathlib

import numpy as np
import pytest
import tarflume
from device_program import run
from PIL import Image

#: Pillow's words for how colors are sampled, the restart interval in MCUs, and whether the JPEG is progressive.
KINDS: list[dict[str, object]] = [
    {"subsampling": "4:4:4"}, {"subsampling": "4:2:2"}, {"subsampling": "4:2:0"},
    {"subsampling": "4:2:0", "restart_marker_blocks": 3}, {"subsampling": "4:4:4", "restart_marker_blocks": 1},
    {"subsampling": "4:2:0", "progressive": True}, {"quality": 30, "optimize": True}, {"quality": 100},
]


def picture(number: int, mode: str, width: int, height: int) -> Image.Image:
    y, x = np.mgrid[:height, :width]
    random = np.random.default_rng(number).integers(-20, 20, (height, width, 3))
    waves = np.stack([np.sin(x / 9 + number), np.cos(y / 7), np.sin((x + y) / 13)], axis=-1)
    return Image.fromarray((128 + 100 * waves + random).clip(0, 255).astype(np.uint8)).convert(mode)


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Sixty pictures of all kinds: color, gray and four components, small and large, turned, and PNGs."""
    folder = tmp_path_factory.mktemp("kinds")
    for number in range(60):
        mode = ["RGB", "RGB", "L", "RGB", "CMYK"][number % 5]
        size = (400, 300) if number % 7 == 0 else (50 + number, 90 - number)
        made = picture(number, mode, *size)
        name = folder / "files" / f"{number:03}"
        name.parent.mkdir(exist_ok=True)
        if number % 11 == 10:
            made.convert("RGB").save(name.with_suffix(".png"))
        else:
            exif = Image.Exif()
            if number % 6 == 5:
                exif[0x0112] = [2, 3, 6][number % 3]
            made.save(name.with_suffix(".jpg"), exif=exif, **KINDS[number % len(KINDS)])
    tarflume.pack.build(folder / "files", folder / "shards", require=["image"])
    return folder / "shards"


PROGRAM = """
    import pickle
    crop = tarflume.RandomResizedCrop(16, flip=0.5)
    usual = {"batch_size": 10, "shuffle": "full", "seed": 3}
    words = [{}, {"dtype": "float32", "normalize": "imagenet", "layout": "chw"}, {"channels": "gray"},
             {"reducing_gap": None, "dtype": "float16"}, {"damaged": "keep"}]
    for image in [{"transform": each} | more for each in (crop, tarflume.Resize((24, 40))) for more in words]:
        right = tarflume.Loader(SHARDS, image=tarflume.Image(**image), **usual)
        kernels = pickle.loads(pickle.dumps(tarflume.Image(**image, device_decoder="kernels")))
        ours = tarflume.Loader(SHARDS, image=kernels, device="cuda", **usual)
        for epoch in (0, 1):
            for host, batch in zip(right.epoch(epoch), ours.epoch(epoch), strict=True):
                assert batch["key"] == host["key"]
                there, here = read(batch["image"]), np.asarray(host["image"])
                assert there.tobytes() == here.tobytes(), (image, epoch)
                batch.release()
        stats = ours.stats()
        assert stats["warning"] is None, stats["warning"]
        assert "kernels of tarflume" in stats["decoder"]["about"]
        # Not those with four components, progressive ones, PNGs, and turned ones.
        assert 2 * 25 < stats["decoder"]["decoded"] < 2 * 48 and stats["decoder"]["refused"] == 0, stats["decoder"]
        assert stats["device_memory"]["late_allocations"] == 0, stats["device_memory"]
"""


def test_batches_are_the_host_s_to_the_byte(driver, packed, tmp_path):
    run(driver, packed, PROGRAM, XDG_CACHE_HOME=str(tmp_path))


def test_a_file_that_changed_after_it_was_packed_is_what_it_is_for_the_host(driver, packed, tmp_path):
    shards = tmp_path / "shards"
    shards.mkdir()
    for file in packed.iterdir():
        if file.is_file():
            (shards / file.name).write_bytes(file.read_bytes())
    tar = next(shards.glob("*.tar"))
    bytes_ = bytearray(tar.read_bytes())
    sample = tarflume.Dataset(str(shards))[7]
    at = bytes_.index(bytes(sample["jpg"]))
    for byte in range(at + len(sample["jpg"]) // 2, at + len(sample["jpg"]) // 2 + 40):
        bytes_[byte] = 0xff if byte % 2 else 0xd9
    times = tar.stat()
    tar.write_bytes(bytes_)
    os.utime(tar, ns=(times.st_atime_ns, times.st_mtime_ns))
    run(driver, shards, """
        crop = tarflume.RandomResizedCrop(16, flip=0.5)
        for on_bad in ("skip", "substitute"):
            usual = {"batch_size": 10, "shuffle": "full", "seed": 3, "on_bad": on_bad}
            right = tarflume.Loader(SHARDS, image=tarflume.Image(crop), **usual)
            ours = tarflume.Loader(SHARDS, image=tarflume.Image(crop, device_decoder="kernels"), device="cuda", **usual)
            for host, batch in zip(right.epoch(0), ours.epoch(0), strict=True):
                assert batch["key"] == host["key"] and read(batch["image"]).tobytes() == np.asarray(host["image"]).tobytes()
            assert right.bad_samples() == ours.bad_samples()
    """, XDG_CACHE_HOME=str(tmp_path))


def test_what_names_no_decoder_is_refused():
    with pytest.raises(ValueError, match='takes a share, 0 to 1, "auto", or "kernels", not \'huffman\''):
        tarflume.Image(tarflume.Resize(16), device_decoder="huffman")
    with pytest.raises(ValueError, match="Filter::Bilinear|bilinear"):
        tarflume.Loader("nowhere", image=tarflume.Image(tarflume.Resize(16), filter="bicubic", device_decoder="kernels"))
