//! Opens and examines files: repeats calls after transient errors, and refuses anything but regular
//! files where one is required.
//!
//! [`Blame`] decides which calls are repeated. An existence check has three results: yes, no, or an
//! error if the operating system could not answer. A named pipe or device in place of a shard is
//! refused before any read could block. Nothing is written here.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;

use crate::errors::blame::Blame;
use crate::errors::error::{Error, ErrorKind, Result};

/// Pauses before each repetition of a call that failed with EIO, ESTALE or ETIMEDOUT.
pub(crate) const PAUSES: [Duration; 3] =
    [Duration::from_millis(20), Duration::from_millis(100), Duration::from_millis(500)];

/// The type of the file at a path, links followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A pipe, socket or device.
    Other,
}

/// Repeats `call` according to [`Blame`]: at once after a signal, after 20, 100 and 500 ms following EIO,
/// ESTALE and ETIMEDOUT.
///
/// # Errors
/// Returns the last error of `call`.
pub fn patiently<T>(call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    patiently_with(thread::sleep, call)
}

fn patiently_with<T>(
    mut sleep: impl FnMut(Duration),
    mut call: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    let mut pauses = PAUSES.iter();
    loop {
        match call() {
            Ok(done) => return Ok(done),
            Err(error) => match Blame::of(&error) {
                Blame::Signal => {}
                Blame::Passing => match pauses.next() {
                    Some(&pause) => sleep(pause),
                    None => return Err(error),
                },
                _ => return Err(error),
            },
        }
    }
}

/// The state of a file: device and inode, length, seconds and nanoseconds of the last write. Two
/// equal states mean an unchanged file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileState {
    pub(crate) file: (u64, u64),
    pub(crate) length: u64,
    pub(crate) modified: (i64, i64),
}

impl FileState {
    pub(crate) fn of(found: &Metadata) -> FileState {
        FileState {
            file: (found.dev(), found.ino()),
            length: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
        }
    }
}

/// Returns the type of the file at `path`; `None` if there is none, or if the file system cannot
/// have such a name.
///
/// # Errors
/// Returns an error if the operating system does not answer: absence must not be concluded from it.
pub fn kind(path: &Path) -> Result<Option<FileKind>> {
    use io::ErrorKind as K;
    match patiently(|| fs::metadata(path)) {
        Ok(found) if found.is_file() => Ok(Some(FileKind::File)),
        Ok(found) if found.is_dir() => Ok(Some(FileKind::Folder)),
        Ok(_) => Ok(Some(FileKind::Other)),
        Err(e) => match e.kind() {
            K::NotFound | K::NotADirectory | K::InvalidFilename | K::InvalidInput => Ok(None),
            _ => Err(Error::io(e, "examine", path)),
        },
    }
}

/// Returns true if a file of any type exists at `path`.
///
/// # Errors
/// Returns the errors of [`kind`].
pub fn exists(path: &Path) -> Result<bool> {
    Ok(kind(path)?.is_some())
}

/// Returns true if `path` is a folder.
///
/// # Errors
/// Returns the errors of [`kind`].
pub fn is_folder(path: &Path) -> Result<bool> {
    Ok(kind(path)? == Some(FileKind::Folder))
}

/// Returns length, times and kind of the regular file at `path`, links followed.
///
/// # Errors
/// Returns an error, worded with `doing`, if the operating system refuses or `path` is not a
/// regular file.
pub fn metadata(path: &Path, doing: &str) -> Result<Metadata> {
    let found = patiently(|| fs::metadata(path)).map_err(|e| Error::io(e, doing, path))?;
    regular(found, path)
}

/// Opens the regular file at `path` for reading, links followed. Never waits for the writer of a
/// pipe.
///
/// # Errors
/// Returns an error if the operating system refuses or `path` is not a regular file.
pub fn open(path: &Path) -> Result<(File, Metadata)> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = patiently(|| OpenOptions::new().read(true).custom_flags(flags).open(path)).map_err(
        |e| match e.raw_os_error() {
            Some(libc::ENXIO) => no_file("a socket or a missing device", path),
            _ => Error::io(e, "open", path),
        },
    )?;
    let found = patiently(|| file.metadata()).map_err(|e| Error::io(e, "read", path))?;
    Ok((file, regular(found, path)?))
}

/// Returns all bytes of the regular file at `path`.
///
/// # Errors
/// Returns the errors of [`open`], worded with `doing`, and an error if reading fails.
pub fn read_whole(path: &Path, doing: &str) -> Result<Vec<u8>> {
    let (file, found) = open(path)?;
    let mut bytes = Vec::new();
    let length = usize::try_from(found.len()).unwrap_or(usize::MAX);
    bytes
        .try_reserve_exact(length)
        .map_err(|_| Error::io(io::ErrorKind::OutOfMemory.into(), doing, path))?;
    Patient(&file).read_to_end(&mut bytes).map_err(|e| Error::io(e, doing, path))?;
    Ok(bytes)
}

