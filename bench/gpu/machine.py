"""Part `machine`: what the figures were measured on."""
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
    import torch
    if torch.cuda.is_available():
        say("name", said=torch.cuda.get_device_name(number))
    text, why = said("nvidia-smi", f"--id={number}", f"--query-gpu={FACTS}", "--format=csv,noheader")
    if why:
        say("nvidia-smi", said=f"nothing ({why})")
        return
    for name, value in zip(FACTS.split(","), text.splitlines()[0].split(", "), strict=False):
        say(name, said=value)


def versions(say):
    import numpy
    import torch

    import tarflume
    say("tarflume", said=getattr(tarflume, "__version__", "unknown"))
    say("Python", said=platform.python_version())
    say("NumPy", said=numpy.__version__)
    say("PyTorch", said=f"{torch.__version__}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}")
    try:
        import torchvision
        say("torchvision", said=torchvision.__version__)
    except ImportError:
        say("torchvision", said="not there")


def part(x, say):
    if not x.dry:
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
