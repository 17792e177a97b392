//! `stats()["fetch"]`: counters of a store and of the cache of this machine, as a dict.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tarflume::{CacheStats, FetchStats};

/// Requests to a store.
pub(crate) fn fetched<'py>(py: Python<'py>, fetch: &FetchStats) -> PyResult<Bound<'py, PyDict>> {
    let of = PyDict::new(py);
    of.set_item("requests", fetch.requests)?;
    of.set_item("retries", fetch.retries)?;
    of.set_item("hedges", fetch.hedges)?;
    of.set_item("throttled", fetch.throttled)?;
    of.set_item("bytes", fetch.bytes)?;
    of.set_item("first_byte_p50_s", fetch.first_byte_p50.as_secs_f64())?;
    of.set_item("first_byte_p95_s", fetch.first_byte_p95.as_secs_f64())?;
    of.set_item("usd", fetch.usd())?;
    of.set_item("cache", fetch.cache.map(|cache| cached(py, &cache)).transpose()?)?;
    Ok(of)
}

/// What was read from the cache of this machine.
fn cached<'py>(py: Python<'py>, cache: &CacheStats) -> PyResult<Bound<'py, PyDict>> {
    let of = PyDict::new(py);
    of.set_item("bytes", cache.bytes)?;
    of.set_item("hits", cache.hits)?;
    of.set_item("hit_bytes", cache.hit_bytes)?;
    of.set_item("misses", cache.misses)?;
    of.set_item("fills", cache.fills)?;
    of.set_item("evictions", cache.evictions)?;
    of.set_item("damaged", cache.damaged)?;
    of.set_item("errors", cache.errors)?;
    Ok(of)
}
