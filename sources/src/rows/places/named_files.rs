//! The files that a row of a table names: their paths, sizes and times.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{FileType, Stat, statat};
use tarflume_base::{Failure, ProblemKind};
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::shown::ShowPath;
use tarflume_formats::{Blame, files, name};
use tarflume_scan::links::{self, Links};
use tarflume_scan::source::{part_path, stamp};

/// Size and digest of the time of a file; a fault of the file is the error.
pub(crate) type Examined = Result<(u64, u32), (ProblemKind, Message)>;

/// Returns the path under the folder of the table of a file that a row names.
///
/// # Errors
/// Returns the reason for a path that leads elsewhere.
pub(crate) fn file_path(folder: &Path, named: &[u8]) -> Result<Vec<u8>, Message> {
    let inside = named.strip_prefix(folder.as_os_str().as_bytes());
    let mut rest = inside.and_then(|rest| rest.strip_prefix(b"/")).unwrap_or(named);
    while let Some(after) = rest.strip_prefix(b"./") {
        rest = after;
    }
    match name::unsafe_as_path(rest) {
        None => Ok(rest.to_vec()),
        Some(why) => {
            Err(message!("'{}' is no path under the folder of the table: {why}", name::shown(rest)))
        }
    }
}

pub(crate) fn without_ext(path: &[u8]) -> &[u8] {
    let base = path.iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1);
    match path[base..].iter().skip(1).rposition(|&b| b == b'.') {
        Some(dot) => &path[..base + 1 + dot],
        None => path,
    }
}

/// Examines files under the folder of a table. Neighbors share the handle of their folder.
pub(crate) struct FileExaminer<'a> {
    root: &'a Path,
    links: Links,
    /// The last folder: its path under the root, and its handle.
    folder: Option<(Vec<u8>, OwnedFd)>,
}

impl<'a> FileExaminer<'a> {
    /// Examines files under `root`.
    pub(crate) fn new(root: &'a Path, links: Links) -> FileExaminer<'a> {
        FileExaminer { root, links, folder: None }
    }

    /// Reads size and time of a file; a fault of the file is the inner error.
    pub(crate) fn examine(&mut self, path: &[u8]) -> Result<Examined, Failure> {
        let stat = self.stat(path);
        let path = part_path(self.root, path, b"");
        let shown = path.shown();
        match stat {
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => {
                    let time = stamp(stat.st_mtime, stat.st_mtime_nsec as i64);
                    Ok(Ok((stat.st_size.max(0) as u64, time)))
                }
                FileType::Symlink => Ok(Err(refused_link(&path))),
                _ => Ok(Err((ProblemKind::NotRegular, message!("{shown} is no file")))),
            },
            Err(error) if Blame::of(&error) != Blame::Data => {
                Err(Failure::io(error, "examine", &path))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Err((ProblemKind::MissingPart, message!("{shown} does not exist"))))
            }
            Err(error) if self.links.refuses(&error) => Ok(Err(refused_link(&path))),
            Err(error) => Ok(Err((ProblemKind::Unreadable, message!("{shown}: {error}")))),
        }
    }

    fn stat(&mut self, path: &[u8]) -> io::Result<Stat> {
        let base = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        let (below, name) = path.split_at(base);
        let folder = match self.folder.take().filter(|(last, _)| last == below) {
            Some((_, folder)) => folder,
            None => self.links.open_folder(self.root, below)?,
        };
        let (_, folder) = self.folder.insert((below.to_vec(), folder));
        files::patiently(|| Ok(statat(&*folder, name, self.links.flags())?))
    }
}

fn refused_link(path: &Path) -> (ProblemKind, Message) {
    let text = message!("{} is, or is below, {reason}", path.shown(); reason = links::reason());
    (ProblemKind::NotRegular, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_cut_from_the_base_name_alone() {
        for (path, expected) in
            [("a/b.jpg", "a/b"), ("a.b/c", "a.b/c"), ("a/.hid", "a/.hid"), ("v1.5.png", "v1.5")]
        {
            assert_eq!(without_ext(path.as_bytes()), expected.as_bytes());
        }
    }

    #[test]
    fn paths_stay_under_the_folder_of_the_table() {
        let good = ["./img/1.jpg", "/data/img/1.jpg"].map(|text| (text, Some(&b"img/1.jpg"[..])));
        let bad = ["../x.jpg", "/etc/passwd", "a/../../x", ""].map(|text| (text, None));
        for (text, path) in good.into_iter().chain(bad) {
            let found = file_path(Path::new("/data"), text.as_bytes());
            assert_eq!(found.ok().as_deref(), path, "{text}");
        }
    }
}
