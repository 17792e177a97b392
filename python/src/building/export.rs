//! `pack_export`: starts to write a data set in another format.

use std::path::PathBuf;

use pyo3::prelude::*;
use tarflume_base::Stop;
use tarflume_export::{Encoding, ExportOptions, Format, JsonAs, Numbers};
use tarflume_formats::Durability;
use tarflume_packer::build::jobs as jobs_of;

use crate::arguments::numbers::Number;
use crate::arguments::storage;
use crate::building::pack::{bytes, choice, threads};
use crate::building::packing::{ExportSource, Work};
use crate::building::packing_words::json_words;
use crate::faults::errors::usage;
use crate::faults::url;

/// Starts to write a data set in another format.
#[pyfunction]
#[pyo3(signature = (path, out, *, to, parts=None, json=None, numbers="exact", json_rules=None, encodings=Vec::new(), shard_size=None, jobs=None,
       fsync=true, storage=None, names=None, ignore_zeros=false))]
#[expect(clippy::too_many_arguments, reason = "keywords")]
pub(crate) fn pack_export(
    py: Python<'_>,
    path: PathBuf,
    out: PathBuf,
    to: &str,
    parts: Option<Vec<String>>,
    json: Option<&str>,
    numbers: &str,
    json_rules: Option<&str>,
    encodings: Vec<(String, String)>,
    shard_size: Option<Bound<'_, PyAny>>,
    jobs: Option<Number<u64>>,
    fsync: bool,
    storage: Option<Bound<'_, PyAny>>,
    names: Option<&str>,
    ignore_zeros: bool,
) -> PyResult<Work> {
    let storage = storage::pairs(py, storage.as_ref())?;
    let source = ExportSource { path: url::restored(path), storage, ignore_zeros };
    let clean_names = match names {
        None | Some("path=refuse") => false,
        Some("path=replace") => true,
        Some(other) => {
            return Err(usage(py, format!("names={other:?}: give \"path=replace\"")));
        }
    };
    if to == "megatron" {
        let is_of_samples = parts.is_some()
            || json.is_some()
            || json_rules.is_some()
            || !encodings.is_empty()
            || names.is_some()
            || shard_size.is_some();
        if is_of_samples || numbers != "exact" || jobs.is_some() || !fsync {
            let text = "parts, json, numbers, json_rules, encodings, names, shard_size, jobs and fsync are not for \
                        to=\"megatron\", which writes all documents into one pair of files with one thread and syncs them";
            return Err(usage(py, text));
        }
        return Work::export_tokens(source, out, Stop::new());
    }
    let options = ExportOptions {
        parts: parts.map(|parts| parts.iter().map(|ext| ext.to_ascii_lowercase()).collect()),
        json: json.map(|word| choice::<JsonAs>(py, "json", word)).transpose()?,
        numbers: choice::<Numbers>(py, "numbers", numbers)?,
        rules: json_words(py, json_rules)?,
        encodings: encodings
            .into_iter()
            .map(|(ext, word)| {
                Ok((ext.to_ascii_lowercase(), choice::<Encoding>(py, "encodings", &word)?))
            })
            .collect::<PyResult<_>>()?,
        clean_names,
        file_size: shard_size.map(|size| bytes(py, "shard_size", &size)).transpose()?,
        jobs: jobs_of(threads(py, jobs)?),
        durability: if fsync { Durability::Synced } else { Durability::Cached },
        stop: Stop::new(),
        ..ExportOptions::new(choice::<Format>(py, "to", to)?)
    };
    Work::export(source, out, options)
}
