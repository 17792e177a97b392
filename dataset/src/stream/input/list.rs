//! The shards of a stream: a folder, a file, a pattern, a URL, a list of them, or a source that can be read
//! once (standard input, a pipe, a user's `Read`). Opens them, but does not read.

use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tarflume_formats::files::{self, FileKind};
use tarflume_types::{Error, ErrorKind, Result};

use crate::remote::name::is_url_list;
#[cfg(feature = "remote")]
use crate::remote::sequential::RemoteTar;
use crate::stream::raw::Origin;
use tarflume_formats::IgnorePoison;
use tarflume_formats::url::is_url;

/// Extensions of the shards in a folder.
const ENDINGS: [&[u8]; 5] = [b".tar", b".tar.gz", b".tgz", b".tar.zst", b".tzst"];
/// Maximum number of names that braces may expand to.
const MOST_NAMES: usize = 1 << 24;

/// One shard: its name and the source of its bytes.
#[derive(Clone, Debug)]
pub(in crate::stream) struct StreamShard {
    /// The path or the URL, or a name if there is neither.
    pub(in crate::stream) name: Arc<Path>,
    place: ShardPlace,
}

#[derive(Clone, Debug)]
enum ShardPlace {
    File,
    /// A tar in a store.
    #[cfg(feature = "remote")]
    Object(RemoteTar),
    /// A source that can be read only once, and whether a read ends soon after the stream is dropped.
    Once(Arc<Mutex<Option<Origin>>>, bool),
}

impl StreamShard {
    fn file(path: &Path) -> StreamShard {
        StreamShard { name: Arc::from(path), place: ShardPlace::File }
    }

    /// A tar in a store.
    #[cfg(feature = "remote")]
    pub(in crate::stream) fn object(tar: RemoteTar) -> StreamShard {
        let name = PathBuf::from(tar.url());
        StreamShard { name: Arc::from(name), place: ShardPlace::Object(tar) }
    }

    fn once(name: &Path, origin: Origin) -> StreamShard {
        let interruptible = origin.is_interruptible();
        let place = ShardPlace::Once(Arc::new(Mutex::new(Some(origin))), interruptible);
        StreamShard { name: Arc::from(name), place }
    }

    /// A shard read by a user's `Read`.
    pub(in crate::stream) fn from_read(name: &Path, read: Box<dyn Read + Send>) -> StreamShard {
        StreamShard::once(name, Origin::Read(read))
    }

    /// A shard in an open file, pipe or socket.
    pub(in crate::stream) fn from_fd(name: &Path, fd: OwnedFd) -> Result<StreamShard> {
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
    pub(in crate::stream) fn open(&self) -> Result<Origin> {
        let once = match &self.place {
            ShardPlace::File => {
                let opened = Origin::open(&self.name);
                return opened.map_err(|e| cannot("open", e).with_path(&self.name));
            }
            #[cfg(feature = "remote")]
            ShardPlace::Object(tar) => return Ok(Origin::Object(Box::new(tar.open()?))),
            ShardPlace::Once(once, _) => once,
        };
        let taken = once.lock().ignore_poison().take();
        taken.ok_or_else(|| {
            let text = "this was read in an earlier epoch and cannot be read again: stream files \
                        to read them more than once";
            Error::usage(text).with_path(&self.name)
        })
    }

    /// True if a read ends soon after the stream is dropped.
    pub(in crate::stream) fn is_interruptible(&self) -> bool {
        !matches!(self.place, ShardPlace::Once(_, false))
    }

    /// True if `pack index` can write a sidecar beside it.
    pub(in crate::stream) fn is_indexable(&self) -> bool {
        match &self.place {
            ShardPlace::File => true,
            #[cfg(feature = "remote")]
            ShardPlace::Object(tar) => tar.is_writable(),
            ShardPlace::Once(..) => false,
        }
    }
}

fn cannot(doing: &str, cause: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot {doing}")).with_source(cause)
}

/// Finds the shards of a URL, or of a list of URLs.
pub(in crate::stream) trait FindRemote {
    /// Prepares for all names of a stream, of which some are local.
    ///
    /// # Errors
    /// Returns an error if a URL cannot be understood.
    fn expect(&mut self, _names: &[String]) -> Result<()> {
        Ok(())
    }

