//! Finds and reads the policy of a working directory.

use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::files;
use tarflume_formats::message;
use tarflume_formats::message::Name;

use super::Policy;

/// The name of the file.
pub const FILE_NAME: &str = "pack.toml";

/// The bytes of the largest policy.
const LONGEST: u64 = 4 << 20;

/// Returns the policy of a folder: its `pack.toml`, or that of the nearest folder above, up to the one with `.git`. `None`
/// if there is none.
///
/// The search begins at the working directory and not at the data: a data set that was downloaded must not decide how it
/// is judged.
///
/// # Errors
/// Returns an error if the operating system does not answer.
pub fn find(folder: &Path) -> Result<Option<PathBuf>, Failure> {
    for folder in folder.ancestors() {
        let path = folder.join(FILE_NAME);
        if files::exists(&path)? {
            return Ok(Some(path));
        }
        if files::exists(&folder.join(".git"))? {
            return Ok(None);
        }
    }
    Ok(None)
}

impl Policy {
    /// Reads the policy at `path`.
    ///
    /// # Errors
    /// Returns an error if it cannot be read, and its first fault with its line.
    pub fn read(path: &Path) -> Result<Policy, Failure> {
        if !files::exists(path)? {
            return Err(refused(path, "there is no such file"));
        }
        if files::metadata(path, "find the policy")?.len() > LONGEST {
            return Err(refused(path, "this is no policy: it has more than 4 MiB"));
        }
        let bytes = files::read_whole(path, "read the policy")?;
        let text =
            std::str::from_utf8(&bytes).map_err(|_| refused(path, "the text is not UTF-8"))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Ok(Policy::parse(path, text)?)
    }
}

fn refused(path: &Path, why: &str) -> Failure {
    let text = message!("{policy}: {why}"; policy = Name::Policy.is(path));
    Failure::usage(text).with_file(path)
}
