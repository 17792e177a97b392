//! The shards of a stream: a folder, a file, a pattern, a list of them, or a source that can be read once
//! (standard input, a pipe, a user's `Read`). Opens them, but does not read.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tarflume_formats::files::{self, Kind};

use super::raw::Origin;
use crate::error::{Error, ErrorKind, Result};
use tarflume_formats::IgnorePoison;

/// Extensions of the shards in a folder.
const ENDINGS: [&[u8]; 5] = [b".tar", b".tar.gz", b".tgz", b".tar.zst", b".tzst"];
/// Maximum number of names that braces may expand to.
const MOST_NAMES: usize = 1 << 24;

/// One shard: its name and the source of its bytes.
#[derive(Clone)]
pub(super) struct StreamShard {
    /// The path, or a name if there is no path.
    pub(super) name: Arc<Path>,
    /// A source that can be read only once.
    once: Option<Arc<Mutex<Option<Origin>>>>,
    interruptible: bool,
}

impl StreamShard {
    fn file(path: &Path) -> StreamShard {
        StreamShard { name: Arc::from(path), once: None, interruptible: true }
    }

    fn once(name: &Path, origin: Origin) -> StreamShard {
        let interruptible = origin.is_interruptible();
        let once = Some(Arc::new(Mutex::new(Some(origin))));
        StreamShard { name: Arc::from(name), once, interruptible }
    }

    /// A shard read by a user's `Read`.
    pub(super) fn from_read(name: &Path, read: Box<dyn Read + Send>) -> StreamShard {
        StreamShard::once(name, Origin::Read(read))
    }

    /// A shard in an open file, pipe or socket.
    pub(super) fn from_fd(name: &Path, fd: OwnedFd) -> Result<StreamShard> {
        let origin = Origin::from_fd(fd).map_err(|e| cannot("read", e).with_path(name))?;
        Ok(StreamShard::once(name, origin))
    }

    fn stdin() -> Result<StreamShard> {
        let name = Path::new("standard input");
        let fd = io::stdin().as_fd().try_clone_to_owned();
        StreamShard::from_fd(name, fd.map_err(|e| cannot("open", e).with_path(name))?)
    }

    /// Opens the shard.
    ///
    /// # Errors
    /// Returns an error if the system refuses, or if the shard can be read only once and was read.
    pub(super) fn open(&self) -> Result<Origin> {
        let Some(once) = &self.once else {
            return Origin::open(&self.name).map_err(|e| cannot("open", e).with_path(&self.name));
        };
        let taken = once.lock().ignore_poison().take();
        taken.ok_or_else(|| {
            let text = "this was read in an earlier epoch and cannot be read again: stream files \
                        to read them more than once";
            Error::usage(text).with_path(&self.name)
        })
    }

    /// True if a read ends soon after the stream is dropped.
    pub(super) fn is_interruptible(&self) -> bool {
        self.interruptible
    }

    /// True if it can be opened in every epoch.
    pub(super) fn is_file(&self) -> bool {
        self.once.is_none()
    }
}

fn cannot(doing: &str, cause: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot {doing}")).with_source(cause)
}

/// The shards that `patterns` name, in their order. Those of a folder or glob are sorted by the bytes of
/// their names.
///
/// # Errors
/// Returns an error if a pattern is malformed or matches nothing, or if a folder cannot be read.
pub(super) fn shards(patterns: &[&str]) -> Result<Vec<StreamShard>> {
    let mut found = Vec::new();
    for pattern in patterns {
        if *pattern == "-" {
            found.push(StreamShard::stdin()?);
            continue;
        }
        let names = if files::exists(Path::new(pattern))? {
            vec![(*pattern).to_string()]
        } else {
            braces(pattern)?
        };
        for name in names {
            let paths = paths(&name)?;
            found.extend(paths.iter().map(|path| StreamShard::file(path)));
        }
    }
    if found.is_empty() {
        return Err(Error::usage("the list of shards to stream is empty"));
    }
    Ok(found)
}

/// The shards of a folder or glob, or else the name itself.
fn paths(name: &str) -> Result<Vec<PathBuf>> {
    let path = Path::new(name);
    match files::kind(path)? {
        Some(Kind::Folder) => return folder(path),
        None if name.contains(['*', '?', '[']) => {}
        _ => return Ok(vec![path.to_path_buf()]),
    }
    let unclear = |e: glob::PatternError| {
        Error::usage(format!("the pattern {name} is invalid: {}", e.msg)).with_source(e)
    };
    let mut paths = Vec::new();
    for found in glob::glob(name).map_err(unclear)? {
        let found = found.map_err(|e| {
            let path = e.path().to_path_buf();
            cannot("read this folder", e.into()).with_path(path)
        })?;
        paths.push(found);
    }
    if paths.is_empty() {
        return Err(Error::usage(format!("the pattern {name} matches no file")));
    }
    sort(&mut paths);
    Ok(paths)
}

