//! `Shards`: a data set as users name it, resolved to manifests and tars.
//!
//! A folder, a `dataset.json`, a tar, a glob, braces, several of these joined by `::`, a URL, a list of
//! URLs, or a list of these.
//! Checks which files exist; opens none.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use glob::{MatchOptions, glob_with};
use serde::{Deserialize, Serialize};
use tarflume_formats::files::{self, FileKind};
use tarflume_formats::manifest::FILE_NAME;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Task};
use tarflume_formats::{index_path, name};
use tarflume_types::{Error, ErrorKind, Result};

use crate::dataset::opening::braces;
use crate::remote::name::is_url_list;
use tarflume_formats::url::is_url;

/// The name of a data set; see [`crate::Dataset::open`] for the accepted forms. Serde writes a list of names, and reads a
/// list or one name.
///
/// ```
/// use tarflume::Shards;
///
/// let folder = Shards::from("shards/");
/// let list = Shards::from(vec!["a.tar", "b.tar"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "ShardNames")]
pub struct Shards(Vec<PathBuf>);

/// Names as a configuration file has them.
#[derive(Deserialize)]
#[serde(untagged)]
enum ShardNames {
    One(PathBuf),
    Several(Vec<PathBuf>),
}

impl From<ShardNames> for Shards {
    fn from(names: ShardNames) -> Shards {
        match names {
            ShardNames::One(name) => Shards(vec![name]),
            ShardNames::Several(names) => Shards(names),
        }
    }
}

/// A file that a name resolves to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShardPath {
    /// A manifest, which stands for all shards that it lists.
    Manifest(PathBuf),
    /// A tar.
    Tar(PathBuf),
    /// A data set in a store, or a list of URLs of one.
    Url(String),
    /// Shards of a data set in a store, by name: its folder, and the names.
    UrlPart(String, Vec<String>),
}

macro_rules! shards_from {
    ($($type:ty),*) => { $(
        impl From<$type> for Shards {
            fn from(name: $type) -> Shards {
                Shards(vec![PathBuf::from(name)])
            }
        }
        impl From<Vec<$type>> for Shards {
            fn from(names: Vec<$type>) -> Shards {
                Shards(names.into_iter().map(PathBuf::from).collect())
            }
        }
        impl From<&[$type]> for Shards {
            fn from(names: &[$type]) -> Shards {
                Shards(names.iter().map(PathBuf::from).collect())
            }
        }
        impl<const N: usize> From<[$type; N]> for Shards {
            fn from(names: [$type; N]) -> Shards {
                Shards(names.into_iter().map(PathBuf::from).collect())
            }
        }
    )* };
}
shards_from!(&str, String, &Path, PathBuf, &String, &PathBuf);

impl Shards {
    /// Resolves the names to manifests and tars, in order.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`]: the list is empty, or a name matches nothing, is malformed, or is not a
    /// local tar. [`ErrorKind::Io`]: a named shard does not exist.
    pub fn resolve(&self) -> Result<Vec<ShardPath>> {
        if self.0.is_empty() {
            return Err(Error::usage("the list of shards is empty"));
        }
        let mut found = Vec::new();
        for name in &self.0 {
            found.extend(named(name)?);
        }
        Ok(joined(found))
    }
}

/// Joins neighbors in one folder of a store: its manifest is read once.
fn joined(found: Vec<ShardPath>) -> Vec<ShardPath> {
    let mut joined: Vec<ShardPath> = Vec::with_capacity(found.len());
    for path in found {
        match (joined.last_mut(), path) {
            (Some(ShardPath::UrlPart(folder, names)), ShardPath::UrlPart(same, more))
                if *folder == same =>
            {
                names.extend(more)
            }
            (_, path) => joined.push(path),
        }
    }
    joined
}

/// Resolves one name: literally if it exists, otherwise as a pattern.
fn named(path: &Path) -> Result<Vec<ShardPath>> {
    fn local(text: &str) -> bool {
        !is_url(text.split("::").next().unwrap_or(text))
    }

    // A URL is never a local file.
    let kind = if path.to_str().is_none_or(local) { files::kind(path)? } else { None };
    match (kind, path.to_str()) {
        (Some(kind), _) => listed(path, kind),
        (None, Some(text)) if !text.is_empty() => {
            let mut found = Vec::new();
            for alternative in text.split("::") {
                found.extend(pattern(alternative, text)?);
            }
            Ok(found)
        }
        (None, Some(_)) => Err(Error::usage("a name in the list of shards is empty")),
        (None, None) => Err(missing(path, path, 1, 1)),
    }
}

/// Expands braces, then globs. `whole` is the text that the user wrote, for messages.
fn pattern(text: &str, whole: &str) -> Result<Vec<ShardPath>> {
    if is_url(text) {
        return in_store(text).map(|found| vec![found]);
    }
    let names = braces::expand(text)?;
    let mut found = Vec::new();
    let mut absent = 0;
    let mut first = None;
    for name in &names {
        let path = Path::new(name);
        match files::kind(path)? {
            Some(kind) => found.extend(listed(path, kind)?),
            None if name.contains(['*', '?', '[']) => found.extend(globbed(name, whole)?),
            None => {
                absent += 1;
                first.get_or_insert(path);
            }
        }
    }
    match first {
        Some(first) => Err(missing(first, Path::new(whole), absent, names.len())),
        None => Ok(found),
    }
}

/// A folder in a store, or some shards of one: a tar, or braces in the last segment.
fn in_store(url: &str) -> Result<ShardPath> {
    // What follows is a secret of a presigned URL, and no pattern.
    let (place, query) = url.split_at(url.find('?').unwrap_or(url.len()));
    let (folder, last) = place.rsplit_once('/').unwrap_or((place, ""));
    if place.contains('*') || folder.contains('{') {
        let text = "a URL has braces in its last segment only, and globs name local files; name the folder in \
                    the store, which has dataset.json";
        return Err(Error::usage(text).with_path(place));
    }
    if !query.is_empty() || !last.ends_with(".tar") {
        return Ok(ShardPath::Url(url.into()));
    }
    Ok(ShardPath::UrlPart(folder.into(), braces::expand(last)?))
}

