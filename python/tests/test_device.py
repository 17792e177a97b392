"""Batches for a GPU, through the CUDA driver that fixtures/cuda plays: everything but the GPU itself.

A driver is loaded when a process starts, so each test starts a new program.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from conftest import pack
from patience import PATIENCE_S
from PIL import Image

PROGRAM = """
import ctypes, gc, sys
import numpy as np
import tarflume

SHARDS = sys.argv[1]
IMAGE = tarflume.Resize((16, 24))

def loader(**settings):
    settings = {"batch_size": 10, "image": IMAGE, "label": "/class", "shuffle": "full", "seed": 3} | settings
    return tarflume.Loader(SHARDS, **settings)

def consumer():
    '''The driver, with the first device as this thread's current one: a consumer's own, which a loader leaves alone.'''
    cuda = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    assert cuda.cuInit(0) == cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == cuda.cuCtxSetCurrent(context) == 0
    return cuda

def read(column, stream=None):
    '''What a consumer of DLPack does: asks for a capsule, then copies from the address, in order.'''
    cuda = consumer()
    capsule = column.__dlpack__(stream=stream, max_version=(1, 0))
    api = ctypes.pythonapi.PyCapsule_GetPointer
    api.restype, api.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    held = api(capsule, b"dltensor_versioned")
    words = ctypes.cast(held, ctypes.POINTER(ctypes.c_uint64))
    address, flags = words[4], words[3]  # version, context, deleter, flags, then the tensor
    assert flags & 1
    made = np.empty(column.shape, column.dtype)
    code = cuda.cuMemcpyDtoHAsync_v2(ctypes.c_void_p(made.ctypes.data), ctypes.c_uint64(address),
                                     ctypes.c_size_t(made.nbytes), ctypes.c_void_p(stream or 1))
    assert code == 0, code
    assert cuda.cuStreamSynchronize(ctypes.c_void_p(stream or 1)) == 0
    return made
