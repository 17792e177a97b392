//! `OutputFile`: a file that the user has named for a command to write, checked before the work and again before the
//! write. Neither a data set nor a file of another kind is overwritten by a wrong name.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::disk::files::{self, FileKind, patiently};
use crate::disk::publish::{Durability, folder_of, sweep, write_as};
use crate::errors::error::{Error, ErrorKind, Result};
use crate::records::manifest::FILE_NAME;

/// Bytes at the begin and at the end of a file that decide its kind.
const LOOK: u64 = 64 * 1024;
/// Endings of the names of shards and sidecars.
const OF_SETS: [&str; 8] =
    [".tar", ".tar.zst", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".tar.lz4", ".index"];
/// Folders in a data set: the working folder of `pack`, and the index of Energon.
const FOLDERS_OF_SETS: [&str; 2] = [".pack", ".nv-meta"];

/// A kind of files that a command writes.
#[derive(Debug, Clone, Copy)]
pub struct OutputKind {
    /// Its name for messages: `a report in JUnit's XML`.
    pub name: &'static str,
    /// Returns true if a file with these bytes is of this kind. Of a long file, the bytes are its begin and its end.
    pub is: fn(&[u8]) -> bool,
}

/// A file that a command will write.
#[derive(Debug, Clone)]
pub struct OutputFile {
    path: PathBuf,
    kind: OutputKind,
}

