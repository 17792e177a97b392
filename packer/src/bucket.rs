//! `Bucket`: a build whose plan, shards, records and manifest are objects of an object store.
//!
//! ```text
//! PREFIX/.pack/plan                  the plan
//! PREFIX/.pack/policy                handling of problems: fail, skip or quarantine
//! PREFIX/.pack/uploads/NAME-WORD     note of an upload that may be open
//! PREFIX/NAME.tar, NAME.index        finished shards and their sidecars, under their final names
//! PREFIX/.pack/records/NAME.tar      and their records, written last
//! PREFIX/.pack/claims/NAME.tar-1     notes of shards that a machine is packing
//! PREFIX/dataset.json                the manifest, written once all shards are finished
//! ```
//!
//! Machines share the bucket and nothing else. Each object appears at once and whole, so shards go
//! to their final names directly; the manifest is the commit. This module knows no network: see
//! [`Objects`].

mod begin;
mod claims;
mod delivery;
mod finalize;
mod layout;
pub(crate) mod objects;
mod sharing;
#[cfg(test)]
mod tests;
mod uploads;
mod written;

use std::sync::Arc;

use tarflume_base::{Failure, Stop};
use tarflume_formats::{Manifest, manifest};

use crate::run::destination::Destination;

pub(crate) use begin::expect_no_quarantine;
pub use finalize::Publication;
pub use objects::{Facts, Objects, Put, Stored, UploadHooks};
pub(crate) use sharing::Offered;
pub use uploads::Leftovers;

use self::delivery::Delivery;

/// The place of one data set in an object store.
#[derive(Debug, Clone)]
pub struct Bucket {
    objects: Arc<dyn Objects>,
}

impl Bucket {
    /// The objects below its URL.
    pub(crate) fn objects(&self) -> Arc<dyn Objects> {
        self.objects.clone()
    }

    /// Uses the objects of one prefix. Asks nothing.
    pub fn new(objects: Arc<dyn Objects>) -> Bucket {
        Bucket { objects }
    }

    /// Opens a URL; without the feature `remote`, an error that says so.
    ///
    /// # Errors
    /// Returns an error always.
    #[cfg(not(feature = "remote"))]
    pub fn open(url: &str, _: &[(String, String)]) -> Result<Bucket, Failure> {
        Err(Failure::not_built(url, "remote"))
    }

    /// Returns the URL of the data set, for messages.
    pub fn url(&self) -> &str {
        self.objects.url()
    }

    /// Returns the manifest of the published data set; `None` if there is none.
    ///
    /// # Errors
    /// Returns an error if the store does not answer, or the manifest is damaged.
    pub fn published(&self) -> Result<Option<Manifest>, Failure> {
        let Some(stored) = self.objects.get(manifest::FILE_NAME)? else { return Ok(None) };
        let read = Manifest::from_json(&stored.bytes);
        Ok(Some(read.map_err(|e| e.with_path(self.place(manifest::FILE_NAME)))?))
    }

    /// Returns the destination of a run's shards. An upload ends early if `stop` is requested.
    pub(crate) fn destination(&self, stop: Stop) -> Arc<dyn Destination> {
        Arc::new(Delivery::new(self.clone(), stop))
    }

    /// The URL of an object, for messages.
    fn place(&self, name: &str) -> String {
        format!("{}/{name}", self.url().trim_end_matches('/'))
    }
}
