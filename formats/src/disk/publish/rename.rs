//! Renames that replace nothing, on every kind of file system; removals.

use std::fs;
use std::io;
use std::path::Path;

use crate::disk::files::patiently;
use crate::errors::error::{Error, Result};

/// The result of a rename without replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published {
    /// The file has its final name.
    New,
    /// A file of that name exists; it was left unchanged and the temporary file was removed.
    AlreadyExists,
}

/// Repeats a rename or link that a signal interrupted. After another error the call may have been
/// done, so it is not repeated: the second attempt would report a missing source.
pub(super) fn uninterrupted(mut call: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    loop {
        match call() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Renames without replacing. File systems that cannot do so in one step get a hard link. Where
/// these fail, too (mounted object stores), the name is checked first: of two attempts at the same
/// instant both rename, and the file of the second stays.
///
/// # Errors
/// Returns an error if the operating system refuses.
pub fn rename_new(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<Published> {
    let from = from.as_ref();
    let to = to.as_ref();
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    let no_replace = RenameFlags::NOREPLACE;
    let renamed = uninterrupted(|| Ok(renameat_with(CWD, from, CWD, to, no_replace)?));
    let Err(error) = renamed else { return Ok(Published::New) };
    match Errno::from_io_error(&error) {
        Some(Errno::EXIST) => return Ok(Published::AlreadyExists),
        // Old kernels and some network file systems know no such flag.
        Some(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
        _ => return Err(Error::io(error, "rename to", to)),
    }
    match uninterrupted(|| fs::hard_link(from, to)) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(Published::AlreadyExists),
        Err(e) => match Errno::from_io_error(&e) {
            Some(Errno::PERM | Errno::NOSYS | Errno::NOTSUP) => return rename_if_free(from, to),
            _ => return Err(Error::io(e, "link to", to)),
        },
    }
    remove_if_exists(from)?;
    Ok(Published::New)
}

/// Renames if `to` does not exist.
fn rename_if_free(from: &Path, to: &Path) -> Result<Published> {
    match patiently(|| fs::symlink_metadata(to)) {
        Ok(_) => return Ok(Published::AlreadyExists),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(Error::io(e, "examine", to)),
    }
    let renamed = uninterrupted(|| fs::rename(from, to));
    renamed.map(|()| Published::New).map_err(|e| Error::io(e, "rename to", to))
}

/// Removes the file at `path`; a missing file is not an error.
///
/// # Errors
/// Returns an error if the operating system refuses.
pub fn remove_if_exists(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    match patiently(|| fs::remove_file(path)) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::io(e, "remove", path)),
        _ => Ok(()),
    }
}
