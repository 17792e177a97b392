//! `MarkerReader`: the bytes of a damaged JPEG in the order in which libjpeg-turbo reads them.
//!
//! Markers are searched for, and endless end-of-image markers follow the last byte.

use crate::header::markers::{EOI, RST0, RST7};

/// The first marker that is a frame.
const SOF0: u8 = 0xc0;

/// A position in the bytes, and the marker that was found there.
#[derive(Debug)]
pub(super) struct MarkerReader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The marker that was read last and that nothing has handled; 0 if there is none.
    pub(super) marker: u8,
    /// The number of the next restart marker.
    pub(super) restart: u8,
}

impl<'a> MarkerReader<'a> {
    /// Starts at a byte of the JPEG, between segments.
    pub(super) fn new(bytes: &'a [u8], at: usize) -> MarkerReader<'a> {
        MarkerReader { bytes, at, marker: 0, restart: 0 }
    }

    /// Returns the next byte of the position, for messages: at most the end of the file.
    pub(super) fn at(&self) -> usize {
        self.at.min(self.bytes.len())
    }

    /// Returns the number of bytes that are left.
    pub(super) fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// Returns the position, for [`MarkerReader::go_back`].
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Returns to a position.
    pub(super) fn go_back(&mut self, position: usize) {
        self.at = position;
    }

    /// Takes the next byte.
    #[inline(always)]
    pub(super) fn byte(&mut self) -> u8 {
        let byte = match self.bytes.get(self.at) {
            Some(&byte) => byte,
            None if (self.at - self.bytes.len()).is_multiple_of(2) => 0xff,
            None => EOI,
        };
        self.at += 1;
        byte
    }

    /// Takes a byte of entropy-coded data that is far from the end of the file. At a marker the
    /// position stays, and the byte is 0.
    #[inline(always)]
    pub(super) fn byte_before_marker(&mut self) -> u8 {
        let byte = self.byte();
        if byte != 0xff {
            return byte;
        }
        match self.byte() {
            0 => byte,
            marker => {
                self.marker = marker;
                self.at -= 2;
                0
            }
        }
    }

    /// Searches for the next marker; returns the number of other bytes before it.
    pub(super) fn next_marker(&mut self) -> usize {
        let mut skipped = 0;
        loop {
            while self.byte() != 0xff {
                skipped += 1;
            }
            let mut byte = 0xff;
            while byte == 0xff {
                byte = self.byte();
            }
            if byte != 0 {
                self.marker = byte;
                return skipped;
            }
            skipped += 2;
        }
    }

    /// Takes the length of a segment's content; `None` if the declared length is impossible.
    pub(super) fn length(&mut self) -> Option<usize> {
        let length = u16::from_be_bytes([self.byte(), self.byte()]);
        usize::from(length).checked_sub(2)
    }

    /// Takes the content of a segment.
    pub(super) fn content(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.byte()).collect()
    }

    /// Skips a segment; of one with an impossible length only that length.
    pub(super) fn skip_segment(&mut self) {
        let length = self.length().unwrap_or(0);
        self.at += length;
    }

    /// Passes a restart marker. If it is not the expected one, the next interval is skipped, empty
    /// or taken, whatever the number suggests (`jpeg_resync_to_restart`): then a marker may stay.
    /// Returns true if it was here and nothing was skipped.
    pub(super) fn pass_restart(&mut self) -> bool {
        let mut skipped = 0;
        if self.marker == 0 {
            skipped = self.next_marker();
        }
        loop {
            match self.marker {
                RST0..=RST7 => match self.marker.wrapping_sub(self.restart) & 7 {
                    1 | 2 => break, // intervals are missing: the next one is empty
                    6 | 7 => skipped += 1 + self.next_marker(), // an earlier marker
                    _ => {
                        self.marker = 0;
                        break;
                    }
                },
                SOF0.. => break,
                _ => skipped += 1 + self.next_marker(),
            }
        }
        self.restart = (self.restart + 1) & 7;
        skipped == 0 && self.marker == 0
    }
}