impl OutputFile {
    /// Checks that a file of this kind may be written at `path`.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`]: the path is in a folder with a manifest, also through links; only a data set has a
    /// file of this name; or a file of another kind is there. An empty file may be replaced. Returns also an error if the
    /// operating system does not answer.
    pub fn new(path: &Path, kind: OutputKind) -> Result<OutputFile> {
        must_be_outside(path)?;
        must_be_of(path, &kind)?;
        Ok(OutputFile { path: path.into(), kind })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the file whole. Replaces a file of this kind, and removes what killed commands left in the folder.
    ///
    /// # Errors
    /// Returns the errors of [`OutputFile::new`], and an error if the operating system refuses to write.
    pub fn write(&self, bytes: &[u8], durability: Durability) -> Result<()> {
        OutputFile::new(&self.path, self.kind)?;
        sweep(folder_of(&self.path))?;
        write_as(&self.path, bytes, durability)
    }
}

/// Returns true for the errors of [`OutputFile::new`] that another path avoids.
pub fn is_refused(error: &Error) -> bool {
    error.kind() == ErrorKind::Exists && error.io_error().is_none()
}

/// Checks that a file at `path` would be outside of each data set. Follows links, and looks at the target of a link at
/// `path`, too.
///
/// # Errors
/// [`ErrorKind::Exists`] if it would not. Returns also an error if the operating system does not answer.
pub fn must_be_outside(path: &Path) -> Result<()> {
    if path == Path::new("-") {
        return Err(refused(path, "this is not the name of a file; for one of this name give ./-"));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name == FILE_NAME || OF_SETS.iter().any(|end| name.ends_with(end)) {
        return Err(refused(path, "only a data set has a file of this name; give another one"));
    }
    // A missing folder would be created in the one above it.
    let mut above = folder_of(path).ancestors().map(|above| canonical(named(above)));
    let above = above.find_map(Result::transpose).transpose()?;
    let mut folders = vec![above];
    if let Some(target) = canonical(path)? {
        folders.push(target.parent().map(Path::to_path_buf));
    }
    for folder in folders.into_iter().flatten() {
        if is_data_set(&folder)? {
            let text = "this path is in a folder that holds a data set; give a path outside of it";
            return Err(refused(path, text));
        }
    }
    Ok(())
}

fn refused(path: &Path, text: &str) -> Error {
    Error::new(ErrorKind::Exists, text).with_path(path)
}

/// Returns `.` for the empty path.
fn named(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// Returns the path without links and `..`; `None` if there is nothing.
fn canonical(path: &Path) -> Result<Option<PathBuf>> {
    match patiently(|| fs::canonicalize(path)) {
        Ok(found) => Ok(Some(found)),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(e) => Err(Error::io(e, "examine", path)),
    }
}

/// Returns true if `folder` has a manifest, or is a folder of a data set.
fn is_data_set(folder: &Path) -> Result<bool> {
    let is_inner = folder.iter().any(|name| FOLDERS_OF_SETS.iter().any(|inner| name == *inner));
    Ok(is_inner || files::exists(&folder.join(FILE_NAME))?)
}

/// Checks that nothing is at `path`, or an empty file, or one of this kind.
fn must_be_of(path: &Path, kind: &OutputKind) -> Result<()> {
    match files::kind(path)? {
        None => return Ok(()),
        Some(FileKind::File) => {}
        Some(FileKind::Folder) => {
            return Err(refused(path, "this is a folder; give the name of a file"));
        }
        Some(FileKind::Other) => {
            let text =
                "this is a pipe or a device, and a file would replace it; give the name of a file";
            return Err(refused(path, text));
        }
    }
    let (file, found) = files::open(path)?;
    if found.len() == 0 || (kind.is)(&look(&file, found.len(), path)?) {
        return Ok(());
    }
    let text = format!("the file there is not {}; remove it, or give another path", kind.name);
    Err(refused(path, &text))
}

/// Returns the begin and the end of a file.
fn look(file: &fs::File, length: u64, path: &Path) -> Result<Vec<u8>> {
    let begin = length.min(LOOK);
    let end = (length - begin).min(LOOK);
    let mut bytes = vec![0; (begin + end) as usize];
    let (head, tail) = bytes.split_at_mut(begin as usize);
    let read = patiently(|| {
        file.read_exact_at(head, 0)?;
        file.read_exact_at(tail, length - end)
    });
    read.map_err(|e| Error::io(e, "read", path))?;
    Ok(bytes)
}

/// Returns true if `bytes` contain `text`.
pub fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Returns true if the first line is a JSON object that has these fields. True for a line that is longer than what is
/// looked at and has their names.
pub fn is_json_line(bytes: &[u8], fields: &[&str]) -> bool {
    let line = bytes.split(|&b| b == b'\n').next().unwrap_or_default();
    line.starts_with(b"{") && fields.iter().all(|field| contains(line, &format!("\"{field}\":")))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const PAGE: OutputKind = OutputKind { name: "a page", is: |bytes| bytes.starts_with(b"<html") };

    fn why(path: &Path) -> String {
        let error = OutputFile::new(path, PAGE).unwrap_err();
        assert!(is_refused(&error), "{error}");
        error.text().to_string()
    }

    fn at(dir: &tempfile::TempDir, name: &str) -> PathBuf {
        dir.path().join(name)
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri lacks its system calls")]
    fn a_path_in_a_data_set_is_refused_in_every_spelling() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["set/.pack/shards", "set/sub", "tars", "plain", "out"] {
            fs::create_dir_all(at(&dir, folder)).unwrap();
        }
        for file in ["set/dataset.json", "tars/a.tar", "tars/a.index", "plain/b.tar", "set/p.html"]
        {
            fs::write(at(&dir, file), b"<html>").unwrap();
        }
        symlink(at(&dir, "set"), at(&dir, "link")).unwrap();
        symlink(at(&dir, "set/p.html"), at(&dir, "out/link.html")).unwrap();
        for inside in [
            "set/p.html",
            "set/new.html",
            "out/../set/p.html",
            "link/p.html",
            "out/link.html",
            "set/.pack/p.html",
            "set/.pack/shards/p.html",
            "set/none/p.html",
        ] {
            assert!(why(&at(&dir, inside)).contains("outside"), "{inside}");
        }
        for name in ["out/dataset.json", "out/x.tar", "plain/x.tar.zst", "none/a.index"] {
            assert!(why(&at(&dir, name)).contains("a data set has"), "{name}");
        }
        for allowed in
            ["p.html", "tars/p.html", "out/p.html", "plain/p.html", "none/p.html", "set/sub/p.html"]
        {
            OutputFile::new(&at(&dir, allowed), PAGE).unwrap();
        }
        assert!(why(Path::new("-")).contains("./-"));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri lacks its system calls")]
    fn a_file_of_another_kind_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes) in [("a", &b"text"[..]), ("b", b"<html>old"), ("c", b"")] {
            fs::write(at(&dir, name), bytes).unwrap();
        }
        assert!(why(&at(&dir, "a")).contains("not a page"));
        assert!(why(dir.path()).contains("folder"));
        assert!(why(Path::new("/dev/null")).contains("device"));
        for name in ["b", "c", "new"] {
            let file = OutputFile::new(&at(&dir, name), PAGE).unwrap();
            file.write(b"<html>new", Durability::Cached).unwrap();
            assert_eq!(fs::read(at(&dir, name)).unwrap(), b"<html>new");
        }
        // What comes there after the first check is looked at, too.
        let file = OutputFile::new(&at(&dir, "late"), PAGE).unwrap();
        fs::write(at(&dir, "late"), b"mine").unwrap();
        assert!(is_refused(&file.write(b"<html>", Durability::Cached).unwrap_err()));
        assert_eq!(fs::read(at(&dir, "late")).unwrap(), b"mine");
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri lacks its system calls")]
    fn the_end_of_a_long_file_is_looked_at_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("long");
        let marked = OutputKind { name: "marked", is: |bytes| contains(bytes, "the end") };
        fs::write(&path, [vec![b'x'; 3 * LOOK as usize], b"the end".to_vec()].concat()).unwrap();
        OutputFile::new(&path, marked).unwrap();
        assert!(is_json_line(b"{\"key\":1}\n[]", &["key"]));
        assert!(!is_json_line(b"a.jpg\nb.jpg", &["key"]) && !is_json_line(b"{}", &["key"]));
    }
}
