//! `PathKind`: what a path can be, and its noun. Pure.

use std::path::PathBuf;

use tarflume_formats::shown::ShowPath;

use super::labels::FolderLabels;
use super::yolo::YoloFolders;

/// What a path is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathKind {
    /// There is nothing.
    Missing,
    /// A data set: a folder with a manifest, or the manifest.
    DataSet,
    /// A folder without a data set that has data sets, or folders of tars, in it; sorted.
    Parent(Vec<PathBuf>),
    /// The folder of a build that is not finished.
    Unfinished,
    /// A folder of tars without a manifest.
    Tars {
        /// Tars that are not compressed.
        plain: usize,
        /// Those that have no sidecar.
        without_sidecar: usize,
        /// Compressed tars without a sidecar.
        compressed: usize,
    },
    /// One tar.
    Tar {
        /// Whether it has a sidecar.
        has_sidecar: bool,
    },
    /// A compressed tar without a sidecar.
    CompressedTar,
    /// The sidecar of this tar.
    Sidecar(PathBuf),
    /// The sidecar of this tar, which is not there.
    LoneSidecar(PathBuf),
    /// A folder of files that are samples.
    Samples(Samples),
    /// One file of a sample, such as an image; the name of its type with an article.
    SampleFile(&'static str),
    /// A source of `pack build` that is not a folder of samples.
    Source {
        /// The word of its kind: `csv`, `parquet`, `zip`.
        word: &'static str,
        /// True for a folder of such files.
        is_folder: bool,
    },
    /// A folder without files that have a meaning here.
    Empty,
    /// Another file; the name of its type with an article, if the first bytes show one.
    Other(Option<&'static str>),
}

/// A folder of files that are samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Samples {
    /// True if there are images among the files.
    pub has_images: bool,
    /// The extension that most files have.
    pub ext: String,
    /// True if there are JSON files, which are the labels of the samples.
    pub has_json: bool,
    /// The table beside the files, if there is one.
    pub table: Option<PathBuf>,
    /// The classes and splits that the folders name.
    pub labels: FolderLabels,
    /// The folders of YOLO, if they are some.
    pub yolo: Option<YoloFolders>,
}

impl PathKind {
    /// Returns a noun with its article: `a folder of images`.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            PathKind::Missing => "nothing".into(),
            PathKind::DataSet => "a data set".into(),
            PathKind::Parent(found) => match found.len() {
                1 => "the folder above a data set".into(),
                n => format!("the folder above {n} data sets"),
            },
            PathKind::Unfinished => "the folder of a build that is not finished".into(),
            PathKind::Tars { plain: 0, .. } => "a folder of compressed tars".into(),
            PathKind::Tars { .. } => "a folder of tars without a manifest".into(),
            PathKind::Tar { has_sidecar: true } => "a tar".into(),
            PathKind::Tar { has_sidecar: false } => "a tar without a sidecar".into(),
            PathKind::CompressedTar => "a compressed tar".into(),
            PathKind::Sidecar(_) => "the sidecar of a tar".into(),
            PathKind::LoneSidecar(tar) => {
                format!("a sidecar whose tar {} is not there", tar.shown())
            }
            PathKind::Samples(samples) if samples.has_images => "a folder of images".into(),
            PathKind::Samples(samples) => format!("a folder of {} files", samples.ext),
            PathKind::SampleFile(name) => (*name).into(),
            PathKind::Source { word, is_folder } => source_name(word, *is_folder),
            PathKind::Empty => "a folder without samples".into(),
            PathKind::Other(found) => (*found).unwrap_or("a file of another type").into(),
        }
    }
}

/// Returns the noun of a kind of source with its article.
fn source_name(word: &str, is_folder: bool) -> String {
    let (article, name) = match word {
        "csv" => ("a", "CSV table"),
        "jsonl" => ("a", "file of JSON lines"),
        "parquet" => ("a", "Parquet file"),
        "hdf5" => ("an", "HDF5 file"),
        "zip" => ("a", "zip file"),
        "npy" => ("an", "npy file"),
        "npz" => ("an", "npz file"),
        "idx" => ("an", "idx file"),
        "mat" => ("a", "MAT file"),
        "mds" => ("an", "MDS shard"),
        "litdata" => ("a", "LitData chunk"),
        "tfrecord" => ("a", "TFRecord file"),
        _ => ("a", "file"),
    };
    if word == "zarr" {
        return "a folder of Zarr".into();
    }
    if !is_folder {
        return format!("{article} {name}");
    }
    match name.strip_prefix("file ") {
        Some(rest) => format!("a folder of files {rest}"),
        None => format!("a folder of {name}s"),
    }
}
