//! device::upload

pub(crate) mod batch;
pub(crate) mod post_copy;
pub(crate) mod queue;
pub(crate) mod ring;
pub(crate) mod slot;
pub(crate) mod thread;
