"""One case of prove.py: prints KEY=VALUE, with the seconds that it measured by itself.

    python prove_cases.py batch|epoch|numbers|table DIR
"""
import sys
import time

import pyarrow as pa

import tarflume


def read(folder, is_first):
    image = tarflume.ResizeCenterCrop(32, 32)
    samples = 0
    with tarflume.Loader(folder, image=image, label="/class", batch_size=64, shuffle="full", seed=1) as loader:
        for batch in loader:
            samples += batch.rows
            if is_first:
                break
    return samples


USES = {
    "batch": lambda folder: read(folder, True),
    "epoch": lambda folder: read(folder, False),
    "numbers": lambda folder: len(tarflume.Dataset(folder).numbers("/class")),
    "table": lambda folder: pa.table(tarflume.Dataset(folder).table()).num_rows,
}


def main():
    what, folder = sys.argv[1:]
    start = time.perf_counter()
    samples = USES[what](folder)
    print(f"seconds={time.perf_counter() - start:.4f}")
    print(f"samples={samples}")


if __name__ == "__main__":
    main()
