//! The compiled functions of `tarflume.pack`: from keywords to requests of the packer; and the command.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use tarflume_base::check::CheckLevel;
use tarflume_base::{Choice, Failure, Stop, size};
use tarflume_formats::Durability;
use tarflume_formats::url::url_of;
use tarflume_packer::bucket::Bucket;
use tarflume_packer::build::{BuildOptions, jobs};
use tarflume_shards::index;
use tarflume_shards::workdir::Policy;
use tarflume_tokens::build::{Input, Request, Special};
use tarflume_tokens::packing::Packing;
use tarflume_tokens::sample::Width;
use tarflume_tokens::source::{Reading, list};
use tarflume_tokens::{Condition, TokenizerOptions};
use tarflume_verify::schema::PartSchema;
use tarflume_verify::{Level, PartOptions};

use crate::arguments::numbers::Number;
use crate::arguments::storage;
use crate::arguments::words;
use crate::building::chats::{Chats, FittedLengths};
use crate::building::packing::{Work, reading};
use crate::building::packing_words::{compression, counts, json_words, typed_columns};
use crate::building::verifying::chosen_rules::ChosenRules;
use crate::building::verifying::demands::{signers, unique_fields};
use crate::building::verifying::scope::Given;
use crate::decoders::tokens::Function;
use crate::faults::errors::usage;
use crate::faults::failures::JobFailure;
use crate::faults::url;

/// The maximum number of threads.
const MANY: u64 = 1024;

/// The choice for a word; the error contains all words.
pub(crate) fn choice<T: Choice>(py: Python<'_>, what: &str, word: &str) -> PyResult<T> {
    T::from_word(word).ok_or_else(|| {
        let known: Vec<_> = T::ALL.iter().map(|choice| format!("{:?}", choice.word())).collect();
        usage(py, format!("{what}={word:?} is not known; there are {}", known.join(", ")))
    })
}

/// `jobs=`, with the limits of the command line.
pub(crate) fn threads(py: Python<'_>, number: Option<Number<u64>>) -> PyResult<Option<u64>> {
    match number.map(|n| n.0) {
        Some(n) if !(1..=MANY).contains(&n) => {
            Err(usage(py, format!("jobs={n}: a number from 1 to {MANY} is needed")))
        }
        number => Ok(number),
    }
}

/// `shard_size=`: a number of bytes, or text such as "256MiB".
pub(crate) fn bytes(py: Python<'_>, what: &str, size: &Bound<'_, PyAny>) -> PyResult<u64> {
    let text = size.str()?.to_string();
    size::parse(&text).map_err(|error| usage(py, format!("{what}={text:?}: {error}")))
}

/// Starts to build a data set.
#[pyfunction]
#[pyo3(signature = (sources, out, *, shard_size=None, shard_samples=None, shards=None, prefix=None,
       shuffle=None, require=None, label=None, classes=None, split=None, stratify=None, split_by=None, split_list=None, split_group=None, ext_map=None, ext_by_content=false, names=None, exclude=Vec::new(),
       ignore_zeros=false, join=Vec::new(), coco=Vec::new(), yolo=None, yolo_names=None, voc=None, annotations=None, pair=Vec::new(), group=None, follow_links=false, entry_points=true, dedupe=false, limit=None, check=None, on_problem="fail", jobs=None,
       fresh=false, dry_run=false, compress=None, columns=None, keep_empty=Vec::new(), json_rules=None, storage=None, single_writer=false, objects=false, provenance=Vec::new()))]
