//! `Listed`: samples that are left out by key, and which keys of the list occurred.
//!
//! Keys only; `tarflume_formats::KeyList` parses the list's format.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use tarflume_formats::name;

/// Keys whose samples are left out. Shared by the threads of a scan.
#[derive(Debug, Default)]
pub struct Listed {
    /// Each key's position in the list.
    places: HashMap<Box<[u8]>, usize>,
    /// True for each key that a sample had.
    met: Vec<AtomicBool>,
}

/// Keys of the list that no sample had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absent {
    /// Number of keys.
    pub keys: u64,
    /// The first of them in the order of the list.
    pub first: String,
}

impl Listed {
    /// Creates a list of these keys, each once. Keys are compared as clean paths: a loader of a tar made by
    /// `tar -cf a.tar .` reports `./a`, which is packed as `a`.
    pub fn new<'k>(keys: impl IntoIterator<Item = &'k [u8]>) -> Listed {
        let mut places = HashMap::new();
        for key in keys {
            let next = places.len();
            places.entry(name::cleaned(key).into()).or_insert(next);
        }
        let met = places.iter().map(|_| AtomicBool::new(false)).collect();
        Listed { places, met }
    }

    /// Returns true if the list is empty.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns true if the sample with this key is left out, and marks the key as met. Reports
    /// contain keys in their escaped form, so the escaped form matches, too.
    pub fn has(&self, key: &[u8]) -> bool {
        let listed = |key: &[u8]| self.places.get(key).map(|&place| &self.met[place]);
        if self.is_empty() {
            return false;
        }
        let key = &name::cleaned(key);
        let met = listed(key).or_else(|| listed(name::shown(key).as_bytes()));
        met.inspect(|met| met.store(true, Ordering::Relaxed)).is_some()
    }

    /// Returns the keys that were not met; `None` if all were.
    pub fn absent(&self) -> Option<Absent> {
        let missing =
            self.places.iter().filter(|(_, place)| !self.met[**place].load(Ordering::Relaxed));
        let (first, _) = missing.clone().min_by_key(|(_, place)| **place)?;
        Some(Absent { keys: missing.count() as u64, first: name::shown(first) })
    }

    /// Returns the digest of the keys in any order; it represents the list in a plan.
    pub fn digest(&self) -> String {
        let mut keys: Vec<&[u8]> = self.places.keys().map(|key| &**key).collect();
        keys.sort_unstable();
        let mut hash = blake3::Hasher::new();
        for key in keys {
            hash.update(&(key.len() as u64).to_le_bytes()).update(key);
        }
        hash.finalize().to_hex()[..32].to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_are_reported_in_the_order_of_the_list() {
        let listed = Listed::new([&b"c"[..], b"a", b"b", b"a"]);
        assert!(listed.has(b"a") && !listed.has(b"x"));
        assert_eq!(listed.absent(), Some(Absent { keys: 2, first: "c".into() }));
        assert!(listed.has(b"b") && listed.has(b"c"));
        assert_eq!(listed.absent(), None);
        assert!(!Listed::default().has(b""));
    }

    #[test]
    fn a_key_is_found_as_reports_show_it() {
        let listed = Listed::new([&b"caf\\xe9"[..]]);
        assert!(listed.has(b"caf\xe9"));
    }

    fn digest(keys: &[&[u8]]) -> String {
        Listed::new(keys.iter().copied()).digest()
    }

    #[test]
    fn the_digest_is_of_the_keys_alone() {
        assert_eq!(digest(&[b"a", b"b"]), digest(&[b"b", b"a", b"a"]));
        assert_ne!(digest(&[b"ab"]), digest(&[b"a", b"b"]));
    }
}
