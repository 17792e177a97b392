//! Clashes compared with a naive oracle, and corner cases: small maps, several passes, other
//! alphabets.

use proptest::prelude::*;

use super::*;

struct Listed(Vec<Vec<u8>>);

impl Keys for Listed {
    fn count(&self) -> u64 {
        self.0.len() as u64
    }

    fn for_each(&self, visit: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>) -> Result<()> {
        for (id, key) in self.0.iter().enumerate() {
            if visit(id as u64, key).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn key(&self, id: u64) -> Result<Vec<u8>> {
        Ok(self.0[id as usize].clone())
    }
}

fn listed<K: AsRef<[u8]>>(keys: &[K]) -> Listed {
    Listed(keys.iter().map(|k| k.as_ref().to_vec()).collect())
}

fn pair(first: u64, later: u64, clash: Clash) -> Pair {
    Pair { later, first, clash }
}

/// The same result from two hash tables of whole keys.
fn oracle(keys: &[Vec<u8>]) -> Vec<Pair> {
    let mut exact = HashMap::new();
    let mut folded = HashMap::new();
    let mut pairs = Vec::new();
    for (id, key) in keys.iter().enumerate() {
        let id = id as u64;
        let same = exact.get(key).copied();
        let first = *folded.entry(fold(key).into_owned()).or_insert(id);
        match same {
            Some(first) => pairs.push(pair(first, id, Clash::Same)),
            None if first != id => pairs.push(pair(first, id, Clash::CaseOnly)),
            None => {}
        }
        exact.entry(key.clone()).or_insert(id);
    }
    pairs
}

#[test]
fn repeats_and_case_twins_are_told_apart() {
    let keys = listed(&["a/1", "b", "A/1", "a/1", "B", "B", "c"]);
    let want = [
        pair(0, 2, Clash::CaseOnly),
        pair(0, 3, Clash::Same),
        pair(1, 4, Clash::CaseOnly),
        pair(4, 5, Clash::Same),
    ];
    assert_eq!(find(&keys).unwrap().pairs, want);
}

#[test]
fn in_ascending_keys_only_case_twins_can_repeat() {
    assert_eq!(find(&listed(&["A", "B", "a"])).unwrap().pairs, [pair(0, 2, Clash::CaseOnly)]);
    assert_eq!(find(&listed(&["a", "b", "c"])).unwrap().pairs, []);
    assert_eq!(find(&listed(&["A", "b", "C"])).unwrap().pairs, []);
    assert_eq!(find(&listed(&["", ""])).unwrap().pairs, [pair(0, 1, Clash::Same)]);
    assert_eq!(find(&listed::<&str>(&[])).unwrap(), RepeatedKeys { pairs: vec![], complete: true });
}

#[test]
fn letters_beyond_ascii_have_case_too() {
    let keys = listed(&["été", "ÉTÉ", "ΣΑΣ", "σας", "σασ", "straße"]);
    let want = [pair(0, 1, Clash::CaseOnly), pair(2, 4, Clash::CaseOnly)];
    assert_eq!(find(&keys).unwrap().pairs, want);
    let bytes: [&[u8]; 3] = [b"\xff\xc9A", b"\xff\xe9a", b"\xff\xc9a"];
    assert_eq!(find(&listed(&bytes)).unwrap().pairs, [pair(0, 2, Clash::CaseOnly)]);
}

#[test]
fn eight_bytes_at_once_are_lowered_as_one_by_one() {
    for byte in 0..=127u8 {
        let word = u64::from_le_bytes([b'Z', byte, b'A', byte, 127, 0, byte, b'[']);
        let want = word.to_le_bytes().map(|b| b.to_ascii_lowercase());
        assert_eq!(lower_eight(word).to_le_bytes(), want);
    }
}

#[test]
fn a_hash_depends_on_every_byte_and_on_the_length() {
    let all: Vec<Vec<u8>> = (0..40)
        .map(|n| vec![0; n])
        .chain((0..40).map(|i| (0..40).map(|j| u8::from(i == j)).collect()))
        .collect();
    let hashes: std::collections::HashSet<u64> = all.iter().map(|k| hash(k)).collect();
    assert_eq!(hashes.len(), all.len());
}

#[test]
fn a_list_of_clashes_over_the_memory_limit_is_marked_as_incomplete() {
    let keys = listed(&["same"; 100]);
    let found = find_in_batches(&keys, 64, 10, 20).unwrap();
    assert!(!found.complete);
    assert_eq!(found.pairs[0], pair(0, 1, Clash::Same));
}

proptest! {
    #[test]
    fn the_oracle_agrees(keys in proptest::collection::vec("[abAB]{0,3}|[a-cA-C0-9é]{7,18}", 0..300)) {
        let keys: Vec<Vec<u8>> = keys.into_iter().map(String::into_bytes).collect();
        let want = oracle(&keys);
        let keys = Listed(keys);
        for (map, batch) in [(MAP_MAX, BATCH), (64, 10)] {
            let found = find_in_batches(&keys, map, batch, BATCH_MAX).unwrap();
            prop_assert!(found.complete);
            prop_assert_eq!(&found.pairs, &want);
        }
    }
}
