//! What lies on the pictures of a batch, picture by picture.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tarflume::internal::ObjectRows;

use crate::batches::draws::Given;
use crate::batches::ragged::Ragged;
use crate::faults::errors::usage;

/// For each row of `batch`, the objects of all columns of annotations by their names.
pub(crate) fn targets<'py>(
    py: Python<'py>,
    batch: &std::sync::Arc<tarflume::Batch>,
    given: &Given,
) -> PyResult<Bound<'py, PyList>> {
    let mut columns = Vec::new();
    for name in given.names() {
        let objects = given.objects(name);
        if matches!(objects, Some(ObjectRows::Numbers(_) | ObjectRows::Masks)) {
            columns.push((name, Bound::new(py, Ragged::new(batch, name, false, objects))?));
        }
    }
    if columns.is_empty() {
        return Err(usage(
            py,
            "the loader has no columns of objects: give boxes=tarflume.Boxes(\"/boxes\", format=\"xywh\")",
        ));
    }
    let targets = PyList::empty(py);
    for row in 0..batch.len() {
        let target = PyDict::new(py);
        for (name, column) in &columns {
            target.set_item(name, column.get_item(row)?)?;
        }
        targets.append(target)?;
    }
    Ok(targets)
}
