//! `Gpus`: a source of facts about GPUs. A trait, so that tests can replace the driver.

use serde::Serialize;

use super::facts::{Driver, Gpu};

/// A driver that answers.
pub(crate) trait Gpus {
    /// Adds its versions to the facts about the driver.
    fn driver(&self, driver: &mut Driver);

    /// Returns the state of all its GPUs. Facts that one does not provide are `None`.
    fn gpus(&self) -> Vec<Gpu>;

    /// Returns only the current utilization.
    fn sample(&self) -> Vec<Sample>;
}

/// The utilization of a GPU in the last sampling period: up to a second for percentages, 20 ms for
/// the link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Sample {
    /// The GPU's number.
    pub(crate) gpu: u64,
    /// The share of the time in which a kernel ran.
    pub(crate) sm_percent: Option<f64>,
    /// The share of the time in which its memory was read or written.
    pub(crate) memory_controller_percent: Option<f64>,
    /// The share of its memory in use.
    pub(crate) memory_used_percent: Option<f64>,
    /// Transfers from the host, in 10^6 bytes per second.
    pub(crate) from_host_mb_per_s: Option<f64>,
    /// Transfers to the host, in 10^6 bytes per second.
    pub(crate) to_host_mb_per_s: Option<f64>,
}
