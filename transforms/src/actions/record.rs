//! `Record`: what a device needs to do one action, in the words of the kernels.
//!
//! `device/src/device/kernels/pointwise.cu` has the same constants.

use std::ops::Range;

/// Words of the list of a row, with its head.
pub(crate) const WORDS: usize = 512;
/// Words of the head.
pub(crate) const HEAD: usize = 16;
/// Taps on one side of the middle of a blur, at most.
pub(crate) const MOST_RADIUS: usize = 128;
/// Words of the longest record: a blur with the most taps.
const LONGEST: usize = 2 + 2 + 2 * (MOST_RADIUS + 1);

/// The kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Table = 1,
    Contrast = 2,
    Saturation = 3,
    Hue = 4,
    Gray = 5,
    Permute = 6,
    Autocontrast = 7,
    Equalize = 8,
    Flip = 9,
    Upend = 10,
    Quarter = 11,
    Sharpness = 12,
    Affine = 13,
    Perspective = 14,
    Blur = 15,
    Noise = 16,
    Erase = 17,
}

/// The names and numbers of the kinds, as the kernels have them.
pub(crate) const CHANGES: [(&str, Change); 17] = [
    ("TABLE", Change::Table),
    ("CONTRAST", Change::Contrast),
    ("SATURATION", Change::Saturation),
    ("HUE", Change::Hue),
    ("GRAY", Change::Gray),
    ("PERMUTE", Change::Permute),
    ("AUTOCONTRAST", Change::Autocontrast),
    ("EQUALIZE", Change::Equalize),
    ("FLIP", Change::Flip),
    ("UPEND", Change::Upend),
    ("QUARTER", Change::Quarter),
    ("SHARPNESS", Change::Sharpness),
    ("AFFINE", Change::Affine),
    ("PERSPECTIVE", Change::Perspective),
    ("BLUR", Change::Blur),
    ("NOISE", Change::Noise),
    ("ERASE", Change::Erase),
];

/// One action in words. Empty if nothing has to be done.
#[derive(Debug)]
pub(crate) struct Record {
    words: [u32; LONGEST],
    used: usize,
}

impl Record {
    pub(crate) fn new() -> Record {
        Record { words: [0; LONGEST], used: 0 }
    }

    /// Begins with a kind and its numbers.
    pub(crate) fn set(&mut self, change: Change, words: impl IntoIterator<Item = u32>) {
        self.words[0] = change as u32;
        self.used = 2;
        self.extend(words);
    }

    /// Adds numbers.
    pub(crate) fn extend(&mut self, words: impl IntoIterator<Item = u32>) {
        for word in words {
            self.words[self.used] = word;
            self.used += 1;
        }
        self.words[1] = self.used as u32;
    }

    pub(crate) fn clear(&mut self) {
        self.used = 0;
    }

    pub(crate) fn words(&self) -> &[u32] {
        &self.words[..self.used]
    }
}

/// The bits of numbers in single precision.
pub(crate) fn bits(numbers: impl IntoIterator<Item = f32>) -> impl Iterator<Item = u32> {
    numbers.into_iter().map(f32::to_bits)
}

/// Records of a list, which are added from the last to the first: they end where the list ends.
#[derive(Debug)]
pub(crate) struct Records<'a> {
    words: &'a mut [u32; WORDS],
    first: usize,
    count: u32,
}

impl<'a> Records<'a> {
    pub(crate) fn new(words: &'a mut [u32; WORDS]) -> Records<'a> {
        Records { words, first: WORDS, count: 0 }
    }

    /// Adds a record before the others. Returns false if it does not fit.
    pub(crate) fn put(&mut self, record: &Record) -> bool {
        let words = record.words();
        if words.is_empty() {
            return true;
        }
        if self.first - HEAD < words.len() {
            return false;
        }
        self.first -= words.len();
        self.words[self.first..][..words.len()].copy_from_slice(words);
        self.count += 1;
        true
    }

    /// The number of records since the last call, and the first of their words.
    pub(crate) fn take(&mut self) -> [u32; 2] {
        [std::mem::take(&mut self.count), self.first as u32]
    }

    /// Moves all records behind the head. Returns how far.
    pub(crate) fn settle(self) -> usize {
        let moved: Range<usize> = self.first..WORDS;
        self.words.copy_within(moved, HEAD);
        self.first - HEAD
    }
}
