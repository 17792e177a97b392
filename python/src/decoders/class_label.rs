//! `ClassLabel`: the column of class labels that are parts, as a Python class.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tarflume::Decode;

use crate::arguments::constructor_args::{ConstructorArgs, NewArgs, again};
use crate::arguments::words;
use crate::faults::errors::OrRaise;
use crate::faults::unknown_keywords;

/// A class label: a part that contains a whole number in decimal, such as WebDataset's `.cls`. Each row is a
/// number of `dtype`.
#[pyclass(frozen, module = "tarflume")]
pub struct ClassLabel(pub(crate) (Arc<dyn Decode>, bool), ConstructorArgs);

#[pymethods]
impl ClassLabel {
    #[new]
    #[pyo3(signature = (part = "cls", *, dtype = "int64", **unknown),
           text_signature = "(part='cls', *, dtype='int64')")]
    fn new(
        py: Python<'_>,
        part: &str,
        #[pyo3(from_py_with = words::dtype_word)] dtype: &str,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        unknown_keywords::refuse::<ClassLabel>(py, unknown)?;
        let again = again!(py, part, dtype);
        let label = tarflume::Class::new(part).dtype(words::dtype(py, dtype)?);
        label.validate().or_raise(py)?;
        Ok(ClassLabel((Arc::new(label), false), again))
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        self.1.words(py)
    }
}
