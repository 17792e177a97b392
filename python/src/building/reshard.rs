//! `pack_reshard`: starts to pack the samples of existing shards into other shards.

use std::path::PathBuf;

use pyo3::prelude::*;
use tarflume_base::Stop;
use tarflume_base::check::CheckLevel;
use tarflume_packer::build::{BuildOptions, KeyBy, Selection, Tars};
use tarflume_shards::workdir::Policy;

use crate::arguments::numbers::Number;
use crate::building::pack::{bucket, bytes, choice, threads};
use crate::building::packing::Work;
use crate::building::packing_words::{compression, counts, json_words};
use crate::faults::errors::usage;
use crate::faults::failures::JobFailure;
use crate::faults::url;

/// Starts to pack the samples of existing shards into other shards.
#[pyfunction]
#[pyo3(signature = (sources, out, *, conditions=Vec::new(), keys=None, exclude=Vec::new(), parts=Vec::new(),
       drop=Vec::new(), rename="", key_prefix=Vec::new(), shards=None, shard_size=None, shard_samples=None, prefix=None,
       shuffle=None, split=None, stratify=None, split_by=None, split_list=None, split_group=None, names="allow", dedupe=false, limit=None, check=None,
       on_problem="fail", entry_points=true, compress=None, columns=None, json_rules=None, jobs=None, fresh=false, dry_run=false, storage=None,
       single_writer=false, key_by="first-dot", ignore_zeros=false, provenance=Vec::new()))]
#[expect(clippy::too_many_arguments, reason = "keywords")]
pub(crate) fn pack_reshard(
    py: Python<'_>,
    sources: Vec<PathBuf>,
    out: PathBuf,
    conditions: Vec<String>,
    keys: Option<PathBuf>,
    exclude: Vec<String>,
    parts: Vec<String>,
    drop: Vec<String>,
    rename: &str,
    key_prefix: Vec<String>,
    shards: Option<Number<u64>>,
    shard_size: Option<Bound<'_, PyAny>>,
    shard_samples: Option<Number<u64>>,
    prefix: Option<String>,
    shuffle: Option<Number<u64>>,
    split: Option<String>,
    stratify: Option<String>,
    split_by: Option<String>,
    split_list: Option<String>,
    split_group: Option<String>,
    names: &str,
    dedupe: bool,
    limit: Option<Number<u64>>,
    check: Option<&str>,
    on_problem: &str,
    entry_points: bool,
    compress: Option<&str>,
    columns: Option<String>,
    json_rules: Option<&str>,
    jobs: Option<Number<u64>>,
    fresh: bool,
    dry_run: bool,
    storage: Option<Bound<'_, PyAny>>,
    single_writer: bool,
    key_by: &str,
    ignore_zeros: bool,
    provenance: Vec<String>,
) -> PyResult<Work> {
    let out = url::restored(out);
    let bucket = bucket(py, &out, storage.as_ref())?;
    if !key_prefix.is_empty() && key_prefix.len() != sources.len() {
        return Err(usage(py, "key_prefix= has one text for each source"));
    }
    let prefixes = key_prefix.into_iter().map(|text| Some(text).filter(|text| !text.is_empty()));
    let tars = sources.into_iter().zip(prefixes.chain(std::iter::repeat(None)));
    let tars = tars.map(|(path, prefix)| Tars { path, prefix }).collect();
    let shard_size = shard_size.map(|size| bytes(py, "shard_size", &size)).transpose()?;
    let [shard_samples, shards, shuffle, limit] =
        [shard_samples, shards, shuffle, limit].map(|given| given.map(|n| n.0));
    counts(py, shards, shard_samples, limit, shard_size.is_some())?;
    let usual = BuildOptions::new(Vec::new(), out);
    let options = BuildOptions {
        shard_size,
        shard_samples,
        shards,
        prefix: prefix.unwrap_or(usual.prefix),
        shuffle,
        split,
        stratify,
        split_by,
        split_list,
        split_group,
        ext_map: rename.into(),
        names: names.into(),
        key_by: choice::<KeyBy>(py, "key_by", key_by)?,
        ignore_zeros,
        provenance,
        exclude,
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
        json_rules: json_words(py, json_rules)?,
        tars,
        selection: Selection { filters: conditions, keys, parts, drop },
        ..usual
    };
    let request = py.detach(|| options.request());
    let mut request = request.map_err(|failure| JobFailure::failure(failure).raised(py))?;
    request.stop = Stop::new();
    match bucket {
        Some(bucket) => Work::build_in(bucket, request, single_writer),
        None => Work::build(request),
    }
}
