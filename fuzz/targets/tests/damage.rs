//! Damaged copies of inputs, which depend on nothing but the inputs, the name of the target and the number of the copy.
//!
//! libFuzzer's own changes follow the coverage, which differs from run to run where a hash map is walked.

use std::ops::Range;

/// The longest input, as `-max_len` of the search.
const LONGEST: usize = 16384;

/// Bytes with a meaning in some format.
const BYTES: [u8; 24] = [
    0, 1, 7, 8, 9, 10, 13, 32, 34, 48, 57, 64, 92, 100, 123, 127, 128, 192, 200, 217, 218, 224,
    254, 255,
];

/// Numbers at limits of types.
const NUMBERS: [u64; 8] = [0, 1, 255, 256, 65535, 65536, 1 << 31, (1 << 63) - 1];

/// The random choices for one copy: SplitMix64.
pub(crate) struct Damage(u64);

impl Damage {
    pub(crate) fn new(target: &str, number: u64) -> Damage {
        // FNV-1a: any spread of the names will do.
        let start = target.bytes().chain(number.to_le_bytes());
        Damage(start.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        }))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn one_of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// Returns one of the seeds with one to six changes.
    pub(crate) fn copy(mut self, seeds: &[Vec<u8>], words: &[Vec<u8>]) -> Vec<u8> {
        let mut data = self.one_of(seeds).clone();
        for _ in 0..*self.one_of(&[1, 1, 1, 2, 3, 6]) {
            self.change(&mut data, seeds, words);
        }
        data.truncate(LONGEST);
        data
    }

    fn change(&mut self, data: &mut Vec<u8>, seeds: &[Vec<u8>], words: &[Vec<u8>]) {
        let at = self.below(data.len() + 1);
        let length = *self.one_of(&[1, 2, 4, 16, 64, 512]);
        let part = within(data, at, length);
        match self.below(9) {
            0 if at < data.len() => data[at] ^= 1 << self.below(8),
            1 if at < data.len() => data[at] = *self.one_of(&BYTES),
            2 => {
                let number = self.number();
                let old = within(data, at, number.len());
                data.splice(old, number);
            }
            3 => drop(data.drain(part)),
            4 => data.truncate(at),
            5 => drop(data.splice(at..at, data[part].to_vec())),
            6 => data[part].fill_with(|| self.next() as u8),
            7 if !words.is_empty() => {
                let old = within(data, at, *self.one_of(&[0, 1, 2, 4]));
                data.splice(old, self.one_of(words).iter().copied());
            }
            _ => {
                let other = self.one_of(seeds);
                let start = self.below(other.len() + 1);
                let taken = within(other, start, *self.one_of(&[4, 64, 1024]));
                data.splice(part, other[taken].iter().copied());
            }
        }
    }

    /// The bytes of a number at a limit, in one of both byte orders.
    fn number(&mut self) -> Vec<u8> {
        let size = *self.one_of(&[2, 4, 8]);
        let mut bytes = self.one_of(&NUMBERS).to_le_bytes()[..size].to_vec();
        if self.below(2) == 0 {
            bytes.reverse();
        }
        bytes
    }
}

/// Returns the range of `length` bytes at `at`, as far as they are there.
fn within(data: &[u8], at: usize, length: usize) -> Range<usize> {
    at..data.len().min(at + length)
}

/// Returns the words of a dictionary of libFuzzer: lines `NAME="text with \xNN"`.
pub(crate) fn words(dictionary: &str) -> Vec<Vec<u8>> {
    let lines = dictionary.lines().filter(|line| !line.starts_with('#'));
    let quoted = lines.filter_map(|line| line.split_once('"')?.1.strip_suffix('"'));
    quoted.map(unescaped).collect()
}

fn unescaped(text: &str) -> Vec<u8> {
    let mut pieces = text.split("\\x");
    let mut bytes = pieces.next().expect("a split has a first piece").as_bytes().to_vec();
    for piece in pieces {
        let (digits, rest) = piece.split_at(2);
        bytes.push(u8::from_str_radix(digits, 16).expect("two digits"));
        bytes.extend(rest.bytes());
    }
    bytes
}

#[test]
fn a_copy_is_the_same_in_every_run_and_differs_from_others() {
    let seeds = [b"one seed of bytes".to_vec(), Vec::new()];
    let copies: Vec<Vec<u8>> =
        (0..100).map(|number| Damage::new("zip", number).copy(&seeds, &[])).collect();
    let again = (0..100).map(|number| Damage::new("zip", number).copy(&seeds, &[]));
    assert!(again.eq(copies.iter().cloned()));
    let others = (0..100).map(|number| Damage::new("tar", number).copy(&seeds, &[]));
    assert!(!others.eq(copies));
}

#[test]
fn the_words_of_a_dictionary_are_read() {
    let found = words("# x=\"no\"\na=\"\\xff\\x00II\\x2a\"\nb=\"text\"\n");
    assert_eq!(found, [b"\xff\0II\x2a".to_vec(), b"text".to_vec()]);
}
