//! Columns that the device has a part in: what is decided before an epoch.

pub(crate) mod host_mixes;
pub(crate) mod hybrid;
pub(crate) mod resident_config;
pub(crate) mod resident_jpegs;
pub(crate) mod resident_plan;
