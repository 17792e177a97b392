//! Uploads of batches to a device: the thread that copies them, the queue to the consumer, and the slots.
//!
//! Calls the device only through `driver`. Decodes nothing.

pub(crate) mod batch;
pub(crate) mod post_copy;
pub(crate) mod queue;
pub(crate) mod ring;
pub(crate) mod slot;
pub(crate) mod thread;
