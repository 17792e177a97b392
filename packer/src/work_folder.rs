//! `WorkFolder`: a temporary folder for the shards in work. Dropping it removes it.

use std::path::Path;

use tempfile::TempDir;

use crate::failure::Failure;

/// A folder below `TMPDIR` that holds the shards in work: one for each job, and a few that wait for
/// their upload.
#[derive(Debug)]
pub struct WorkFolder(TempDir);

impl WorkFolder {
    /// Makes an empty folder.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub fn new() -> Result<WorkFolder, Failure> {
        let made = tempfile::Builder::new().prefix("tarflume-").tempdir();
        let made = made.map_err(|e| Failure::io(e, "make a folder in", std::env::temp_dir()))?;
        Ok(WorkFolder(made))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}
