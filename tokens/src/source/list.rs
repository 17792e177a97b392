//! `list`: from the paths of a user to sources, sorted by bytes inside folders.

use std::fs;
use std::path::{Path, PathBuf};

use tarflume_formats::files::{self, Kind, patiently};
use tarflume_formats::shown::ShowPath;
use tarflume_formats::{Error, name};
use tarflume_packer::Failure;

use super::documents::{Reading, Source};
use super::jsonl::Jsonl;
use super::parquet::Parquet;
use super::plain::{PerLine, Whole};
use super::shards::Tar;

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

/// Returns the source for a file.
fn of_file(form: Form, name: String, path: PathBuf, reading: &Reading) -> Source {
    let reading = reading.clone();
    Source::new(name, move || {
        Ok(match form {
            Form::Jsonl => Box::new(Jsonl::open(&path, &reading.field)?),
            Form::Parquet => Box::new(Parquet::open(&path, &reading.field)?),
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
/// folders are left out. Names of sources begin at the given path's last component.
///
/// # Errors
/// Returns an error if a path does not exist, a named file has another extension, nothing was
/// found, or the operating system refuses.
pub fn list(paths: &[PathBuf], reading: &Reading) -> Result<Vec<Source>, Failure> {
    let mut sources = Vec::new();
    for path in paths {
        let name = path.file_name().map_or_else(|| ".".into(), |name| lossless(Path::new(name)));
        match files::kind(path)? {
            None => {
                let text = format!("{}: no such file or folder", path.shown());
                return Err(Failure::usage(text));
            }
            Some(Kind::Folder) => walk(path, &name, reading, &mut sources)?,
            Some(_) => {
                let form = form(path).ok_or_else(|| {
                    Failure::usage(format!(
                        "{}: text is read from .jsonl, .txt (also with .gz or .zst), .parquet and \
                         .tar, and ids from megatron:PREFIX",
                        path.shown()
                    ))
                })?;
                sources.push(of_file(form, name, path.clone(), reading));
            }
        }
    }
    if sources.is_empty() {
        let shown: Vec<String> = paths.iter().map(|path| path.shown().to_string()).collect();
        return Err(Failure::usage(format!(
            "{}: no file of text found: .jsonl, .txt (also with .gz or .zst), .parquet or .tar",
            shown.join(", ")
        )));
    }
    Ok(sources)
}

/// Adds the files below a folder, sorted by bytes of their paths' components.
fn walk(
    folder: &Path,
    name: &str,
    reading: &Reading,
    sources: &mut Vec<Source>,
) -> Result<(), Failure> {
    let refused = |e| Failure::from(Error::io(e, "list", folder));
    let mut entries = Vec::new();
    for entry in patiently(|| fs::read_dir(folder)).map_err(refused)? {
        entries.push(entry.map_err(refused)?.file_name());
    }
    entries.sort();
    for entry in entries {
        let path = folder.join(&entry);
        let below = format!("{name}/{}", lossless(Path::new(&entry)));
        if entry.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        match (files::kind(&path)?, form(&path)) {
            (Some(Kind::Folder), _) => walk(&path, &below, reading, sources)?,
            (Some(Kind::File), Some(form)) => sources.push(of_file(form, below, path, reading)),
            _ => {}
        }
    }
    Ok(())
}

/// Returns the path as text, with escapes for other bytes.
fn lossless(path: &Path) -> String {
    name::shown(path.as_os_str().as_encoded_bytes())
}

fn form(path: &Path) -> Option<Form> {
    let extension = |path: &Path| Some(path.extension()?.to_str()?.to_ascii_lowercase());
    let last = extension(path)?;
    let inner = match PACKED.contains(&last.as_str()) {
        true => extension(&path.with_extension(""))?,
        false => last.clone(),
    };
    match inner.as_str() {
        "jsonl" | "ndjson" | "json" => Some(Form::Jsonl),
        "txt" | "md" | "text" => Some(Form::Plain),
        "parquet" if last == "parquet" => Some(Form::Parquet),
        "tar" if last == "tar" => Some(Form::Tar),
        _ => None,
    }
}
