"""Packing from Python: builds shards from folders, verifies shards, and indexes existing tars.

    manifest = tarflume.pack.build("photos/", "shards/")
    tarflume.pack.append("photos/", "shards/")
    tarflume.pack.reshard("shards/", "large/", where="json:/width >= 224")
    report = tarflume.pack.verify("shards/", level="decode")
    tarflume.pack.index("old-shards/", entry_points=True)
    tarflume.pack.tokens("text.jsonl", "tokens/", tokenizer="tokenizer.json", length=2048)

The same as the command `pack`, which the package installs: the same bytes and the same errors. The interpreter lock is
free while it runs. Ctrl-C ends it at the next sample: a file with its final name is complete, and the same call
continues after the last finished shard.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from . import _core
from .arguments import Path, checked, dict_of, extensions_of, pairs_of, paths_of, typed_columns, words_of
from .export import export
from .progress import Progress, finished
from .reshard import reshard
from .results import Built, Report

__all__ = ["Built", "Report", "append", "build", "export", "index", "main", "reshard", "tokens", "verify"]


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
    ext_map: str | Mapping[str, str] | None = None,
    ext_by_content: bool = False,
    names: str | Mapping[str, str] | None = None,
    exclude: str | Sequence[str] | None = None,
    join: Path | None = None,
    coco: Path | None = None,
    yolo: Path | None = None,
    yolo_names: Path | None = None,
    voc: Path | None = None,
    pair: Mapping[str, str] | None = None,
    follow_links: bool = False,
    keep_empty: str | Iterable[str] = (),
    entry_points: bool = True,
    dedupe: bool = False,
    limit: int | None = None,
    check: Literal["none", "structure", "decode"] | None = None,
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
      `yolo` or `voc`, "image" by default.
    - `label`: "folder" writes the name of the folder that holds an image as `class` (a number) and `class_name` into
      the sample's JSON, "folder=1" that of the first folder under `src`, "path" the path of all folders. A sample without a JSON
      gets one. `classes`: a file of names, or the dataset.json of another data set, whose numbers are used, also by
      `voc`.
    - `split`: divides the samples by the hash of their keys: `{"train": 0.9, "val": 0.1}`; with `stratify="/class"`
      within each class. `split_by`: the field of the JSON, or "folder=1", that names the split; "source" takes
      it from the names of files that are sources (train-0.parquet), "none" makes one set of them.
    - `ext_map`: renames extensions, `{"jpeg": "jpg"}` by default. `ext_by_content`: names images by their content, so a
      PNG with the name .jpg becomes a .png.
    - `names`: what to do with names that some reader misreads: "replace", or `{"dot": "replace"}`.
    - `ignore_zeros`: reads tars (`tar:FILE`) on behind their end markers, for tars that were joined.
    - `exclude`: globs of paths, or "@FILE", a list of keys. `dedupe`, `limit`, `follow_links`: as in `pack build`.
    - `join`: a table (.csv, .tsv, .jsonl, .parquet) whose rows become the samples' JSON: a path, or
      "FILE:key=COLUMN,on=stem". "auto", the default, joins metadata.csv, metadata.jsonl and metadata.parquet of image
      folders; "none" joins nothing. `coco`: a COCO file.
      `yolo`: a folder of label files, with `yolo_names`, a file of class names. `voc`: a folder of Pascal VOC XML files.
    - `pair`: parallel folders of `src` with the parts that their files become: `{"images": "jpg", "masks": "png"}`.
    - `entry_points`: stores places in JPEGs from which decoding can start; every Huffman code is read for them.
    - `columns`: typed values that sidecars have of each sample, {"class": "u32", "split": "str"} or "class:u32": labels,
      weights and tables then need no JSON. {"width": "meta.json:/size/0:u32"} names part and pointer.
    - `keep_empty`: extensions of files that may be empty, such as captions: "txt", or ["txt", "cls"].
    - `json_rules`: which texts are JSON: "strict" (RFC 8259), or "python", which also accepts what Python's `json` writes
      beyond it: NaN, Infinity, halves of surrogate pairs and repeated names. The data set records the rules.
    - `compress`: "zstd" or "zstd:LEVEL" writes compressed shards, `.tar.zst`, of which any sample can still be read.
    - `check`: the depth of the check of contents, "structure" by default. `on_problem`: "fail" publishes nothing if
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
        ext_map=pairs_of(ext_map),
        ext_by_content=ext_by_content,
        names=pairs_of(names),
        exclude=[exclude] if isinstance(exclude, str) else list(exclude or ()),
        join=None if join is None else os.fspath(join),
        coco=None if coco is None else os.fspath(coco),
        yolo=None if yolo is None else os.fspath(yolo),
        yolo_names=yolo_names,
        voc=None if voc is None else os.fspath(voc),
        pair=[f"{folder}={ext}" for folder, ext in (pair or {}).items()],
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
    join: Path | None = None,
    coco: Path | None = None,
    yolo: Path | None = None,
    yolo_names: Path | None = None,
    voc: Path | None = None,
    pair: Mapping[str, str] | None = None,
    on_problem: Literal["fail", "skip", "quarantine"] = "fail",
    jobs: int | None = None,
    fresh: bool = False,
    dry_run: bool = False,
    progress: Progress = None,
) -> Built:
    """Adds the new samples of folders to a data set, in shards that follow the existing ones, which do not change.

    A sample is new if the data set has no sample with its key. Names, labels, splits and the size of shards are those
    of the first build; new classes get the numbers after the old ones. `exclude`: more globs, or "@FILE". The other
    arguments are those of `build`.

    A data set that was packed with `join`, `coco`, `yolo` or `voc` needs it again, with the new rows alone or with all
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
        join=None if join is None else os.fspath(join),
        coco=None if coco is None else os.fspath(coco),
        yolo=None if yolo is None else os.fspath(yolo),
        yolo_names=yolo_names,
        voc=None if voc is None else os.fspath(voc),
        pair=[f"{folder}={ext}" for folder, ext in (pair or {}).items()],
        on_problem=on_problem,
        jobs=jobs,
        fresh=fresh,
        dry_run=dry_run,
    )
    done = finished(work, progress)
    manifest: dict[str, Any] = done.pop("manifest")
    return Built(manifest | done, "planned" if dry_run else "published")