"""


def run(driver: pathlib.Path, shards: pathlib.Path, text: str, **knobs: str) -> str:
    program = PROGRAM + textwrap.dedent(text)
    env = os.environ | {"LD_LIBRARY_PATH": str(driver), "TARFLUME_NVRTC": str(driver / "libnvrtc.so")} | knobs
    done = subprocess.run([sys.executable, "-c", program, str(shards)], env=env, text=True, capture_output=True,
                          check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_columns_on_the_device_are_those_of_the_host(driver, shards):
    run(driver, shards, """
        right = [batch.numpy() for batch in loader().epoch(1)]
        ours = loader(device="cuda:0")
        for step, batch in enumerate(ours.epoch(1)):
            image, label = batch["image"], batch["label"]
            assert type(image) is tarflume.DeviceColumn and image.__dlpack_device__() == (2, 0)
            assert (image.shape, image.dtype, image.ndim, len(image)) == ((10, 16, 24, 3), "uint8", 4, 10)
            np.testing.assert_array_equal(read(image), right[step]["image"])
            np.testing.assert_array_equal(read(label, 2), right[step]["label"])
            assert batch["key"] == right[step]["key"]
            np.testing.assert_array_equal(batch.host["image"].numpy(), right[step]["image"])
            assert batch.numpy()["label"].tolist() == right[step]["label"].tolist()
            assert image.__cuda_array_interface__["version"] == 3
        assert step == 9
        ours.ledger().prove(ours.expected(1))
        assert ours.stats()["stages"]["upload"]["items"] == 10 and ours.stats()["warning"] is None
        slots = ours.stats()["device_slots"]
        assert slots["requests"] == 10 and 0 <= slots["missing"] <= 10 and 0 <= slots["occupancy"] <= 1, slots
        assert "Copies to the device" in str(ours.stats())
    """, FAKECUDA_DELAY_US="50-400")


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


def test_a_view_keeps_its_memory_and_slots_come_back(driver, shards):
    run(driver, shards, """
        ours = loader(device="cuda", device_slots=2)
        kept = [batch["image"] for batch in ours.epoch(0)]
        right = [batch["image"].numpy() for batch in loader().epoch(0)]
        ours.close()
        for column, host in zip(kept, right, strict=True):
            np.testing.assert_array_equal(read(column), host)
        del kept, column
        gc.collect()

        ours = loader(device="cuda", device_slots=2)
        addresses = set()
        for epoch in range(3):
            for batch in ours.epoch(epoch):
                addresses.add(batch["image"].__cuda_array_interface__["data"][0])
                batch.release(stream=1)
        assert len(addresses) <= 3, addresses  # two slots, one more if the consumer was faster
        try:
            batch["image"]
        except tarflume.errors.UsageError as error:
            assert "was released" in str(error)
        else:
            raise AssertionError("a batch that was given back")
    """)


def test_streams_are_those_of_the_array_api(driver, shards):
    run(driver, shards, """
        batch = next(iter(loader(device="cuda:0")))
        column = batch["label"]
        for stream in (None, 1, 2, -1):
            column.__dlpack__(stream=stream)
        for wrong in (0, "x"):
            try:
                column.__dlpack__(stream=wrong)
            except tarflume.errors.UsageError as error:
                assert "stream" in str(error)
            else:
                raise AssertionError(wrong)
        for words in ({"dl_device": (1, 0)}, {"copy": True}):
            try:
                column.__dlpack__(**words)
            except BufferError:
                continue
            raise AssertionError(words)
    """)


#: What stands in the environment, PyTorch's current device if it has one, and which device that comes to and why.
PROCESSES = [
    ({"FAKECUDA_DEVICES": "2", "LOCAL_RANK": "1"}, None, 1, "LOCAL_RANK is 1, and this process sees 2 devices"),
    ({"FAKECUDA_DEVICES": "1", "LOCAL_RANK": "3"}, None, 0, "the only device that this process sees"),
    ({"FAKECUDA_DEVICES": "2", "SLURM_LOCALID": "3"}, None, 1, "SLURM_LOCALID is 3"),
    ({"FAKECUDA_DEVICES": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "2"}, None, 2, "OMPI_COMM_WORLD_LOCAL_RANK is 2"),
    ({"FAKECUDA_DEVICES": "3"}, None, 0, "the first of 3"),
    ({"FAKECUDA_DEVICES": "4", "LOCAL_RANK": "1"}, 2, 2, "PyTorch's current device"),
]


@pytest.mark.parametrize(("words", "torch", "device", "why"), PROCESSES)
def test_a_process_takes_its_own_device_and_says_why(driver, shards, words, torch, device, why):
    none = dict.fromkeys(["LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"], "")
    run(driver, shards, f"""
        import types
        used = types.SimpleNamespace(is_initialized=lambda: {torch is not None}, current_device=lambda: {torch})
        sys.modules["torch"] = types.SimpleNamespace(cuda=used)
        ours = loader(device="cuda")
        batch = next(iter(ours))
        assert batch["label"].__dlpack_device__() == (2, {device}), batch["label"]
        said = ours.stats()["device"]
        assert said.startswith("cuda:{device} (") and {why!r} in said, said
        assert "Device: cuda:{device}" in str(ours.stats())
        assert loader().stats()["device"] is None and loader(device="cuda:0").stats()["device"] == "cuda:0"
    """, **(none | words))


def test_a_program_may_end_with_a_loader_that_nobody_closed(driver, shards, tmp_path):
    log = tmp_path / "log"
    run(driver, shards, """
        # Threads have work for longer than the interpreter takes to end, and the driver to go.
        ours = loader(device="cuda", image=tarflume.Resize((256, 256)), num_threads=1, device_slots=60, repeat=10)
        epoch = ours.epoch(0)
        kept = next(epoch)
    """, FAKECUDA_LOG=str(log), FAKECUDA_EXIT_US="400000")
    calls = log.read_text().splitlines()
    late = [line for line in calls if line.startswith("late ")]
    assert not late, late[:5]
    assert len([line for line in calls if line.startswith("cuMemcpyHtoDAsync_v2 ")]) < 60, "there was no work left to end"


def test_an_epoch_is_over_when_a_program_ends(driver, shards):
    said = run(driver, shards, """
        import atexit
        @atexit.register  # before the loader's own, so it is called later
        def after():
            print("left:", sum(1 for _ in epoch))
        epoch = loader(device="cuda", repeat=3, device_slots=2).epoch(0)
        next(epoch)
    """)
    assert int(said.split()[-1]) < 29, said


def test_a_side_stream_that_uses_a_batch_can_be_named(driver, shards, tmp_path):
    log = tmp_path / "log"
    run(driver, shards, """
        batch = next(iter(loader(device="cuda:0")))
        cuda, side = consumer(), ctypes.c_void_p()
        assert cuda.cuStreamCreate(ctypes.byref(side), 1) == 0
        batch["label"].__dlpack__(stream=-1)
        batch.used_on(side.value)
        import os
        open(os.environ["SIDE"], "w").write(f"{side.value:#x}")
        batch.release()
        batch.used_on(side.value)  # of one that was given back, nothing
        loader().epoch(0).__next__().used_on(side.value)  # nor of one in host memory
    """, FAKECUDA_LOG=str(log), SIDE=str(tmp_path / "side"))
    text = log.read_text()
    handle = (tmp_path / "side").read_text().strip()
    assert any(line.startswith("cuEventRecord ") and f"stream={handle} " in line for line in text.splitlines())


def test_no_slot_is_kept_while_the_next_batch_is_waited_for(driver, shards):
    """PyTorch sees no device here, so that columns are handed out as they are."""
    pytest.importorskip("torch")
    run(driver, shards, """
        import tarflume.torch.loader as module
        module.tensors = lambda batch, pin_memory, own: {"image": batch["image"]}
        settings = {"batch_size": 10, "image": IMAGE, "device": "cuda:0", "deliver": "ring", "device_slots": 1}
        for transform in (None, lambda batch: batch):
            ours, addresses, count = module.Loader(SHARDS, transform=transform, **settings), set(), 0
            batches = iter(ours)
            while batch := next(batches, None):
                addresses.add(batch["image"].__cuda_array_interface__["data"][0])
                count += 1
                del batch
            assert (count, len(addresses)) == (10, 1), (count, addresses)
            ours.close()
    """)


def test_what_is_wrong_is_told(driver, shards):
    run(driver, shards, """
        for device, says in [("cuda:7", "the driver refused it; it has 1"), ("gpu", "unknown device")]:
            try:
                loader(device=device)
            except tarflume.Error as error:
                assert says in str(error), error
            else:
                raise AssertionError(device)
        try:
            loader(device_slots=3)
        except tarflume.errors.UsageError as error:
            assert "device=" in str(error)
        else:
            raise AssertionError("device_slots")
    """)
    run(driver, shards, """
        try:
            list(loader(device="cuda:0"))
        except tarflume.errors.DeviceError as error:
            assert "copying a batch failed" in str(error), error
        else:
            raise AssertionError("a copy that failed")
    """, FAKECUDA_FAIL="cuMemcpyHtoDAsync_v2:3:700")
    run(driver, shards, """
        for device in ("cuda:0", "cuda"):
            try:
                loader(device=device)
            except tarflume.errors.DeviceError as error:
                assert "a stub libcuda.so" in str(error) and "LD_LIBRARY_PATH" in str(error), error
            else:
                raise AssertionError("a stub")
    """, FAKECUDA_FAIL=",".join(f"cuInit:{call}:34" for call in range(1, 9)))


def test_without_a_driver_there_is_a_sentence(shards):
    text = f"""
        import tarflume
        try:
            tarflume.Loader({str(shards)!r}, device="cuda:0")
        except tarflume.errors.DeviceError as error:
            print("told:", error)
        else:
            print("told: there is a GPU")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], text=True, capture_output=True, check=True)
    assert done.stdout.startswith("told: ")


