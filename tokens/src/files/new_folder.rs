//! `NewFolder`: the folder of a build that did not exist before, which a build without a result removes.

use std::fs;
use std::path::{Path, PathBuf};

use tarflume_base::{Exit, Failure};
use tarflume_formats::files;

/// The folders on the way to an output folder that do not exist yet, the deepest first.
#[derive(Debug)]
pub(crate) struct NewFolder(Vec<PathBuf>);

impl NewFolder {
    /// Notes which folders do not exist.
    ///
    /// # Errors
    /// Returns an error if the operating system does not answer.
    pub(crate) fn of(out: &Path) -> Result<NewFolder, Failure> {
        let mut missing = Vec::new();
        for folder in out.ancestors().filter(|folder| !folder.as_os_str().is_empty()) {
            if files::exists(folder)? {
                break;
            }
            missing.push(folder.to_path_buf());
        }
        Ok(NewFolder(missing))
    }

    /// Removes the new folders after `failure`, unless ids were cached there, which the next run uses. `kept` is the folder
    /// of the cache and the mark. What cannot be removed stays: the failure is the message.
    pub(crate) fn remove_after(&self, failure: &Failure, kept: &Path) {
        let Some(out) = self.0.first() else { return };
        if !matches!(failure.exit(), Exit::Usage | Exit::BadData)
            || !has_no_files(&kept.join("cache"))
        {
            return;
        }
        let _ = fs::remove_dir_all(kept);
        if has_no_files(out) {
            let _ = fs::remove_dir_all(out);
            for folder in &self.0 {
                let _ = fs::remove_dir(folder);
            }
        }
    }
}

/// Returns true if there is no file below a folder, as far as it can be read.
fn has_no_files(folder: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(folder) else { return true };
    entries.all(|entry| {
        entry.is_ok_and(|entry| {
            entry.file_type().is_ok_and(|kind| kind.is_dir()) && has_no_files(&entry.path())
        })
    })
}
