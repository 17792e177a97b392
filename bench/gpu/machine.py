"""Part `machine`: what the figures were measured on."""
import ctypes
import importlib.metadata
import json
import os
import pathlib
import platform
import subprocess

FACTS = "name,driver_version,memory.total,pcie.link.gen.current,pcie.link.gen.max,pcie.link.width.current," \
        "pcie.link.width.max,clocks.max.sm,power.limit,persistence_mode,ecc.mode.current"


def said(*cmd, timeout=15):
    """What a program prints, or why it prints nothing."""
    try:
        done = subprocess.run([str(word) for word in cmd], text=True, capture_output=True, check=False, timeout=timeout)
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", type(error).__name__
    return done.stdout.strip(), "" if done.stdout.strip() else f"exit code {done.returncode}"


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def gpu(say, number):
    text, why = said("nvidia-smi", f"--id={number}", f"--query-gpu={FACTS}", "--format=csv,noheader")
    if why:
        say("nvidia-smi", said=f"nothing ({why})")
        return
    for name, value in zip(FACTS.split(","), text.splitlines()[0].split(", "), strict=False):
        say(name, said=value)


def driver_name(number):
    """The GPU's name, asked of the driver; None without one."""
    try:
        cuda, name = ctypes.CDLL("libcuda.so.1"), ctypes.create_string_buffer(100)
    except OSError:
        return None
    if cuda.cuInit(0) or cuda.cuDeviceGetName(name, len(name), number):
        return None
    return name.value.decode()


def versions(say):
    """Of packages, without importing them, which takes seconds."""
    say("Python", said=platform.python_version())
    for name in ("tarflume", "numpy", "torch", "torchvision", "nvidia-cudnn-cu13", "nvidia-cuda-nvrtc"):
        try:
            say(name, said=importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            say(name, said="not there")


def part(x, say):
    if not x.dry:
        say("name", said=driver_name(x.number))
        gpu(say, x.number)
    say("processor", said=processor())
    say("cores", said=len(os.sched_getaffinity(0)))
    say("memory_gb", said=round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9))
    say("kernel", said=f"Linux {platform.release().split('-')[0]}")
    versions(say)
    text, why = said(x.pack, "doctor", "--json")
    try:
        say("pack doctor", said="see the raw figures", report=json.loads(text))
    except ValueError:
        say("pack doctor", said=f"nothing that is JSON ({why or text[:80]})")
