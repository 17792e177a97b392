//! The values of fields, and where in a shard their bytes are.

pub(crate) mod encoding;
pub(crate) mod example;
pub(crate) mod json;
pub(crate) mod kind;
pub(crate) mod spans;
pub(crate) mod window;
