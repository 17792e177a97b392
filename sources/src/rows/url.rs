//! `SourceUrl`: `kind:FILE,FILE?name=value&name=value`, the name of a source that is not a folder.
//!
//! Splits text only; `find` expands patterns to files.

use std::fmt;
use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::About;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Task};
use tarflume_formats::shown::ShowPath;

use crate::rows::{data_set, find, saved};

/// The kinds of sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceFormat {
    /// Files of Arrow, and folders of `save_to_disk`; a sample is a row.
    Arrow,
    /// NumPy arrays; a sample is one index of the first dimension.
    Npy,
    /// Tables of separated fields; a sample is a row.
    Csv,
    /// Tables of JSON objects; a sample is a line.
    Jsonl,
    /// Lists or objects in JSON documents; a sample is an element or a member.
    Json,
    /// Zips of NumPy arrays.
    Npz,
    /// Arrays of the format of MNIST; a sample is one index of the first dimension.
    Idx,
    /// Arrays of MATLAB; a sample is a row.
    Mat,
    /// Files of numbers without a header; a sample is a row.
    Raw,
    /// Tars of WebDataset samples, plain or compressed, and data sets of this program.
    Tar,
    /// Zips of files, grouped like those of a folder.
    Zip,
    /// A folder of MDS shards.
    Mds,
    /// A folder of LitData chunks.
    LitData,
    /// TFRecord files of `tf.train.Example`.
    TfRecord,
    /// Parquet files; a sample is a row.
    Parquet,
    /// HDF5 data sets; a sample is one index of the first dimension.
    Hdf5,
    /// A folder of Zarr, an array or a group; a sample is one index of the first dimension.
    Zarr,
}

impl SourceFormat {
    const ALL: [SourceFormat; 17] = [
        SourceFormat::Arrow,
        SourceFormat::Csv,
        SourceFormat::Hdf5,
        SourceFormat::Idx,
        SourceFormat::Json,
        SourceFormat::Jsonl,
        SourceFormat::LitData,
        SourceFormat::Mat,
        SourceFormat::Mds,
        SourceFormat::Npy,
        SourceFormat::Npz,
        SourceFormat::Parquet,
        SourceFormat::Raw,
        SourceFormat::Tar,
        SourceFormat::TfRecord,
        SourceFormat::Zarr,
        SourceFormat::Zip,
    ];

    /// Returns its word before the colon.
    pub fn word(self) -> &'static str {
        match self {
            SourceFormat::Arrow => "arrow",
            SourceFormat::Npy => "npy",
            SourceFormat::Csv => "csv",
            SourceFormat::Json => "json",
            SourceFormat::Jsonl => "jsonl",
            SourceFormat::Npz => "npz",
            SourceFormat::Idx => "idx",
            SourceFormat::Mat => "mat",
            SourceFormat::Raw => "raw",
            SourceFormat::Tar => "tar",
            SourceFormat::Zip => "zip",
            SourceFormat::Mds => "mds",
            SourceFormat::LitData => "litdata",
            SourceFormat::TfRecord => "tfrecord",
            SourceFormat::Parquet => "parquet",
            SourceFormat::Hdf5 => "hdf5",
            SourceFormat::Zarr => "zarr",
        }
    }

    /// Returns the endings of its files in a folder; `None` if the source is the folder itself.
    fn endings(self) -> find::Endings {
        match self {
            SourceFormat::Arrow => Some(&[".arrow", ".feather"]),
            SourceFormat::Npy => Some(&[".npy"]),
            SourceFormat::Csv => {
                Some(&[".csv", ".tsv", ".csv.gz", ".tsv.gz", ".csv.zst", ".tsv.zst"])
            }
            SourceFormat::Jsonl => Some(&[".jsonl", ".ndjson", ".jsonl.gz", ".jsonl.zst"]),
            SourceFormat::Json => Some(&[".json", ".json.gz", ".json.zst"]),
            SourceFormat::Npz => Some(&[".npz"]),
            SourceFormat::Mat => Some(&[".mat"]),
            SourceFormat::Idx => Some(&["-ubyte", "-ubyte.gz", "-idx2-int", "-idx2-int.gz"]),
            SourceFormat::Raw => Some(&[".raw", ".dat", ".bin", ".memmap", ".mmap"]),
            SourceFormat::Tar => Some(&[
                ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst",
                ".tzst",
            ]),
            SourceFormat::Zip => Some(&[".zip"]),
            SourceFormat::TfRecord => Some(&[".tfrecord", ".tfrecords", ".tfrec"]),
            SourceFormat::Parquet => Some(&[".parquet"]),
            SourceFormat::Hdf5 => Some(&[".h5", ".hdf5"]),
            SourceFormat::Mds | SourceFormat::LitData | SourceFormat::Zarr => None,
        }
    }

    /// Returns the kind that packs a file with this name. Files of numbers have no endings of their own.
    pub fn of_file(path: &Path) -> Option<SourceFormat> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        SourceFormat::ALL
            .into_iter()
            .filter(|kind| *kind != SourceFormat::Raw)
            .find(|kind| kind.endings().is_some_and(|ends| find::has_ending(name.as_bytes(), ends)))
    }

    /// Returns the kind whose word and colon the text begins with, and the rest of the text.
    fn of(text: &str) -> Option<(SourceFormat, &str)> {
        let (word, rest) = text.split_once(':')?;
        let kind = SourceFormat::ALL.into_iter().find(|kind| kind.word() == word)?;
        Some((kind, rest))
    }

    /// Returns the words of all kinds for a message.
    pub(crate) fn words() -> String {
        SourceFormat::ALL.map(|kind| format!("{}:", kind.word())).join(", ")
    }
}