/// Fills `into` with the bytes of `file` from byte `at` on.
///
/// # Errors
/// Returns an error if the operating system refuses, `UnexpectedEof` if the file is too short.
pub fn read_exact_at(file: &File, into: &mut [u8], at: u64) -> io::Result<()> {
    patiently(|| file.read_exact_at(into, at))
}

/// An open file whose reads are repeated as by [`patiently`].
#[derive(Debug)]
pub struct Patient<'a>(pub &'a File);

impl Read for Patient<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        patiently(|| (&*self.0).read(into))
    }
}

/// Returns an error unless `found` is a regular file.
fn regular(found: Metadata, path: &Path) -> Result<Metadata> {
    let kind = found.file_type();
    if kind.is_file() {
        return Ok(found);
    }
    if kind.is_dir() {
        let folder = io::Error::from_raw_os_error(libc::EISDIR);
        return Err(Error::io(folder, "read", path));
    }
    let what = if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Err(no_file(what, path))
}

fn no_file(what: &str, path: &Path) -> Error {
    let text = format!("this is {what}, not a regular file; remove it or give another path");
    Error::new(ErrorKind::WrongFormat, text).with_path(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    /// Runs a call that fails with these codes in turn and then succeeds; returns calls, pauses and
    /// result.
    fn played(codes: &[i32]) -> (usize, Vec<Duration>, io::Result<()>) {
        let mut calls = 0;
        let mut pauses = Vec::new();
        let result = patiently_with(
            |pause| pauses.push(pause),
            || {
                calls += 1;
                match codes.get(calls - 1) {
                    Some(&code) => Err(io::Error::from_raw_os_error(code)),
                    None => Ok(()),
                }
            },
        );
        (calls, pauses, result)
    }

    #[test]
    fn interrupted_waits_are_repeated_for_any_number_of_signals() {
        let (calls, pauses, result) = played(&[libc::EINTR; 100]);
        assert_eq!((calls, pauses.len()), (101, 0));
        result.unwrap();
    }

    #[test]
    fn transient_errors_are_retried_a_few_times_and_then_returned() {
        for code in [libc::EIO, libc::ESTALE, libc::ETIMEDOUT] {
            let (calls, pauses, result) = played(&[code, libc::EINTR, code]);
            assert_eq!((calls, pauses), (4, PAUSES[..2].to_vec()));
            result.unwrap();
            let (calls, pauses, result) = played(&[code; 10]);
            assert_eq!((calls, pauses), (4, PAUSES.to_vec()));
            assert_eq!(result.unwrap_err().raw_os_error(), Some(code));
        }
    }

    #[test]
    fn other_errors_are_returned_without_a_retry() {
        for code in [libc::ENOENT, libc::EMFILE, libc::ENOMEM, libc::ENOSPC, libc::EROFS, 4000] {
            let (calls, pauses, result) = played(&[code]);
            assert_eq!((calls, pauses.len()), (1, 0));
            assert_eq!(result.unwrap_err().raw_os_error(), Some(code));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri lacks its system calls")]
    fn pipes_sockets_and_devices_are_refused_without_a_wait() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let socket = dir.path().join("socket");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let _listener = UnixListener::bind(&socket).unwrap();
        for (path, what) in [
            (pipe.as_path(), "a named pipe"),
            (&socket, "a socket"),
            (Path::new("/dev/null"), "a device"),
        ] {
            for error in [
                open(path).unwrap_err(),
                metadata(path, "examine").unwrap_err(),
                read_whole(path, "read").unwrap_err(),
            ] {
                assert_eq!(error.kind(), ErrorKind::WrongFormat);
                assert!(error.to_string().contains(what), "{error}");
                assert_eq!(error.place().path.as_deref(), Some(path));
            }
            assert_eq!(kind(path).unwrap(), Some(FileKind::Other));
        }
    }

    #[test]
    fn a_missing_file_differs_from_a_failed_query() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, b"bytes").unwrap();
        assert_eq!(kind(&file).unwrap(), Some(FileKind::File));
        assert_eq!(kind(dir.path()).unwrap(), Some(FileKind::Folder));
        assert_eq!(read_whole(&file, "read").unwrap(), b"bytes");
        let long = "x".repeat(300);
        for nothing in [dir.path().join("none"), file.join("below"), dir.path().join(long)] {
            assert_eq!(kind(&nothing).unwrap(), None);
        }
        let circle = dir.path().join("circle");
        std::os::unix::fs::symlink("circle", &circle).unwrap();
        let error = exists(&circle).unwrap_err();
        assert_eq!(error.io_error().unwrap().raw_os_error(), Some(libc::ELOOP));
    }
}
