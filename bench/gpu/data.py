"""Makes what the parts read, from the kit's photographs and from a seed: shards by `pack`, and the same pictures as
files for those who read files."""
import pathlib
import shutil
import subprocess
import tarfile

import numpy as np


def build(pack, pairs, out, ext, shards):
    """A folder of samples of one part into shards."""
    words = [pack, "build", pairs, "-o", out, "--shards", str(shards), "--require", ext]
    done = subprocess.run(words, text=True, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"pack build ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return out


def photographs(kit):
    """All pictures of the kit, as bytes."""
    found = []
    for path in sorted(pathlib.Path(kit).glob("*.tar")):
        with tarfile.open(path) as tar:
            found += [tar.extractfile(member).read() for member in tar if member.name.endswith(".jpg")]
    if not found:
        raise RuntimeError(f"no photographs in {kit}: make the kit again")
    return found


def pictures(x, count):
    """`count` pictures, the kit's over and over, each a file of its own as it would be on a disk; and their shards."""
    files, held = x.work / "pictures", photographs(x.kit / "photographs")
    files.mkdir()
    for n in range(count):
        (files / f"{n:06}.jpg").write_bytes(held[n % len(held)])
    return {"files": str(files), "pictures": str(build(x.pack, files, x.work / "picture-shards", "jpg", 8)),
            "photographs": len(held), "picture_bytes": sum(map(len, held)) // len(held), "picture_count": count}


def pixel_count(jpeg):
    """Rows times columns of a JPEG, by its frame header."""
    at = 2
    while at + 9 < len(jpeg):
        marker, length = jpeg[at + 1], int.from_bytes(jpeg[at + 2:at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(jpeg[at + 5:at + 7], "big") * int.from_bytes(jpeg[at + 7:at + 9], "big")
        at += 2 + length
    raise RuntimeError("a photograph of the kit has no frame header")


def small(x):
    """The kit's photographs that no way makes smaller before it keeps or copies them, each once."""
    files, most = x.work / "small-pictures", x.sizes["small_side"] ** 2
    files.mkdir()
    fit = [jpeg for jpeg in photographs(x.kit / "photographs") if pixel_count(jpeg) <= most][:x.sizes["small"]]
    if not fit:
        raise RuntimeError(f"no photograph of the kit has {most} pixels or less")
    for n, jpeg in enumerate(fit):
        (files / f"{n:06}.jpg").write_bytes(jpeg)
    return {"small": str(build(x.pack, files, x.work / "small", "jpg", 1)), "small_count": len(fit)}


def rows(x, name, count, length, shards=4):
    """`count` samples with one part, `bin`, of `length` bytes that a seed gives; keys are their numbers."""
    pairs, out = x.work / f"{name}-pairs", x.work / name
    pairs.mkdir()
    for n, row in enumerate(contents(count, length)):
        (pairs / f"{n:06}.bin").write_bytes(row.tobytes())
    build(x.pack, pairs, out, "bin", shards)
    shutil.rmtree(pairs)
    return str(out)


def contents(count, length):
    """What is in these samples, one after the other."""
    drawn = np.random.default_rng(count * 1_000_003 + length)
    for _ in range(count):
        yield drawn.integers(0, 256, length, np.uint8)


def part(x, say):
    """All data, and where it is."""
    sizes = x.sizes
    say("data", **pictures(x, sizes["pictures"]), **small(x), rows=rows(x, "rows", sizes["rows"], sizes["row_bytes"]),
        wide=rows(x, "wide", sizes["wide_rows"], sizes["wide_bytes"]))