#[expect(clippy::too_many_arguments, reason = "keywords")]
pub(crate) fn pack_build(
    py: Python<'_>,
    sources: Vec<PathBuf>,
    out: PathBuf,
    shard_size: Option<Bound<'_, PyAny>>,
    shard_samples: Option<Number<u64>>,
    shards: Option<Number<u64>>,
    prefix: Option<String>,
    shuffle: Option<Number<u64>>,
    require: Option<String>,
    label: Option<String>,
    classes: Option<PathBuf>,
    split: Option<String>,
    stratify: Option<String>,
    split_by: Option<String>,
    split_list: Option<String>,
    split_group: Option<String>,
    ext_map: Option<String>,
    ext_by_content: bool,
    names: Option<String>,
    exclude: Vec<String>,
    ignore_zeros: bool,
    join: Vec<String>,
    coco: Vec<String>,
    yolo: Option<String>,
    yolo_names: Option<PathBuf>,
    voc: Option<String>,
    annotations: Option<String>,
    pair: Vec<String>,
    group: Option<String>,
    follow_links: bool,
    entry_points: bool,
    dedupe: bool,
    limit: Option<Number<u64>>,
    check: Option<&str>,
    on_problem: &str,
    jobs: Option<Number<u64>>,
    fresh: bool,
    dry_run: bool,
    compress: Option<&str>,
    columns: Option<String>,
    keep_empty: Vec<String>,
    json_rules: Option<&str>,
    storage: Option<Bound<'_, PyAny>>,
    single_writer: bool,
    objects: bool,
    provenance: Vec<String>,
) -> PyResult<Work> {
    let out = url::restored(out);
    let bucket = bucket(py, &out, storage.as_ref())?;
    let usual = BuildOptions::new(sources, out);
    let [shard_samples, shards, shuffle, limit] =
        [shard_samples, shards, shuffle, limit].map(|given| given.map(|n| n.0));
    let shard_size = shard_size.map(|size| bytes(py, "shard_size", &size)).transpose()?;
    counts(py, shards, shard_samples, limit, shard_size.is_some())?;
    let options = BuildOptions {
        shard_size,
        shard_samples,
        shards,
        prefix: prefix.unwrap_or(usual.prefix),
        shuffle,
        require,
        label,
        classes,
        split,
        stratify,
        split_by,
        split_list,
        split_group,
        ext_map: ext_map.unwrap_or(usual.ext_map),
        ext_by_content,
        objects,
        provenance,
        names: names.unwrap_or(usual.names),
        exclude,
        ignore_zeros,
        join,
        coco,
        yolo,
        yolo_names,
        voc,
        annotations,
        pair,
        group,
        follow_links,
        entry_points,
        dedupe,
        limit,
        check: check.map(|check| choice::<CheckLevel>(py, "check", check)).transpose()?,
        on_problem: choice::<Policy>(py, "on_problem", on_problem)?,
        jobs: threads(py, jobs)?,
        fresh,
        dry_run,
        compress: compression(py, compress)?,
        columns,
        keep_empty,
        json_rules: json_words(py, json_rules)?,
        ..usual
    };
    let request = py.detach(|| options.request());
    let mut request = request.map_err(|failure| raised(py, failure))?;
    request.stop = Stop::new();
    match bucket {
        Some(bucket) => Work::build_in(bucket, request, single_writer),
        None => Work::build(request),
    }
}

/// The place of a build in a store; `None` if `out` is a local folder.
pub(crate) fn bucket(
    py: Python<'_>,
    out: &Path,
    storage: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Bucket>> {
    let pairs = storage::pairs(py, storage)?;
    let Some(url) = url_of(out) else {
        return match storage {
            Some(_) => {
                Err(usage(py, "storage= is for a data set at a URL such as s3://bucket/set"))
            }
            None => Ok(None),
        };
    };
    let opened = Bucket::open(url, &pairs);
    opened.map(Some).map_err(|failure| raised(py, failure))
}

/// Starts to verify data sets and tars.
#[pyfunction]
#[pyo3(signature = (paths, *, level=None, require=None, profiles=Vec::new(), schemas=Vec::new(), json_rules=None, jobs=None, storage=None,
       ignore_zeros=false, require_checksums=false, objects=false, signed_by=Vec::new(), sample=None, seed=0, slice=None, time_budget=None,
       cache=None, changed_since=None, manifest_only=false, unique=Vec::new(), policy=None, select=Vec::new(), ignore=Vec::new(),
       baseline=None))]