@checked("tarflume.pack.verify")
def verify(
    paths: Path | Sequence[Path],
    *,
    level: Literal["quick", "full", "decode"] = "full",
    require: str | Iterable[str] | None = None,
    profiles: Iterable[str] = (),
    schema: Path | Mapping[str, Path] | None = None,
    json_rules: Literal["strict", "python"] | None = None,
    jobs: int | None = None,
    storage: Mapping[str, object] | None = None,
    ignore_zeros: bool = False,
    require_checksums: bool = False,
    progress: Progress = None,
) -> Report:
    """Verifies data sets and tars, and lists all problems.

    `paths`: folders of shards, and single tars, local or URLs (`storage`: see `build`); of a shard in a store every byte
    is read. `level`: "quick" reads no data, "full" reads every byte, "decode" also decodes every image and JSON.
    `require`: extensions that each sample must have; by default a part that few samples lack is a warning. `profiles`: readers
    whose misreadings are reported: "webdataset", "dali", "energon", "hf", "ray", "wids", "datago", "spdl". `schema`: the
    file of a JSON Schema for the part "json", or `{"meta.json": file}`. `json_rules`: as for `build`; by default those
    with which the data set was packed. `ignore_zeros`: accepts tars that were joined (`cat a.tar b.tar`); without it they
    are a problem unless a sidecar lists all their samples. `require_checksums`: a shard or a manifest without checksums is
    a problem, not a warning. `jobs`: shards verified at once. `progress`: as for `build`.

    Returns a `Report`; problems are not exceptions. Its `unchecked` lists what was asked for and matched nothing, such as
    a schema of a part that no sample has; such a report is not `whole`. Raises `UsageError` if there is nothing to verify.
    """
    schemas = schema if isinstance(schema, Mapping) else {} if schema is None else {"json": schema}
    work = _core.pack_verify(paths_of(paths), level=level, require=extensions_of(require), profiles=list(profiles),
                             schemas=[f"{ext}={os.fspath(file)}" for ext, file in schemas.items()],
                             json_rules=json_rules, jobs=jobs,
                             storage=dict_of(storage), ignore_zeros=ignore_zeros,
                             require_checksums=require_checksums)
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


