//! Options of packing that are checked here: compression, typed columns, the rules of JSON, numbers of shards.

use pyo3::prelude::*;
use tarflume::JsonRules;
use tarflume_base::Columns;
use tarflume_base::compress::Compress;

use crate::faults::errors::usage;
use crate::faults::failures::JobFailure;

/// `compress=`: "zstd" or "zstd:LEVEL".
pub(crate) fn compression(py: Python<'_>, given: Option<&str>) -> PyResult<Option<Compress>> {
    let parsed = given.map(Compress::parse).transpose();
    parsed.map_err(|why| usage(py, format!("compress=: {why}")))
}

/// `columns=`: "class:u32,split:str".
pub(crate) fn typed_columns(py: Python<'_>, given: Option<&str>) -> PyResult<Option<Columns>> {
    let parsed = given.map(Columns::parse).transpose();
    parsed.map_err(|failure| JobFailure::failure(failure).raised(py))
}

/// `json_rules=`: "strict" or "python".
pub(crate) fn json_words(py: Python<'_>, given: Option<&str>) -> PyResult<Option<JsonRules>> {
    given.map(|word| crate::arguments::words::json_rules(py, "json_rules", word)).transpose()
}

/// Refuses numbers of shards and samples that are 0 or exclude each other.
pub(crate) fn counts(
    py: Python<'_>,
    shards: Option<u64>,
    shard_samples: Option<u64>,
    limit: Option<u64>,
    has_size: bool,
) -> PyResult<()> {
    if shards.is_some() && (has_size || shard_samples.is_some()) {
        return Err(usage(py, "give shards=, or shard_size= and shard_samples=, but not both"));
    }
    for (what, number) in [("shards", shards), ("shard_samples", shard_samples), ("limit", limit)] {
        if number == Some(0) {
            return Err(usage(py, format!("{what}=0: at least 1 is needed")));
        }
    }
    Ok(())
}
