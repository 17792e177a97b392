//! The arguments of the kernels that resize: weights of one axis, and their order for vectors.
//!
//! Computes no weights and no sums.

pub(crate) use self::digits::{
    DIGITS, Digits, FOUR, Lines, MOST_ACROSS, MOST_LINES, Units, Weights,
};

mod digits;

/// The inputs of each output along one axis, with their weights.
#[derive(Debug, Clone, Default)]
pub(crate) struct Taps {
    /// The first input of each output, ascending.
    pub(crate) starts: Vec<u32>,
    /// The number of inputs of each output, at least 1.
    pub(crate) counts: Vec<u32>,
    /// `each` weights for each output; 0 after its last input. Of fine weights, which need more than
    /// 16 bits, the upper part: the weight divided by 2^[`LOW_BITS`], rounded down.
    pub(crate) weights: Vec<i16>,
    /// The rest of each fine weight, below 2^[`LOW_BITS`]; empty if weights are not fine.
    pub(crate) lows: Vec<i16>,
    /// The greatest of `counts`, rounded up to an even number.
    pub(crate) each: usize,
    /// The sum of an output's weights is about 2^`bits`; 1 to 21, and 22 if they are fine.
    pub(crate) bits: u32,
}

/// Bits of the lower part of a fine weight.
pub(crate) const LOW_BITS: u32 = 11;

/// The inputs of one output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inputs<'a> {
    /// The first one.
    pub(crate) start: usize,
    /// Their number.
    pub(crate) count: usize,
    /// The weights of all `each`; see [`Taps::weights`].
    pub(crate) weights: &'a [i16],
    /// See [`Taps::lows`].
    pub(crate) lows: &'a [i16],
}

impl Taps {
    /// Returns the inputs of one output.
    pub(crate) fn of(&self, output: usize) -> Inputs<'_> {
        let part = output * self.each..(output + 1) * self.each;
        Inputs {
            start: self.starts[output] as usize,
            count: self.counts[output] as usize,
            weights: &self.weights[part.clone()],
            lows: if self.is_fine() { &self.lows[part] } else { &[] },
        }
    }

    /// Returns true if weights have a lower part.
    pub(crate) fn is_fine(&self) -> bool {
        !self.lows.is_empty()
    }

    /// Returns true if each output is the input at the same distance from the first one.
    pub(crate) fn is_identity(&self) -> bool {
        let bits = if self.is_fine() { self.bits - LOW_BITS } else { self.bits };
        let one = |n: usize| {
            let Inputs { start, count, weights, lows } = self.of(n);
            let is_one = weights[0] == 1 << bits && lows.first().is_none_or(|&low| low == 0);
            start == self.starts[0] as usize + n && count == 1 && is_one
        };
        bits < 15 && (0..self.starts.len()).all(one)
    }

    /// Returns the bytes of one input of the first to those of the last one, of `channels` bytes each.
    pub(crate) fn reach(&self, channels: usize) -> usize {
        let last = self.starts.len() - 1;
        (self.starts[last] + self.counts[last] - self.starts[0]) as usize * channels
    }
}

/// Returns the parts of a fine weight, upper and lower.
pub(crate) fn split(weight: i32) -> [i16; 2] {
    [(weight >> LOW_BITS) as i16, (weight & ((1 << LOW_BITS) - 1)) as i16]
}

/// Rows that become one row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column<'a> {
    /// Bytes from the first needed one of the first row on.
    pub(crate) bytes: &'a [u8],
    /// Bytes from row to row.
    pub(crate) stride: usize,
    /// Number of rows, at least 1.
    pub(crate) rows: usize,
    /// A weight for each row, and 0 for at most one more; see [`Taps::weights`].
    pub(crate) weights: &'a [i16],
    /// The lower parts of as many, or none; see [`Taps::lows`].
    pub(crate) lows: &'a [i16],
    /// Sums are divided by 2^`bits`.
    pub(crate) bits: u32,
}

impl<'a> Column<'a> {
    /// Returns the first `length` bytes of a row; of the last one if there is none of that number.
    #[inline(always)]
    pub(crate) fn row(&self, number: usize, length: usize) -> &'a [u8] {
        &self.bytes[number.min(self.rows - 1) * self.stride..][..length]
    }
}

/// Lines that become shorter or longer ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Across<'a> {
    /// Inputs are counted from the start of the line.
    pub(crate) taps: &'a Taps,
    /// The same in the order of vectors; without entries if vectors are not worth their table.
    pub(crate) table: &'a Table,
    /// Whether the first output comes last.
    pub(crate) flip: bool,
    /// Number of lines, at least 1.
    pub(crate) lines: usize,
    /// Bytes from line to line; outputs have no gap.
    pub(crate) stride: usize,
}

