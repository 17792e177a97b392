//! Rows of resident data sets: what is written when a data set is preloaded, and the short rows that later refer to it.
//!
//! Fills rows on the host. Allocates no device memory.

pub(crate) mod jpeg;
pub(crate) mod picture;
pub(crate) mod row;
