#!/usr/bin/env python3
"""Writes damaged copies of a target's seeds, the same ones in every run: fuzz/mutate.py SEEDS COUNT OUT [DICTIONARY]

libFuzzer's own mutations follow the coverage, which differs from run to run where a hash map is walked, and so do
its inputs for one seed. These depend on nothing but the seeds and their names."""
import pathlib
import random
import re
import sys

LONGEST = 16384  # as -max_len of the search
NUMBERS = (0, 1, 7, 8, 9, 10, 13, 32, 34, 48, 57, 64, 92, 100, 123, 127, 128, 192, 200, 217, 218, 224, 254, 255)


def words_of(dictionary):
    """The words of a dictionary of libFuzzer: NAME="text with \\xNN"."""
    quoted = re.findall(r'^[^#\n]*"((?:[^"\\]|\\.)*)"', dictionary.read_text(), re.MULTILINE)
    return [word.encode("latin-1").decode("unicode_escape").encode("latin-1") for word in quoted]


def mutated(rng, seeds, words):
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((1, 2, 4, 16, 64, 512)))
        kind = rng.randrange(9)
        if kind == 0 and data:
            data[at % len(data)] ^= 1 << rng.randrange(8)
        elif kind == 1 and data:
            data[at % len(data)] = rng.choice(NUMBERS)
        elif kind == 2:
            size = rng.choice((2, 4, 8))
            number = rng.choice((0, 1, 255, 256, 65535, 65536, 1 << 31, (1 << 63) - 1)) % (1 << 8 * size)
            data[at:at + size] = number.to_bytes(size, rng.choice(("little", "big")))
        elif kind == 3:
            del data[at:end]
        elif kind == 4:
            del data[at:]
        elif kind == 5:
            data[at:at] = data[at:end]
        elif kind == 6:
            data[at:end] = bytes(rng.randrange(256) for _ in range(end - at))
        elif kind == 7 and words:
            data[at:at + rng.choice((0, 1, 2, 4))] = rng.choice(words)
        else:
            other = rng.choice(seeds)
            start = rng.randrange(len(other) + 1)
            data[at:end] = other[start:start + rng.choice((4, 64, 1024))]
    return bytes(data[:LONGEST])


def main():
    folder, count, out = pathlib.Path(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])
    words = words_of(pathlib.Path(sys.argv[4])) if len(sys.argv) > 4 else []
    seeds = [path.read_bytes() for path in sorted(folder.iterdir())] or [b""]
    out.mkdir(parents=True)
    for number in range(count):
        rng = random.Random(f"{folder.name} {number}")
        (out / f"{number:06}").write_bytes(mutated(rng, seeds, words))


if __name__ == "__main__":
    main()
