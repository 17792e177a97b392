//! `Similar`: the keys that are most like an unknown one. Pure.

/// Number of keys that are suggested.
const SUGGESTED: usize = 4;
/// Keys that are compared, which takes about a second.
const COMPARED: u64 = 1_000_000;
/// Likeness from which a key is suggested.
const ALIKE: f64 = 0.85;

/// The keys that are most like an unknown one, of those that were compared.
#[derive(Debug)]
pub(super) struct Similar<'w> {
    wanted: &'w [u8],
    compared: u64,
    /// The best first.
    best: Vec<(f64, Vec<u8>)>,
}

impl<'w> Similar<'w> {
    pub(super) fn new(wanted: &'w [u8]) -> Similar<'w> {
        Similar { wanted, compared: 0, best: Vec::new() }
    }

    /// Compares a key.
    pub(super) fn compare(&mut self, key: &[u8]) {
        self.compared += 1;
        let likeness = likeness(self.wanted, key);
        let is_known = self.best.iter().any(|(_, other)| other == key);
        if likeness < ALIKE || is_known {
            return;
        }
        let at = self.best.partition_point(|(other, _)| *other >= likeness);
        self.best.insert(at, (likeness, key.to_vec()));
        self.best.truncate(SUGGESTED);
    }

    /// Returns how many more keys should be compared.
    pub(super) fn left(&self) -> u64 {
        COMPARED.saturating_sub(self.compared)
    }

    /// Returns the keys, the best first.
    pub(super) fn keys(self) -> Vec<Vec<u8>> {
        self.best.into_iter().map(|(_, key)| key).collect()
    }
}

/// Returns how alike two keys are, from 0 to 1: as wholes, or in what follows their last slashes.
fn likeness(a: &[u8], b: &[u8]) -> f64 {
    let a = String::from_utf8_lossy(a).to_lowercase();
    let b = String::from_utf8_lossy(b).to_lowercase();
    let wholes = strsim::jaro_winkler(&a, &b);
    // Of two equal names, the one in the named folder is nearer.
    wholes.max(0.9 * strsim::jaro_winkler(last(&a), last(&b)) + 0.1 * wholes)
}

/// Returns what follows the last slash.
fn last(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similar(wanted: &str, keys: &[&str]) -> Vec<String> {
        let mut similar = Similar::new(wanted.as_bytes());
        keys.iter().for_each(|key| similar.compare(key.as_bytes()));
        similar.keys().into_iter().map(|key| String::from_utf8(key).unwrap()).collect()
    }

    #[test]
    fn names_in_other_folders_and_of_other_cases_are_similar() {
        let keys = ["africa/lion", "africa/zebra", "asia/tiger", "zoo/zebra-2", "asia/zebra"];
        assert_eq!(similar("zebra", &keys), ["asia/zebra", "africa/zebra", "zoo/zebra-2"]);
        assert_eq!(similar("asia/zebr", &keys)[0], "asia/zebra");
        assert_eq!(similar("Africa/LION", &keys)[0], "africa/lion");
        assert!(similar("qqqq", &keys).is_empty());
    }

    #[test]
    fn a_key_of_two_samples_is_suggested_once() {
        assert_eq!(similar("cat1", &["cat", "cat"]), ["cat"]);
    }
}
