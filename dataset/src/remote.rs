//! Data sets in object stores: sidecars are kept on disk, shards are read by ranges.
//!
//! `RemoteDataset` is what a data set knows of its place in a store. Without the feature `remote`
//! nothing makes one, and a URL is an error that says so.

#[cfg(feature = "remote")]
mod cached;
#[cfg(feature = "remote")]
mod folder;
#[cfg(feature = "remote")]
pub(crate) mod listing;
pub(crate) mod name;
#[cfg(feature = "remote")]
mod opener;
#[cfg(feature = "remote")]
pub(crate) mod place;
#[cfg(feature = "remote")]
pub(crate) mod sequential;
#[cfg(feature = "remote")]
mod source;
#[cfg(feature = "remote")]
pub(crate) mod warm;

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use tarflume_formats::Manifest;
use tarflume_formats::manifest::ShardEntry;
use tarflume_types::{Error, Result};

use crate::source::Source;
use crate::source::open::Open;

#[cfg(feature = "remote")]
pub use place::Storage;

/// Where the sidecars of a data set are on this machine.
pub(crate) trait SidecarFolder: fmt::Debug + Send + Sync {
    /// The path of the sidecar of a shard. It may not exist yet.
    fn path(&self, entry: &ShardEntry) -> Result<PathBuf>;

    /// As [`SidecarFolder::path`]; fetches the sidecar if it is not there.
    ///
    /// # Errors
    /// Returns an error if the store does not answer, or the sidecar is not that of the manifest.
    fn fetch(&self, entry: &ShardEntry) -> Result<PathBuf>;

    /// The bytes of a shard, in the state that all readers of the data set see.
    ///
    /// # Errors
    /// Returns an error if the store refuses or does not answer.
    fn tar(&self, entry: &ShardEntry) -> Result<Arc<dyn Source>>;
}

/// A data set that was found in a store.
pub(crate) struct RemoteDataset {
    pub(crate) manifest: Manifest,
    /// The root digest of the manifest's text.
    #[cfg(feature = "remote")]
    pub(crate) root: tarflume_formats::Digest,
    /// The URL of its folder.
    pub(crate) url: String,
    pub(crate) sidecars: Arc<dyn SidecarFolder>,
    pub(crate) opener: Arc<dyn Open>,
}

impl RemoteDataset {
    /// Keeps the shards with these names, in this order.
    ///
    /// # Errors
    /// Returns an error if the manifest does not list all of them.
    pub(crate) fn keep(&mut self, names: &[String]) -> Result<()> {
        let all = std::mem::take(&mut self.manifest.shards);
        let all: HashMap<&str, &ShardEntry> =
            all.iter().map(|entry| (entry.name.as_str(), entry)).collect();
        let missing = names.iter().filter(|name| !all.contains_key(name.as_str()));
        if let Some(first) = missing.clone().next() {
            let text = format!(
                "dataset.json lists no shard of this name ({} of the {} that were named are missing)",
                missing.count(),
                names.len()
            );
            return Err(Error::usage(text).with_path(format!("{}/{first}", self.url)));
        }
        let named = names.iter().filter_map(|name| all.get(name.as_str()));
        self.manifest.shards = named.map(|entry| (*entry).clone()).collect();
        Ok(())
    }
}