/// The weights of a line in the order in which vectors read them.
///
/// A step of a kernel computes four vectors of sums, one output pixel per group: group g of vector
/// i is pixel `4 g + i` of the step. Steps are whole; pixels after the last one have zero weights.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    /// For each step, vector and group, the first byte in the line.
    starts: Vec<u32>,
    /// What [`Places::reach`] returns of the starts.
    reach: usize,
    /// For each step, vector, unit, part and group, eight weights in 16 bytes: of pixels of three
    /// bytes, four times those of two inputs; of single bytes, those of eight inputs.
    pub(crate) weights: Vec<[u8; 16]>,
    /// Parts of each weight: 2 if weights are fine, otherwise 1.
    pub(crate) parts: usize,
    /// Units of each pixel.
    pub(crate) units: usize,
    /// The greatest number of inputs of a pixel.
    pub(crate) most: u32,
    /// See [`Taps::bits`].
    pub(crate) bits: u32,
}

/// Bytes that a kernel reads from a start on.
const WINDOW: usize = 16;

/// Units with which a table is still small beside the line: wider filters are computed plainly.
const MOST_UNITS: usize = 256;

impl Table {
    /// Fills the table for vectors of `groups` groups (0: none) and lines of `channels` bytes a
    /// pixel that begin with the first input. Returns how many bytes a line must have.
    pub(crate) fn set(&mut self, taps: &Taps, groups: usize, channels: usize, flip: bool) -> usize {
        self.starts.clear();
        self.weights.clear();
        let inputs = if channels == 3 { 2 } else { 8 };
        self.units = taps.each.div_ceil(inputs);
        self.bits = taps.bits;
        self.parts = if taps.is_fine() { 2 } else { 1 };
        self.most = taps.counts.iter().copied().max().unwrap_or(0);
        self.reach = 0;
        let width = taps.starts.len();
        if groups == 0 || width < 4 * groups || self.units > MOST_UNITS {
            return 0;
        }
        for place in 0..width.div_ceil(4 * groups) * 4 * groups {
            let vector = place / groups;
            let group = place % groups;
            let pixel = vector / 4 * 4 * groups + 4 * group + vector % 4;
            let entries = self.units * self.parts * groups;
            if group == 0 {
                self.weights.resize(self.weights.len() + entries, [0; 16]);
            }
            if pixel >= width {
                self.push(0);
                continue;
            }
            let of = taps.of(if flip { width - 1 - pixel } else { pixel });
            self.push(((of.start - taps.starts[0] as usize) * channels) as u32);
            for (part, weights) in [of.weights, of.lows].into_iter().enumerate() {
                let entries = self.weights[vector * entries..].iter_mut();
                let entries = entries.skip(part * groups + group).step_by(self.parts * groups);
                for (entry, weights) in entries.zip(weights.chunks(inputs)) {
                    *entry = if channels == 3 { pairs(weights) } else { eight(weights) };
                }
            }
        }
        self.reach + self.units * inputs * channels
    }

    fn push(&mut self, start: u32) {
        self.starts.push(start);
        self.reach = self.reach.max(start as usize + WINDOW);
    }

    /// Returns the starts and the weights of each step, for vectors of so many groups.
    #[inline(always)]
    pub(crate) fn steps(&self, groups: usize) -> impl Iterator<Item = (Places<'_>, &[[u8; 16]])> {
        let each = self.parts * self.units;
        let weights = self.weights.chunks_exact(4 * groups * each.max(1));
        self.places().parts(4 * groups).zip(weights)
    }

    /// Returns all starts.
    #[inline(always)]
    pub(crate) fn places(&self) -> Places<'_> {
        Places { places: &self.starts, reach: self.reach }
    }
}

/// Starts of windows in a line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places<'a> {
    places: &'a [u32],
    reach: usize,
}

impl<'a> Places<'a> {
    /// Returns how many bytes a line must have. No window of 16 bytes ends behind them: unsafe code
    /// relies on it, so only [`Table::push`] adds a start. NEON's kernels slice instead.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn reach(self) -> usize {
        self.reach
    }

    /// Returns the start with a number.
    #[inline(always)]
    pub(crate) fn get(self, number: usize) -> usize {
        self.places[number] as usize
    }

    /// Returns the starts by `count`, and those of the last incomplete part not at all.
    #[inline(always)]
    pub(crate) fn parts(self, count: usize) -> impl Iterator<Item = Places<'a>> {
        let Places { places, reach } = self;
        places.chunks_exact(count).map(move |places| Places { places, reach })
    }

    pub(crate) fn is_empty(self) -> bool {
        self.places.is_empty()
    }
}

/// Repeats two weights four times.
fn pairs(weights: &[i16]) -> [u8; 16] {
    let pair = u32::from(weights[0].cast_unsigned()) | u32::from(weights[1].cast_unsigned()) << 16;
    (u128::from(pair) * 0x0000_0001_0000_0001_0000_0001_0000_0001).to_le_bytes()
}

fn eight(weights: &[i16]) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (bytes, weight) in bytes.as_chunks_mut().0.iter_mut().zip(weights) {
        *bytes = weight.to_le_bytes();
    }
    bytes
}
