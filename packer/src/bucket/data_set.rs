//! `Bucket`: the place of one data set in an object store.

use std::sync::Arc;

use tarflume_base::Failure;
use tarflume_formats::{Manifest, manifest};

use super::objects::Objects;

/// The place of one data set in an object store.
#[derive(Debug, Clone)]
pub struct Bucket {
    pub(super) objects: Arc<dyn Objects>,
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
        Err(Failure::not_built(std::path::Path::new(url), "remote").with_file(url))
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

    /// The URL of an object, for messages.
    pub(super) fn place(&self, name: &str) -> String {
        format!("{}/{name}", self.url().trim_end_matches('/'))
    }
}
