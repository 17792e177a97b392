//! The frame header: size, precision, components.

use crate::error::{Error, Result};

/// Limit on the components of a picture.
pub(super) const MOST: usize = 4;

/// The fields of a frame header (T.81, B.2.2).
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) marker: u8,
    pub(super) precision: u8,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) count: usize,
    pub(super) parts: [FrameComponent; MOST],
}

/// A component in the frame header.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FrameComponent {
    pub(super) id: u8,
    /// Sampling factors, 1 to 4.
    pub(super) h: u8,
    pub(super) v: u8,
    pub(super) quant: u8,
}

impl Frame {
    pub(super) fn read(marker: u8, segment: &[u8], at: usize) -> Result<Frame> {
        fn number(fixed: &[u8; 6], i: usize) -> u32 {
            u32::from(u16::from_be_bytes([fixed[i], fixed[i + 1]]))
        }

        let (fixed, rest) = segment
            .split_first_chunk::<6>()
            .ok_or_else(|| Error::damaged(at, "the frame header is too short"))?;
        let count = usize::from(fixed[5]);
        if rest.len() != 3 * count {
            return Err(Error::damaged(at, "the frame header has the wrong length"));
        }
        let height = number(fixed, 1);
        let width = number(fixed, 3);
        if width == 0 || !matches!(count, 1 | 3 | 4) {
            let text = format!("{width} columns of {count} components are not a picture");
            return Err(Error::damaged(at, text));
        }
        if height == 0 {
            let text = "the header gives no height: pictures whose height follows the first \
                        scan are not decoded";
            return Err(Error::damaged(at, text));
        }
        let mut parts = [FrameComponent::default(); MOST];
        for (part, bytes) in parts.iter_mut().zip(rest.chunks_exact(3)) {
            let h = bytes[1] >> 4;
            let v = bytes[1] & 15;
            if !(1..=4).contains(&h) || !(1..=4).contains(&v) || bytes[2] > 3 {
                let text = format!("component {} has impossible factors {h}x{v}", bytes[0]);
                return Err(Error::damaged(at, text));
            }
            *part = FrameComponent { id: bytes[0], h, v, quant: bytes[2] };
        }
        Ok(Frame { marker, precision: fixed[0], width, height, count, parts })
    }

    /// Returns the identifiers of the first three components.
    pub(super) fn ids(&self) -> [u8; 3] {
        [self.parts[0].id, self.parts[1].id, self.parts[2].id]
    }

    pub(super) fn channels(&self) -> u8 {
        self.count as u8
    }

    /// Returns the number of blocks of all components, without the padding of MCUs beyond the edge.
    pub(super) fn blocks(&self) -> u64 {
        let parts = &self.parts[..self.count];
        let h = parts.iter().map(|part| part.h).max().map_or(1, u64::from);
        let v = parts.iter().map(|part| part.v).max().map_or(1, u64::from);
        let width = u64::from(self.width);
        let height = u64::from(self.height);
        parts
            .iter()
            .map(|part| {
                let across = width * u64::from(part.h);
                let down = height * u64::from(part.v);
                across.div_ceil(8 * h) * down.div_ceil(8 * v)
            })
            .sum()
    }

    pub(super) fn is_progressive(&self) -> bool {
        matches!(self.marker, 0xc2 | 0xc6 | 0xca | 0xce)
    }
}