fn folder(path: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |e| cannot("read this folder", e).with_path(path);
    let mut paths = Vec::new();
    for entry in fs::read_dir(path).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        let bytes = name.as_bytes();
        if !bytes.starts_with(b".") && ENDINGS.iter().any(|end| bytes.ends_with(end)) {
            paths.push(path.join(&name));
        }
    }
    if paths.is_empty() {
        let text = "this folder contains no tar (*.tar, *.tar.gz, *.tgz, *.tar.zst, *.tzst)";
        return Err(Error::usage(text).with_path(path));
    }
    sort(&mut paths);
    Ok(paths)
}

fn sort(paths: &mut [PathBuf]) {
    let bytes = |path: &PathBuf| OsStr::as_bytes(path.as_os_str()).to_vec();
    paths.sort_by_cached_key(bytes);
}

/// Expands `{000..765}` and `{a,b}`; the leftmost brace varies slowest.
fn braces(pattern: &str) -> Result<Vec<String>> {
    let (open, close) = match (pattern.find('{'), pattern.find('}')) {
        (Some(open), Some(close)) if open < close => (open, close),
        _ => return Ok(vec![pattern.to_string()]),
    };
    let (before, inner, after) =
        (&pattern[..open], &pattern[open + 1..close], &pattern[close + 1..]);
    let choices = match inner.split_once("..") {
        Some((low, high)) => range(low, high).ok_or_else(|| {
            let text = format!(
                "{{{inner}}} in {pattern} is not a range of numbers like {{000..765}} with at most \
                 {MOST_NAMES} numbers"
            );
            Error::usage(text)
        })?,
        None => inner.split(',').map(str::to_string).collect(),
    };
    let rests = braces(after)?;
    if choices.len().saturating_mul(rests.len()) > MOST_NAMES {
        return Err(Error::usage(format!("{pattern} expands to more than {MOST_NAMES} names")));
    }
    let all = choices.iter().flat_map(|c| rests.iter().map(move |r| format!("{before}{c}{r}")));
    Ok(all.collect())
}

/// The numbers from `low` to `high`, zero-padded to the length of `low`.
fn range(low: &str, high: &str) -> Option<Vec<String>> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(low) || !digits(high) {
        return None;
    }
    let (first, last): (u64, u64) = (low.parse().ok()?, high.parse().ok()?);
    if last < first || last - first >= MOST_NAMES as u64 {
        return None;
    }
    Some((first..=last).map(|n| format!("{n:0width$}", width = low.len())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_are_written_out() {
        assert_eq!(
            braces("a-{08..11}.tar").unwrap(),
            ["a-08.tar", "a-09.tar", "a-10.tar", "a-11.tar"]
        );
        assert_eq!(braces("{x,y}/{1..2}").unwrap(), ["x/1", "x/2", "y/1", "y/2"]);
        assert_eq!(braces("plain").unwrap(), ["plain"]);
        for bad in ["{5..2}", "{a..b}", "{0..99999999999}", "{..3}"] {
            assert!(braces(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_folder_lists_its_tars_by_name_without_hidden_ones() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b.tar.gz", "a.tar", "c.tar.zst", "d.tgz", ".e.tar", "f.txt", "a.index"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let names = |pattern: &str| -> Vec<String> {
            let found = shards(&[pattern]).unwrap();
            let name = |s: &StreamShard| s.name.file_name().unwrap().to_str().unwrap().to_string();
            found.iter().map(name).collect()
        };
        let root = dir.path().to_str().unwrap();
        assert_eq!(names(root), ["a.tar", "b.tar.gz", "c.tar.zst", "d.tgz"]);
        assert_eq!(names(&format!("{root}/*.t*z*")), ["b.tar.gz", "c.tar.zst", "d.tgz"]);
        assert_eq!(names(&format!("{root}/{{a,zz}}.tar")), ["a.tar", "zz.tar"]);
        let nothing = shards(&[&format!("{root}/*.none")]).err().unwrap();
        assert!(nothing.text().contains("matches no file"), "{nothing}");
        assert!(shards(&[]).is_err());
    }
}
