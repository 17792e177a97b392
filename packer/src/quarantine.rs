//! What is done about problems, and copies of the files that they spoil.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tarflume_formats::Digest;
use tarflume_formats::files::{self, Patient, patiently};
use tarflume_formats::publish::{
    Published, TempFile, create_folders, folder_of, rename_new, write_whole,
};
use tarflume_formats::shard::has_bytes;
use tarflume_formats::shown::ShowPath;

use crate::failure::Failure;
use crate::problem::Problem;

/// Bytes that are copied at a time.
const PIECE: usize = 256 * 1024;
/// What a reason's name ends with.
const REASON: &str = ".reason.json";
/// Bytes of a name that a file system holds.
const NAME_MAX: usize = 255;

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
/// `.reason.json` beside it. Files that are gone, or that nobody may read, have their reason alone.
///
/// A copy has its name once it is whole and synced, and replaces nothing: where another file has the
/// name, a number is added to it. Folders on the way are not entered through links.
///
/// # Errors
/// A file could not be copied; a link stands where a folder of the quarantine should.
pub fn set_aside(
    folder: &Path,
    root: &Path,
    files: &[PathBuf],
    problem: &Problem,
) -> Result<(), Failure> {
    let mut json = serde_json::to_vec_pretty(&problem.to_value()).unwrap_or_default();
    json.push(b'\n');
    for file in files {
        let under = file.strip_prefix(root).unwrap_or(file);
        let wanted = folder.join(under);
        make_folders(folder, under.parent().unwrap_or(Path::new("")))?;
        let copied = copy(file, &wanted)?;
        write_whole(&reason_path(copied.as_ref().unwrap_or(&wanted)), &json)?;
    }
    Ok(())
}

/// Creates `folder` and what `below` it is not there. What is there must be folders.
fn make_folders(folder: &Path, below: &Path) -> Result<(), Failure> {
    let mut path = folder.to_path_buf();
    for name in std::iter::once(None).chain(below.components().map(Some)) {
        path.extend(name);
        match patiently(|| fs::symlink_metadata(&path)) {
            Ok(found) if found.is_dir() => continue,
            Ok(_) => {
                return Err(Failure::usage(format!(
                    "{} is no folder; move it away, so that files can be copied there",
                    path.shown()
                )));
            }
            Err(e) if e.kind() == ErrorKind::NotFound => create_folders(&path)?,
            Err(e) => return Err(Failure::io(e, "look at", &path)),
        }
    }
    Ok(())
}

/// Copies `file` to `wanted` or, where other files have that name, to one with a number: where to.
/// `None` if there is no file that could be read.
fn copy(file: &Path, wanted: &Path) -> Result<Option<PathBuf>, Failure> {
    // A pipe that took the file's place is not read: nobody may ever write to it.
    let source = match files::open(file) {
        Ok((source, _)) => source,
        Err(error) if error.blame().is_machine() => return Err(error.into()),
        Err(_) => return Ok(None), // unreadable or gone: the reason says so
    };
    let name = wanted.file_name().unwrap_or_default();
    let mut temp = TempFile::create(folder_of(wanted), &name.to_string_lossy())?;
    let (length, digest) = copy_bytes(&source, file, &mut temp)?;
    temp.sync()?;
    let mut target = wanted.to_path_buf();
    for number in 2_u64.. {
        // A temporary file that was renamed away is not missed when it is dropped.
        if rename_new(temp.path(), &target)? == Published::New
            || has_bytes(&target, length, &digest)?
        {
            break;
        }
        let mut numbered = name.to_os_string();
        numbered.push(format!(".{number}"));
        target.set_file_name(numbered);
    }
    Ok(Some(target))
}

/// Copies all bytes and the permissions of `source`, which stands at `file`: how many, and their digest.
fn copy_bytes(source: &File, file: &Path, temp: &mut TempFile) -> Result<(u64, Digest), Failure> {
    let refused = |e| Failure::io(e, "read", file);
    let mut buffer = vec![0; PIECE];
    let (mut length, mut hasher) = (0, blake3::Hasher::new());
    loop {
        let read = Patient(source).read(&mut buffer).map_err(refused)?;
        if read == 0 {
            break;
        }
        let written = temp.file.write_all(&buffer[..read]);
        written.map_err(|e| Failure::io(e, "write", temp.path()))?;
        hasher.update(&buffer[..read]);
        length += read as u64;
    }
    let found = patiently(|| source.metadata()).map_err(refused)?;
    if found.len() != length {
        return Err(Failure::try_again(format!(
            "{}: it changed while it was copied to the quarantine: {length} bytes were read, it has {}",
            file.shown(),
            found.len()
        )));
    }
    let mode = Permissions::from_mode(found.permissions().mode() & 0o777);
    let set = patiently(|| temp.file.set_permissions(mode.clone()));
    set.map_err(|e| Failure::io(e, "set the permissions of", temp.path()))?;
    Ok((length, hasher.finalize()))
}

/// Where the reason of a file in the quarantine stands: beside it. A name that is too long is cut.
fn reason_path(copied: &Path) -> PathBuf {
    let name = copied.file_name().unwrap_or_default();
    let mut reason = OsString::from(name);
    if name.len() + REASON.len() > NAME_MAX {
        let digest = blake3::hash(name.as_bytes()).to_hex();
        reason = OsString::from_vec(name.as_bytes()[..NAME_MAX - 40].to_vec());
        reason.push(format!("~{}", &digest[..16]));
    }
    reason.push(REASON);
    copied.with_file_name(reason)
}
