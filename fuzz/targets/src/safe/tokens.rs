//! Cached ids, the arrays of a sample and the text of a condition: no panic, and cached ids that are read are written with
//! the same bytes. The first byte chooses; cached ids get a valid digest, so that more than the digest is tested.

use tarflume_tokens::{Condition, entry, sample};

/// Parses the input as cached ids, as the arrays of a sample or as a condition.
pub fn tokens(input: &[u8]) {
    let Some((&mode, rest)) = input.split_first() else { return };
    match mode % 3 {
        0 => {
            let signed = [rest, blake3::hash(rest).as_bytes()].concat();
            if let Some(ids) = entry::parse(&signed) {
                let again = entry::to_bytes(&ids).expect("short documents");
                assert_eq!(entry::parse(&again), Some(ids));
            }
        }
        1 => {
            let (ids, bounds) = rest.split_at(rest.len() / 2);
            let Ok(documents) = sample::documents(ids, bounds) else { return };
            assert!(documents.iter().map(Vec::len).sum::<usize>() <= ids.len());
        }
        _ => {
            let Ok(condition) = Condition::parse(&String::from_utf8_lossy(rest)) else { return };
            let holds = condition.holds(10);
            let again = Condition::parse(&condition.to_string()).expect("its own text");
            assert_eq!(again.holds(10), holds);
        }
    }
}
