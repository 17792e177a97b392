//! `Rooms`: packs by the room that they have left.
//!
//! Three levels of bits find the least room that is enough in a few steps: a bit for each room, one for each word of them,
//! and one for each word of those.

/// No pack.
const NONE: u32 = u32::MAX;

/// A pack that takes more samples.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenPack {
    pub(super) pack: u32,
    /// The tokens that it has room for.
    pub(super) room: u64,
}

/// Packs that have room.
#[derive(Debug, Default)]
pub(super) struct Rooms {
    /// Whether there is a pack of each room; whether a word of the level below has a bit.
    levels: [Vec<u64>; 3],
    /// For each room, the last pack that has it.
    last: Vec<u32>,
    /// For each pack, the one that had the same room before it.
    before: Vec<u32>,
}

impl Rooms {
    /// Forgets all packs. Rooms will be at most `most`.
    pub(super) fn reset(&mut self, most: u64) {
        let mut count = most as usize + 1;
        if self.last.len() == count {
            while let Some(room) = self.least(0) {
                self.remove(room);
            }
        } else {
            self.last.clear();
            self.last.resize(count, NONE);
            for level in &mut self.levels {
                count = count.div_ceil(64);
                level.clear();
                level.resize(count, 0);
            }
        }
        self.before.clear();
    }

    /// Takes out the pack with the least room of at least `length`.
    pub(super) fn take(&mut self, length: u64) -> Option<OpenPack> {
        let room = self.least(length as usize)?;
        let pack = self.last[room];
        self.last[room] = self.before[pack as usize];
        if self.last[room] == NONE {
            self.remove(room);
        }
        Some(OpenPack { pack, room: room as u64 })
    }

    /// Puts in a pack.
    pub(super) fn put(&mut self, pack: u32, room: u64) {
        let room = room as usize;
        if self.before.len() <= pack as usize {
            self.before.resize(pack as usize + 1, NONE);
        }
        self.before[pack as usize] = self.last[room];
        self.last[room] = pack;
        let mut bit = room;
        for level in &mut self.levels {
            level[bit / 64] |= 1 << (bit % 64);
            bit /= 64;
        }
    }

    /// Forgets the packs of a room.
    fn remove(&mut self, room: usize) {
        self.last[room] = NONE;
        let mut bit = room;
        for level in &mut self.levels {
            level[bit / 64] &= !(1 << (bit % 64));
            if level[bit / 64] != 0 {
                break;
            }
            bit /= 64;
        }
    }

    /// The least room of at least `from` that a pack has.
    fn least(&self, from: usize) -> Option<usize> {
        let [rooms, words, groups] = &self.levels;
        if let Some(found) = in_word(rooms, from) {
            return Some(found);
        }
        let word = in_word(words, from / 64 + 1).or_else(|| {
            let first = from / 64 / 64 + 1;
            let later =
                (first / 64..groups.len()).find_map(|at| in_word(groups, first.max(at * 64)))?;
            in_word(words, later * 64)
        })?;
        in_word(rooms, word * 64)
    }
}

/// The first bit from `from` on in its word.
fn in_word(words: &[u64], from: usize) -> Option<usize> {
    let word = words.get(from / 64)? & (u64::MAX << (from % 64));
    (word != 0).then(|| from / 64 * 64 + word.trailing_zeros() as usize)
}