#[expect(clippy::too_many_arguments, reason = "keywords")]
pub(crate) fn pack_verify(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    level: Option<&str>,
    require: Option<Vec<String>>,
    profiles: Vec<String>,
    schemas: Vec<String>,
    json_rules: Option<&str>,
    jobs: Option<Number<u64>>,
    storage: Option<Bound<'_, PyAny>>,
    ignore_zeros: bool,
    require_checksums: bool,
    objects: bool,
    signed_by: Vec<String>,
    sample: Option<&str>,
    seed: u64,
    slice: Option<&str>,
    time_budget: Option<f64>,
    cache: Option<PathBuf>,
    changed_since: Option<String>,
    manifest_only: bool,
    unique: Vec<String>,
    policy: Option<PathBuf>,
    select: Vec<String>,
    ignore: Vec<String>,
    baseline: Option<PathBuf>,
) -> PyResult<Work> {
    let given = Given { sample, seed, slice, time_budget, cache, changed_since, manifest_only };
    let level = level.map(|word| choice::<Level>(py, "level", word)).transpose()?;
    let chosen = ChosenRules { policy, select, ignore, baseline };
    let rules = chosen.rules().map_err(|failure| raised(py, failure))?;
    let policy = rules.policy.clone();
    let profiles: PyResult<_> = profiles
        .iter()
        .map(|word| choice::<tarflume_verify::Profile>(py, "profiles", word))
        .collect();
    let options = tarflume_verify::Options {
        scope: given.scope(py)?,
        rules,
        require,
        profiles: profiles?,
        schemas: schemas
            .iter()
            .map(|text| PartSchema::parse(text))
            .collect::<Result<_, _>>()
            .map_err(|failure| raised(py, failure))?,
        objects,
        require_checksums,
        signers: signers(py, &signed_by)?,
        json: json_words(py, json_rules)?,
        ignore_zeros,
        jobs: self::jobs(threads(py, jobs)?),
        storage: storage::pairs(py, storage.as_ref())?,
        parts: PartOptions { unique: unique_fields(py, &unique)? },
        ..tarflume_verify::Options::new(level.unwrap_or(Level::Full))
    };
    let mut paths: Vec<PathBuf> = paths.into_iter().map(url::restored).collect();
    let options = match policy {
        Some(policy) => {
            if paths.is_empty() {
                paths = policy.set_paths().map_err(|failure| raised(py, failure))?;
            }
            policy.complete(options, level).map_err(|failure| raised(py, failure))?
        }
        None => options,
    };
    Work::verify(paths, options)
}

/// Starts to index tars.
#[pyfunction]
#[pyo3(signature = (paths, *, headers=false, entry_points=false, columns=None, json_rules=None, split_by=None, force=false,
       accept_edits=false, allow_missing_end=false, jobs=None, storage=None, ignore_zeros=false))]
#[expect(clippy::too_many_arguments, reason = "keywords")]
pub(crate) fn pack_index(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    headers: bool,
    entry_points: bool,
    columns: Option<&str>,
    json_rules: Option<&str>,
    split_by: Option<&str>,
    force: bool,
    accept_edits: bool,
    allow_missing_end: bool,
    jobs: Option<Number<u64>>,
    storage: Option<Bound<'_, PyAny>>,
    ignore_zeros: bool,
) -> PyResult<Work> {
    if headers && entry_points {
        return Err(usage(
            py,
            "headers=True reads no JPEG, but entry_points=True reads every byte: give only one of them",
        ));
    }
    if headers && columns.is_some() {
        return Err(usage(py, "headers=True reads no part for columns=: give only one"));
    }
    if split_by.is_some_and(|word| word != "source") {
        return Err(usage(py, "split_by= is \"source\", the names of the shards, or None"));
    }
    let options = index::Options {
        reading: reading(headers),
        entry_points,
        splits: split_by.is_some(),
        force,
        accept_edits,
        allow_missing_end,
        ignore_zeros,
        columns: typed_columns(py, columns)?
            .unwrap_or_default()
            .with_rules(json_words(py, json_rules)?.unwrap_or_default()),
        jobs: self::jobs(threads(py, jobs)?),
        stop: Stop::new(),
        storage: storage::pairs(py, storage.as_ref())?,
    };
    Work::index(paths.into_iter().map(url::restored).collect(), options)
}

/// Starts to tokenize text and to pack it.
#[pyfunction]
#[pyo3(signature = (sources, out, length=None, *, chats, lengths, tokenizer=None, encode=None, fingerprint=None,
       vocabulary=None, pack=None, window=None, eos=None, pad=None, condition=None, dtype=None, text_field="text",
       text_part="txt", per_line=false, special_tokens=false, split_special_tokens=false, bad_budget=None,
       cache=None, unit=None, shard_size=None, shard_samples=None, prefix="shard", fsync=true, jobs=None,
       fresh=false, ignore_zeros=false, compress=None))]
