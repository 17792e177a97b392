//! Uploads of batches to a device: the thread that copies them, the queue to the consumer, and the slots.
//!
//! Calls the device only through `driver`. Decodes nothing.

pub mod batch;
pub mod objects;
pub mod post_copy;
pub mod queue;
pub(crate) mod ring;
pub mod slot;
mod spans;
mod staging;
pub mod thread;
