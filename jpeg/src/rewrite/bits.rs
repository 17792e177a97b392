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
        if self.held >= 32 {
            self.held -= 32;
            let word = (self.bits >> self.held) as u32;
            // True if a byte is ff: its highest bit is set, and adding one clears it.
            if word & !word.wrapping_add(0x0101_0101) & 0x8080_8080 == 0 {
                self.out.extend_from_slice(&word.to_be_bytes());
            } else {
                self.stuffed(&word.to_be_bytes());
            }
        }
    }

    #[cold]
    fn stuffed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.out.push(byte);
            if byte == 0xff {
                self.out.push(0);
            }
        }
    }

    /// Fills the last byte with ones (T.81, F.1.2.3).
    pub(super) fn finish(mut self) {
        let missing = (8 - self.held % 8) % 8;
        self.put((1 << missing) - 1, missing);
        let bytes = ((self.bits as u32) << ((32 - self.held) % 32)).to_be_bytes();
        self.stuffed(&bytes[..self.held as usize / 8]);
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

    #[test]
    fn the_bits_are_those_written_bit_by_bit() {
        let mut seed = 1u64;
        let mut random = move |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            (seed >> 33) % n
        };
        for length in 0..400 {
            let mut out = Vec::new();
            let mut text = String::new();
            let mut writer = BitWriter::new(&mut out);
            for _ in 0..length {
                let count = random(33) as u32;
                // Mostly ones, so that many bytes are ff.
                let bits = if random(3) > 0 { u64::from(u32::MAX) } else { random(1 << 32) };
                let bits = bits & ((1 << count) - 1);
                writer.put(bits as u32, count);
                text += &(0..count)
                    .rev()
                    .map(|b| char::from(b'0' + (bits >> b & 1) as u8))
                    .collect::<String>();
            }
            writer.finish();
            text += &"1".repeat(text.len().next_multiple_of(8) - text.len());
            let bytes = text
                .as_bytes()
                .chunks(8)
                .map(|byte| byte.iter().fold(0u8, |byte, bit| byte << 1 | (bit - b'0')));
            let expected: Vec<u8> = bytes
                .flat_map(|byte| if byte == 0xff { vec![0xff, 0] } else { vec![byte] })
                .collect();
            assert_eq!(out, expected, "{length}");
        }
    }
}
