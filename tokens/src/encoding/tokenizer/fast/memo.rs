//! `Memo`: the ids of pieces that a thread has met. A piece has two places; the newer of two that share them stays longer.

use super::pairs::NONE;

/// Places for pieces of at most [`SHORT`] bytes: 2 MiB.
const SHORT_PLACES: usize = 1 << 16;
/// Places for pieces of at most [`MIDDLE`] bytes: 1 MiB.
const MIDDLE_PLACES: usize = 1 << 14;
/// Places for pieces of at most [`LONG`] bytes: 1 MiB.
const LONG_PLACES: usize = 1 << 13;
const SHORT: usize = 15;
const MIDDLE: usize = 31;
const LONG: usize = 63;

/// A piece as a number: its bytes, zeros, and its length.
pub(super) type Key<const WORDS: usize> = [u128; WORDS];

/// A piece with its ids, behind which [`NONE`] follows.
#[derive(Debug, Clone, Copy)]
struct Place<const WORDS: usize, const IDS: usize> {
    key: Key<WORDS>,
    ids: [u32; IDS],
}

#[derive(Debug)]
struct Table<const WORDS: usize, const IDS: usize> {
    places: Box<[Place<WORDS, IDS>]>,
}

/// The ids of pieces.
#[derive(Debug)]
pub(super) struct Memo {
    short: Table<1, 4>,
    middle: Table<2, 8>,
    long: Table<4, 16>,
}

/// A piece as the key of a [`Memo`].
#[derive(Debug, Clone, Copy)]
pub(super) enum PieceKey {
    Short(Key<1>),
    Middle(Key<2>),
    Long(Key<4>),
    /// Pieces that are not kept.
    Longer,
}

impl PieceKey {
    /// Returns the key of the piece at `at..end` of a text.
    #[inline]
    pub(super) fn of(text: &[u8], at: usize, end: usize) -> PieceKey {
        let len = end - at;
        if len <= SHORT {
            return PieceKey::Short([word(text, at, len) | (len as u128) << 120]);
        }
        if len <= MIDDLE {
            let first = word(text, at, 16);
            return PieceKey::Middle([first, word(text, at + 16, len - 16) | (len as u128) << 120]);
        }
        if len <= LONG {
            let mut key = [0; 4];
            for (number, part) in key.iter_mut().enumerate().take(len.div_ceil(16)) {
                *part = word(text, at + 16 * number, (len - 16 * number).min(16));
            }
            key[3] |= (len as u128) << 120;
            return PieceKey::Long(key);
        }
        PieceKey::Longer
    }
}

/// Returns the `len` bytes at `at`, at most 16, and zeros.
#[inline]
fn word(text: &[u8], at: usize, len: usize) -> u128 {
    if let Some(bytes) = text[at..].first_chunk::<16>() {
        let unused = 128 - 8 * len as u32;
        let mask = u128::MAX.checked_shr(unused).unwrap_or(0);
        return u128::from_le_bytes(*bytes) & mask;
    }
    let mut bytes = [0; 16];
    bytes[..len].copy_from_slice(&text[at..at + len]);
    u128::from_le_bytes(bytes)
}

impl<const WORDS: usize, const IDS: usize> Table<WORDS, IDS> {
    fn new(places: usize) -> Table<WORDS, IDS> {
        let empty = Place { key: [0; WORDS], ids: [NONE; IDS] };
        Table { places: vec![empty; places].into_boxed_slice() }
    }

    /// Returns the first of the two places of a key; the other one is its neighbor.
    #[inline]
    fn at(&self, key: &Key<WORDS>) -> usize {
        let mut mixed = 0u64;
        for word in key {
            let low = (*word as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let high = ((word >> 64) as u64).wrapping_mul(0xd6e8_feb8_6659_fd93);
            mixed = (mixed.rotate_left(23) ^ low ^ high.rotate_left(31))
                .wrapping_mul(0xff51_afd7_ed55_8ccd);
        }
        (mixed >> 40) as usize & (self.places.len() - 1)
    }

    #[inline]
    fn get(&self, key: &Key<WORDS>) -> Option<&[u32; IDS]> {
        let at = self.at(key);
        let places = [&self.places[at], &self.places[at ^ 1]];
        places.into_iter().find(|place| place.key == *key).map(|place| &place.ids)
    }

    /// Keeps the ids of a key that the table does not have, if they fit.
    fn keep(&mut self, key: Key<WORDS>, found: &[u32]) {
        if found.len() > IDS {
            return;
        }
        let mut ids = [NONE; IDS];
        ids[..found.len()].copy_from_slice(found);
        let at = self.at(&key);
        self.places[at ^ 1] = self.places[at];
        self.places[at] = Place { key, ids };
    }
}

impl Memo {
    pub(super) fn new() -> Memo {
        Memo {
            short: Table::new(SHORT_PLACES),
            middle: Table::new(MIDDLE_PLACES),
            long: Table::new(LONG_PLACES),
        }
    }

    /// Appends the ids of a piece; returns false if they are not known.
    #[inline]
    pub(super) fn append(&self, key: &PieceKey, into: &mut Vec<u32>) -> bool {
        let ids: Option<&[u32]> = match key {
            PieceKey::Short(key) => self.short.get(key).map(|ids| &ids[..]),
            PieceKey::Middle(key) => self.middle.get(key).map(|ids| &ids[..]),
            PieceKey::Long(key) => self.long.get(key).map(|ids| &ids[..]),
            PieceKey::Longer => None,
        };
        let Some(ids) = ids else { return false };
        for &id in ids {
            if id == NONE {
                break;
            }
            into.push(id);
        }
        true
    }

    /// Keeps the ids of a piece that is not known.
    pub(super) fn keep(&mut self, key: &PieceKey, ids: &[u32]) {
        match key {
            PieceKey::Short(key) => self.short.keep(*key, ids),
            PieceKey::Middle(key) => self.middle.keep(*key, ids),
            PieceKey::Long(key) => self.long.keep(*key, ids),
            PieceKey::Longer => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_piece_has_its_own_ids_or_none(
            text in vec(0u8..3, 0..100),
            pieces in vec((0usize..60, 1usize..66, vec(0u32..9, 0..18)), 1..60),
        ) {
            let mut memo = Memo::new();
            let mut kept: Vec<(Vec<u8>, Vec<u32>)> = Vec::new();
            for (at, len, ids) in pieces {
                let Some(piece) = text.get(at..at + len) else { continue };
                let key = PieceKey::of(&text, at, at + len);
                let mut found = Vec::new();
                let known = kept.iter().find(|(known, _)| known == piece);
                if memo.append(&key, &mut found) {
                    prop_assert_eq!(Some(&found), known.map(|(_, ids)| ids));
                } else if known.is_none() {
                    memo.keep(&key, &ids);
                    kept.push((piece.to_vec(), ids));
                }
            }
        }
    }

    #[test]
    fn what_is_kept_is_found() {
        let mut memo = Memo::new();
        let text = b"a piece and another one that has more bytes than those in front of it have";
        for (end, ids) in [
            (1, &[7][..]),
            (15, &[1, 2, 3, 4]),
            (16, &[5]),
            (31, &[1; 8]),
            (32, &[2]),
            (48, &[3]),
            (63, &[1; 16]),
        ] {
            let key = PieceKey::of(text, 0, end);
            let mut found = vec![9];
            assert!(!memo.append(&key, &mut found));
            memo.keep(&key, ids);
            assert!(memo.append(&key, &mut found));
            assert_eq!(found[1..], *ids);
        }
    }
}
