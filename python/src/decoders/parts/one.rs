//! Single parts outside of a loader: decoded by a column, with the seed that a loader would give to their sample.

use std::cell::RefCell;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use tarflume::internal::SingleRow;
use tarflume::{Decode, Sample, Scratch};

use crate::arguments::numbers::Number;
use crate::arguments::words;
use crate::decoders::parts;
use crate::faults::errors::OrRaise;

thread_local! {
    /// The buffers of this thread's decoders.
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// A column of pictures, for single parts.
#[pyclass(frozen, module = "tarflume._core")]
pub struct PartDecoder(Arc<dyn Decode>);

/// The bytes of an array, its type, and its shape.
type Decoded<'py> = (Bound<'py, PyByteArray>, &'static str, Vec<usize>);

#[pymethods]
impl PartDecoder {
    #[new]
    fn new(py: Python<'_>, column: &Bound<'_, PyAny>) -> PyResult<PartDecoder> {
        let (decode, _) = parts::image(py, column)?;
        Ok(PartDecoder(decode))
    }

    /// The extensions of the parts that it decodes.
    #[getter]
    fn extensions(&self) -> Vec<String> {
        let names = self.0.parts();
        names.iter().flat_map(|name| name.split(';').map(String::from)).collect()
    }

    /// The row of a part, for the sample of this seed.
    fn decode<'py>(
        &self,
        py: Python<'py>,
        part: &[u8],
        seed: Number<u64>,
    ) -> PyResult<Decoded<'py>> {
        let column = &*self.0;
        let parts = [("", part)];
        let sample = Sample { seed: seed.0, parts: &parts, ..Sample::default() };
        let row = py.detach(|| {
            let mut row = SingleRow::default();
            SCRATCH.with_borrow_mut(|scratch| row.decode(column, &sample, scratch)).map(|()| row)
        });
        let row = row.or_raise(py)?;
        let made = PyByteArray::new(py, row.bytes());
        Ok((made, words::dtype_name(column.shape().dtype()), row.dims(column)))
    }
}

/// The seed of a sample in a loader of this seed, in this pass of its data set.
#[pyfunction]
#[pyo3(signature = (seed, epoch, ordinal, /))]
pub fn sample_seed(seed: Number<u64>, epoch: Number<u64>, ordinal: Number<u64>) -> u64 {
    tarflume::internal::sample_seed(seed.0, epoch.0, ordinal.0)
}
