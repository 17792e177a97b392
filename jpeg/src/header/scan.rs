//! The scan header, and the restart interval.

use super::frame::MOST;
use crate::error::{Error, Result};

/// A scan header, as it stands there.
#[derive(Debug)]
pub(super) struct Scan {
    pub(super) count: usize,
    /// Component, number of its DC table, number of its AC table.
    pub(super) parts: [(u8, u8, u8); MOST],
}

impl Scan {
    pub(super) fn read(segment: &[u8], at: usize) -> Result<Scan> {
        let count = usize::from(segment.first().copied().unwrap_or(0));
        if !(1..=MOST).contains(&count) || segment.len() != 4 + 2 * count {
            return Err(Error::damaged(at, "the scan header has the wrong length"));
        }
        let mut parts = [(0, 0, 0); MOST];
        for (part, bytes) in parts.iter_mut().zip(segment[1..].chunks_exact(2)).take(count) {
            *part = (bytes[0], bytes[1] >> 4, bytes[1] & 15);
        }
        // First and last coefficient, bits already sent and bits sent now stand here, too. Sequential
        // decoders pass over them; so does everybody.
        Ok(Scan { count, parts })
    }
}

/// MCUs between restart markers, as DRI gives them.
pub(super) fn restart(segment: &[u8], at: usize) -> Result<u32> {
    match segment {
        &[high, low] => Ok(u32::from(u16::from_be_bytes([high, low]))),
        _ => Err(Error::damaged(at, "the restart interval has the wrong length")),
    }
}

/// Looks at the conditioning of arithmetic codes: no decoder here needs it, but it can be damaged.
pub(super) fn conditioning(segment: &[u8], at: usize) -> Result<()> {
    let (pairs, rest) = segment.as_chunks::<2>();
    let possible = |&[table, value]: &[u8; 2]| match table >> 4 {
        0 => value & 15 <= value >> 4,
        kind => kind == 1,
    };
    if rest.is_empty() && pairs.iter().all(possible) {
        return Ok(());
    }
    Err(Error::damaged(at, "the conditioning of arithmetic codes can't be"))
}
