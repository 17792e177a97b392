//! The shards of a data set in a store with their sidecars on this machine, for commands that list
//! and print samples.

use std::path::PathBuf;
use std::sync::Arc;

use tarflume_formats::manifest::ShardEntry;
use tarflume_formats::{Digest, Index, Manifest};
use tarflume_types::Result;

use crate::remote::{RemoteDataset, SidecarFolder, Storage};
use crate::source::{Source, behind};

/// A shard in a store.
#[derive(Debug)]
pub struct RemoteShard {
    /// The URL of the tar.
    pub url: PathBuf,
    /// Its entry in the manifest.
    pub entry: ShardEntry,
    sidecars: Arc<dyn SidecarFolder>,
    /// Its bytes.
    pub source: Arc<dyn Source>,
}

impl RemoteShard {
    /// Returns the path of the sidecar, which is fetched if it is not here.
    ///
    /// # Errors
    /// Returns an error if the store does not answer, or the sidecar is not that of the manifest.
    pub fn sidecar(&self) -> Result<PathBuf> {
        self.sidecars.fetch(&self.entry)
    }

    /// Checks that the sidecar does not list the first of joined tars alone. Reads only of a tar that is padded or joined.
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`](tarflume_types::ErrorKind::Damaged) with the place: more than zeros follows the end marker behind
    /// the last sample. Returns an error if the store does not answer.
    pub fn check_end(&self, index: &Index) -> Result<()> {
        behind::check_end(&self.source, &self.url, index)
    }
}

/// The manifest and the shards of a data set in a store.
#[derive(Debug)]
pub struct RemoteShards {
    /// The manifest.
    pub manifest: Manifest,
    /// The root digest of the manifest's text.
    pub root: Digest,
    /// The shards, in the order of the manifest.
    pub shards: Vec<RemoteShard>,
}

/// Opens the data set at `url`. Fetches no sidecar.
///
/// # Errors
/// As [`Dataset::open_with`](crate::Dataset::open_with).
pub fn remote_shards(url: &str, storage: &Storage) -> Result<RemoteShards> {
    let remote = RemoteDataset::open(url, storage)?;
    let mut shards = Vec::with_capacity(remote.manifest.shards.len());
    for entry in &remote.manifest.shards {
        let url = PathBuf::from(format!("{}/{}", remote.url, entry.name));
        let (source, _) = remote.opener.open(&url)?;
        shards.push(RemoteShard {
            url,
            source,
            entry: entry.clone(),
            sidecars: remote.sidecars.clone(),
        });
    }
    Ok(RemoteShards { manifest: remote.manifest, root: remote.root, shards })
}
