//! Which rows an index names, by NumPy's rules for the first dimension.

use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList, PySlice, PyTuple};

/// The rows of an index.
pub(crate) enum RowIndex {
    /// A number: one row, without a dimension for rows.
    One(u64),
    /// A slice, a list of numbers, or a mask.
    Several(Vec<u64>),
}

impl RowIndex {
    /// Reads an index into `length` rows: a number, a slice, a list or an array of numbers, or a list or an array of as
    /// many booleans as there are rows. Negative numbers count from the end.
    ///
    /// # Errors
    /// `IndexError`: a row that does not exist, or a mask of another length. `TypeError`: anything else, such as a
    /// single boolean, several indexes, fractions, or an array of two dimensions.
    pub(crate) fn of(index: &Bound<'_, PyAny>, length: u64) -> PyResult<RowIndex> {
        if let Ok(slice) = index.cast::<PySlice>() {
            let found = slice.indices(length as isize)?;
            let steps = 0..found.slicelength as isize;
            let rows = steps.map(|n| (found.start + n * found.step) as u64);
            return Ok(RowIndex::Several(rows.collect()));
        }
        if index.is_instance_of::<PyTuple>() {
            let text = "one index is taken, that of rows: rows[[1, 0]] for two rows, rows[1][0] for an element of a row";
            return Err(PyTypeError::new_err(text));
        }
        // Arrays, tensors and columns become lists, and arrays without a dimension their value.
        let listed = match index.getattr("tolist") {
            Ok(method) => method.call0()?,
            Err(_) => index.clone(),
        };
        let Ok(list) = listed.cast::<PyList>() else {
            return Ok(RowIndex::One(row_of(&listed, length)?));
        };
        if list.iter().next().is_some_and(|first| first.is_instance_of::<PyBool>()) {
            return masked(list, length);
        }
        let rows = list.iter().map(|row| row_of(&row, length));
        Ok(RowIndex::Several(rows.collect::<PyResult<_>>()?))
    }
}

/// The rows at which a mask is true.
fn masked(mask: &Bound<'_, PyList>, length: u64) -> PyResult<RowIndex> {
    if mask.len() as u64 != length {
        let text = format!("a mask of {} booleans for {length} rows", mask.len());
        return Err(PyIndexError::new_err(text));
    }
    let mut rows = Vec::new();
    for (row, taken) in mask.iter().enumerate() {
        let Ok(taken) = taken.cast::<PyBool>() else {
            return Err(PyTypeError::new_err(format!("row {row} of a mask is not True or False")));
        };
        if taken.is_true() {
            rows.push(row as u64);
        }
    }
    Ok(RowIndex::Several(rows))
}

fn row_of(index: &Bound<'_, PyAny>, length: u64) -> PyResult<u64> {
    let number = match index.extract::<i64>() {
        Ok(number) if !index.is_instance_of::<PyBool>() => number,
        _ => {
            let kind = index.get_type().name()?;
            let text = format!(
                "a row is named by a whole number, not by {kind}; rows by a slice, a list of numbers, or a mask of \
                 {length} booleans"
            );
            return Err(PyTypeError::new_err(text));
        }
    };
    let at = if number < 0 { number.checked_add_unsigned(length) } else { Some(number) };
    match at {
        Some(at) if at >= 0 && (at as u64) < length => Ok(at as u64),
        _ => Err(PyIndexError::new_err(format!("row {number} of {length}"))),
    }
}
