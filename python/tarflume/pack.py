"""Packing from Python: builds shards from folders, verifies shards, and indexes existing tars.

    manifest = tarflume.pack.build("photos/", "shards/")
    tarflume.pack.append("photos/", "shards/")
    tarflume.pack.reshard("shards/", "large/", where="json:/width >= 224")
    report = tarflume.pack.verify("shards/", level="decode")
    tarflume.pack.repair("shards/", "/backup/shards")
    tarflume.pack.index("old-shards/", entry_points=True)
    tarflume.pack.tokens("text.jsonl", "tokens/", tokenizer="tokenizer.json", length=2048)

The same as the command `pack`, which the package installs: the same bytes and the same errors. The interpreter lock is
free while it runs. Ctrl-C ends it at the next sample: a file with its final name is complete, and the same call
continues after the last finished shard.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from . import _core
from .arguments import Path, checked, dict_of, extensions_of, pairs_of, paths_of, texts_of, typed_columns, words_of
from .export import export
from .integrity import repair, sign
from .progress import Progress, finished
from .reshard import reshard
from .results import Built, Report
from .tokenizing import tokens

__all__ = [
    "Built",
    "Report",
    "append",
    "build",
    "export",
    "index",
    "main",
    "repair",
    "reshard",
    "sign",
    "tokens",
    "verify",
]


def __dir__() -> list[str]:
    return sorted(__all__)


@checked("tarflume.pack.build")
def build(
    src: Path | Sequence[Path],
    out: Path,
    *,
    shards: int | None = None,
    shard_size: int | str | None = None,
    shard_samples: int | None = None,
    prefix: str | None = None,
    shuffle: int | None = None,
    require: str | Iterable[str] | None = None,
    label: str | None = None,
    classes: Path | None = None,
    split: str | Mapping[str, float] | None = None,
    stratify: str | None = None,
    split_by: str | None = None,
    split_list: str | Mapping[str, Path] | None = None,
    split_group: str | None = None,
    ext_map: str | Mapping[str, str] | None = None,
    ext_by_content: bool = False,
    names: str | Mapping[str, str] | None = None,
    exclude: str | Sequence[str] | None = None,
    join: Path | Sequence[Path] | None = None,
    coco: Path | Sequence[Path] | None = None,
    yolo: Path | None = None,
    yolo_names: Path | None = None,
    voc: Path | None = None,
    annotations: Path | None = None,
    pair: Mapping[str, str] | None = None,
    group: str | None = None,
    follow_links: bool = False,
    keep_empty: str | Iterable[str] = (),
    provenance: Mapping[str, str] | None = None,
    entry_points: bool = True,
    dedupe: bool = False,
    limit: int | None = None,
    check: Literal["none", "structure", "decode"] | None = None,
    objects: bool = False,
    on_problem: Literal["fail", "skip", "quarantine"] = "fail",
    jobs: int | None = None,
    fresh: bool = False,
    dry_run: bool = False,
    compress: str | None = None,
    columns: str | Mapping[str, str] | None = None,
    json_rules: Literal["strict", "python"] | None = None,
    storage: Mapping[str, object] | None = None,
    single_writer: bool = False,
    ignore_zeros: bool = False,
    progress: Progress = None,
) -> Built:
    """Packs folders into shards, checks every file, and publishes a data set.

    Arguments:

    - `src`: a folder or several; keys are paths relative to it. `out`: the folder of the data set.
    - `shards`: the exact number of shards, of nearly equal size. Otherwise `shard_size` ("256MiB", or bytes; the
      default) and `shard_samples` limit a shard. `prefix`: the names of shards are PREFIX-000000.tar.
    - `shuffle`: a seed that distributes samples over the shards at random.
    - `require`: parts that each sample must have, "image,json" by default; "" for none. With `label`, `join`, `coco`,
      `yolo`, `voc` or `annotations`, "image" by default.
    - `label`: "folder" writes the name of the folder that holds an image as `class` (a number) and `class_name` into
      the sample's JSON, "folder=1" that of the first folder under `src`, "path" the path of all folders. A sample without a JSON
      gets one. `classes`: a file of names, or the dataset.json of another data set, whose numbers are used, also by
      `voc` and `annotations`.
    - `split`: divides the samples by the hash of their keys: `{"train": 0.9, "val": 0.1}`; with `stratify="/class"`
      within each class, with `split_group="/patient"` by the hash of that value, so that its samples are in one split.
      `split_by`: the field of the JSON, or "folder=1", that names the split; "file" (or "source") takes
      it from the names of files that are sources (train-0.parquet), "file:test=test_*,train=*" from patterns of
      these names, "none" makes one set of them. `split_list`: files
      that list the samples of each split, `{"train": "train.txt", "val": "val.txt"}`; "*" has what no list names.
    - `ext_map`: renames extensions, `{"jpeg": "jpg"}` by default. `ext_by_content`: names images by their content, so a
      PNG with the name .jpg becomes a .png.
    - `names`: what to do with names that some reader misreads: "replace", or `{"dot": "replace"}`.
    - `ignore_zeros`: reads tars (`tar:FILE`) on behind their end markers, for tars that were joined.
    - `exclude`: globs of paths, or "@FILE", a list of keys. `dedupe`, `limit`, `follow_links`: as in `pack build`.
    - `join`: a table (.csv, .tsv, .jsonl, .parquet) whose rows become the samples' JSON: a path, or
      "FILE:key=COLUMN,on=stem"; the fields of several tables are put together. "auto", the default, joins metadata.csv,
      metadata.jsonl and metadata.parquet of image folders; "none" joins nothing. `coco`: a COCO file, or several.
      `yolo`: a folder of label files, with `yolo_names`, a file of class names. `voc`: a folder of Pascal VOC XML files.
      `annotations`: a file that another program has exported: a CSV of Open Images, an XML of CVAT for images, a JSON of
      Label Studio.
    - `pair`: parallel folders of `src` with the parts that their files become: `{"images": "jpg", "masks": "png"}`; or
      patterns, `{"*_sat.jpg": "jpg", "*_mask.png": "mask.png"}`. A part that samples may lack has a "?": "mask.png?".
    - `group`: "folder" makes one sample of the files of each folder, as the parts 0.jpg, 1.jpg, ...; "folder:names" keeps
      their names, "folder=1" takes the first folder with all below it, "folder,count=8" requires eight of them.
    - `entry_points`: stores places in JPEGs from which decoding can start; every Huffman code is read for them.
    - `columns`: typed values that sidecars have of each sample, {"class": "u32", "split": "str"} or "class:u32": labels,
      weights and tables then need no JSON. {"width": "meta.json:/size/0:u32"} names part and pointer.
    - `provenance`: what `dataset.json` states about this build: `{"by": "jane@example.org", "commit": "3f2a"}`. Nothing is
      stated by itself.
    - `keep_empty`: extensions of files that may be empty, such as captions: "txt", or ["txt", "cls"].
    - `json_rules`: which texts are JSON: "strict" (RFC 8259), or "python", which also accepts what Python's `json` writes
      beyond it: NaN, Infinity, halves of surrogate pairs and repeated names. The data set records the rules.
    - `compress`: "zstd" or "zstd:LEVEL" writes compressed shards, `.tar.zst`, of which any sample can still be read.
    - `check`: the depth of the check of contents, "structure" by default. `objects`: checks boxes, classes, polygons, masks
      and keypoints, too; a sample with a wrong object is a problem. `on_problem`: "fail" publishes nothing if
      there is a problem, "skip" leaves bad samples out, "quarantine" also copies them to a folder.
    - `jobs`: the number of threads, one for each core by default. `fresh`: removes an unfinished build in `out`.
    - `dry_run`: writes nothing and returns the plan (`plan`, `samples`, `bytes`, `shards`, `problems`). Contents are
      checked only if `check` is given.
    - `storage`: how the object store of a URL in `out` ("s3://bucket/set") is reached: see `tarflume.Dataset`. Each shard
      is packed in a temporary folder, uploaded, and removed there. `single_writer`: goes on with a store that ignores
      conditions; no other build may write to `out` at the same time.
    - `progress`: None shows a line on a terminal or in a notebook, True always, False never. A callable receives
      events: dicts with `phase`, `seconds`, and `names`, or `bytes`, `total_bytes`, `samples`, `shards`, ...

    Returns the manifest (`samples`, `bytes`, `extensions`, `shards`: dicts of `name`, `samples`, `bytes`, ...), with
    `packed` and `skipped` (shards made by this call, and by an earlier one), `problems` (of samples that were left out),
    `irregular_jpegs` (how many JPEGs break rules of their format without losing a pixel, `count`, and the `first`; not
    where the data set was published before), and `warnings` (such as samples larger than a shard, and very small shards).

    Raises `UsageError` for arguments that are impossible (`MissingSourceError`, also a `FileNotFoundError`, for a folder
    that does not exist), `PackError` for bad data (with `problems`) and if the operating system refuses until something
    is changed (a read-only file system, no permission), `TryAgainError` if the machine failed, `KeyboardInterrupt`.
    """
    work = _core.pack_build(
        paths_of(src),
        os.fspath(out),
        shards=shards,
        shard_size=shard_size,
        shard_samples=shard_samples,
        prefix=prefix,
        shuffle=shuffle,
        require=words_of(require),
        label=label,
        classes=None if classes is None else os.fspath(classes),
        split=pairs_of(split),
        stratify=stratify,
        split_by=split_by,
        split_list=pairs_of(split_list),
        split_group=split_group,
        ext_map=pairs_of(ext_map),
        objects=objects,
        ext_by_content=ext_by_content,
        names=pairs_of(names),
        exclude=[exclude] if isinstance(exclude, str) else list(exclude or ()),
        join=texts_of(join),
        coco=texts_of(coco),
        yolo=None if yolo is None else os.fspath(yolo),
        yolo_names=yolo_names,
        voc=None if voc is None else os.fspath(voc),
        annotations=None if annotations is None else os.fspath(annotations),
        pair=[f"{folder}={ext}" for folder, ext in (pair or {}).items()],
        group=group,
        follow_links=follow_links,
        entry_points=entry_points,
        dedupe=dedupe,
        limit=limit,
        check=check,
        on_problem=on_problem,
        jobs=jobs,
        fresh=fresh,
        dry_run=dry_run,
        compress=compress,
        columns=typed_columns(columns),
        keep_empty=extensions_of(keep_empty) or [],
        provenance=[f"{name}={value}" for name, value in (provenance or {}).items()],
        json_rules=json_rules,
        storage=dict_of(storage),
        single_writer=single_writer,
        ignore_zeros=ignore_zeros,
    )
    done = finished(work, progress)
    manifest: dict[str, Any] = done.pop("manifest")
    return Built(manifest | done, "planned" if dry_run else "published")


@checked("tarflume.pack.append")
def append(
    src: Path | Sequence[Path],
    out: Path,
    *,
    exclude: str | Sequence[str] | None = None,
    join: Path | Sequence[Path] | None = None,
    coco: Path | Sequence[Path] | None = None,
    yolo: Path | None = None,
    yolo_names: Path | None = None,
    voc: Path | None = None,
    annotations: Path | None = None,
    pair: Mapping[str, str] | None = None,
    split_list: str | Mapping[str, Path] | None = None,
    on_problem: Literal["fail", "skip", "quarantine"] = "fail",
    jobs: int | None = None,
    fresh: bool = False,
    dry_run: bool = False,
    provenance: Mapping[str, str] | None = None,
    progress: Progress = None,
) -> Built:
    """Adds the new samples of folders to a data set, in shards that follow the existing ones, which do not change.

    A sample is new if the data set has no sample with its key. Names, labels, splits and the size of shards are those
    of the first build; new classes get the numbers after the old ones. `exclude`: more globs, or "@FILE". `split_list`:
    the lists of the new samples, if the first build had lists. The other arguments are those of `build`.

    A data set that was packed with `join`, `coco`, `yolo`, `voc` or `annotations` needs it again, with the new rows alone or with all
    rows: samples that the data set has need no row, and their rows no file. Columns keep their types and classes their
    numbers; a value or a class that does not fit is an error. New columns are added. A column that the table lacks is
    left out of the new JSON and is nullable from then on. `pair` need not be given again.

    Returns what `build` returns, with `present`, the number of samples that the data set had. If there is nothing new,
    the data set does not change. A shuffle of more samples is another order: `Loader(version=1)` reads the first build.
    """
    work = _core.pack_append(
        paths_of(src),
        os.fspath(out),
        exclude=[exclude] if isinstance(exclude, str) else list(exclude or ()),
        provenance=[f"{name}={value}" for name, value in (provenance or {}).items()],
        join=texts_of(join),
        coco=texts_of(coco),
        yolo=None if yolo is None else os.fspath(yolo),
        yolo_names=yolo_names,
        voc=None if voc is None else os.fspath(voc),
        annotations=None if annotations is None else os.fspath(annotations),
        pair=[f"{folder}={ext}" for folder, ext in (pair or {}).items()],
        split_list=pairs_of(split_list),
        on_problem=on_problem,
        jobs=jobs,
        fresh=fresh,
        dry_run=dry_run,
    )
    done = finished(work, progress)
    manifest: dict[str, Any] = done.pop("manifest")
    return Built(manifest | done, "planned" if dry_run else "published")


def _cache_of(cache: Path | bool) -> str | None:
    """Returns the folder of a cache; an empty text for that of the user."""
    if isinstance(cache, bool):
        return "" if cache else None
    return os.fspath(cache)


@checked("tarflume.pack.verify")
def verify(
    paths: Path | Sequence[Path] | None = None,
    *,
    level: Literal["quick", "full", "decode"] | None = None,
    require: str | Iterable[str] | None = None,
    profiles: Iterable[str] = (),
    schema: Path | Mapping[str, Path] | None = None,
    json_rules: Literal["strict", "python"] | None = None,
    jobs: int | None = None,
    storage: Mapping[str, object] | None = None,
    ignore_zeros: bool = False,
    require_checksums: bool = False,
    objects: bool = False,
    signed_by: str | Iterable[str] = (),
    sample: str | None = None,
    seed: int = 0,
    slice: str | None = None,
    time_budget: float | None = None,
    cache: Path | bool = False,
    changed_since: str | None = None,
    manifest_only: bool = False,
    unique: str | Iterable[str] = (),
    policy: Path | None = None,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    baseline: Path | None = None,
    progress: Progress = None,
) -> Report:
    """Verifies data sets and tars, and lists all problems.

    `paths`: folders of shards, and single tars, local or URLs (`storage`: see `build`); of a shard in a store every byte
    is read. `level`: "quick" reads no data, "full" (the default) reads every byte, "decode" also decodes every image and JSON,
    and checks the structure of arrays, pickles, texts, sound and videos.
    `require`: extensions that each sample must have; by default a part that few samples lack is a warning. `profiles`: readers
    whose misreadings are reported: "webdataset", "dali", "energon", "hf", "ray", "wids", "datago", "spdl". `schema`: the
    file of a JSON Schema for the part "json", or `{"meta.json": file}`. `json_rules`: as for `build`; by default those
    with which the data set was packed. `ignore_zeros`: accepts tars that were joined (`cat a.tar b.tar`); without it they
    are a problem unless a sidecar lists all their samples. `require_checksums`: a shard or a manifest without checksums is
    a problem, not a warning. `objects`: checks boxes, classes, polygons, masks and keypoints, too. `signed_by`: public
    keys of minisign, as text or files, of which one must have signed each `dataset.json`. `unique`: fields whose values must
    differ between samples: "/id", "meta.json:/id", or "txt" for a part. `jobs`: shards verified at once. `progress`: as for `build`.

    These read a part of the data, and check the rest as "quick" does; such a report has `coverage` and is not `whole`
    unless every byte was read. `slice`: "3/30", the third of thirty slices, which together have every byte. `sample`:
    "1%" of all bytes; `seed` chooses which. `time_budget`: begins no shard after this many seconds. `changed_since`: reads
    the shards that differ from a commit or branch of Git. `manifest_only`: opens no tar. `cache`: remembers sound shards in
    this folder, or in that of the user if it is True, and reads a shard again only if it has changed.

    `policy`: a pack.toml, whose levels and bounds are demanded; other keywords come first. Without `paths` the data sets
    that its `[sets]` name are verified. `select`, `ignore`: rules that alone are reported, or left out: the kinds of
    problems. `baseline`: a file that `pack verify --write-baseline` wrote; only problems that it does not have are
    reported. The report has `accepted` and `known`, how many are left out.

    Returns a `Report`; problems are not exceptions. Its `unchecked` lists what was asked for and matched nothing, such as
    a schema of a part that no sample has; such a report is not `whole`. Its `checked` has, by extension, how many parts were
    looked at by which check. Raises `UsageError` if there is nothing to verify.
    """
    schemas = schema if isinstance(schema, Mapping) else {} if schema is None else {"json": schema}
    given = [] if paths is None and policy is not None else paths_of(() if paths is None else paths)
    work = _core.pack_verify(given, level=level, require=extensions_of(require), profiles=list(profiles),
                             schemas=[f"{ext}={os.fspath(file)}" for ext, file in schemas.items()],
                             json_rules=json_rules, jobs=jobs,
                             storage=dict_of(storage), ignore_zeros=ignore_zeros,
                             require_checksums=require_checksums, objects=objects,
                             signed_by=[signed_by] if isinstance(signed_by, str) else [os.fspath(key) for key in signed_by],
                             sample=sample, seed=seed,
                             slice=slice, time_budget=time_budget, cache=_cache_of(cache),
                             changed_since=changed_since, manifest_only=manifest_only,
                             unique=[unique] if isinstance(unique, str) else list(unique),
                             policy=policy, select=list(select), ignore=list(ignore), baseline=baseline)
    done = finished(work, progress)
    return Report(done["report"], done["text"])


@checked("tarflume.pack.index")
def index(
    paths: Path | Sequence[Path],
    *,
    headers: bool = False,
    entry_points: bool = False,
    columns: str | Mapping[str, str] | None = None,
    json_rules: Literal["strict", "python"] | None = None,
    split_by: Literal["source"] | None = None,
    force: bool = False,
    accept_edits: bool = False,
    allow_missing_end: bool = False,
    jobs: int | None = None,
    storage: Mapping[str, object] | None = None,
    ignore_zeros: bool = False,
    progress: Progress = None,
) -> Built:
    """Makes sidecars and a manifest for existing tars.

    `paths`: tars, and folders of tars, local or URLs (`storage`: see `build`): sidecars are uploaded. `headers`: reads headers only (no checksums, digests or dimensions).
    `entry_points`: adds entry points of JPEGs, also to existing sidecars. `columns`: adds typed columns, as for
    `build`. `json_rules`: as for `build`. `split_by`: "source" writes the splits that the names of the shards state
    (train-0.tar, val-0.tar) into the manifest. `force`: replaces existing files.
    `accept_edits`: accepts a dataset.json that was edited by hand, and writes its digest again.
    `allow_missing_end`: accepts a tar without an end marker. `ignore_zeros`: reads on behind end markers, for tars that were
    joined (`cat a.tar b.tar`); without it such a tar is an error. `jobs`, `progress`: as for `verify`.

    Returns `tars` (dicts of `path`, `samples`, `bytes`, `extensions`, `kept`, `warnings`, `entry_points`,
    `damaged`) and `manifests` (dicts of `path`, `kept`, `samples`, `bytes`, `shards`, `note`).

    Raises `PackError` if a tar or a manifest is bad (`problems` lists them; the other tars were indexed), and
    `UsageError` if there is nothing to index.
    """
    work = _core.pack_index(
        paths_of(paths),
        headers=headers,
        entry_points=entry_points,
        columns=typed_columns(columns),
        json_rules=json_rules,
        split_by=split_by,
        force=force,
        accept_edits=accept_edits,
        allow_missing_end=allow_missing_end,
        jobs=jobs,
        storage=dict_of(storage),
        ignore_zeros=ignore_zeros,
    )
    return Built(finished(work, progress), "indexed")


def main() -> int:
    """The command `pack`: runs the arguments of this process and returns the exit code.

    The package installs it as `tarflume`, too, because other tools are called `pack`.
    """
    # As in a separate program: commands that write install a handler, others end at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    name = os.path.basename(sys.argv[0])
    return _core.pack_command([name if name == "tarflume" else "pack", *sys.argv[1:]])
