//! `Ledger`: a digest that proves which samples were delivered.

use pyo3::prelude::*;

use crate::faults::errors::OrRaise;

/// The digest of all samples that a loader has delivered. The merged ledgers of all ranks `prove` that an
/// epoch delivered each sample once. Repeated samples of the last batch (`batch.padding`) are not counted.
#[pyclass(frozen, eq, module = "tarflume")]
#[derive(PartialEq)]
pub struct Ledger(pub(crate) tarflume::Ledger);

#[pymethods]
impl Ledger {
    /// From the text of `str(ledger)`.
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<Ledger> {
        text.parse().map(Ledger).map_err(tarflume::Error::from).or_raise(py)
    }

    /// The sum of both: `other` is another rank's ledger, or a later one of this rank.
    fn merge(&self, py: Python<'_>, other: &Ledger) -> PyResult<Ledger> {
        let mut merged = self.0;
        merged.merge(&other.0).map_err(tarflume::Error::from).or_raise(py)?;
        Ok(Ledger(merged))
    }

    /// Raises an error unless exactly the samples of `expected` were delivered.
    fn prove(&self, py: Python<'_>, expected: &Ledger) -> PyResult<()> {
        self.0.prove(&expected.0).map_err(tarflume::Error::from).or_raise(py)
    }

    /// Delivered samples.
    #[getter]
    fn samples(&self) -> u64 {
        self.0.seen().count
    }

    /// Planned samples that were bad.
    #[getter]
    fn bad(&self) -> u64 {
        self.0.bad().count
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().into_any(), (slf.get().__str__(),)))
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Ledger({:?})", self.__str__())
    }
}
