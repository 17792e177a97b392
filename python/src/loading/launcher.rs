//! The rank and the device that a launcher gave this process.

use pyo3::prelude::*;
use tarflume::{Device, Split};

use crate::faults::errors::OrRaise;

/// Returns rank and world size from the environment of the launcher: torchrun, Open MPI, MPICH, Slurm, or the index
/// of an array job; (0, 1) without a launcher.
#[pyfunction]
pub fn launcher_rank(py: Python<'_>) -> PyResult<(u64, u64)> {
    let split = Split::from_env().or_raise(py)?;
    Ok((split.rank(), split.world()))
}

/// Returns the number of this process's device, of `visible` ones, and why it is this one.
#[pyfunction]
pub fn device_of_process(visible: usize) -> (usize, String) {
    Device::of_process(visible)
}
