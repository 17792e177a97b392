//! The types of an npy header: its magic and limits, the type of an element, a shape.

use std::fmt;

/// The first six bytes of every file.
pub const MAGIC: [u8; 6] = *b"\x93NUMPY";

/// Limit on the header's length, in bytes. NumPy itself refuses over 10,000 by default.
pub const MAX_HEAD: usize = 64 << 10;

/// Limit on dimensions. NumPy itself allows 64.
pub const MAX_DIMS: usize = 8;

/// The type of one element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dtype {
    /// NumPy's letter: `f` float, `i` and `u` integers with and without sign, `b` bool, `c`
    /// complex, `S` bytes, `U` text of 4 bytes a character, `V` raw bytes.
    pub kind: char,
    /// Bytes of one element.
    pub size: u32,
    /// True for little-endian types and for types without byte order.
    pub little: bool,
}

/// In NumPy's notation: `<f4`, `>u2`, `|b1`.
impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match (self.kind, self.size, self.little) {
            ('S' | 'V', ..) | (_, 1, _) => '|',
            (_, _, true) => '<',
            (_, _, false) => '>',
        };
        let count = if self.kind == 'U' { self.size / 4 } else { self.size };
        write!(f, "{order}{}{count}", self.kind)
    }
}

/// Elements along each dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    dims: [u64; MAX_DIMS],
    count: usize,
}

impl Shape {
    /// Creates a shape, or `None` for more than [`MAX_DIMS`] dimensions.
    pub fn new(dims: &[u64]) -> Option<Shape> {
        let mut shape = Shape { dims: [0; MAX_DIMS], count: dims.len() };
        shape.dims.get_mut(..dims.len())?.copy_from_slice(dims);
        Some(shape)
    }

    /// Creates a shape of the first `count` of `dims`.
    pub(super) fn of(dims: [u64; MAX_DIMS], count: usize) -> Shape {
        Shape { dims, count: count.min(MAX_DIMS) }
    }

    /// Returns the dimensions.
    pub fn dims(&self) -> &[u64] {
        &self.dims[..self.count]
    }

    /// Returns their product; `None` on overflow, even where a dimension of 0 hides it.
    pub fn elements(&self) -> Option<u64> {
        let full = self.dims().iter().try_fold(1u64, |n, &dim| n.checked_mul(dim.max(1)))?;
        Some(if self.dims().contains(&0) { 0 } else { full })
    }
}

/// In Python's notation: `()`, `(5,)`, `(2, 3)`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (i, dim) in self.dims().iter().enumerate() {
            write!(f, "{}{dim}", if i == 0 { "" } else { ", " })?;
        }
        f.write_str(if self.count == 1 { ",)" } else { ")" })
    }
}
