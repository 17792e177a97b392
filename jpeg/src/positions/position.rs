//! Positions in the entropy-coded data of a JPEG, between two MCUs.

use memchr::memchr;

use crate::entropy::Predictors;

/// A position between two MCUs, with the state that is needed to continue there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Position {
    /// The byte of the JPEG that contains the next bit.
    pub(crate) byte: usize,
    /// Number of its bits that are taken, 0 to 7.
    pub(crate) bit: u32,
    /// The DC of the last block of each of up to three components: pictures with more have no entry
    /// points.
    pub(crate) predictors: [i32; 3],
}

impl Position {
    /// Returns them with zeros for the components that entry points do not cover.
    pub(crate) fn all_predictors(&self) -> Predictors {
        let [a, b, c] = self.predictors;
        [a, b, c, 0]
    }
}

/// A byte of the file, and the number of unstuffed bytes before it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reached {
    pub(crate) at: usize,
    pub(crate) taken: usize,
}

/// Maps the number of an unstuffed byte to the byte of the file; forwards only.
#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    input: &'a [u8],
    /// A byte of the file, and the number of unstuffed bytes before it.
    at: usize,
    taken: usize,
}

impl<'a> Cursor<'a> {
    /// Starts at `start`, where unstuffing began.
    pub(crate) fn new(input: &'a [u8], start: usize) -> Cursor<'a> {
        Cursor::from(input, Reached { at: start, taken: 0 })
    }

    /// Starts at a byte of the file whose unstuffed number is known.
    pub(crate) fn from(input: &'a [u8], reached: Reached) -> Cursor<'a> {
        let Reached { at, taken } = reached;
        Cursor { input, at, taken }
    }

    /// Returns the same as [`Cursor::find`] for data without restart markers, of which `wanted`
    /// bytes were unstuffed. Counts ffs instead of visiting each.
    pub(crate) fn find_without_restarts(&mut self, wanted: usize) -> usize {
        while self.taken < wanted {
            // The bytes ahead are at most as many as those that are wanted, so all are data, and
            // each ff among them has its zero.
            let ahead = wanted - self.taken;
            let Some(bytes) = self.input.get(self.at..self.at + ahead) else { break };
            let zeros: usize = bytes.chunks(255).map(count_ffs).sum();
            let half = usize::from(bytes.last() == Some(&0xff));
            self.at += ahead + half;
            self.taken += ahead + half - zeros;
        }
        self.find(wanted)
    }

    /// Returns the byte of the file that is unstuffed byte `wanted`; the end of the data if there
    /// is none.
    pub(crate) fn find(&mut self, wanted: usize) -> usize {
        loop {
            let rest = &self.input[self.at..];
            let ahead = (wanted - self.taken.min(wanted)).min(rest.len());
            let plain = memchr(0xff, &rest[..ahead]).unwrap_or(ahead);
            self.at += plain;
            self.taken += plain;
            match self.input[self.at..] {
                // Skip markers and fill bytes before the wanted byte, too.
                [0xff, 0xd0..=0xd7, ..] => self.at += 2,
                [0xff, 0xff, ..] => self.at += 1,
                [0xff, 0, ..] if self.taken < wanted => {
                    self.at += 2;
                    self.taken += 1;
                }
                _ => return self.at,
            }
        }
    }
}

/// Returns the number of ffs in at most 255 bytes.
fn count_ffs(bytes: &[u8]) -> usize {
    // Counting in bytes, the compiler compares as many at once as a register holds.
    usize::from(bytes.iter().fold(0u8, |count, &byte| count + u8::from(byte == 0xff)))
}

/// Returns the end of data up to `position`: the byte after the last one of which bits are taken.
pub(crate) fn end_of(bytes: &[u8], position: &Position) -> usize {
    let stuffed = usize::from(bytes.get(position.byte) == Some(&0xff));
    match position.bit {
        0 => position.byte.min(bytes.len()),
        _ => position.byte.saturating_add(1 + stuffed).min(bytes.len()),
    }
}

/// Returns true if a byte of data that begin at `start` is the second half of a marker or of a
/// stuffed ff, where no position can be.
pub(crate) fn is_inside(bytes: &[u8], start: usize, byte: usize) -> bool {
    let before = byte.checked_sub(1).filter(|&at| at >= start).and_then(|at| bytes.get(at));
    before == Some(&0xff) && bytes.get(byte) != Some(&0xff)
}

#[cfg(test)]
mod tests {
    use tarflume_fixtures::SplitMix64;

    use super::*;
    use crate::entropy::{Lane, unstuff};

    #[test]
    fn bytes_are_found_again_in_the_input() {
        let input: Vec<u8> = [7, 0xff, 0, 8, 9, 0xff, 0xd0, 10, 0xff, 0, 0xff, 0, 11].repeat(5);
        let mut found = Lane::default().data;
        unstuff(&input, 0..input.len(), 9, &mut found).unwrap();
        let mut cursor = Cursor::new(&input, 0);
        for (n, &byte) in found.bytes[..found.len()].iter().enumerate() {
            assert_eq!(input[cursor.find(n)], byte, "byte {n}");
            assert_eq!(Cursor::new(&input, 0).find(n), cursor.find(n), "from the start");
        }
        assert_eq!(cursor.find(found.len()), input.len());
    }

    #[test]
    fn without_restarts_the_same_bytes_are_found_by_counting() {
        let mut rng = SplitMix64::new(3);
        for round in 0..40 {
            let mut input = Vec::new();
            for _ in 0..rng.between(1, 900) {
                let byte = [0xff, 0, 1, rng.next_u64() as u8][rng.below(4) as usize];
                input.push(byte);
                input.extend((byte == 0xff).then_some(0));
            }
            input.extend([0xff, 0xff, 0xd9]); // a fill byte, the end of the image
            let mut found = Lane::default().data;
            unstuff(&input, 0..input.len(), 0, &mut found).unwrap();
            let mut slow = Cursor::new(&input, 0);
            let mut fast = Cursor::new(&input, 0);
            let mut wanted = 0;
            while wanted <= found.len() {
                assert_eq!(fast.find_without_restarts(wanted), slow.find(wanted), "{round}");
                assert_eq!(Cursor::new(&input, 0).find_without_restarts(wanted), slow.find(wanted));
                wanted += rng.below(400) as usize;
            }
            let end = found.len();
            assert_eq!(fast.find_without_restarts(end), slow.find(end), "the end, {round}");
        }
    }

    #[test]
    fn the_end_takes_the_byte_whose_bits_are_taken_and_its_stuffing() {
        let bytes = [1, 0xff, 0, 2];
        let end = |byte, bit| end_of(&bytes, &Position { byte, bit, predictors: [0; 3] });
        assert_eq!([end(0, 0), end(0, 3), end(1, 0), end(1, 5), end(3, 1)], [0, 1, 1, 3, 4]);
        assert_eq!([end(4, 0), end(9, 1), end(usize::MAX, 0), end(usize::MAX, 7)], [4; 4]);
    }

    #[test]
    fn nothing_begins_inside_a_pair() {
        fn inside(bytes: &[u8], start: usize) -> Vec<usize> {
            (0..=11).filter(|&n| is_inside(bytes, start, n)).collect::<Vec<_>>()
        }

        let bytes = [0xff, 0, 1, 0xff, 0, 0xff, 0xff, 0xd0, 2, 0xff];
        assert_eq!(inside(&bytes, 0), [1, 4, 7, 10]);
        assert_eq!(inside(&bytes, 1), [4, 7, 10]);
        assert!(!is_inside(&bytes, 0, usize::MAX));
    }
}
