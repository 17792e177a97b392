//! `BitWriter`: writes entropy-coded bits, with a zero byte after each ff (T.81, B.1.1.5).

/// Appends bits to bytes.
#[derive(Debug)]
pub(super) struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    /// The newest bits; the lowest `held` are not written yet.
    bits: u64,
    held: u32,
}

impl<'a> BitWriter<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> BitWriter<'a> {
        BitWriter { out, bits: 0, held: 0 }
    }

    /// Appends the lowest `count` bits of `bits`, 32 at most; the others must be 0.
    #[inline]
    pub(super) fn put(&mut self, bits: u32, count: u32) {
        self.bits = self.bits << count | u64::from(bits);
        self.held += count;
        while self.held >= 8 {
            self.held -= 8;
            let byte = (self.bits >> self.held) as u8;
            self.out.push(byte);
            if byte == 0xff {
                self.out.push(0);
            }
        }
    }

    /// Fills the last byte with ones (T.81, F.1.2.3).
    pub(super) fn finish(mut self) {
        let missing = (8 - self.held) % 8;
        self.put((1 << missing) - 1, missing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_follows_each_ff_and_ones_fill_the_last_byte() {
        let mut out = vec![7];
        let mut writer = BitWriter::new(&mut out);
        for (bits, count) in [(0b1111, 4), (0b1111, 4), (0, 3), (0xffff_ffff, 32), (0, 2)] {
            writer.put(bits, count);
        }
        writer.finish();
        assert_eq!(out, [7, 0xff, 0, 0x1f, 0xff, 0, 0xff, 0, 0xff, 0, 0xe7]);
        let mut out = Vec::new();
        BitWriter::new(&mut out).finish();
        assert!(out.is_empty());
    }
}
