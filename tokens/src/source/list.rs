//! `list`: from the paths of a user to sources, sorted by bytes inside folders.

use std::fs;
use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::files::{self, FileKind, patiently};
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::shown::ShowPath;
use tarflume_formats::{Error, name};

use super::documents::{DocumentSource, Reading};
use super::jsonl::Jsonl;
use super::left_out::LeftOut;
use super::parquet;
use super::plain::{PerLine, Whole};
use super::shards::Tar;
use crate::files::distinct::{GivenPlace, distinct};

/// Extensions of compressed files.
const PACKED: [&str; 3] = ["gz", "zst", "zstd"];

/// The kind of a file, by its extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Jsonl,
    Parquet,
    Plain,
    Tar,
}

/// Sources in the order in which they are packed.
#[derive(Debug, Default, Clone)]
pub struct Sources {
    sources: Vec<DocumentSource>,
    notices: Vec<Message>,
}

impl Sources {
    /// Returns the sources.
    pub fn all(&self) -> &[DocumentSource] {
        &self.sources
    }

    /// Returns what was left out, and why, each one line.
    pub fn notices(&self) -> &[Message] {
        &self.notices
    }
}

impl From<Vec<DocumentSource>> for Sources {
    fn from(sources: Vec<DocumentSource>) -> Sources {
        Sources { sources, notices: Vec::new() }
    }
}

/// A file of text.
struct TextFile {
    /// The number of the given path that it is, or is below.
    given: usize,
    /// Its name in the given folder; empty for a given file.
    below: String,
    path: PathBuf,
    form: Form,
}

impl TextFile {
    /// Returns true for a file that describes the others.
    fn is_about(&self) -> bool {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let stem = name.split('.').next().unwrap_or_default();
        self.form == Form::Plain && matches!(stem, "readme" | "license" | "licence")
    }
}

/// Returns the source for a file.
fn of_file(form: Form, name: String, path: PathBuf, reading: &Reading) -> DocumentSource {
    let reading = reading.clone();
    DocumentSource::new(name, move || {
        Ok(match form {
            Form::Jsonl => Box::new(Jsonl::open(&path, &reading)?),
            Form::Parquet => parquet::open(&path, &reading)?,
            Form::Plain if reading.per_line => Box::new(PerLine::open(&path)?),
            Form::Plain => Box::new(Whole::open(&path)?),
            Form::Tar => Box::new(Tar::open(&path, &reading)?),
        })
    })
}

/// Returns the sources at `paths`: files, and folders with all files below them.
///
/// A file's kind is that of its extension: `jsonl`, `ndjson` and `json` (an object per line),
/// `txt` and `md`, `parquet`, `tar`; the first two also with `gz`, `zst` or `zstd` behind. Other files in
/// folders are left out, and so are files named `README` and `LICENSE` if a folder has others. Names of
/// sources begin at the given path's last component, or earlier where two files would get one name.
///
/// # Errors
/// Returns an error if a path does not exist, a named file has another extension, nothing was
/// found, or the operating system refuses.
pub fn list(paths: &[PathBuf], reading: &Reading) -> Result<Sources, Failure> {
    let mut found = Vec::new();
    let mut left_out = LeftOut::default();
    for (given, path) in paths.iter().enumerate() {
        match files::kind(path)? {
            None => {
                let text = "no such file or folder";
                return Err(Failure::usage(text).in_file(path));
            }
            Some(FileKind::Folder) => found.extend(folder(path, given, &mut left_out)?),
            Some(_) => {
                let form = form(path).ok_or_else(|| {
                    Failure::usage(
                        "text is read from .jsonl, .txt (also with .gz or .zst), .parquet, .arrow and \
                         .tar, and ids from megatron:PREFIX",
                    )
                    .in_file(path)
                })?;
                found.push(TextFile { given, below: String::new(), path: path.clone(), form });
            }
        }
    }
    if found.is_empty() {
        return Err(nothing(paths, &left_out));
    }
    Ok(named(paths, found, reading, left_out.notices()))
}

/// Returns the failure of paths without any text.
fn nothing(paths: &[PathBuf], left_out: &LeftOut) -> Failure {
    let shown: Vec<String> = paths.iter().map(|path| path.shown().to_string()).collect();
    let others =
        left_out.others().map_or_else(String::new, |others| format!("; there are {others}"));
    let mut text = message!(
        "{}: no file of text found: .jsonl, .txt (also with .gz or .zst), .parquet, .arrow or .tar{others}",
        shown.join(", ")
    );
    if let Some(links) = left_out.links() {
        text += "; ";
        text += links;
    }
    let failure = Failure::usage(text);
    match paths {
        [path] => failure.with_file(path),
        _ => failure,
    }
}

