//! What lies on the pictures of a batch, picture by picture.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::faults::errors::usage;

/// A column of annotations by its name.
pub(crate) type Named<'a, 'py> = (&'a str, Bound<'py, PyAny>);

/// For each of `rows` rows, the objects of all columns of annotations by their names.
pub(crate) fn targets<'py>(
    py: Python<'py>,
    columns: &[Named<'_, 'py>],
    rows: usize,
) -> PyResult<Bound<'py, PyList>> {
    if columns.is_empty() {
        return Err(usage(
            py,
            "the loader has no columns of objects: give boxes=tarflume.Boxes(\"/boxes\", format=\"xywh\")",
        ));
    }
    let targets = PyList::empty(py);
    for row in 0..rows {
        let target = PyDict::new(py);
        for (name, column) in columns {
            target.set_item(name, column.get_item(row)?)?;
        }
        targets.append(target)?;
    }
    Ok(targets)
}
