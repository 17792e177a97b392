//! loader::streaming

pub(crate) mod builder;
pub(crate) mod loader;
pub(crate) mod planner;
pub(crate) mod worker;
