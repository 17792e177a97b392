//! What the kernels of `*.cu` take: entries, arguments and grids.
//!
//! Pure: a driver compiles and launches them.

pub mod args;
pub(crate) mod launch;
