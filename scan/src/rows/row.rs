//! `RowPart` and `RowName`: a part of a row of a source, and the place of the row.

/// The bytes of a part, or their location.
#[derive(Debug, Clone, Copy)]
pub enum RowPart<'a> {
    /// Text that is packed as it is.
    Text(&'a [u8]),
    /// A file under the root of the row's source.
    File {
        /// Its path under the root.
        path: &'a [u8],
        /// Bytes.
        size: u64,
        /// A digest of its modification time.
        stamp: u32,
    },
    /// Bytes of a source.
    Range {
        /// The source's number.
        source: u32,
        /// The first byte.
        at: u64,
        /// Bytes.
        size: u64,
    },
    /// A value that the source's reader decodes.
    Cell {
        /// The source's number.
        source: u32,
        /// Row, from 0.
        row: u64,
        /// Column, as the source's reader numbers them.
        column: u16,
        /// Bytes of the value.
        size: u64,
    },
}

impl RowPart<'_> {
    /// Returns the bytes of the part.
    pub(crate) fn size(&self) -> u64 {
        match *self {
            RowPart::Text(text) => text.len() as u64,
            RowPart::File { size, .. }
            | RowPart::Range { size, .. }
            | RowPart::Cell { size, .. } => size,
        }
    }
}

/// Where a row is, for messages.
#[derive(Debug, Clone, Copy)]
pub struct RowName {
    /// The source's number.
    pub source: u32,
    /// The row, from 0.
    pub row: u64,
}
