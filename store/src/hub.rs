//! Data sets on the Hugging Face Hub, `hf://datasets/OWNER/NAME@REVISION/PATH`.
//!
//! A revision is resolved to a commit once; all reads are of this commit, so no object changes.
//! The Hub redirects to storage elsewhere by signed URLs; these never see the token.

mod api;
mod files;
mod listing;
mod notes;
mod refusal;
mod repository;
mod resolve;
#[cfg(test)]
mod tests;
mod token;

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;

use crate::errors::error::{Error, ErrorKind, Result};
use crate::hub::files::Files;
use crate::hub::notes::Notes;
use crate::hub::repository::Repository;
use crate::requests::metrics::Metrics;
use crate::settings::location::Location;
use crate::settings::options::Options;
use crate::web::Web;
use crate::web::read_only::{Entry, ObjectRead, ReadObjects, ReadOnly};

/// A data set on the Hub, at one commit.
#[derive(Debug)]
pub(crate) struct Hub {
    files: Files,
}

impl Hub {
    /// Opens the repository of a URL. Asks nothing.
    pub(crate) fn open(
        at: &Location,
        url: &str,
        options: &Options,
        metrics: &Arc<Metrics>,
    ) -> Result<ReadOnly<Hub>> {
        let repository = Repository::open(at, url, options)?;
        let web = Web::open(options, repository.allows_http(), metrics, url)?;
        let kept = options.folder().map(|folder| Notes::new(folder.join("hub")));
        Ok(ReadOnly::new(Hub { files: Files::new(web, repository, kept) }))
    }
}

/// The sentence for every attempt to write.
pub(crate) const READ_ONLY: &str = "a repository of the Hub is not written from here; pack to a folder, then \
                                    `hf upload OWNER/NAME FOLDER --repo-type dataset`";

#[async_trait]
impl ReadObjects for Hub {
    /// The state is that of the commit: a condition is checked by its caller.
    async fn read(
        &self,
        path: &str,
        range: Option<Range<u64>>,
        _: Option<&str>,
    ) -> Result<ObjectRead> {
        let part = self.files.read(path, range).await?;
        let tag = self.files.commit().await?;
        Ok(ObjectRead { part, tag: Some(format!("\"{tag}\"")), modified: None })
    }

    async fn list(&self, folder: &str) -> Result<Vec<Entry>> {
        let commit = self.files.commit().await?.to_string();
        let files = self.files.tree(folder).await?.into_iter();
        Ok(files.map(|file| entry(file, &commit)).collect())
    }

    fn refusal(&self) -> Error {
        Error::new(ErrorKind::Usage, &self.files.repository().place(""), READ_ONLY)
    }
}

fn entry(file: listing::File, commit: &str) -> Entry {
    let path = file.path;
    let length = file.size;
    let tag = format!("\"{commit}\"");
    Entry { path, length, tag }
}
