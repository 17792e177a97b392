//! `Pieces`: selected ranges of a file, read as if they were contiguous.
//!
//! Hides data that a decoder would copy without need. Allocates nothing.

use std::fmt;
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::ops::Range;

/// Returns the first range to be read at or after the boundary `at`; `None` at the end.
pub(in crate::formats) type NextPart = fn(bytes: &[u8], at: usize) -> Option<Range<usize>>;

/// A reader of the ranges that [`NextPart`] returns.
pub(in crate::formats) struct Pieces<'a> {
    bytes: &'a [u8],
    next: NextPart,
    piece: Range<usize>,
}

impl<'a> Pieces<'a> {
    pub(in crate::formats) fn new(bytes: &'a [u8], next: NextPart) -> Pieces<'a> {
        Pieces { bytes, next, piece: 0..0 }
    }
}

impl fmt::Debug for Pieces<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pieces({:?} of {})", self.piece, self.bytes.len())
    }
}

impl BufRead for Pieces<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.piece.is_empty() {
            let Some(piece) = (self.next)(self.bytes, self.piece.end) else { return Ok(&[]) };
            // A range that does not advance would repeat forever.
            if piece.end <= self.piece.end || piece.end > self.bytes.len() {
                return Ok(&[]);
            }
            self.piece = piece;
        }
        Ok(&self.bytes[self.piece.clone()])
    }

    fn consume(&mut self, bytes: usize) {
        self.piece.start = (self.piece.start + bytes).min(self.piece.end);
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?.read(into)?;
        self.consume(bytes);
        Ok(bytes)
    }
}

/// Required by the decoders' types. None of these formats is read out of order.
impl Seek for Pieces<'_> {
    fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
