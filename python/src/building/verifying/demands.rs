//! What is demanded of data sets: signatures, and values that differ.

use pyo3::prelude::*;
use tarflume_verify::UniqueField;
use tarflume_verify::signature::Signers;

use crate::faults::errors::usage;
use crate::faults::failures::JobFailure;

/// The keys that may have signed; `None` if no signature is demanded.
pub(in crate::building) fn signers(py: Python<'_>, words: &[String]) -> PyResult<Option<Signers>> {
    if words.is_empty() {
        return Ok(None);
    }
    Signers::read(words).map(Some).map_err(|failure| JobFailure::failure(failure).raised(py))
}

/// The fields whose values must differ.
pub(in crate::building) fn unique_fields(
    py: Python<'_>,
    words: &[String],
) -> PyResult<Vec<UniqueField>> {
    let fields = words.iter().map(|word| UniqueField::parse(word));
    fields.collect::<Result<_, String>>().map_err(|why| usage(py, format!("unique={why}")))
}
