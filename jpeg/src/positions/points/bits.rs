//! Packs numbers of any width, low bits first.

/// Returns the `width` bits from bit `at` on, 32 at most; zeros after the end.
pub(super) fn take(bytes: &[u8], at: usize, width: u32) -> u32 {
    let mut window = [0; 8];
    let rest = bytes.get(at / 8..).unwrap_or_default();
    let length = rest.len().min(8);
    window[..length].copy_from_slice(&rest[..length]);
    let bits = u64::from_le_bytes(window) >> (at % 8);
    (bits & ((1u64 << width) - 1)) as u32
}

/// Appends packed numbers to bytes.
#[derive(Debug, Default)]
pub(super) struct Pack {
    open: u64,
    bits: u32,
}

impl Pack {
    /// Appends the low `width` bits of `number`, 32 at most.
    pub(super) fn put(&mut self, number: u32, width: u32, to: &mut Vec<u8>) {
        self.open |= (u64::from(number) & ((1u64 << width) - 1)) << self.bits;
        self.bits += width;
        while self.bits >= 8 {
            to.push(self.open as u8);
            self.open >>= 8;
            self.bits -= 8;
        }
    }

    /// Fills the last byte with zeros.
    pub(super) fn finish(&mut self, to: &mut Vec<u8>) {
        if self.bits > 0 {
            to.push(self.open as u8);
        }
        *self = Pack::default();
    }
}

/// Returns the number of bits that hold every number up to `most`.
pub(super) fn width(most: u32) -> u32 {
    32 - most.leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_at_every_width_and_place() {
        let numbers: Vec<(u32, u32)> =
            (0..400u32).map(|n| (n.wrapping_mul(2_654_435_761), n % 33)).collect();
        let mut pack = Pack::default();
        let mut bytes = Vec::new();
        numbers.iter().for_each(|&(n, width)| pack.put(n, width, &mut bytes));
        pack.finish(&mut bytes);
        let mut at = 0;
        for (n, width) in numbers {
            assert_eq!(u64::from(take(&bytes, at, width)), u64::from(n) & ((1 << width) - 1));
            at += width as usize;
        }
        assert_eq!(bytes.len(), at.div_ceil(8));
        assert_eq!((width(0), width(1), width(255), width(256), width(u32::MAX)), (0, 1, 8, 9, 32));
    }
}
