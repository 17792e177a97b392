//! MAT files of MATLAB, version 5 (`-v6`, `-v7`): arrays of numbers, texts, cells and structs.
//!
//! A file is a header of 128 bytes and elements, each a tag of 8 bytes and its bytes; an element may be compressed with
//! zlib. [`Order::of_file`] reads the header, [`Tag::parse`] a tag, [`Variable::parse`] the type, shape and name of a
//! variable from its first bytes, and [`Value::parse`] its values. Arrays are in column-major order.

mod element;
mod inflate;
mod numbers;
mod text;
mod value;

pub use element::{COMPRESSED, HEADER, MATRIX, Order, TAG, Tag};
pub use inflate::{inflated, inflated_start};
pub use numbers::{Number, Numbers, Rows, rows_of};
pub use value::{Class, Structs, Value, Variable};