#[expect(clippy::too_many_arguments, reason = "keywords")]
pub(crate) fn pack_tokens(
    py: Python<'_>,
    sources: Vec<PathBuf>,
    out: PathBuf,
    length: Option<Number<usize>>,
    chats: &Chats,
    lengths: &FittedLengths,
    tokenizer: Option<PathBuf>,
    encode: Option<Py<PyAny>>,
    fingerprint: Option<&str>,
    vocabulary: Option<Number<u64>>,
    pack: Option<&str>,
    window: Option<Number<usize>>,
    eos: Option<String>,
    pad: Option<String>,
    condition: Option<&str>,
    dtype: Option<&str>,
    text_field: &str,
    text_part: &str,
    per_line: bool,
    special_tokens: bool,
    split_special_tokens: bool,
    bad_budget: Option<Number<u64>>,
    cache: Option<PathBuf>,
    unit: Option<Bound<'_, PyAny>>,
    shard_size: Option<Bound<'_, PyAny>>,
    shard_samples: Option<Number<u64>>,
    prefix: &str,
    fsync: bool,
    jobs: Option<Number<u64>>,
    fresh: bool,
    ignore_zeros: bool,
    compress: Option<&str>,
) -> PyResult<Work> {
    let vocabulary = vocabulary.map(|n| n.0);
    let encoder = match (tokenizer, encode, fingerprint) {
        (Some(path), None, None) => {
            let options =
                TokenizerOptions { add_special_tokens: special_tokens, split_special_tokens };
            let opened = py.detach(|| chats.encoder(&path, options));
            Some(opened.map_err(|failure| raised(py, failure))?)
        }
        (None, Some(_), Some(_)) if chats.rows.are_conversations() => {
            let text = "encode= gives no places of ids in the text, which conversations need; give tokenizer=";
            return Err(usage(py, text));
        }
        (None, Some(function), Some(name)) => Some(Function::encoder(function, name, vocabulary)),
        (None, Some(_), None) => {
            let text = "encode= needs fingerprint=: a name of the tokenizer and its settings, under which \
                        ids are cached; give another name when the ids change";
            return Err(usage(py, text));
        }
        (None, None, None) => None,
        _ => return Err(usage(py, "give tokenizer=, or encode= with fingerprint=")),
    };
    let rows = chats.rows.clone();
    let reading =
        Reading { rows, field: text_field.into(), part: text_part.into(), per_line, ignore_zeros };
    let input = match (Input::megatron(&sources), encoder) {
        (Some(prefixes), None) => Input::Megatron(prefixes),
        (Some(_), Some(_)) => return Err(usage(py, "Megatron files have ids: give no tokenizer")),
        (None, Some(encoder)) => {
            let listed = py.detach(|| list(&sources, &reading));
            Input::Text(listed.map_err(|failure| raised(py, failure))?, encoder)
        }
        (None, None) => return Err(usage(py, "text needs tokenizer= or encode=")),
    };
    let condition = condition.map(Condition::parse).transpose();
    let length = length.map(|n| n.0);
    let packings =
        [("bfd", Packing::BestFit), ("concat", Packing::Concat), ("rows", Packing::Rows)];
    let packing = pack.map(|word| words::one_of(py, "pack", word, &packings)).transpose()?;
    let packing = Packing::asked(packing, length, chats.rows.are_conversations());
    let usual = Request::new(input, out, length.unwrap_or(0));
    Work::tokens(Request {
        packing: packing.map_err(|failure| raised(py, failure))?,
        lengths: lengths.0,
        window: window.map_or(usual.window, |n| n.0),
        eos: eos.as_deref().map(Special::parse),
        pad: pad.as_deref().map(Special::parse),
        width: dtype
            .map(|word| {
                words::one_of(py, "dtype", word, &[("uint16", Width::U16), ("uint32", Width::U32)])
            })
            .transpose()?,
        condition: condition.map_err(|told| usage(py, format!("where=: {told}")))?,
        vocabulary,
        bad_budget: bad_budget.map_or(usual.bad_budget, |n| n.0),
        cache,
        unit: unit.map_or(Ok(usual.unit), |unit| bytes(py, "unit", &unit))?,
        shard_size: shard_size
            .map_or(Ok(usual.shard_size), |size| bytes(py, "shard_size", &size))?,
        shard_samples: shard_samples.map(|n| n.0),
        prefix: prefix.into(),
        compress: compression(py, compress)?,
        durability: if fsync { Durability::Synced } else { Durability::Cached },
        jobs: self::jobs(threads(py, jobs)?),
        fresh,
        ..usual
    })
}

/// Runs the command `pack` with `words`, whose first is the program's name; returns the exit code.
#[pyfunction]
pub(crate) fn pack_command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| tarflume_cli::run(words))
}

fn raised(py: Python<'_>, failure: Failure) -> PyErr {
    JobFailure::failure(failure).raised(py)
}
