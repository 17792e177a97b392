//! The identity of a data set's content, independent of names and paths.

use tarflume_order::Fingerprint;
use tarflume_types::Result;

use crate::dataset::shard::{ShardContent, ShardFacts};

/// Domain separation: no other hash of this project has this context.
const CONTEXT: &str = "tarflume data set fingerprint 1";

/// Computes the fingerprint of the samples and their order from the sample count, length and digest of
/// each shard. The digest is that of the tar, or of its sidecar if the tar was indexed by its headers
/// only. Paths and access options do not enter.
pub(crate) fn of<'a>(shards: impl Iterator<Item = &'a ShardFacts>) -> Result<Fingerprint> {
    let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
    for shard in shards {
        let (length, content) = shard.content()?;
        hasher.update(&shard.samples().to_le_bytes());
        hasher.update(&length.to_le_bytes());
        let (kind, digest) = match content {
            ShardContent::Tar(digest) => (0, digest),
            ShardContent::Sidecar(digest) => (1, digest),
        };
        hasher.update(&[kind]);
        hasher.update(digest.as_bytes());
    }
    Ok(Fingerprint::new(*hasher.finalize().as_bytes()))
}
