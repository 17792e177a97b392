//! The options of a loader, and how a loader is built from them.

pub(crate) mod build;
pub(crate) mod builder;
pub(crate) mod columns;
pub(crate) mod device_builder;
pub(crate) mod groups;
pub(crate) mod numbers;
pub(crate) mod options;
pub(crate) mod resources;
pub(crate) mod sampler;
pub(crate) mod samples;
pub(crate) mod weights;