def test_pictures_become_numbers_on_the_gpu_to_the_bit(driver, shards, tmp_path):
    run(driver, shards, """
        for dtype, layout in [("float32", "chw"), ("float16", "hwc"), ("bfloat16", "chw"), ("uint8", "chw")]:
            image = tarflume.Image(IMAGE, dtype=dtype, layout=layout)
            right = loader(image=image).epoch(0)
            ours = loader(image=image, device="cuda")
            for host, batch in zip(right, ours.epoch(0), strict=True):
                column, there = host["image"], batch["image"]
                assert (there.dtype, there.shape) == (dtype, column.shape), there
                assert batch.device_columns == ["image"] and host.device_columns == []
                assert batch.host["image"].dtype == "uint8"  # as it crossed the bus
                if dtype == "bfloat16":
                    import torch
                    right_bits = torch.from_dlpack(column).view(torch.int16).numpy()
                    class Bits:
                        shape, dtype = there.shape, "int16"
                        def __dlpack__(self, **words): return there.__dlpack__(**words)
                    assert (read(Bits()) == right_bits).all()
                else:
                    assert (read(there) == column.numpy()).all()
                np.testing.assert_array_equal(read(batch["label"]), host["label"].numpy())
                try:
                    batch.numpy()
                except ValueError as error:
                    assert "was computed on the GPU" in str(error)
                else:
                    raise AssertionError
            assert ours.stats()["warning"] is None
    """, XDG_CACHE_HOME=str(tmp_path))


