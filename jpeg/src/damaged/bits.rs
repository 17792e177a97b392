//! `Bits`: the bits of entropy-coded data, and zeros where they lack.
//!
//! Bytes are taken ahead in the same steps as in libjpeg-turbo, because what follows a marker that
//! comes too early depends on them.

use super::codes::{Codes, LOOK};
use super::source::MarkerReader;

/// Number of bits up to which the buffer is filled.
const FILL: u32 = 57;
/// Number of bits from which on the quick reader does not fill the buffer, and of the bytes that it
/// takes.
const ENOUGH: u32 = 16;
const AHEAD: usize = 6;

/// A stream of bits.
#[derive(Debug)]
pub(super) struct Bits<'a> {
    pub(super) source: MarkerReader<'a>,
    buffer: u64,
    left: u32,
    /// Whether the data ended before the blocks of their interval: more blocks are not read.
    pub(super) ended: bool,
    /// Whether a pixel cannot be right.
    pub(super) lost: bool,
}

/// What [`Bits::go_back`] restores.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    at: usize,
    buffer: u64,
    left: u32,
    lost: bool,
}

impl<'a> Bits<'a> {
    pub(super) fn new(source: MarkerReader<'a>) -> Bits<'a> {
        Bits { source, buffer: 0, left: 0, ended: false, lost: false }
    }

    /// Begins a scan.
    pub(super) fn begin(&mut self) {
        self.buffer = 0;
        self.left = 0;
        self.ended = false;
    }

    /// Goes to the next marker after a scan, and returns the number of bytes before it.
    pub(super) fn skip(&mut self) -> usize {
        let taken = self.left as usize / 8;
        if self.source.marker != 0 {
            return taken;
        }
        taken + self.source.next_marker()
    }

    /// Passes a restart marker.
    pub(super) fn restart(&mut self) {
        self.lost |= self.left >= 8;
        self.left = 0;
        self.lost |= !self.source.pass_restart();
        if self.source.marker == 0 {
            self.ended = false;
        }
    }

    pub(super) fn place(&self) -> Place {
        Place { at: self.source.position(), buffer: self.buffer, left: self.left, lost: self.lost }
    }

    /// Returns to a place of the same interval, and forgets the marker that was found after it.
    pub(super) fn go_back(&mut self, place: Place) {
        self.source.go_back(place.at);
        self.source.marker = 0;
        self.buffer = place.buffer;
        self.left = place.left;
        self.lost = place.lost;
    }

    /// Takes bytes ahead up to the next marker. If there are fewer than `wanted` bits then, zeros
    /// follow.
    fn fill(&mut self, wanted: u32) {
        while self.source.marker == 0 && self.left < FILL {
            let mut byte = self.source.byte();
            if byte == 0xff {
                // Any number of ffs before a zero are one byte ff, which T.81 does not permit.
                let at = self.source.position();
                while byte == 0xff {
                    byte = self.source.byte();
                }
                if byte != 0 {
                    self.source.marker = byte;
                    break;
                }
                byte = 0xff;
                self.lost |= self.source.position() - at > 1;
            }
            self.buffer = self.buffer << 8 | u64::from(byte);
            self.left += 8;
        }
        if self.source.marker != 0 && wanted > self.left {
            self.ended = true;
            self.lost = true;
            self.buffer <<= FILL - self.left;
            self.left = FILL;
        }
    }

    /// Takes bytes ahead in the way of the quick reader, which does not pass markers.
    #[inline(always)]
    fn fill_quickly(&mut self) {
        if self.left <= ENOUGH {
            for _ in 0..AHEAD {
                self.buffer = self.buffer << 8 | u64::from(self.source.byte_before_marker());
            }
            self.left += 8 * AHEAD as u32;
        }
    }

    #[inline(always)]
    fn need(&mut self, count: u32) {
        if self.left < count {
            self.fill(count);
        }
    }

    /// Takes bits that are in the buffer.
    #[inline(always)]
    fn take(&mut self, count: u32) -> u32 {
        self.left -= count;
        (self.buffer >> self.left) as u32 & ((1 << count) - 1)
    }

    /// Takes `count` bits, 1 to 15.
    #[inline(always)]
    pub(super) fn bits<const QUICK: bool>(&mut self, count: u32) -> u32 {
        if QUICK {
            self.fill_quickly();
        } else {
            self.need(count);
        }
        self.take(count)
    }

    /// Takes the value of `size` bits, 1 to 15 (T.81, F.2.2.1, EXTEND).
    #[inline(always)]
    pub(super) fn value<const QUICK: bool>(&mut self, size: u32) -> i32 {
        let bits = self.bits::<QUICK>(size) as i32;
        if bits >> (size - 1) == 0 { bits + 1 - (1 << size) } else { bits }
    }

    /// Takes a code and returns its symbol; 0 for 17 bits that are no code.
    #[inline(always)]
    pub(super) fn symbol<const QUICK: bool>(&mut self, codes: &Codes) -> u8 {
        if QUICK {
            self.fill_quickly();
        } else if self.left < LOOK {
            self.fill(0);
        }
        let mut length = 1;
        if self.left >= LOOK {
            let (found, symbol) = codes.look(self.buffer >> (self.left - LOOK));
            if found <= LOOK {
                self.left -= found;
                return symbol;
            }
            length = found;
        }
        self.long_symbol::<QUICK>(codes, length)
    }

    /// Takes a code of at least `length` bits.
    #[cold]
    fn long_symbol<const QUICK: bool>(&mut self, codes: &Codes, mut length: u32) -> u8 {
        // The quick reader has enough bits for any code.
        if !QUICK {
            self.need(length);
        }
        let mut code = self.take(length);
        while codes.is_longer(code, length) {
            if !QUICK {
                self.need(1);
            }
            code = code << 1 | self.take(1);
            length += 1;
        }
        self.lost |= length > 16;
        codes.symbol(code, length)
    }
}
