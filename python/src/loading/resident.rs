//! `Resident`: the options of a data set in GPU memory, for `resident=`.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tarflume::{Residency, ResidentSize, Size};

use crate::arguments::constructor_args::{ConstructorArgs, NewArgs, again};
use crate::arguments::numbers::Number;
use crate::faults::errors::{OrRaise, usage};

/// Keeps the data set in the memory of the loader's GPU. The first epoch, or `loader.preload()`, fills the
/// memory; later epochs read and decode nothing. With `divide="shard"` each rank keeps its own shards.
///
/// `budget` is the maximum of memory, as "100GiB". If the data set does not fit, making the loader is an
/// error. Pictures keep their shape, with at most `side * side` pixels, and each epoch crops them with its own seeds.
/// `format="yuv420"` needs half the bytes, with colors at half the resolution, as in most JPEGs.
/// `format="jpeg"` stores the JPEGs, and the GPU decodes them for each batch. Columns of texts and raw
/// files are read in each epoch.
#[pyclass(frozen, module = "tarflume")]
pub struct Resident(Residency, ConstructorArgs);

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

/// The value of `resident=`: a `Resident`, or a budget.
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

/// The size of a resident data set, by name, in bytes.
pub(crate) fn fit<'py>(py: Python<'py>, fit: &ResidentSize) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, number) in [
        ("samples", fit.samples),
        ("sample_bytes", fit.sample_bytes),
        ("jpeg_bytes", fit.jpeg_bytes),
        ("bytes", fit.bytes()),
        ("budget", fit.budget),
        ("free", fit.free),
        ("total", fit.total),
    ] {
        dict.set_item(name, number)?;
    }
    Ok(dict)
}
