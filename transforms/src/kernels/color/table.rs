//! The type of a table of bytes.

/// The value of each byte after a pointwise action.
pub(crate) type Table = [u8; 256];
