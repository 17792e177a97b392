"""Tables and arrays: Parquet of the Hub, arrays in files."""

from __future__ import annotations

import numpy as np
import pyarrow
import pyarrow.parquet

from miniature import Miniature, layout


@layout("Parquet of the Hub, one picture")
def parquet(new: Miniature) -> None:
    for split, count in [("train", 3), ("test", 1)]:
        pictures = [new.encoded() for _ in range(count)]
        images = [{"bytes": content, "path": f"{n}.jpg"} for n, content in enumerate(pictures)]
        labels = list(range(count))
        table = pyarrow.table({"image": images, "label": labels})
        pyarrow.parquet.write_table(table, new.at(f"data/{split}-00000-of-00001.parquet"))
        for content, label in zip(pictures, labels):
            new.expect(content, label=label, split=split)


@layout("NumPy archive, one split")
def npz(new: Miniature) -> None:
    x = np.arange(4 * 6, dtype=np.float32).reshape(4, 6)
    np.savez(new.at("data.npz"), x=x, y=np.array([3, 1, 2, 0]))
    for n in range(4):
        new.expect(None, key=f"{n:08}", y=int([3, 1, 2, 0][n]), parts={"x.raw": x[n].tobytes()})
