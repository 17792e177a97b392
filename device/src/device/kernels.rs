//! The interface of the kernels in `*.cu`: entries, arguments and grids.
//!
//! Pure: a driver compiles and launches them.

pub mod args;
pub mod jpegs;
pub mod launch;
pub mod program;
