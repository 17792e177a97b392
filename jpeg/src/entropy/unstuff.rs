//! Entropy-coded bytes without the zeros that follow each ff, and without restart markers, so that
//! bits can be taken eight bytes at a time.

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
    /// Where the data ended: at a marker that is no restart, or at the end of the input.
    pub(crate) end: usize,
}

impl Unstuffed {
    /// Bytes of data.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - PADDING
    }
}

/// Takes the data from `start` on, up to the first marker that is no restart marker, or to `end`.
pub(crate) fn unstuff(input: &[u8], start: usize, end: usize, to: &mut Unstuffed) {
    to.bytes.clear();
    to.restarts.clear();
    to.bytes.reserve(end - start + PADDING);
    let (input, mut at) = (&input[..end], start);
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
            Some(marker @ 0xd0..=0xd7) => {
                to.bytes.extend_from_slice(&rest[..found]);
                to.restarts.push((to.bytes.len(), marker & 7));
                at += found + 2;
            }
            Some(0xff) => {
                to.bytes.extend_from_slice(&rest[..found]);
                at += found + 1; // a fill byte
            }
            // A marker, or half of one at the very end.
            _ => {
                to.bytes.extend_from_slice(&rest[..found]);
                to.end = at + found;
                break;
            }
        }
    }
    to.bytes.extend_from_slice(&[0; PADDING]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(input: &[u8]) -> Unstuffed {
        let mut to = Unstuffed::default();
        unstuff(input, 0, input.len(), &mut to);
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
