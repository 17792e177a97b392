//! `Delivery`: the form in which a loader yields batches, `deliver=` and `collate=`.

use pyo3::exceptions::{PyRuntimeError, PyStopIteration};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arguments::words::{self, Form};
use crate::batches::batch::Batch;
use crate::faults::errors::usage;

/// How a loader yields batches.
pub(crate) struct Delivery {
    form: Form,
    collate: Option<Py<PyAny>>,
}

impl Delivery {
    /// # Errors
    /// The word is unknown, or `collate` cannot be called.
    pub(crate) fn new(
        py: Python<'_>,
        form: &str,
        collate: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Delivery> {
        let form = words::form(py, form)?;
        if let Some(function) = collate.as_ref().filter(|function| !function.is_callable()) {
            let text = format!("collate= takes a function of a batch, not {}", function.repr()?);
            return Err(usage(py, text));
        }
        Ok(Delivery { form, collate: collate.map(Bound::unbind) })
    }

    /// True if batches are changed by a function, whose time counts as transforming.
    pub(crate) fn collates(&self) -> bool {
        self.collate.is_some()
    }

    /// What the loader yields for `batch`.
    ///
    /// # Errors
    /// The exception of the function, with a note that names it.
    pub(crate) fn made<'py>(&self, py: Python<'py>, batch: Batch) -> PyResult<Bound<'py, PyAny>> {
        let epoch = batch.epoch();
        let step = batch.step();
        let formed = match self.form {
            Form::Batch => Bound::new(py, batch)?.into_any(),
            Form::Tuple => PyTuple::new(py, batch.given(py)?)?.into_any(),
            Form::Dict => {
                let dict = PyDict::new(py);
                for (name, column) in batch.all(py)? {
                    dict.set_item(name, column)?;
                }
                dict.into_any()
            }
        };
        let Some(function) = &self.collate else { return Ok(formed) };
        let function = function.bind(py);
        function.call1((formed,)).map_err(|error| {
            let note = format!(
                "in collate={}, called with batch {step} of epoch {epoch}",
                name_of(function).unwrap_or_else(|_| "function".into())
            );
            let error = no_end(py, error);
            let noted = error.value(py).call_method1("add_note", (note,));
            noted.err().unwrap_or(error)
        })
    }
}

/// `StopIteration` of a user's function as a `RuntimeError`, as a generator raises it: otherwise it would look like the
/// end of the epoch.
fn no_end(py: Python<'_>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyStopIteration>(py) {
        return error;
    }
    let raised = PyRuntimeError::new_err("the function raised StopIteration");
    raised.set_cause(py, Some(error));
    raised
}

/// The name of a function, or its `repr`.
fn name_of(function: &Bound<'_, PyAny>) -> PyResult<String> {
    match function.getattr("__qualname__") {
        Ok(name) => name.extract(),
        Err(_) => function.repr()?.extract(),
    }
}