fn listed(path: &Path, kind: FileKind) -> Result<Vec<ShardPath>> {
    if kind == FileKind::Folder {
        return folder(path);
    }
    if let Some(list) = path.to_str().filter(|text| is_url_list(text)) {
        return Ok(vec![ShardPath::Url(list.into())]);
    }
    if has_end(".json", path) {
        return Ok(vec![ShardPath::Manifest(path.into())]);
    }
    let has_sidecar = has_end(".tar.zst", path) && files::exists(&index_path(path))?;
    if [".gz", ".tgz", ".zst", ".bz2", ".xz"].iter().any(|end| has_end(end, path)) && !has_sidecar {
        let text = message!(
            "a compressed tar without sidecar does not allow random access; `{reshard}` packs its samples into \
             shards that do; or unpack it and make a sidecar with `{index}`, or read it from front to back as a \
             plain stream";
            reshard = Call::of(Task::Reshard), index = Call::of(Task::Index)
        );
        return Err(Error::new(ErrorKind::WrongFormat, text).with_path(path));
    }
    if has_end(".index", path) {
        let text = "this is a sidecar; name the tar beside it";
        return Err(Error::usage(text).with_path(path));
    }
    Ok(vec![ShardPath::Tar(path.into())])
}

fn has_end(end: &str, path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(end.as_bytes())
}

/// The manifest of a folder, or else its tars sorted by name.
fn folder(path: &Path) -> Result<Vec<ShardPath>> {
    let manifest = path.join(FILE_NAME);
    if files::exists(&manifest)? {
        return Ok(vec![ShardPath::Manifest(manifest)]);
    }
    let mut tars = Vec::new();
    let mut compressed = 0;
    for entry in fs::read_dir(path).map_err(|e| unlisted(e, path))? {
        let entry = entry.map_err(|e| unlisted(e, path))?.path();
        if is_shown_tar(&entry)? {
            tars.push(entry);
        } else if is_compressed_tar(&entry) {
            compressed += 1;
        }
    }
    if tars.is_empty() {
        let text = if files::is_folder(&path.join(".pack"))? {
            message!(
                "no {FILE_NAME} here: the build is not finished; `{status}` shows what is left";
                status = Call::of(Task::Status)
            )
        } else if compressed > 0 {
            message!(
                "the tars of this folder are compressed ({compressed} of them) and do not allow random \
                 access: decompress them (gunzip, zstd -d) and run `{index}`, or read them from front \
                 to back as a stream";
                index = Call::of(Task::Index)
            )
        } else {
            message!("the folder contains neither {FILE_NAME} nor a tar")
        };
        return Err(Error::usage(text).with_path(path));
    }
    tars.sort();
    Ok(tars.into_iter().map(ShardPath::Tar).collect())
}

fn unlisted(e: io::Error, path: &Path) -> Error {
    Error::from(tarflume_formats::Error::io(e, "list", path))
}

fn is_shown_tar(path: &Path) -> Result<bool> {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    Ok(name.ends_with(b".tar") && !name.starts_with(b".") && !files::is_folder(path)?)
}

fn is_compressed_tar(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let ends = [".tar.gz", ".tgz", ".tar.zst", ".tzst", ".tar.xz", ".tar.bz2", ".tar.lz4"];
    !name.starts_with(b".") && ends.iter().any(|end| name.ends_with(end.as_bytes()))
}

/// Tars that a glob matches, sorted; manifests or folders if the pattern ends in `.json` or `/`.
fn globbed(pattern: &str, whole: &str) -> Result<Vec<ShardPath>> {
    let options = MatchOptions {
        case_sensitive: true,
        require_literal_separator: true,
        require_literal_leading_dot: true,
    };
    let matches = glob_with(pattern, options).map_err(|e| {
        Error::usage(format!("the glob '{}' is invalid: {e}", name::shown(pattern.as_bytes())))
    })?;
    let mut found = Vec::new();
    let mut others = 0;
    for path in matches {
        let path = path.map_err(|e| {
            let place = e.path().to_path_buf();
            Error::from(tarflume_formats::Error::io(e.into(), "list", place))
        })?;
        let accepted = if pattern.ends_with('/') {
            files::is_folder(&path)?
        } else {
            is_shown_tar(&path)?
                || (pattern.ends_with(".json") && files::kind(&path)? == Some(FileKind::File))
        };
        if accepted { found.push(path) } else { others += 1 }
    }
    if found.is_empty() {
        let beside = match others {
            0 => String::new(),
            n => format!("; {n} other files match"),
        };
        let text = format!("no tar matches '{}'{beside}", name::shown(whole.as_bytes()));
        return Err(Error::usage(text));
    }
    found.sort();
    let mut all = Vec::with_capacity(found.len());
    for path in found {
        let kind = files::kind(&path)?.unwrap_or(FileKind::File);
        all.extend(listed(&path, kind)?);
    }
    Ok(all)
}

fn missing(first: &Path, whole: &Path, absent: usize, of: usize) -> Error {
    let text = if of == 1 {
        "this shard or folder does not exist".to_string()
    } else {
        let whole = name::shown(whole.as_os_str().as_encoded_bytes());
        format!("{absent} of the {of} shards of '{whole}' are missing; this is the first")
    };
    let none = io::Error::from(io::ErrorKind::NotFound);
    Error::new(ErrorKind::Io, text).with_path(first).with_source(none)
}
