//! Unknown keywords of constructors: an error with the keyword that was probably meant.

use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::faults::errors::usage;

/// Keywords of a loader, which `Dataset` does not take.
const OF_A_LOADER: [&str; 15] = [
    "image",
    "label",
    "views",
    "boxes",
    "masks",
    "keypoints",
    "mask",
    "columns",
    "batch_size",
    "shuffle",
    "seed",
    "rank",
    "world_size",
    "num_threads",
    "device",
];

/// Refuses keywords that the constructor of `T` does not have.
///
/// # Errors
/// `UsageError`: there is one.
pub(crate) fn refuse<T: PyTypeInfo>(
    py: Python<'_>,
    unknown: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    let Some(name) = unknown.and_then(|unknown| unknown.keys().iter().next()) else {
        return Ok(());
    };
    let name = name.extract::<String>()?;
    let class = py.get_type::<T>();
    let of = class.name()?.to_string();
    let signature: String = class.getattr("__text_signature__")?.extract()?;
    let known: Vec<&str> = names(&signature).collect();
    let near = py.import("difflib")?.getattr("get_close_matches")?;
    let near: Vec<String> = near.call1((&name, known, 1))?.extract()?;
    let meant = match near.first() {
        _ if of == "Dataset" && OF_A_LOADER.contains(&name.as_str()) => {
            "tarflume.Loader takes it".to_string()
        }
        Some(near) => format!("did you mean {near}=?"),
        None => format!("help(tarflume.{of}) lists all"),
    };
    Err(usage(py, format!("tarflume.{of} takes no {name}=; {meant}")))
}

/// The names of the parameters of a signature: those of `(size, *, flip=0.0)` are `size` and `flip`.
fn names(signature: &str) -> impl Iterator<Item = &str> {
    let parameters = signature.trim_matches(['(', ')']).split(',');
    let names = parameters.map(|one| one.split('=').next().unwrap_or(one).trim());
    names.filter(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
}
