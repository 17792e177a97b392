//! `storage=`: a dict of how a store is reached, for data sets and builds at URLs.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use tarflume::{Size, Storage};
use tarflume_formats::message;

use crate::faults::errors::{OrRaise, usage};

/// Names and values of a `storage` argument, as text.
pub(crate) type Pairs = Vec<(String, String)>;

/// Reads a `storage` argument. True and False become `true` and `false`.
pub(crate) fn pairs(py: Python<'_>, given: Option<&Bound<'_, PyAny>>) -> PyResult<Pairs> {
    let Some(given) = given else { return Ok(Vec::new()) };
    let Ok(dict) = given.cast::<PyDict>() else {
        let text = "storage= takes a dict such as {\"endpoint\": \"http://localhost:8333\"}";
        return Err(usage(py, text)); // the value may hold a secret: it is not shown
    };
    let mut pairs = Pairs::new();
    for (name, value) in dict.iter().filter(|(_, value)| !value.is_none()) {
        let text = match value.cast::<PyBool>() {
            Ok(flag) => flag.is_true().to_string(),
            Err(_) => value.str()?.to_string(),
        };
        pairs.push((name.str()?.to_string(), text));
    }
    Ok(pairs)
}

/// Reads the `storage` and `cache` arguments of a data set or a loader.
pub(crate) fn pairs_with_cache(
    py: Python<'_>,
    storage: Option<&Bound<'_, PyAny>>,
    cache: Option<&Bound<'_, PyAny>>,
) -> PyResult<Pairs> {
    let mut pairs = pairs(py, storage)?;
    if let Some(size) = cache.filter(|size| !size.is_none()) {
        pairs.push(("cache".into(), size.str()?.to_string()));
    }
    Ok(pairs)
}

/// The storage that the pairs describe: `readahead`, `hole`, `sidecars`, `cache` and `cache_folder` are of the reader,
/// all others of the store.
pub(crate) fn storage(py: Python<'_>, pairs: &[(String, String)]) -> PyResult<Storage> {
    let mut storage = Storage::new();
    for (name, value) in pairs {
        storage = match name.as_str() {
            "readahead" => storage.readahead(size(py, name, value)?),
            "hole" => storage.hole(size(py, name, value)?),
            "sidecars" => storage.sidecars(value),
            "cache" => storage.cache(size(py, name, value)?),
            "cache_folder" => storage.cache_folder(value),
            _ => storage.option(name, value).or_raise(py)?,
        };
    }
    Ok(storage)
}

/// Parses the size of an option; an error names the option.
fn size(py: Python<'_>, name: &str, text: &str) -> PyResult<Size> {
    text.parse().map_err(|error: tarflume::Error| {
        usage(py, message!("{name}: {why}"; why = error.message()))
    })
}
