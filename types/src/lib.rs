//! What the crates of the data loader [tarflume](https://docs.rs/tarflume) share: its error, the element type and the
//! shape of a row, the bytes of a row, a size with a unit.
//!
//! Programs use these types through the crate `tarflume`, which exports them. Types and functions that it does not
//! export are for the crates of this project: no promise of semver holds for them.
#![deny(unsafe_code)]
#![warn(missing_docs)]

mod column;
mod error;
mod features;
mod seconds;
mod size;
#[doc(hidden)]
pub use crate::column::{DType, Element, PackedRows, PaddedRows, PictureShape, Row, RowShape};
pub use crate::error::{DecodeFault, Error, ErrorKind, Place, Result};
pub use crate::features::left_out;
pub use crate::seconds::{all_seconds, seconds};
pub use crate::size::Size;
