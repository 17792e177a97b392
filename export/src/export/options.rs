//! The options of an export and the words of its choices.

use tarflume_base::{Choice, Stop};
use tarflume_formats::Durability;
use tarflume_formats::json::JsonRules;

use crate::export::values::encoding::Encoding;

/// A format to export to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Files with `metadata.jsonl`, an image folder of Hugging Face.
    Folder,
    /// One table of keys, sizes and JSON fields, without the parts.
    Csv,
    /// One COCO file of the annotations, without the parts.
    Coco,
    /// MDS, version 2, of MosaicML Streaming.
    Mds,
    /// Chunks of LitData.
    LitData,
    /// TFRecord files of `tf.train.Example`.
    TfRecord,
    /// Parquet with parts as binary columns.
    Parquet,
    /// Parquet with the features of Hugging Face `datasets`.
    Hf,
}

impl Choice for Format {
    const ALL: &'static [Format] = &[
        Format::Folder,
        Format::Csv,
        Format::Coco,
        Format::Mds,
        Format::LitData,
        Format::TfRecord,
        Format::Parquet,
        Format::Hf,
    ];

    fn word(self) -> &'static str {
        match self {
            Format::Folder => "folder",
            Format::Csv => "csv",
            Format::Coco => "coco",
            Format::Mds => "mds",
            Format::LitData => "litdata",
            Format::TfRecord => "tfrecord",
            Format::Parquet => "parquet",
            Format::Hf => "hf",
        }
    }
}

/// How the JSON part of a sample is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonAs {
    /// Each field is a column with one type.
    Columns,
    /// The part is one column of text, byte by byte.
    Text,
}

impl Choice for JsonAs {
    const ALL: &'static [JsonAs] = &[JsonAs::Columns, JsonAs::Text];

    fn word(self) -> &'static str {
        match self {
            JsonAs::Columns => "columns",
            JsonAs::Text => "text",
        }
    }
}

/// What happens to a JSON number that the types of columns do not hold: an integer of more than 63 bits, a number with
/// more digits than a float, `1e400`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Numbers {
    /// It is an error.
    #[default]
    Exact,
    /// All numbers of its field are written as text, with their digits.
    Text,
    /// It is rounded to the nearest float.
    Nearest,
}

impl Choice for Numbers {
    const ALL: &'static [Numbers] = &[Numbers::Exact, Numbers::Text, Numbers::Nearest];

    fn word(self) -> &'static str {
        match self {
            Numbers::Exact => "exact",
            Numbers::Text => "text",
            Numbers::Nearest => "nearest",
        }
    }
}

/// The options of an export.
#[derive(Debug, Clone)]
pub struct ExportOptions {
    /// The format.
    pub format: Format,
    /// The extensions of the parts to export, in lower case; `None` for all.
    pub parts: Option<Vec<String>>,
    /// How JSON is exported; `None` for the usual way of the format.
    pub json: Option<JsonAs>,
    /// What happens to numbers of JSON that columns do not hold.
    pub numbers: Numbers,
    /// Which texts are JSON; `None` for the rules with which the data set was packed.
    pub rules: Option<JsonRules>,
    /// Encodings that replace those by extension.
    pub encodings: Vec<(String, Encoding)>,
    /// Cleans keys that are no relative paths (`/a`, `a//b`); in a folder alone, other formats take any key.
    pub clean_names: bool,
    /// Bytes after which a new file begins; `None` for the usual size of the format.
    pub file_size: Option<u64>,
    /// Threads.
    pub jobs: usize,
    /// Whether files are synced to disk before they get their names.
    pub durability: Durability,
    /// Ends the export early.
    pub stop: Stop,
}

impl ExportOptions {
    /// Creates the default options for a format.
    pub fn new(format: Format) -> ExportOptions {
        ExportOptions {
            format,
            parts: None,
            json: None,
            numbers: Numbers::Exact,
            rules: None,
            encodings: Vec::new(),
            clean_names: false,
            file_size: None,
            jobs: 1,
            durability: Durability::Synced,
            stop: Stop::new(),
        }
    }

    /// Returns how JSON is exported: MDS and LitData have no empty cells, so it stays text there.
    pub(super) fn json(&self) -> JsonAs {
        self.json.unwrap_or(match self.format {
            Format::Mds | Format::LitData => JsonAs::Text,
            _ => JsonAs::Columns,
        })
    }
}