/// Returns the files of a folder, without those that describe the others.
fn folder(path: &Path, given: usize, left_out: &mut LeftOut) -> Result<Vec<TextFile>, Failure> {
    check_splits(path)?;
    let mut found = Vec::new();
    walk(path, "", given, &mut found, left_out)?;
    if !found.iter().all(TextFile::is_about) {
        for file in found.extract_if(.., |file| file.is_about()) {
            left_out.about(&file.path);
        }
    }
    Ok(found)
}

/// Refuses a folder of `datasets` with several splits, which would become one data set.
fn check_splits(folder: &Path) -> Result<(), Failure> {
    let path = folder.join("dataset_dict.json");
    if !files::exists(&path)? {
        return Ok(());
    }
    let bytes = files::read_whole(&path, "read the splits")?;
    let parsed: Result<serde_json::Value, _> = serde_json::from_slice(&bytes);
    let splits = parsed.ok().and_then(|own| own["splits"].as_array().cloned()).unwrap_or_default();
    let names: Vec<&str> = splits.iter().filter_map(serde_json::Value::as_str).collect();
    let first = names.first().copied().unwrap_or("train");
    let text = format!(
        "this folder of datasets has the splits {}; name the folder of one, such as {}",
        names.join(", "),
        folder.join(first).shown()
    );
    Err(Failure::usage(text).in_file(folder))
}

/// Names the files and makes sources of them.
fn named(
    paths: &[PathBuf],
    found: Vec<TextFile>,
    reading: &Reading,
    notices: Vec<Message>,
) -> Sources {
    let places: Vec<GivenPlace<'_>> =
        found.iter().map(|file| GivenPlace { given: file.given, below: &file.below }).collect();
    let names = distinct(paths, &places);
    let named = found.into_iter().zip(names);
    let sources = named.map(|(file, name)| of_file(file.form, name, file.path, reading)).collect();
    Sources { sources, notices }
}

/// Adds the files below a folder, sorted by bytes of their paths' components.
fn walk(
    folder: &Path,
    name: &str,
    given: usize,
    found: &mut Vec<TextFile>,
    left_out: &mut LeftOut,
) -> Result<(), Failure> {
    let mut entries = Vec::new();
    for entry in patiently(|| fs::read_dir(folder))
        .map_err(|e| Failure::from(Error::io(e, "list", folder)))?
    {
        entries.push(entry.map_err(|e| Failure::from(Error::io(e, "list", folder)))?.file_name());
    }
    entries.sort();
    for entry in entries {
        let path = folder.join(&entry);
        let below = format!("{name}/{}", name::shown(entry.as_encoded_bytes()));
        if entry.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        // A link of a data set that somebody else made can lead to any file of this machine.
        if is_link(&path)? {
            left_out.link(&path);
            continue;
        }
        match (files::kind(&path)?, form(&path)) {
            (Some(FileKind::Folder), _) => walk(&path, &below, given, found, left_out)?,
            (Some(FileKind::File), Some(Form::Parquet)) if is_cache(&path) => left_out.other(&path),
            (Some(FileKind::File), Some(Form::Jsonl)) if is_description(&path)? => {
                left_out.other(&path);
            }
            (Some(FileKind::File), Some(form)) => found.push(TextFile { given, below, path, form }),
            (Some(FileKind::File), None) => left_out.other(&path),
            _ => left_out.irregular(),
        }
    }
    Ok(())
}

/// Returns true for a file of Arrow in which `datasets` keeps a result beside the data.
fn is_cache(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.starts_with(b"cache-") && name.ends_with(b".arrow")
}

/// Returns true for a file in which `datasets` describes a folder of its files.
fn is_description(path: &Path) -> Result<bool, Failure> {
    let names = ["dataset_info.json", "state.json"];
    if !path.file_name().is_some_and(|own| names.iter().any(|name| own == *name)) {
        return Ok(false);
    }
    for name in names {
        if !files::exists(&path.with_file_name(name))? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_link(path: &Path) -> Result<bool, Failure> {
    let found = patiently(|| fs::symlink_metadata(path));
    let found = found.map_err(|e| Failure::from(Error::io(e, "examine", path)))?;
    Ok(found.is_symlink())
}

fn extension(path: &Path) -> Option<String> {
    Some(path.extension()?.to_str()?.to_ascii_lowercase())
}

fn form(path: &Path) -> Option<Form> {
    let last = extension(path)?;
    let inner = if PACKED.contains(&last.as_str()) {
        extension(&path.with_extension(""))?
    } else {
        last.clone()
    };
    match inner.as_str() {
        "jsonl" | "ndjson" | "json" => Some(Form::Jsonl),
        "txt" | "md" | "text" => Some(Form::Plain),
        "parquet" | "arrow" if last == inner => Some(Form::Parquet),
        "tar" if last == "tar" => Some(Form::Tar),
        _ => None,
    }
}
