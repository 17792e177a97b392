//! Entropy-coded bytes without the zeros that follow each ff, and without restart markers, so that
//! bits can be taken eight bytes at a time.

use std::collections::TryReserveError;
use std::ops::Range;

use memchr::memchr;

/// Bytes behind the end, so that the last bits can be taken eight bytes at a time.
pub(crate) const PADDING: usize = 8;

/// Entropy-coded bytes that bits can be taken from.
#[derive(Debug, Default)]
pub(crate) struct Unstuffed {
    /// The bytes, and [`PADDING`] zeros.
    pub(crate) bytes: Vec<u8>,
    /// Where restart markers stood: the next byte's place among `bytes`, and the marker's number.
    pub(crate) restarts: Vec<(usize, u8)>,
    /// Where the data ended: at a marker that is no restart or one too many, or at the end of the input.
    pub(crate) end: usize,
}

impl Unstuffed {
    /// Bytes of data.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len().saturating_sub(PADDING)
    }

    /// Lets go of its memory if that is more than `bytes`.
    pub(crate) fn drop_large(&mut self, bytes: usize) {
        let restarts = self.restarts.capacity() * size_of::<(usize, u8)>();
        if self.bytes.capacity() + restarts > bytes {
            *self = Unstuffed::default();
        }
    }
}

/// Takes the data of `range`, up to the first marker that is no restart marker, or one more of these
/// than `restarts`: a stream of nothing else would take eight times its own memory.
///
/// # Errors
/// There is no memory.
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
        // An eighth more: the next picture's may be a little longer.
        to.bytes.try_reserve_exact(length + length / 8 + PADDING)?;
    }
    let most = usize::try_from(restarts).unwrap_or(usize::MAX).min(length / 2);
    to.restarts.try_reserve_exact(most)?;
    let (input, mut at, end) = (&input[..range.end], range.start, range.end);
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
            // Another marker, half of one at the very end, or nothing that can be.
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

/// Fill bytes that `bytes` begin with: all ff but the last one.
fn fill(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|&&byte| byte == 0xff).count().saturating_sub(1)
}

/// Whether the fill bytes that `bytes` begin with stand in front of data, not of a marker: nothing may
/// fill there (T.81, B.1.1.2); libjpeg-turbo passes over it, but mixes up coefficients.
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
    fn stuffed_zeros_restart_markers_and_fill_bytes_go() {
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
