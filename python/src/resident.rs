//! `Resident`: how a data set stays in a GPU's memory, as `resident=` takes it.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tarflume::{Residency, ResidentSize, Size};

use crate::again::{Again, NewArgs, again};
use crate::errors::{OrRaise, usage};
use crate::numbers::Number;

/// Keeps the data set in the memory of the GPU that batches go to: the first epoch begins by filling it,
/// and no later one reads or decodes. Split by shard, each rank keeps its own.
///
/// `budget` is the most memory for it, as "100GiB"; if the data set does not fit, making the loader says
/// so. Pictures stay whole, in their own shape, with at most `side * side` pixels, and every epoch cuts
/// its own crops out of them; `format="yuv420"` keeps them in half the bytes, with colors at half the
/// resolution, as most JPEGs have them; `format="jpeg"` keeps the JPEGs, which the GPU decodes for each
/// batch. Columns of texts and raw files are read as ever.
#[pyclass(frozen, module = "tarflume")]
pub struct Resident(Residency, Again);

#[pymethods]
impl Resident {
    #[new]
    #[pyo3(signature = (budget, *, side = Number(256), format = "rgb"),
           text_signature = "(budget, *, side=256, format='rgb')")]
    fn new(py: Python<'_>, budget: &str, side: Number<u32>, format: &str) -> PyResult<Resident> {
        let Number(side) = side;
        let again = again!(py, budget, side, format);
        let residency = Residency::within(budget.parse::<Size>().or_raise(py)?).side(side);
        let residency = match format {
            "rgb" => residency,
            "yuv420" => residency.yuv420(),
            "jpeg" => residency.compressed(),
            other => {
                let text = format!(
                    "format={other:?} is not known; there are \"rgb\", \"yuv420\", \"jpeg\""
                );
                return Err(usage(py, text));
            }
        };
        Ok(Resident(residency, again))
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        self.1.words(py)
    }
}

/// What `resident=` stands for: a `Resident`, or a budget alone.
pub(crate) fn residency(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Residency> {
    if let Ok(resident) = object.cast::<Resident>() {
        return Ok(resident.get().0.clone());
    }
    match object.extract::<String>() {
        Ok(budget) => budget.parse::<Size>().map(Residency::within).or_raise(py),
        Err(_) => {
            let text = format!(
                "resident= takes a size such as \"100GiB\", or a tarflume.Resident, not {}",
                object.repr()?
            );
            Err(usage(py, text))
        }
    }
}

/// What a data set takes, by name, in bytes.
pub(crate) fn fit<'py>(py: Python<'py>, fit: &ResidentSize) -> PyResult<Bound<'py, PyDict>> {
    let said = PyDict::new(py);
    for (name, number) in [
        ("samples", fit.samples),
        ("sample_bytes", fit.sample_bytes),
        ("jpeg_bytes", fit.jpeg_bytes),
        ("bytes", fit.bytes()),
        ("budget", fit.budget),
        ("free", fit.free),
    ] {
        said.set_item(name, number)?;
    }
    Ok(said)
}