/// The text of a source, split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitUrl<'a> {
    /// Its kind.
    pub(crate) kind: SourceFormat,
    /// Names of files, with braces and globs.
    pub(crate) patterns: Vec<&'a str>,
    /// The options after the question mark, in the order given.
    pub(crate) options: Vec<(String, String)>,
}

impl SplitUrl<'_> {
    /// Splits a source; `None` if it begins with no kind, so that it is the path of a folder.
    ///
    /// # Errors
    /// Returns an error for a source without files and for an option without a value.
    pub(crate) fn of(source: &str) -> Result<Option<SplitUrl<'_>>, Failure> {
        let Some((kind, rest)) = SourceFormat::of(source) else { return Ok(None) };
        let word = kind.word();
        let (files, query) = rest.split_once('?').unwrap_or((rest, ""));
        let patterns = outside_braces(files);
        if patterns.is_empty() {
            return Err(Failure::usage(format!("{word}: names no file; give {word}:FILE")));
        }
        let mut options = Vec::new();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let Some((name, value)) = option.split_once('=').filter(|(_, value)| !value.is_empty())
            else {
                return Err(Failure::usage(format!(
                    "{word}: option '{option}' has no value; give {word}:FILE?name=value&name=value"
                )));
            };
            options.push((name.into(), value.into()));
        }
        Ok(Some(SplitUrl { kind, patterns, options }))
    }
}

/// Splits at commas that are in no braces; leaves out empty pieces.
fn outside_braces(text: &str) -> Vec<&str> {
    let mut depth = 0usize;
    let mut start = 0;
    let mut pieces = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                pieces.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(&text[start..]);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// A source that is not a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceUrl {
    /// Its kind.
    pub kind: SourceFormat,
    /// The files, absolute; the folder of a kind that is a folder.
    pub files: Vec<PathBuf>,
    /// The options after the question mark, in the order given.
    pub options: Vec<(String, String)>,
    /// The split of each file, as a manifest states it; shorter than `files` if the last ones have none.
    pub splits: Vec<Option<String>>,
    /// What manifests state about the samples.
    pub(crate) abouts: Vec<About>,
}

impl fmt::Display for SourceUrl {
    /// Writes kind and first file, as a message names a source.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.kind.word())?;
        match self.files.as_slice() {
            [] => Ok(()),
            [one] => write!(f, "{}", one.shown()),
            [first, ..] => write!(f, "{},..", first.shown()),
        }
    }
}

impl SourceUrl {
    /// Parses a source and finds its files; `None` if it begins with no kind, so that it is the
    /// path of a folder.
    ///
    /// # Errors
    /// Returns an error for a source without files, an option without a value, an unknown kind, and
    /// a pattern that no file matches.
    pub fn parse(source: &Path) -> Result<Option<SourceUrl>, Failure> {
        let Some(text) = source.to_str() else { return Ok(None) };
        let Some(split) = SplitUrl::of(text)? else {
            find::refuse_unknown_kind(source, text, &SourceFormat::words())?;
            return Ok(None);
        };
        let SplitUrl { kind, patterns, options } = split;
        let mut files = Vec::new();
        let mut splits = Vec::new();
        let mut abouts = Vec::new();
        for pattern in patterns {
            let set = match kind {
                SourceFormat::Tar => data_set::of_folder(&find::absolute(pattern)?)?,
                SourceFormat::Arrow => saved::of_folder(&find::absolute(pattern)?)?
                    .map(|files| (files, About::default())),
                _ => None,
            };
            let Some((tars, about)) = set else {
                files.extend(find::files(kind.endings(), pattern)?);
                continue;
            };
            splits.resize(files.len(), None);
            splits.extend(tars.iter().map(|tar| tar.split.clone()));
            files.extend(tars.into_iter().map(|tar| tar.path));
            abouts.push(about);
        }
        if let Some(path) = files.iter().find(|path| path.to_str().is_none()) {
            return Err(not_utf8(path));
        }
        Ok(Some(SourceUrl { kind, files, options, splits, abouts }))
    }

