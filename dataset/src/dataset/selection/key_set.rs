//! `KeySet`: the keys that a table selects, and `KeyFinder`, which finds many of them. Reads no sidecar.

use std::cmp::Ordering;
use std::hash::{BuildHasher, RandomState};

use tarflume_types::{Error, ErrorKind, Result};

/// Keys, each once. Takes their bytes and 8 bytes more for each; 40 more for each if keys do not ascend.
///
/// ```
/// use tarflume::{Dataset, KeySet};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let mut keys = KeySet::default();
/// for key in ["photo/003", "photo/005", "photo/003"] {
///     keys.insert(key.as_bytes())?;
/// }
/// assert_eq!(keys.len(), 2);
/// assert!(Dataset::open(shards)?.subset_of(&keys)?.contains(5));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct KeySet {
    hasher: RandomState,
    bytes: Vec<u8>,
    /// Where each key ends.
    ends: Vec<usize>,
    /// A table by hash, once keys do not ascend: at most half of it is used.
    slots: Vec<Slot>,
}

/// The number of a key and 1 in the lower half, high bits of its hash in the upper half; 0 is empty. The bits tell
/// nearly all other keys apart without reading the key.
type Slot = u64;

const MOST: usize = 1 << 31;

impl KeySet {
    /// Adds a key. Does nothing if it is a member.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`]: 2^31 keys are members already.
    pub fn insert(&mut self, key: &[u8]) -> Result<()> {
        if self.slots.is_empty() {
            match self.last().map(|last| last.cmp(key)) {
                None | Some(Ordering::Less) => return self.append(key),
                Some(Ordering::Equal) => return Ok(()),
                Some(Ordering::Greater) => {}
            }
        }
        if 2 * (self.ends.len() + 1) > self.slots.len() {
            self.grow();
        }
        let hash = self.hasher.hash_one(key);
        let (slot, found) = self.slot(hash, key);
        if found.is_none() {
            self.append(key)?;
            self.slots[slot] = occupied(hash, self.ends.len() - 1);
        }
        Ok(())
    }

    fn append(&mut self, key: &[u8]) -> Result<()> {
        if self.ends.len() >= MOST {
            return Err(Error::new(ErrorKind::Limit, "more than 2^31 keys are selected"));
        }
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
        Ok(())
    }

    fn grow(&mut self) {
        self.slots = vec![0; (4 * self.ends.len()).next_power_of_two().max(64)];
        for number in 0..self.ends.len() {
            let hash = self.hasher.hash_one(self.key(number));
            let slot = self.slot(hash, self.key(number)).0;
            self.slots[slot] = occupied(hash, number);
        }
    }

    /// The slot of a key: that of its number, or the empty one for it.
    fn slot(&self, hash: u64, key: &[u8]) -> (usize, Option<usize>) {
        let mask = self.slots.len() - 1; // a power of two
        let mut slot = hash as usize & mask;
        loop {
            let held = self.slots[slot];
            let Some(number) = (held as u32).checked_sub(1) else { return (slot, None) };
            if held >> 32 == hash >> 32 && self.key(number as usize) == key {
                return (slot, Some(number as usize));
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Key number `number`, in the order in which keys came first.
    pub(in crate::dataset) fn key(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[number]]
    }

    fn last(&self) -> Option<&[u8]> {
        self.ends.len().checked_sub(1).map(|number| self.key(number))
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True without keys.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// A finder for many keys.
    pub(in crate::dataset) fn finder(&self) -> KeyFinder<'_> {
        KeyFinder { keys: self, next: 0 }
    }
}

fn occupied(hash: u64, number: usize) -> Slot {
    (hash >> 32) << 32 | (number as u64 + 1) // at most 2^31
}

/// Finds the numbers of keys. A key that follows the one found before costs one comparison, and if the keys of the set
/// ascend, so does a key between two neighbors: the keys of a data set mostly come in the order of its tables.
pub(in crate::dataset) struct KeyFinder<'a> {
    keys: &'a KeySet,
    /// The key that is expected next.
    next: usize,
}

impl KeyFinder<'_> {
    /// The number of `key`; `None` if the set does not have it.
    pub(in crate::dataset) fn find(&mut self, key: &[u8]) -> Option<usize> {
        let found = if self.keys.slots.is_empty() {
            self.find_ascending(key)
        } else if self.is(self.next, key) {
            Some(self.next)
        } else {
            self.keys.slot(self.keys.hasher.hash_one(key), key).1
        };
        if let Some(number) = found {
            self.next = number + 1;
        }
        found
    }

    fn is(&self, number: usize, key: &[u8]) -> bool {
        number < self.keys.len() && self.keys.key(number) == key
    }

    fn find_ascending(&mut self, key: &[u8]) -> Option<usize> {
        let keys = self.keys;
        let next = self.next;
        if next < keys.len() {
            match key.cmp(keys.key(next)) {
                Ordering::Equal => return Some(next),
                Ordering::Less if next == 0 || key > keys.key(next - 1) => return None,
                Ordering::Less | Ordering::Greater => {}
            }
        }
        let mut low = 0;
        let mut high = keys.len();
        while low < high {
            let middle = low + (high - low) / 2;
            if keys.key(middle) < key { low = middle + 1 } else { high = middle }
        }
        self.next = low;
        self.is(low, key).then_some(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(keys: &[String]) -> KeySet {
        let mut set = KeySet::default();
        keys.iter().for_each(|key| set.insert(key.as_bytes()).unwrap());
        set
    }

    #[test]
    fn keys_are_found_and_held_once_in_any_order() {
        let ascending: Vec<String> = (0..3000).map(|number| format!("{number:05}")).collect();
        let mut descending = ascending.clone();
        descending.reverse();
        let mixed: Vec<String> = (0..3000).map(|number| format!("{number}")).collect();
        for keys in [ascending, descending, mixed] {
            let twice: Vec<String> =
                keys.iter().flat_map(|key| [key.clone(), key.clone()]).collect();
            let set = set(&[twice, keys.clone()].concat());
            assert_eq!(set.len(), 3000);
            let mut forward = set.finder();
            let mut back = set.finder();
            for number in 0..3000 {
                assert_eq!(forward.find(keys[number].as_bytes()), Some(number));
                assert_eq!(forward.find(keys[number].as_bytes()), Some(number), "again");
                assert_eq!(forward.find(format!("{}x", keys[number]).as_bytes()), None);
                let last = 2999 - number;
                assert_eq!(back.find(keys[last].as_bytes()), Some(last));
                assert_eq!(back.find(b""), None);
            }
        }
    }

    #[test]
    fn an_empty_set_and_an_empty_key() {
        let mut set = KeySet::default();
        assert_eq!(set.finder().find(b"x"), None);
        for key in ["b", "", "a", ""] {
            set.insert(key.as_bytes()).unwrap();
        }
        let mut finder = set.finder();
        assert_eq!(set.len(), 3);
        assert_eq!(
            [finder.find(b""), finder.find(b"b"), finder.find(b"c")],
            [Some(1), Some(0), None]
        );
    }
}
