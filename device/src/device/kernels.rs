//! The interface of the kernels in `*.cu`: entries, arguments and grids.
//!
//! Pure: a driver compiles and launches them.

pub mod args;
pub mod launch;
