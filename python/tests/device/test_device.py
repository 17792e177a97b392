"""Batches for a GPU, through the CUDA driver that fixtures/cuda plays: everything but the GPU itself."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from conftest import pack
from device_program import run
from PIL import Image


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
        memory = ours.stats()["device_memory"]
        assert sorted(memory) == ["allocations", "bytes", "late_allocations", "pinned_bytes"], memory
        assert 3 * right[0]["image"].nbytes <= memory["bytes"] and memory["pinned_bytes"] > 0, memory
        assert 0 <= memory["late_allocations"] < memory["allocations"], memory
        assert loader().stats()["device_memory"] is None
    """, FAKECUDA_DELAY_US="50-400")


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
        import types
        negative = [types.SimpleNamespace(cuda_stream=-5), types.SimpleNamespace(ptr=-1)]  # handles are never negative
        doors = [lambda wrong: column.__dlpack__(stream=wrong), batch.used_on, lambda wrong: batch.release(stream=wrong)]
        for wrong in (0, -2, -5, -2**63, 2**64, "x", 1.5, *negative):
            for door in doors:
                try:
                    door(wrong)
                except ValueError as error:
                    assert isinstance(error, tarflume.errors.UsageError), error
                    allowed = "give 1 for" if wrong == 0 else "give None or 1 for the legacy default stream"
                    assert f"stream={wrong!r} is" in str(error) and allowed in str(error), error
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


def test_a_full_device_is_told_with_its_memory_and_what_helps(driver, shards):
    text = """
        batches = iter(loader(device="cuda:0"))
        held = []
        try:
            held.extend(batches)
        except tarflume.errors.{kind} as error:
            text = str(error)
        for words in {says}:
            assert words in text, text
        assert "of 40000 bytes are free" in text or "of 20000 bytes are free" in text, text
        assert "or use a smaller batch_size= or fewer device_slots=" in text and "CUDA_ERROR_OUT_OF_MEMORY" in text, text
        assert text.count("call torch.cuda.empty_cache(), which gives back what PyTorch keeps unused") == 1, text
        assert ".batch(" not in text, text
    """
    run(driver, shards, text.format(kind="DeviceError", says=["bytes of device memory failed: "]), FAKECUDA_MEMORY="20000")
    says = ["the program holds 3 batches, and the device has no memory for another one: drop some"]
    run(driver, shards, text.format(kind="LimitError", says=says), FAKECUDA_MEMORY="40000")


def test_memory_that_cannot_be_pinned_is_a_warning_in_words_of_python(driver, shards):
    run(driver, shards, """
        ours = loader(device="cuda:0")
        assert sum(1 for _ in ours) == 10
        text = ours.stats()["warning"]
        assert "bytes of host memory could not be pinned beside the 0 bytes that are (out of memory" in text, text
        assert text.endswith("or use a smaller batch_size= or fewer device_slots="), text
    """, FAKECUDA_PINNED="1")


def test_a_stream_of_a_green_context_is_refused_in_words(driver, shards):
    run(driver, shards, """
        batch = next(iter(loader(device="cuda:0")))
        cuda, green, side = consumer(), ctypes.c_void_p(), ctypes.c_void_p()
        assert cuda.cuGreenCtxCreate(ctypes.byref(green), None, 0, 1) == 0
        assert cuda.cuGreenCtxStreamCreate(ctypes.byref(side), green, 1, 0) == 0
        try:
            batch["label"].__dlpack__(stream=side.value)
        except tarflume.errors.DeviceError as error:
            assert "of a green context" in str(error) and "primary context" in str(error), error
        else:
            raise AssertionError("an event in a stream of another context")
        assert read(batch["label"]).tolist() == batch.host["label"].numpy().tolist()
    """)


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


def test_captures_of_other_threads_are_relaxed_in_a_thread_of_a_prefetcher(driver, shards):
    pytest.importorskip("torch")
    run(driver, shards, """
        import tarflume.torch.prefetch.devices as devices
        cuda, mode = consumer(), ctypes.c_int(1)
        devices._relax_captures()
        # The driver returns the mode that the thread had.
        assert cuda.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode)) == 0 and mode.value == 2, mode
    """)
