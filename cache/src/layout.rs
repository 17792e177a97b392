//! The file of a cache: where header, index and slots are. Arithmetic alone.
//!
//! All numbers are words of 64 bits in the byte order of the machine: the file is never moved to another one.

/// The most bytes of a block.
pub const BLOCK: usize = 1 << 20;
/// Bytes that share a checksum. A smaller read reads this many.
pub(crate) const GRAIN: usize = 32 << 10;
/// Checksums of a block.
pub(crate) const GRAINS: usize = BLOCK / GRAIN;
/// Slots that a key can have in one of its two buckets.
pub(crate) const BUCKET: u64 = 16;

/// "tflcach" and the version of the layout.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"tflcach\x01");
/// Bytes of the header.
const HEADER: u64 = 4096;
/// Words of an entry: eight words, and two checksums in each of the others.
pub(crate) const ENTRY: usize = 8 + GRAINS / 2;
const PAGE: u64 = 4096;

/// Words of the header.
pub(crate) mod header {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const SLOTS: usize = 1;
    /// The first of the counters.
    pub(crate) const COUNTERS: usize = 8;
}

/// The shape of a cache of some number of slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) slots: u64,
}

impl Layout {
    /// The largest cache of at most `bytes`; `None` if not even one bucket fits.
    pub(crate) fn within(bytes: u64) -> Option<Layout> {
        let slot = (BLOCK + ENTRY * 8) as u64;
        let slots = bytes.saturating_sub(HEADER + PAGE) / slot;
        // A bucket is a run of slots, and each is whole.
        let slots = slots / BUCKET * BUCKET;
        (slots > 0).then_some(Layout { slots })
    }

    pub(crate) fn buckets(self) -> u64 {
        self.slots / BUCKET
    }

    /// The word at which the entry of a slot begins.
    pub(crate) fn entry(self, slot: u64) -> usize {
        (HEADER / 8) as usize + slot as usize * ENTRY
    }

    /// Bytes that are mapped: header and index.
    pub(crate) fn mapped(self) -> u64 {
        HEADER + self.slots * (ENTRY * 8) as u64
    }

    /// The byte at which a slot begins.
    pub(crate) fn slot(self, slot: u64) -> u64 {
        self.mapped().next_multiple_of(PAGE) + slot * BLOCK as u64
    }

    /// Bytes of the file.
    pub(crate) fn bytes(self) -> u64 {
        self.slot(self.slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_no_larger_than_asked() {
        for bytes in [17 << 20, 64 << 20, (64 << 20) + 1, 200 << 30] {
            let layout = Layout::within(bytes).unwrap();
            assert!(layout.bytes() <= bytes, "{bytes}");
            assert!(layout.bytes() + (BUCKET + 1) * (BLOCK as u64 + 4096) > bytes, "{bytes}");
        }
        assert_eq!(Layout::within(16 << 20), None);
    }
}