@checked("tarflume.pack.tokens")
def tokens(
    src: Path | Sequence[Path],
    out: Path,
    *,
    length: int | None = None,
    tokenizer: Path | None = None,
    encode: Callable[[list[str]], Iterable[Any]] | None = None,
    fingerprint: str | None = None,
    vocabulary: int | None = None,
    messages: str | None = None,
    prompt: str | None = None,
    response: str | None = None,
    alpaca: bool = False,
    tools: str | None = None,
    chat_template: Path | None = None,
    template_name: str | None = None,
    template_variables: Mapping[str, Any] | None = None,
    template_date: str | None = None,
    mask_prompt: bool | Literal["all", "last"] = False,
    pack: Literal["bfd", "concat", "rows"] | None = None,
    max_length: int | None = None,
    truncate: Literal["right", "left", "error"] = "right",
    drop_longer: bool = False,
    min_length: int = 0,
    window: int | None = None,
    eos: int | str | None = None,
    pad: int | str | None = None,
    where: str | None = None,
    dtype: Literal["uint16", "uint32"] | None = None,
    text_field: str = "text",
    text_part: str = "txt",
    per_line: bool = False,
    special_tokens: bool = False,
    split_special_tokens: bool = False,
    bad_budget: int = 0,
    cache: Path | None = None,
    unit: int | str | None = None,
    shard_size: int | str | None = None,
    shard_samples: int | None = None,
    prefix: str = "shard",
    fsync: bool = True,
    jobs: int | None = None,
    fresh: bool = False,
    ignore_zeros: bool = False,
    compress: str | None = None,
    progress: Progress = None,
) -> Built:
    """Tokenizes text or conversations, and packs them into blocks of `length` ids, or into rows.

    - `src`: files and folders of .jsonl, .txt (both also .gz and .zst), .parquet, .arrow and .tar, or "megatron:PREFIX", which
      needs no tokenizer. `text_field`: the field of JSON, or the column of Parquet; `text_part`: the part of a tar's
      samples; `per_line`: each line of a text file is a document. `bad_budget`: so many documents that cannot be read
      are left out, and listed in `out/.tokens/problems.jsonl`; one more raises.
    - `tokenizer`: a tokenizer.json of Hugging Face tokenizers. `special_tokens`: adds those of its post processor.
      `split_special_tokens`: special tokens in the text, such as "<|endoftext|>", are text.
    - `encode`: any function from a list of texts to as many lists of ids (or arrays, or objects with `ids`), such as
      `lambda texts: tok(texts, add_special_tokens=False)["input_ids"]`. `fingerprint`: a name for the function and its
      settings, under which ids are cached. `vocabulary`: the number of ids of the model, by default that of
      `tokenizer`; other ids raise. Without it, the largest id that appears decides the type.
    - Conversations are rows with `messages` (the field of a list with role and content, or with from and value), with
      `prompt` and `response` (fields with a text or a list of messages), or with the fields of `alpaca`; `tools`: the
      field of the tools. `chat_template`: a file of Jinja, a tokenizer_config.json, or a folder with one; by default
      the folder of `tokenizer`. `template_name`: one of several templates; `template_variables`: what the template is
      given beside the conversation; `template_date`: the date that it sees, such as "2026-11-29". `mask_prompt`: only
      what the assistant writes has loss, in all its turns (True or "all") or in the last one ("last").
    - `pack`: "bfd" (best fit: splits only documents longer than a block, over a `window` of 8,192 documents; the
      default with `length`), "concat", or "rows" (each sample is one document, with its length and without padding;
      the default of conversations without `length`). `max_length`: the most ids of a document; of a longer one the end
      is cut (`truncate="right"`) or the beginning ("left"), it raises ("error"), or with `drop_longer` it is left out.
      `min_length`: documents with fewer ids are left out. `eos`: the token behind each document that does not end with it, an id or a token's text. `pad`: the token that fills up a block;
      by default that of `eos`, or 0. `where`: a condition such as "len(ids) >= 10". `dtype`: the type of ids.
    - `cache`: the folder of ids, which several data sets may share; by default `out/.tokens/cache`. `unit`: the bytes of
      text that are tokenized and cached together, by default "2MiB".
    - `shard_size`, `shard_samples`, `prefix`, `compress`, `jobs`, `progress`: as for `build`. `fsync`: waits until shards are on
      disk. `fresh`: removes an unfinished data set of another command in `out`. `ignore_zeros`: as for `index`.

    A sample has `ids.npy`, `cu_seqlens.npy` and `json`; `tarflume.token_columns` reads it. Text is tokenized once: a
    rerun or another length tokenizes nothing, a corpus that has grown only what is new.

    With `mask_prompt` a sample has `loss.npy`, which `tarflume.Tokens(..., "labels")` follows; see docs/FINE-TUNING.md.

    Returns the manifest with `documents`, `empty`, `filtered`, `truncated`, `longer`, `shorter`, `without_loss`,
    `loss_tokens`, `packing`, `bad`, `ended` (documents that ended with `eos` before),
    `special_in_text` (special tokens in texts), `doubled` (documents that begin or end with a special token twice),
    `tokenizer` (by what texts became ids: the fast path, or the library `tokenizers` with the reason), `text_bytes`,
    `tokenized_bytes`, `units`, `tokenized_units`, `tokens`, `length`, `dtype`, `pad`, `published_before`, `fill` (the share of ids that are no padding, from 0 to 1) and `notices`, each of which is also a warning. Raises as
    `build`.
    """
    work = _core.pack_tokens(
        paths_of(src),
        os.fspath(out),
        length,
        chats=_core.Chats(
            messages=messages,
            prompt=prompt,
            response=response,
            alpaca=alpaca,
            tools=tools,
            chat_template=None if chat_template is None else os.fspath(chat_template),
            template_name=template_name,
            template_variables=None if template_variables is None else json.dumps(template_variables),
            template_date=template_date,
            mask_prompt="all" if mask_prompt is True else mask_prompt or None,
        ),
        lengths=_core.FittedLengths(
            max_length=max_length, truncate=truncate, drop_longer=drop_longer, min_length=min_length
        ),
        tokenizer=None if tokenizer is None else os.fspath(tokenizer),
        encode=encode,
        fingerprint=fingerprint,
        vocabulary=vocabulary,
        pack=pack,
        window=window,
        eos=None if eos is None else str(eos),
        pad=None if pad is None else str(pad),
        condition=where,
        dtype=dtype,
        text_field=text_field,
        text_part=text_part,
        per_line=per_line,
        special_tokens=special_tokens,
        split_special_tokens=split_special_tokens,
        bad_budget=bad_budget,
        cache=None if cache is None else os.fspath(cache),
        unit=unit,
        shard_size=shard_size,
        shard_samples=shard_samples,
        prefix=prefix,
        fsync=fsync,
        jobs=jobs,
        fresh=fresh,
        ignore_zeros=ignore_zeros,
        compress=compress,
    )
    done = finished(work, progress)
    for notice in done["report"]["notices"]:
        warnings.warn(notice, stacklevel=2)
    return Built(done["report"] | {"fill": done["fill"], "problems": []} | done["manifest"])


def main() -> int:
    """The command `pack`: runs the arguments of this process and returns the exit code.

    The package installs it as `tarflume`, too, because other tools are called `pack`.
    """
    # As in a separate program: commands that write install a handler, others end at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    name = os.path.basename(sys.argv[0])
    return _core.pack_command([name if name == "tarflume" else "pack", *sys.argv[1:]])
