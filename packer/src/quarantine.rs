//! What is done about problems, and copies of the files that they spoil.

use std::fs;
use std::path::{Path, PathBuf};

use tarflume_formats::publish::write_whole;

use crate::failure::Failure;
use crate::problem::Problem;

/// What is done about a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Policy {
    /// Nothing is published.
    Fail,
    /// The sample is left out.
    Skip,
    /// The sample is left out, and its files are copied aside with the reason.
    Quarantine,
}

impl Policy {
    /// Its word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Policy::Fail => "fail",
            Policy::Skip => "skip",
            Policy::Quarantine => "quarantine",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Policy> {
        [Policy::Fail, Policy::Skip, Policy::Quarantine].into_iter().find(|p| p.word() == word)
    }
}

/// Copies `files`, which stand under `root`, into `folder` under their own names, each with a
/// `.reason.json` beside it. Files that can't be copied (they may be gone) keep their reason.
///
/// # Errors
/// The operating system's refusal to write.
pub fn set_aside(
    folder: &Path,
    root: &Path,
    files: &[PathBuf],
    problem: &Problem,
) -> Result<(), Failure> {
    for file in files {
        let target = folder.join(file.strip_prefix(root).unwrap_or(file));
        let parent = target.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(|e| Failure::io(e, "create the folder", parent))?;
        // A pipe that took the file's place is not read: nobody may ever write to it.
        let regular = fs::metadata(file).is_ok_and(|found| found.is_file());
        match if regular { fs::copy(file, &target) } else { Ok(0) } {
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::StorageFull => {
                return Err(Failure::io(e, "copy to", &target));
            }
            Err(_) => {} // unreadable or gone: the reason says so
        }
        let mut reason = target.into_os_string();
        reason.push(".reason.json");
        let mut json = serde_json::to_vec_pretty(&problem.to_value()).unwrap_or_default();
        json.push(b'\n');
        write_whole(Path::new(&reason), &json)?;
    }
    Ok(())
}
