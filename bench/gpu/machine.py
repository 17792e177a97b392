"""Part `machine`: the machine of the measurements."""
import ctypes
import importlib.metadata
import json
import os
import pathlib
import platform
import subprocess
import uuid

FACTS = "name,driver_version,memory.total,pcie.link.gen.current,pcie.link.gen.max,pcie.link.width.current," \
        "pcie.link.width.max,clocks.max.sm,power.limit,persistence_mode,ecc.mode.current"


def said(*cmd, timeout=15):
    """The output of a program, or its failure: an error status or empty output."""
    try:
        done = subprocess.run([str(word) for word in cmd], text=True, capture_output=True, check=False, timeout=timeout)
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", type(error).__name__
    text = done.stdout.strip()
    return text, "" if text and not done.returncode else f"exit code {done.returncode}"


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def identity(number):
    """Name, UUID and PCI address of the device that CUDA counts as `number`; None without a driver. CUDA counts what
    CUDA_VISIBLE_DEVICES shows, the fastest first; nvidia-smi and NVML count all of them by their PCI addresses."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
        of_uuid = cuda.cuDeviceGetUuid_v2  # 11.4 and later
    except (OSError, AttributeError):
        return None
    device, name = ctypes.c_int(), ctypes.create_string_buffer(100)
    raw, bus = ctypes.create_string_buffer(16), ctypes.create_string_buffer(32)
    if cuda.cuInit(0) or cuda.cuDeviceGet(ctypes.byref(device), number) \
            or cuda.cuDeviceGetName(name, len(name), device) or of_uuid(raw, device) \
            or cuda.cuDeviceGetPCIBusId(bus, len(bus), device):
        return None
    return name.value.decode(), f"GPU-{uuid.UUID(bytes=raw.raw)}", bus.value.decode()


def gpu(say, ids):
    """nvidia-smi's facts, asked by UUID. Of a slice of a card (MIG) CUDA gives the slice's, which nvidia-smi refuses
    here; then the facts are those of the whole card, by its PCI address, and are called so."""
    names, why = FACTS.split(","), "the driver names no such device"
    for of, one in zip(("", " of the card"), ids, strict=False):
        text, why = said("nvidia-smi", f"--id={one}", f"--query-gpu={FACTS}", "--format=csv,noheader")
        values = text.splitlines()[0].split(", ") if text else []
        if not why and len(values) == len(names):  # else it is a sentence about what is wrong
            for name, value in zip(names, values, strict=True):
                say(name + of, said=value)
            return
        why = text.splitlines()[0][:80] if text else why
    say("nvidia-smi", said=f"nothing ({why})")


def versions(say):
    """Of packages, without importing them, which takes seconds."""
    say("Python", said=platform.python_version())
    for name in ("tarflume", "numpy", "torch", "torchvision", "nvidia-cudnn-cu13", "nvidia-cuda-nvrtc"):
        try:
            say(name, said=importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            say(name, said="not there")


def libraries(say):
    """Where the system has the libraries of NVIDIA's decoders, and what nvJPEG says of decoding engines."""
    text, why = said("ldconfig", "-p")
    for name in ("libnvcuvid", "libnvjpeg", "libnvrtc"):
        found = [line.rsplit("=> ", 1)[-1] for line in text.splitlines() if line.strip().startswith(f"{name}.so")]
        say(name, said="; ".join(pathlib.Path(path).name for path in found) or f"not in ldconfig's list{f' ({why})' * bool(why)}")
    say("glibc", said=" ".join(platform.libc_ver()))


def part(x, say):
    if not x.dry:
        name, *ids = identity(x.number) or (None,)
        say("name", said=name)
        say("uuid", said=ids[0] if ids else None)
        gpu(say, ids)
    say("processor", said=processor())
    say("cores", said=len(os.sched_getaffinity(0)))
    say("memory_gb", said=round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9))
    say("kernel", said=f"Linux {platform.release().split('-')[0]}")
    versions(say)
    libraries(say)
    text, why = said(x.pack, "doctor", "--format", "json")
    try:
        say("pack doctor", said="see the raw figures", report=json.loads(text))
    except ValueError:
        say("pack doctor", said=f"nothing that is JSON ({why or text[:80]})")
