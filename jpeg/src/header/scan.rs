//! The scan header, and the restart interval.

use super::frame::MOST;
use crate::error::{Error, Result};

/// The fields of a scan header (T.81, B.2.3).
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) count: usize,
    /// Component, number of its DC table, number of its AC table.
    pub(crate) parts: [(u8, u8, u8); MOST],
    /// The band of a progressive scan. Sequential decoding ignores it.
    pub(crate) band: Band,
}

/// Which bits of which coefficients a progressive scan codes (T.81, G.1.1.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Band {
    /// Zigzag numbers of the first and the last coefficient.
    pub(crate) first: u8,
    pub(crate) last: u8,
    /// The lowest bit that earlier scans coded; 0 if there were none.
    pub(crate) before: u8,
    /// The lowest bit that this scan codes.
    pub(crate) low: u8,
}

impl Band {
    /// All bits of all coefficients.
    pub(super) const WHOLE: Band = Band { first: 0, last: 63, before: 0, low: 0 };

    /// Returns the mask of its coefficients, one bit for each zigzag number.
    pub(crate) fn bits(&self) -> u64 {
        (u64::MAX << (self.first & 63)) & (u64::MAX >> (63 - (self.last & 63)))
    }
}

impl Scan {
    pub(crate) fn read(segment: &[u8], at: usize) -> Result<Scan> {
        let count = usize::from(segment.first().copied().unwrap_or(0));
        if !(1..=MOST).contains(&count) || segment.len() != 4 + 2 * count {
            return Err(Error::damaged(at, "the scan header has the wrong length"));
        }
        let mut parts = [(0, 0, 0); MOST];
        for (part, bytes) in parts.iter_mut().zip(segment[1..].chunks_exact(2)).take(count) {
            *part = (bytes[0], bytes[1] >> 4, bytes[1] & 15);
        }
        let [first, last, bits] = [1, 2, 3].map(|n| segment[2 * count + n]);
        let band = Band { first, last, before: bits >> 4, low: bits & 15 };
        Ok(Scan { count, parts, band })
    }
}

/// Returns the MCUs between restart markers from a DRI segment.
pub(super) fn restart(segment: &[u8], at: usize) -> Result<u32> {
    match segment {
        &[high, low] => Ok(u32::from(u16::from_be_bytes([high, low]))),
        _ => Err(Error::damaged(at, "the restart interval has the wrong length")),
    }
}

/// Checks the conditioning of arithmetic codes (DAC): unused here, but it can be damaged.
pub(crate) fn conditioning(segment: &[u8], at: usize) -> Result<()> {
    let (pairs, rest) = segment.as_chunks::<2>();
    fn possible(&[table, value]: &[u8; 2]) -> bool {
        match table >> 4 {
            0 => value & 15 <= value >> 4,
            kind => kind == 1,
        }
    }
    if rest.is_empty() && pairs.iter().all(possible) {
        return Ok(());
    }
    Err(Error::damaged(at, "the conditioning of arithmetic codes is invalid"))
}
