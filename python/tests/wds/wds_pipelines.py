"""Pipelines, each written once for two modules: `wds` is webdataset or tarflume.webdataset."""

from __future__ import annotations

import gzip
import itertools
import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from wds_data import Data

PIPELINES: dict[str, Callable[[Any, Data], Any]] = {}


def pipeline(f: Callable[[Any, Data], Any]) -> Callable[[Any, Data], Any]:
    PIPELINES[f.__name__] = f
    return f


def dataset(wds: Any, urls: Any, *, allow: tuple[str, ...] = (), **words: Any) -> Any:
    """A data set whose shards are not mixed; only ours has to be told what may be unsafe."""
    if allow and wds.__name__ != "webdataset":
        words["allow"] = allow
    return wds.WebDataset(urls, **{"shardshuffle": False, **words})


@pipeline
def samples_as_they_are(wds, data):
    return dataset(wds, data.braces)


@pipeline
def names_in_braces(wds, data):
    return dataset(wds, str(data.root / "plain-00{2,{0,1},3}.tar"))


@pipeline
def descending_and_stepped(wds, data):
    return dataset(wds, str(data.root / "plain-{003..000..2}.tar"))


@pipeline
def several_lists(wds, data):
    return dataset(wds, f"{data.plain(2)}::{data.braces}::{data.odd}")


@pipeline
def a_list_of_paths(wds, data):
    return dataset(wds, [data.plain(3), data.plain(0), data.plain(3)])


@pipeline
def a_generator_of_paths(wds, data):
    return dataset(wds, (data.plain(n) for n in (1, 0)))


@pipeline
def of_the_environment(wds, data):
    os.environ["WDS_HERE"] = str(data.root)
    return dataset(wds, "${HERE}/plain-000.tar")


@pipeline
def a_file_url(wds, data):
    return dataset(wds, f"file:{data.plain(1)}")


@pipeline
def packed_shards(wds, data):
    return dataset(wds, data.packed)


@pipeline
def packed_and_plain(wds, data):
    return dataset(wds, f"{data.packed}::{data.braces}").decode()


@pipeline
def names_that_are_odd(wds, data):
    return dataset(wds, data.odd)


@pipeline
def decoded(wds, data):
    return dataset(wds, data.braces).decode()


@pipeline
def decoded_in_part(wds, data):
    return dataset(wds, data.braces).decode(only=["json", "cls"]).decode("rgb8", partial=True)


@pipeline
def decoded_by_functions(wds, data):
    def raw(key, value):
        return list(value) if key.endswith(".raw") else None

    def twice(key, value):
        return wds.Continue(key[: -len(".gz")] + ".json", b"[1]") if key.endswith(".txt.gz") else None

    handlers = [wds.handle_extension("png txt", len), wds.handle_extension("vec.npy", bytes.hex), raw]
    return dataset(wds, data.braces).decode(*handlers, pre=[twice])


@pipeline
def pictures_of_pillow(wds, data):
    return dataset(wds, data.braces).decode("pil")


for spec in ("l8", "rgb8", "rgba8", "l", "rgb", "rgba", "pill", "pilrgba"):
    PIPELINES[f"pictures_as_{spec}"] = lambda wds, data, spec=spec: dataset(wds, data.braces).decode(spec)


@pipeline
def unpickled(wds, data):
    return dataset(wds, data.pickled, allow=("pickle",)).decode()


@pipeline
def printed_by_commands(wds, data):
    return dataset(wds, [f"pipe:cat {data.plain(1)}", f"pipe:gzip -dc {data.root}/packed-000.tar.gz"], allow=("pipe",))


@pipeline
def tuples(wds, data):
    return dataset(wds, data.braces).decode("rgb8").to_tuple("__key__", "jpg;png", "json")


@pipeline
def tuples_of_one_text(wds, data):
    return dataset(wds, data.braces).to_tuple("webp;png cls nothing", missing_is_error=False)


@pipeline
def mapped(wds, data):
    def odd_ones(sample):
        return {"n": int(sample["cls"])} if int(sample["__key__"]) % 2 else None

    return dataset(wds, data.braces).map(odd_ones).map(lambda sample: (sample["n"], sample["__key__"]))


@pipeline
def mapped_dicts(wds, data):
    return dataset(wds, data.braces).map_dict(cls=int, txt=lambda text: text.decode().upper())


@pipeline
def mapped_tuples(wds, data):
    return dataset(wds, data.braces).to_tuple("cls", "txt", "raw").map_tuple(int, None).map_tuple(lambda n: n * 2)


@pipeline
def selected(wds, data):
    return dataset(wds, data.braces).decode().select(lambda sample: sample["cls"] in (3, 4))


@pipeline
def renamed(wds, data):
    return dataset(wds, data.braces).rename(image="jpg;png", label="cls")


@pipeline
def renamed_and_no_more(wds, data):
    return dataset(wds, data.braces).rename(keep=False, key="__key__", label="cls")


@pipeline
def renamed_by_patterns(wds, data):
    return dataset(wds, data.braces).rename_keys(image="*.png", **{"array": "*npy"}, must_match=False)


@pipeline
def extracted(wds, data):
    return dataset(wds, data.braces).extract_keys("*.jpg;*.png", "*.npy")


