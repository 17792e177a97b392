//! `ClaimFiles`: claims as files of the working folder, for machines that share a file system.
//!
//! ```text
//! OUT/.pack/claims/NAME.tar-1     the first attempt at a shard
//! ```

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use tarflume_base::Failure;
use tarflume_formats::files::{self, patiently};
use tarflume_formats::publish::{Published, TempFile, create_folders, remove_if_exists};

use super::claims::Claims;
use super::staging::Staging;

/// The claims in the working folder of one output folder.
#[derive(Debug)]
struct ClaimFiles {
    staging: Staging,
}

/// Returns the claims in the working folder, which must exist.
///
/// # Errors
/// Returns an error if the folder of the claims cannot be created.
pub fn claims(staging: &Staging) -> Result<Arc<dyn Claims>, Failure> {
    create_folders(staging.claims())?;
    Ok(Arc::new(ClaimFiles { staging: staging.clone() }))
}

impl ClaimFiles {
    fn path(&self, name: &str) -> PathBuf {
        self.staging.claims().join(name)
    }
}

impl Claims for ClaimFiles {
    fn create(&self, name: &str, note: &[u8]) -> Result<bool, Failure> {
        // A machine may die between any two calls: a claim without a note would tell nobody whose it is.
        let mut temp = TempFile::create(self.staging.claims(), name)?;
        let written = temp.file.write_all(note);
        written.map_err(|e| Failure::io(e, "write the claim", self.path(name)))?;
        Ok(temp.publish_new(self.path(name))? == Published::New)
    }

    fn update(&self, name: &str, note: &[u8]) -> Result<(), Failure> {
        // In place: a note has always the same length, and a reader that meets half a note takes it for an empty one.
        let path = self.path(name);
        let written = patiently(|| OpenOptions::new().write(true).open(&path))
            .and_then(|mut file| file.write_all(note));
        written.map_err(|e| Failure::io(e, "write the claim", path))
    }

    fn remove(&self, name: &str) -> Result<(), Failure> {
        Ok(remove_if_exists(self.path(name))?)
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Failure> {
        match files::read_whole(&self.path(name), "read the claim") {
            Err(error) if error.is_missing() => Ok(None),
            read => Ok(Some(read?)),
        }
    }

    fn list(&self) -> Result<Vec<String>, Failure> {
        self.staging.names_in(&self.staging.claims())
    }

    fn finished(&self) -> Result<HashSet<String>, Failure> {
        let names = self.staging.names_in(&self.staging.shards())?.into_iter();
        Ok(names.filter_map(|name| name.strip_suffix(".record").map(String::from)).collect())
    }

    fn is_finished(&self, shard: &str) -> Result<bool, Failure> {
        Ok(files::exists(&self.staging.record_path(shard))?)
    }
}
