//! Columns of bytes and of arrays, as they are stored.

pub(crate) mod npy;
pub(crate) mod raw;
