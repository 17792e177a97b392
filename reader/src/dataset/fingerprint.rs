//! Which data set this is, whatever it is called and wherever it stands.

use crate::dataset::shard::{Content, Facts};
use crate::error::Result;
use crate::order::Fingerprint;

/// What the hash is made for: no other hash of this project is ever the same.
const CONTEXT: &str = "tarflume data set fingerprint 1";

/// Names the samples of a data set in their order: made from each shard's number of samples, length
/// and digest (of the tar, or of its sidecar where the tar was indexed by its headers alone). Neither
/// paths nor the way in which it was opened enter.
pub(crate) fn of<'a>(shards: impl Iterator<Item = &'a Facts>) -> Result<Fingerprint> {
    let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
    for shard in shards {
        let (length, content) = shard.content()?;
        hasher.update(&shard.samples().to_le_bytes());
        hasher.update(&length.to_le_bytes());
        let (kind, digest) = match content {
            Content::Tar(digest) => (0, digest),
            Content::Sidecar(digest) => (1, digest),
        };
        hasher.update(&[kind]);
        hasher.update(digest.as_bytes());
    }
    Ok(Fingerprint::new(*hasher.finalize().as_bytes()))
}
