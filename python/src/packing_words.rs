//! Words of packing options: compression and typed columns.

use pyo3::prelude::*;
use tarflume_packer::Compress;
use tarflume_packer::columns::Columns;

use crate::errors::usage;
use crate::failures::JobFailure;

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
