//! The fixed part of the blob, as specified in FORMAT.md.

/// Bytes of the fixed part.
pub(super) const FIXED: usize = 42;
pub(super) const VERSION: u8 = 1;

/// The fixed part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Fixed {
    pub(super) version: u8,
    pub(super) components: u8,
    /// Rows of MCUs.
    pub(super) rows: u16,
    /// Positions per row.
    pub(super) each: u16,
    /// MCUs between two of them.
    pub(super) step: u16,
    /// Bytes of the image.
    pub(super) length: u32,
    /// crc32c of the image.
    pub(super) image: u32,
    /// The first entropy-coded byte.
    pub(super) data: u32,
    /// Bytes from there to the last position.
    pub(super) span: u32,
    /// The offset of each byte number, and of each predictor.
    pub(super) base: i32,
    pub(super) bases: [i16; 3],
    /// Bits of a byte number and of the predictors.
    pub(super) widths: [u8; 4],
    /// Total number of positions, including the end; not stored, because it follows from the
    /// others.
    pub(super) count: u32,
}

impl Fixed {
    /// Parses the first bytes of a blob; returns its fixed part and checksum.
    pub(super) fn read(bytes: &[u8; FIXED]) -> (Fixed, u32) {
        fn half(bytes: &[u8; FIXED], at: usize) -> u16 {
            u16::from_le_bytes([bytes[at], bytes[at + 1]])
        }

        fn word(bytes: &[u8; FIXED], at: usize) -> u32 {
            u32::from(half(bytes, at)) | u32::from(half(bytes, at + 2)) << 16
        }

        let fixed = Fixed {
            version: bytes[0],
            components: bytes[1],
            rows: half(bytes, 2),
            each: half(bytes, 4),
            step: half(bytes, 6),
            length: word(bytes, 8),
            image: word(bytes, 12),
            data: word(bytes, 20),
            span: word(bytes, 24),
            base: word(bytes, 28) as i32,
            bases: [32, 34, 36].map(|at| half(bytes, at) as i16),
            widths: [bytes[38], bytes[39], bytes[40], bytes[41]],
            count: u32::from(half(bytes, 2)) * u32::from(half(bytes, 4)) + 1,
        };
        (fixed, word(bytes, 16))
    }

    /// Returns its bytes, with the blob's checksum.
    pub(super) fn bytes(&self, sum: u32) -> [u8; FIXED] {
        fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
            bytes[at..at + field.len()].copy_from_slice(field);
        }

        let mut bytes = [0; FIXED];
        bytes[0] = self.version;
        bytes[1] = self.components;
        put(&mut bytes, 2, &self.rows.to_le_bytes());
        put(&mut bytes, 4, &self.each.to_le_bytes());
        put(&mut bytes, 6, &self.step.to_le_bytes());
        put(&mut bytes, 8, &self.length.to_le_bytes());
        put(&mut bytes, 12, &self.image.to_le_bytes());
        put(&mut bytes, 16, &sum.to_le_bytes());
        put(&mut bytes, 20, &self.data.to_le_bytes());
        put(&mut bytes, 24, &self.span.to_le_bytes());
        put(&mut bytes, 28, &self.base.to_le_bytes());
        for (n, base) in self.bases.iter().enumerate() {
            put(&mut bytes, 32 + 2 * n, &base.to_le_bytes());
        }
        put(&mut bytes, 38, &self.widths);
        bytes
    }

    /// Returns the byte of position `n` if all rows were equally long: stored numbers are
    /// differences to it.
    pub(super) fn line(&self, n: u32) -> i64 {
        let steps = u64::from(self.count.max(2) - 1);
        i64::from(self.data) + (u64::from(n) * u64::from(self.span) / steps) as i64
    }

    /// Returns the bits of a position.
    pub(super) fn width(&self) -> usize {
        3 + self.widths.iter().map(|&w| usize::from(w)).sum::<usize>()
    }
}
