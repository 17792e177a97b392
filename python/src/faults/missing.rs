//! `AttributeError`s that show the line to write: for what tensors and arrays have, and columns and batches lack.

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;

/// The error for an attribute that `class` lacks. If tensors of PyTorch have it, the text shows how to get one of
/// `expression`.
pub(crate) fn attribute(py: Python<'_>, class: &str, name: &str, expression: &str) -> PyErr {
    let mut text = format!("'{class}' object has no attribute '{name}'");
    if !name.starts_with('_') && is_of_tensors(py, name) {
        text += &format!(
            "; a tensor has: torch.from_dlpack({expression}).{name}, and the batches of tarflume.torch.Loader \
             are tensors"
        );
    }
    PyAttributeError::new_err(text)
}

/// True if PyTorch is imported, and its tensors have this attribute.
fn is_of_tensors(py: Python<'_>, name: &str) -> bool {
    let modules = py.import("sys").and_then(|sys| sys.getattr("modules"));
    let tensor = modules
        .and_then(|modules| modules.get_item("torch"))
        .and_then(|torch| torch.getattr("Tensor"));
    tensor.and_then(|tensor| tensor.hasattr(name)).unwrap_or(false)
}
