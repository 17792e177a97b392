//! loader::config

pub(crate) mod build;
pub(crate) mod builder;
pub(crate) mod device_builder;
pub(crate) mod sampler;
