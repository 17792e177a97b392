//! `Pieces`: some parts of a file's bytes, read as if nothing stood between them.
//!
//! Decoders that copy what they don't need are given files without it. Nothing is allocated here.

use std::fmt;
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::ops::Range;

/// The first part of `bytes` that is to be read at or behind a byte where a part may begin; none: the end.
pub(super) type Next = fn(bytes: &[u8], at: usize) -> Option<Range<usize>>;

/// The parts that [`Next`] finds, one after the other.
pub(super) struct Pieces<'a> {
    bytes: &'a [u8],
    next: Next,
    piece: Range<usize>,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(bytes: &'a [u8], next: Next) -> Pieces<'a> {
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
            // A part that ends where it was looked for would be found for ever.
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

/// For decoders whose type asks for it: no format that is read in pieces is read out of order.
impl Seek for Pieces<'_> {
    fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
