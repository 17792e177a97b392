//! `Gpus`: a source of facts about GPUs. A trait, so that tests can replace the driver.

use serde::Serialize;

use super::facts::{Driver, Gpu};

/// A driver that answers.
pub(crate) trait Gpus {
    /// Its versions, for what is known of it already.
    fn driver(&self, driver: &mut Driver);

    /// All its GPUs with what they do now. What one of them does not tell is none.
    fn gpus(&self) -> Vec<Gpu>;

    /// What they do now, and nothing else.
    fn sample(&self) -> Vec<Sample>;
}

/// What a GPU did in the last moment: up to a second for percentages, a fiftieth for the link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Sample {
    /// The GPU's number.
    pub(crate) gpu: u64,
    /// The part of the time in which a kernel ran.
    pub(crate) sm_percent: Option<f64>,
    /// The part of the time in which its memory was read or written.
    pub(crate) memory_controller_percent: Option<f64>,
    /// The part of its memory that is in use.
    pub(crate) memory_used_percent: Option<f64>,
    /// What came over the link from the host, in millions of bytes a second.
    pub(crate) from_host_mb_per_s: Option<f64>,
    /// What went over the link to the host.
    pub(crate) to_host_mb_per_s: Option<f64>,
}