    /// Names the tars that a path or a pattern stands for: one tar, the tars of a folder, or the shards of a
    /// data set. `prefix` is put before each key.
    ///
    /// # Errors
    /// As [`SourceUrl::parse`].
    pub fn tars(path: &Path, prefix: Option<&str>) -> Result<SourceUrl, Failure> {
        let kind = SourceFormat::Tar;
        let Some(text) = path.to_str() else {
            return Err(not_utf8(path));
        };
        if let Some(url) = tarflume_formats::url::url_of(path) {
            let sync = Call::of(Task::Sync).on(url).on_stand("FOLDER");
            let text = message!("copy the shards to a folder first: {sync}"; sync = sync);
            return Err(Failure::usage(text).in_file(url));
        }
        let options = prefix.map(|prefix| ("prefix".into(), prefix.into())).into_iter().collect();
        let (files, splits, abouts) = match data_set::of_folder(&find::absolute(text)?)? {
            Some((tars, about)) => {
                let splits = tars.iter().map(|tar| tar.split.clone()).collect();
                (tars.into_iter().map(|tar| tar.path).collect(), splits, vec![about])
            }
            None => (find::files(kind.endings(), text)?, Vec::new(), Vec::new()),
        };
        Ok(SourceUrl { kind, files, options, splits, abouts })
    }

    /// Returns the value of an option.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// Returns true if columns of the source name files, whose paths are relative to the folder of the source.
    pub(crate) fn names_files(&self) -> bool {
        self.options.iter().any(|(_, value)| value.starts_with('@'))
    }

    /// Returns its text for the plan's options: kind, base names and options. Machines may keep the
    /// files in different folders.
    pub(crate) fn planned(&self) -> String {
        let names = self.files.iter().map(|file| file.file_name().unwrap_or_default());
        let files: Vec<_> = names.map(std::ffi::OsStr::to_string_lossy).collect();
        let options: Vec<String> = self.options.iter().map(|(n, v)| format!("{n}={v}")).collect();
        let mark = if options.is_empty() { "" } else { "?" };
        format!("{}:{}{mark}{}", self.kind.word(), files.join(","), options.join("&"))
    }
}

/// Returns the failure of a path that no plan and no manifest can hold.
fn not_utf8(path: &Path) -> Failure {
    Failure::usage(message!("the path of {path} is not UTF-8; rename it"; path = path))
        .with_file(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_has_files_and_options() {
        let parsed = SourceUrl::parse(Path::new("npy:/d/x.npy,/d/y.npy?key=id&label=y")).unwrap();
        let url = parsed.unwrap();
        assert_eq!(url.files, [PathBuf::from("/d/x.npy"), PathBuf::from("/d/y.npy")]);
        assert_eq!((url.option("key"), url.option("image")), (Some("id"), None));
        assert_eq!(url.planned(), "npy:x.npy,y.npy?key=id&label=y");
    }

    fn refused(text: &str) -> String {
        SourceUrl::parse(Path::new(text)).unwrap_err().text()
    }

    #[test]
    fn a_path_is_no_source_and_a_source_needs_files_and_values() {
        assert_eq!(SourceUrl::parse(Path::new("photos/a:b")).unwrap(), None);
        assert_eq!(SourceUrl::parse(Path::new("/npy/x")).unwrap(), None);
        assert!(refused("npy:").contains("npy:FILE"));
        assert!(refused("npy:x.npy?key").contains("'key' has no value"));
        assert!(refused("tar:,,").contains("tar:FILE"));
    }

    #[test]
    fn commas_in_braces_do_not_split() {
        let split = SplitUrl::of("tar:a/{x,y{1,2}}.tar,b.tar").unwrap().unwrap();
        assert_eq!(split.patterns, ["a/{x,y{1,2}}.tar", "b.tar"]);
        assert_eq!(outside_braces("}a,{b,c"), ["}a", "{b,c"]);
    }

    #[test]
    fn an_unknown_kind_is_refused_with_all_kinds() {
        let refused = SourceUrl::parse(Path::new("npx:x.npy")).unwrap_err().text();
        for kind in SourceFormat::ALL {
            assert!(refused.contains(&format!("{}:", kind.word())), "{refused}");
        }
    }
}
