//! Removes the zero bytes that follow each ff (T.81, B.1.1.5) and the restart markers from
//! entropy-coded bytes, so that bits can be read eight bytes at a time.

use std::collections::TryReserveError;
use std::ops::Range;

use memchr::memchr;

/// Bytes after the end, so that the last bits can be read eight bytes at a time.
pub(crate) const PADDING: usize = 8;

/// Entropy-coded bytes ready for reading bits.
#[derive(Debug, Default)]
pub(crate) struct Unstuffed {
    /// The bytes, and [`PADDING`] zeros.
    pub(crate) bytes: Vec<u8>,
    /// The positions of restart markers: the index of the next byte in `bytes`, and the marker's
    /// number.
    pub(crate) restarts: Vec<(usize, u8)>,
    /// Where the data ended: at a marker other than a restart marker, at one restart marker too
    /// many, or at the end of the input.
    pub(crate) end: usize,
}

impl Unstuffed {
    /// Bytes of data.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len().saturating_sub(PADDING)
    }

    /// Returns true if the bytes after bit `bit`, which is in the data, only fill them: all are equal.
    /// The codes of blocks are not, unless these are flat.
    pub(crate) fn is_filling(&self, bit: usize) -> bool {
        let left = &self.bytes[bit.div_ceil(8)..self.len()];
        left.windows(2).all(|pair| pair[0] == pair[1])
    }

    /// Frees its memory if that is more than `bytes`.
    pub(crate) fn drop_large(&mut self, bytes: usize) {
        let restarts = self.restarts.capacity() * size_of::<(usize, u8)>();
        if self.bytes.capacity() + restarts > bytes {
            *self = Unstuffed::default();
        }
    }
}

/// Reads the data of `range` up to the first marker other than a restart marker, or one more of
/// these than `restarts`: a stream of only restart markers would take eight times its own memory.
///
/// # Errors
/// Returns an error if memory is exhausted.
pub(crate) fn unstuff(
    input: &[u8],
    range: Range<usize>,
    restarts: u64,
    to: &mut Unstuffed,
) -> Result<(), TryReserveError> {
    to.bytes.clear();
    to.restarts.clear();
    let length = range.len();
    if to.bytes.capacity() < length + PADDING {
        // An eighth more: the next picture may be a little longer.
        to.bytes.try_reserve_exact(length + length / 8 + PADDING)?;
    }
    // Each marker has two bytes, so a header that claims more reserves no more memory.
    let most = usize::try_from(restarts).unwrap_or(usize::MAX).min(length / 2);
    to.restarts.try_reserve_exact(most)?;
    let input = &input[..range.end];
    let mut at = range.start;
    let end = range.end;
    loop {
        let rest = &input[at..];
        let Some(found) = memchr(0xff, rest) else {
            to.bytes.extend_from_slice(rest);
            to.end = end;
            break;
        };
        match rest.get(found + 1) {
            Some(0) => {
                to.bytes.extend_from_slice(&rest[..=found]);
                at += found + 2;
            }
            Some(marker @ 0xd0..=0xd7) if to.restarts.len() < most => {
                to.bytes.extend_from_slice(&rest[..found]);
                to.restarts.push((to.bytes.len(), marker & 7));
                at += found + 2;
            }
            Some(0xff) if !stuffed(&rest[found..]) => {
                to.bytes.extend_from_slice(&rest[..found]);
                at += found + fill(&rest[found..]);
            }
            // Another marker, half of one at the very end, or an invalid pair.
            _ => {
                to.bytes.extend_from_slice(&rest[..found]);
                to.end = at + found;
                break;
            }
        }
    }
    to.bytes.extend_from_slice(&[0; PADDING]);
    Ok(())
}

/// Returns the number of fill bytes at the start of `bytes`: all ff but the last one.
fn fill(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|&&byte| byte == 0xff).count().saturating_sub(1)
}

/// Returns true if the fill bytes at the start of `bytes` precede data, not a marker. T.81,
/// B.1.1.2, permits fill bytes only before markers; libjpeg-turbo skips these, but then decodes
/// wrong coefficients.
fn stuffed(bytes: &[u8]) -> bool {
    bytes.get(fill(bytes) + 1) == Some(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(input: &[u8]) -> Unstuffed {
        let mut to = Unstuffed::default();
        unstuff(input, 0..input.len(), 9, &mut to).unwrap();
        to
    }

    #[test]
    fn stuffed_zeros_restart_markers_and_fill_bytes_are_removed() {
        let found = taken(&[1, 0xff, 0, 2, 0xff, 0xd3, 3, 0xff, 0xff, 0xd4, 4, 0xff, 0xd9, 5]);
        assert_eq!(found.bytes[..found.len()], [1, 0xff, 2, 3, 4]);
        assert_eq!(found.restarts, [(3, 3), (4, 4)]);
        assert_eq!(found.end, 11);
    }

    #[test]
    fn nothing_fills_in_front_of_data() {
        for (end, input) in [(1, &[1, 0xff, 0xff, 0, 2][..]), (0, &[0xff, 0xff, 0xff, 0])] {
            assert_eq!((taken(input).end, taken(input).len()), (end, end));
        }
    }

    #[test]
    fn one_restart_marker_too_many_is_the_end() {
        let mut to = Unstuffed::default();
        for most in 0..6 {
            unstuff(&[0xff, 0xd1].repeat(6), 0..12, most, &mut to).unwrap();
            assert_eq!((to.restarts.len() as u64, to.end as u64), (most, 2 * most));
        }
        assert!(to.restarts.capacity() <= 6);
    }

    #[test]
    fn room_for_many_restart_markers_is_not_kept() {
        let mut to = Unstuffed::default();
        let input = [0; 4096];
        // Room for 2,048 markers, of 16 bytes each.
        unstuff(&input, 0..4096, u64::MAX, &mut to).unwrap();
        to.drop_large(64 << 10);
        assert_eq!(to.len(), 4096);
        to.drop_large(16 << 10);
        assert_eq!((to.bytes.capacity(), to.restarts.capacity()), (0, 0));
    }

    #[test]
    fn every_cut_ends_where_the_input_ends() {
        let whole = [1, 0xff, 0, 2, 0xff, 0xd3, 3, 0xff, 0xff, 0xd4, 4];
        for length in 0..whole.len() {
            let found = taken(&whole[..length]);
            let half = length > 0 && whole[length - 1] == 0xff;
            assert_eq!(found.end, length - usize::from(half));
            assert!(found.bytes.ends_with(&[0; PADDING]));
        }
    }
}