def test_pictures_of_16_bits_cross_as_they_are_and_are_not_cut_to_bytes(driver, tmp_path):
    (tmp_path / "source").mkdir()
    depth = np.arange(16 * 24, dtype="<u2").reshape(16, 24) * 170
    for n in range(4):
        Image.frombytes("I;16", (24, 16), depth.tobytes()).save(tmp_path / "source" / f"{n}.png")
    pack("build", tmp_path / "source", "-o", tmp_path / "shards", "--require", "image")
    run(driver, tmp_path / "shards", """
        def depth(**words):
            image = tarflume.Image(IMAGE, "png", channels="gray", **words)
            return tarflume.Loader(SHARDS, batch_size=2, image=image, device="cuda").epoch(0)
        right = (np.arange(16 * 24, dtype=np.uint16) * 170).reshape(16, 24)
        for layout, shape in [("hwc", (2, 16, 24, 1)), ("chw", (2, 1, 16, 24))]:
            for batch in depth(dtype="uint16", layout=layout):
                column = batch["image"]
                assert (column.dtype, column.shape) == ("uint16", shape)
                assert (read(column).reshape(2, 16, 24) == right).all()
        try:
            next(iter(depth(dtype="float32")))
        except tarflume.errors.Error as error:
            assert 'dtype="uint16"' in str(error), error
        else:
            raise AssertionError("cut to bytes")
    """, XDG_CACHE_HOME=str(tmp_path))


def test_without_a_compiler_the_host_makes_them_and_says_so(driver, shards, tmp_path):
    run(driver, shards, """
        ours = loader(image=tarflume.Image(IMAGE, dtype="float32"), device="cuda")
        batch = next(ours.epoch(0))
        assert batch.device_columns == [] and batch["image"].dtype == "float32"
        assert "NVRTC" in ours.stats()["warning"], ours.stats()["warning"]
    """, XDG_CACHE_HOME=str(tmp_path), TARFLUME_NVRTC="/nowhere/libnvrtc.so")


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
                assert "a share, 0 to 1" in str(error)
            else:
                raise AssertionError(wrong)
    """, XDG_CACHE_HOME=str(tmp_path), TARFLUME_NVJPEG=str(driver / "libnvjpeg.so.13"))
