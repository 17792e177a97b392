//! The rank that a launcher gave this process.

use pyo3::prelude::*;
use tarflume::Split;

use crate::faults::errors::OrRaise;

/// Returns rank and world size from the environment of the launcher: torchrun, Open MPI, MPICH, Slurm, or the index
/// of an array job; (0, 1) without a launcher.
#[pyfunction]
pub fn launcher_rank(py: Python<'_>) -> PyResult<(u64, u64)> {
    let split = Split::from_env().or_raise(py)?;
    Ok((split.rank(), split.world()))
}
