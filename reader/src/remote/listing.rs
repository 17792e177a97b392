//! The shards of a data set in a store with their sidecars on this machine, for commands that list
//! and print samples.

use std::path::PathBuf;
use std::sync::Arc;

use tarflume_formats::Manifest;

use crate::error::Result;
use crate::remote::{RemoteDataset, Storage};
use crate::source::Source;

/// A shard in a store.
#[derive(Debug)]
pub struct RemoteShard {
    /// The URL of the tar.
    pub url: PathBuf,
    /// Where its sidecar is.
    pub sidecar: PathBuf,
    /// Its bytes.
    pub source: Arc<dyn Source>,
}

/// Opens the data set at `url` and fetches all sidecars that are not here.
///
/// # Errors
/// As [`Dataset::open_with`](crate::Dataset::open_with).
pub fn remote_shards(url: &str, storage: &Storage) -> Result<(Manifest, Vec<RemoteShard>)> {
    let remote = RemoteDataset::open(url, storage)?;
    let mut shards = Vec::with_capacity(remote.manifest.shards.len());
    for entry in &remote.manifest.shards {
        let url = PathBuf::from(format!("{}/{}", remote.url, entry.name));
        let (source, _) = remote.opener.open(&url)?;
        shards.push(RemoteShard { sidecar: remote.sidecars.fetch(entry)?, source, url });
    }
    Ok((remote.manifest, shards))
}
