//! `Fingerprints`: by which a service recognizes a problem of an earlier run.

use std::collections::HashMap;

use tarflume_base::Problem;

/// The fingerprints of the problems before.
#[derive(Default)]
pub(super) struct Fingerprints(HashMap<String, u64>);

/// The fingerprint of a problem.
pub(super) struct Fingerprint {
    /// A digest of kind, path and key, which stay the same if bytes before the problem move.
    pub(super) digest: String,
    /// The number of the problem among those with the same digest.
    pub(super) number: u64,
}

impl Fingerprints {
    /// Returns the fingerprint of the next problem.
    pub(super) fn next(&mut self, problem: &Problem) -> Fingerprint {
        let mut hasher = blake3::Hasher::new();
        let kind = problem.kind.to_string();
        for text in [kind.as_str(), &problem.path, problem.key.as_deref().unwrap_or_default()] {
            hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
        }
        let digest = hasher.finalize().to_hex()[..16].to_string();
        let number = self.0.entry(digest.clone()).or_default();
        *number += 1;
        Fingerprint { number: *number, digest }
    }
}