@pipeline
def batches(wds, data):
    return dataset(wds, data.braces).decode("rgb8").to_tuple("png", "cls", "json", "vec.npy").batched(6)


@pipeline
def whole_batches(wds, data):
    made = dataset(wds, data.braces).decode().rename(keep=False, a="cls", b="vec.npy", c="txt")
    # The order of webdataset's columns is that of a set: another in each process.
    return (dict(sorted(batch.items())) for batch in made.batched(5, partial=False))


@pipeline
def batches_collated(wds, data):
    return dataset(wds, data.braces).to_tuple("cls").batched(5, collation_fn=lambda rows: len(rows))


@pipeline
def lists(wds, data):
    return dataset(wds, data.braces).listed(9)


@pipeline
def batched_and_unbatched(wds, data):
    return dataset(wds, data.braces).decode().to_tuple("cls", "vec.npy", "txt").batched(8).unbatched()


@pipeline
def sliced(wds, data):
    return dataset(wds, data.braces).slice(2, 20, 3)


@pipeline
def repeated(wds, data):
    return dataset(wds, data.braces).slice(5).repeat(3)


@pipeline
def repeated_up_to(wds, data):
    return dataset(wds, data.braces).repeat(nbatches=40)


@pipeline
def epochs(wds, data):
    return dataset(wds, data.braces).to_tuple("__key__").with_epoch(37)


@pipeline
def with_length(wds, data):
    made = dataset(wds, data.braces).with_length(11, silent=True)
    return itertools.chain([len(made)], made)


@pipeline
def composed(wds, data):
    def every_other(source, step):
        yield from itertools.islice(source, 0, None, step)

    stages = [wds.pipelinefilter(every_other)(2), wds.map(lambda s: s["txt"]), wds.batched(3, collation_fn=None)]
    return dataset(wds, data.braces).compose(*stages)


@pipeline
def by_hand(wds, data):
    return wds.DataPipeline(
        wds.SimpleShardList(data.braces, seed=3),
        wds.split_by_worker,
        wds.tarfile_to_samples(),
        wds.shuffle(9, seed=4),
        wds.decode("rgb"),
        wds.to_tuple("png", "json"),
        wds.map_tuple(np.sum, None),
    )


@pipeline
def shuffled(wds, data):
    return dataset(wds, data.braces).shuffle(12, initial=5, seed=7).repeat(2)


@pipeline
def shuffled_by_a_generator(wds, data):
    return dataset(wds, data.braces).shuffle(1000, rng=random.Random(11)).repeat(2)


@pipeline
def not_shuffled(wds, data):
    return dataset(wds, data.braces).shuffle(0)


@pipeline
def shuffled_shards(wds, data):
    return dataset(wds, f"{data.braces}::{data.packed}", shardshuffle=5, seed=21)


@pipeline
def shuffled_anew(wds, data):
    return dataset(wds, f"{data.braces}::{data.packed}", shardshuffle=8, seed=21, detshuffle=True).repeat(3)


@pipeline
def associated(wds, data):
    return dataset(wds, data.braces).compose(
        wds.associate({"0003": {"more": 3}}), wds.associate(lambda key: {"k": key})
    )


@pipeline
def files_selected(wds, data):
    return dataset(wds, data.braces, select_files=lambda name: name.endswith((".cls", ".png")))


@pipeline
def files_renamed(wds, data):
    def renamed(name):  # two samples become one; some belong to none
        stem, _, ext = name.partition(".")
        return f"all/{int(stem) // 2}.{int(stem) % 2}.{ext}" if ext != "raw" else "nothing"

    return dataset(wds, data.plain(0), rename_files=renamed)


@pipeline
def a_missing_shard_ignored(wds, data):
    return dataset(wds, [data.plain(0), data.missing, data.plain(1)], handler=wds.ignore_and_continue)


@pipeline
def a_missing_shard_ends_it(wds, data):
    return dataset(wds, [data.plain(0), data.missing, data.plain(1)], handler=wds.ignore_and_stop)


@pipeline
def what_cannot_be_decoded_ignored(wds, data):
    return dataset(wds, data.bad_json).decode(handler=wds.ignore_and_continue)


@pipeline
def what_cannot_be_decoded_ends_it(wds, data):
    return dataset(wds, data.bad_json).decode(handler=wds.ignore_and_stop)


@pipeline
def errors_of_functions_ignored(wds, data):
    def three(text):
        return 60 // (int(text) - 3)

    made = dataset(wds, data.braces).map_dict(cls=three, handler=wds.ignore_and_continue)
    tuples = made.to_tuple("cls", handler=wds.ignore_and_continue)
    return tuples.map_tuple(lambda n: 9 // n, handler=wds.ignore_and_continue)


@pipeline
def parts_missing_ignored(wds, data):
    made = dataset(wds, [data.odd, data.plain(0)]).rename(image="png", handler=wds.ignore_and_continue)
    return made.to_tuple("image", "cls", handler=wds.ignore_and_continue)


@pipeline
def parts_unpacked(wds, data):
    return dataset(wds, data.braces).map_dict(**{"note.txt.gz": gzip.decompress}).decode(pre=[])
