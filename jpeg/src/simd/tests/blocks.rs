//! Blocks of coefficients for tests, the same in every run: from ordinary to extreme.

/// A small random number generator (xorshift, Marsaglia 2003).
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Numbers {
        Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub(crate) fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.next() as u8).collect()
    }
}

/// The natural position of each zigzag number.
pub(crate) const ZIGZAG: [usize; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20,
    13, 6, 7, 14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59,
    52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
];

/// The range of a test's coefficients and factors.
#[derive(Clone, Copy)]
pub(crate) enum BlockKind {
    /// Those of an encoder.
    Sane,
    /// Any 16-bit values, mostly the ends of the range.
    Absurd,
}

pub(crate) fn quant(kind: BlockKind, numbers: &mut Numbers) -> [u16; 64] {
    const ENDS: [u16; 8] = [1, 2, 4, 255, 16384, 32767, 32768, 65535];
    let scale = numbers.below(4);
    std::array::from_fn(|_| match (kind, scale) {
        (_, 0) => 1,
        (_, 1) => 1 + numbers.below(16) as u16,
        (BlockKind::Sane, _) => 1 + numbers.below(255) as u16,
        (BlockKind::Absurd, 2) => numbers.next() as u16,
        (BlockKind::Absurd, _) => ENDS[numbers.below(8) as usize],
    })
}

/// A block and the zigzag number of its last coefficient that may not be 0, in natural order.
pub(crate) fn block(kind: BlockKind, numbers: &mut Numbers, quant: &[u16; 64]) -> ([i16; 64], u8) {
    const ENDS: [i16; 8] = [i16::MIN, i16::MAX, -1, 1, 8191, 8192, -8192, -8193];
    let last = match numbers.below(5) {
        0 => 0,
        1 => numbers.below(10),
        2 => numbers.below(28),
        _ => numbers.below(64),
    };
    let density = 1 + numbers.below(8);
    let size = numbers.below(4);
    let mut block = [0; 64];
    for &place in &ZIGZAG[..=last as usize] {
        if numbers.below(8) >= density {
            continue;
        }
        let reach = 1 + 1024 / (u64::from(quant[place]) * (1 + place as u64 / 4));
        let sane = (numbers.below(2 * reach + 1) as i64 - reach as i64) as i16;
        block[place] = match (kind, size) {
            (BlockKind::Sane, _) | (_, 0) => sane,
            (_, 1) => numbers.next() as i16,
            (_, 2) => ENDS[numbers.below(8) as usize],
            _ => ENDS[numbers.below(2) as usize],
        };
    }
    match numbers.below(16) {
        // Shapes for which libjpeg-turbo takes short cuts.
        0 => block[8..].fill(0),
        1 => (8..64).filter(|i| i / 8 != 4).for_each(|i| block[i] = 0),
        2 => (0..64).filter(|i| i % 8 > 3).for_each(|i| block[i] = 0),
        _ => {}
    }
    (block, last as u8)
}

/// FNV-1a of 64 bits, to compare many bytes by one number.
pub(crate) fn sum(before: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(before, |sum, &b| (sum ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// The initial value of `sum`.
pub(crate) const SUM: u64 = 0xcbf2_9ce4_8422_2325;
