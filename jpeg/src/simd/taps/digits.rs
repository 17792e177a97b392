//! Fine weights as three digits of 8 bits, for kernels that multiply bytes by bytes.
//!
//! Computes no weights and no sums.

use crate::simd::weights::{Each, SOME};

/// The weights of an axis in units of [`FOUR`] inputs, in the order in which kernels read them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Digits {
    /// The first unit of each output, counted from that of the first input.
    pub(crate) starts: Vec<u32>,
    /// For each [`SOME`] outputs, each digit, the highest first, and each of `units` units: the weights of each output, a byte
    /// for each of four inputs.
    pub(crate) weights: Vec<Each<i32>>,
    /// Units of each output.
    pub(crate) units: usize,
    /// Units of all inputs together, at least those of an output.
    pub(crate) all: usize,
    /// See [`super::Taps::bits`].
    pub(crate) bits: u32,
}

/// Inputs of a unit.
pub(crate) const FOUR: usize = 4;

/// Digits of a weight. They are signed, and the lowest one is that of 1.
pub(crate) const DIGITS: usize = 3;

/// Where units begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Units {
    /// At every fourth input from the first one of all on. The number of outputs is a multiple of four: those after the
    /// last one have zero weights.
    Aligned {
        /// Whether the first output comes last.
        flip: bool,
    },
    /// At the first input of each output.
    Own,
}

impl Digits {
    /// Returns the first unit of an output.
    #[inline(always)]
    pub(crate) fn start(&self, output: usize) -> usize {
        self.starts[output] as usize
    }

    /// Returns the weights of an output: [`SOME`] numbers after each other.
    #[inline(always)]
    pub(crate) fn weights(&self, output: usize) -> Weights<'_> {
        let some = &self.weights[output / SOME * DIGITS * self.units..][..DIGITS * self.units];
        Weights { some, lane: output % SOME }
    }

    /// Returns the number of outputs, with those after the last one.
    #[inline(always)]
    pub(crate) fn outputs(&self) -> usize {
        self.starts.len()
    }

    /// Returns the bytes of the table.
    pub(crate) fn bytes(&self) -> usize {
        4 * (self.starts.capacity() + SOME * self.weights.capacity())
    }
}

/// The weights of an output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weights<'a> {
    some: &'a [Each<i32>],
    lane: usize,
}

impl Weights<'_> {
    /// Returns the digit of a unit: `number` is that of the digit times the number of units, plus that of the unit.
    #[inline(always)]
    pub(crate) fn get(self, number: usize) -> i32 {
        self.some[number][self.lane % SOME]
    }
}

/// Units of an output whose vectors fit the registers: with more, whole weights of 16 bits are quicker along a line.
pub(crate) const MOST_ACROSS: usize = 5;

/// Lines that are computed at once.
pub(crate) const MOST_LINES: usize = 8;

/// Consecutive lines that are read at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lines<'a> {
    /// Bytes from the first needed one of the first line on.
    pub(crate) bytes: &'a [u8],
    /// Bytes from line to line.
    pub(crate) stride: usize,
    /// Number of lines, at least 1.
    pub(crate) count: usize,
    /// Bytes of a line that are read.
    pub(crate) length: usize,
}

impl<'a> Lines<'a> {
    /// Returns where a line begins; the last one if there is none of that number.
    #[inline(always)]
    pub(crate) fn place(&self, number: usize) -> usize {
        number.min(self.count - 1) * self.stride
    }

    /// Returns a line; the last one if there is none of that number.
    #[inline(always)]
    pub(crate) fn line(&self, number: usize) -> &'a [u8] {
        &self.bytes[self.place(number)..][..self.length]
    }
}