    /// The shards that `name` names, in their order. Its braces were expanded.
    ///
    /// # Errors
    /// Returns an error if nothing reads such URLs, a folder cannot be listed, or a list cannot be read.
    fn shards(&mut self, name: &str) -> Result<Vec<StreamShard>>;
}

/// Finds none: for a program without the feature `remote`.
#[cfg(not(feature = "remote"))]
pub(in crate::stream) struct NoStores;

#[cfg(not(feature = "remote"))]
impl FindRemote for NoStores {
    fn shards(&mut self, name: &str) -> Result<Vec<StreamShard>> {
        Err(crate::remote::name::not_built(name))
    }
}

/// The shards that `patterns` name, in their order. Those of a folder or glob are sorted by the bytes of
/// their names. `remote` finds those of URLs.
///
/// # Errors
/// Returns an error if a pattern is malformed or matches nothing, or if a folder cannot be read.
pub(in crate::stream) fn shards(
    patterns: &[&str],
    remote: &mut dyn FindRemote,
) -> Result<Vec<StreamShard>> {
    let mut all = Vec::new();
    for pattern in patterns {
        if pattern.is_empty() {
            return Err(Error::usage(
                "the name of a shard is empty; name a tar, a folder, a pattern or a URL",
            ));
        }
        all.extend(names(pattern)?);
    }
    remote.expect(&all)?;
    let mut found = Vec::new();
    for name in all {
        if name == "-" {
            found.push(StreamShard::stdin()?);
        } else if is_url(&name) || is_url_list(&name) {
            found.extend(remote.shards(&name)?);
        } else {
            found.extend(paths(&name)?.iter().map(|path| StreamShard::file(path)));
        }
    }
    if found.is_empty() {
        return Err(Error::usage("the list of shards to stream is empty"));
    }
    Ok(found)
}

/// The names that a pattern with braces stands for.
fn names(pattern: &str) -> Result<Vec<String>> {
    if is_url(pattern) {
        // What follows is a secret of a presigned URL, and no pattern.
        let (place, query) = pattern.split_at(pattern.find('?').unwrap_or(pattern.len()));
        return Ok(braces(place)?.into_iter().map(|place| place + query).collect());
    }
    if files::exists(Path::new(pattern))? { Ok(vec![pattern.to_string()]) } else { braces(pattern) }
}

/// True if this is the name of a shard in a folder: the end of a tar's name, and not hidden.
pub(in crate::stream) fn is_shard(name: &[u8]) -> bool {
    !name.starts_with(b".") && ENDINGS.iter().any(|end| name.ends_with(end))
}

/// The shards of a folder or glob, or else the name itself.
fn paths(name: &str) -> Result<Vec<PathBuf>> {
    let path = Path::new(name);
    match files::kind(path)? {
        Some(FileKind::Folder) => return folder(path),
        None if name.contains(['*', '?', '[']) => {}
        _ => return Ok(vec![path.to_path_buf()]),
    }
    let mut paths = Vec::new();
    for found in glob::glob(name).map_err(|e| unclear(e, name))? {
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

fn unclear(e: glob::PatternError, name: &str) -> Error {
    Error::usage(format!("the pattern {name} is invalid: {}", e.msg)).with_source(e)
}

fn folder(path: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(path).map_err(|e| cannot("read this folder", e).with_path(path))? {
        let name = entry.map_err(|e| cannot("read this folder", e).with_path(path))?.file_name();
        if is_shard(name.as_bytes()) {
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
    paths.sort_by_cached_key(|path| path.as_os_str().as_bytes().to_vec());
}

/// Expands `{000..765}` and `{a,b}`; the leftmost brace varies slowest.
fn braces(pattern: &str) -> Result<Vec<String>> {
    let (open, close) = match (pattern.find('{'), pattern.find('}')) {
        (Some(open), Some(close)) if open < close => (open, close),
        _ => return Ok(vec![pattern.to_string()]),
    };
    let before = &pattern[..open];
    let inner = &pattern[open + 1..close];
    let after = &pattern[close + 1..];
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
    if !is_number(low) || !is_number(high) {
        return None;
    }
    let first: u64 = low.parse().ok()?;
    let last: u64 = high.parse().ok()?;
    if last < first || last - first >= MOST_NAMES as u64 {
        return None;
    }
    Some((first..=last).map(|n| format!("{n:0width$}", width = low.len())).collect())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct NoRemote;

    impl FindRemote for NoRemote {
        fn shards(&mut self, name: &str) -> Result<Vec<StreamShard>> {
            Err(Error::usage(format!("remote: {name}")))
        }
    }

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
            let found = shards(&[pattern], &mut NoRemote).unwrap();
            found
                .iter()
                .map(|s| s.name.file_name().unwrap().to_str().unwrap().to_string())
                .collect()
        };
        let root = dir.path().to_str().unwrap();
        assert_eq!(names(root), ["a.tar", "b.tar.gz", "c.tar.zst", "d.tgz"]);
        assert_eq!(names(&format!("{root}/*.t*z*")), ["b.tar.gz", "c.tar.zst", "d.tgz"]);
        assert_eq!(names(&format!("{root}/{{a,zz}}.tar")), ["a.tar", "zz.tar"]);
        let nothing = shards(&[&format!("{root}/*.none")], &mut NoRemote).err().unwrap();
        assert!(nothing.text().contains("matches no file"), "{nothing}");
        assert!(shards(&[], &mut NoRemote).is_err());
    }

    #[test]
    fn urls_are_never_paths() {
        fn told(pattern: &str) -> String {
            shards(&[pattern], &mut NoRemote).err().unwrap().text().to_string()
        }

        assert_eq!(told("s3://b/{7..8}/a.tar"), "remote: s3://b/7/a.tar");
        assert_eq!(told("http://h/a.tar?x={1..2}"), "remote: http://h/a.tar?x={1..2}");
        assert_eq!(told("{s3,gs}://b/a.tar"), "remote: s3://b/a.tar");
        assert_eq!(told("folder/train.urls"), "remote: folder/train.urls");
        #[cfg(not(feature = "remote"))]
        for url in ["s3://b/a.tar", "http://h/a.tar?sig=1", "ftp://h/{0..1}.tar", "train.urls"] {
            let error = shards(&[url], &mut NoStores).err().unwrap().to_string();
            assert!(error.contains("without the feature `remote`"), "{error}");
            assert!(!error.contains("sig="), "{error}");
        }
    }
}
