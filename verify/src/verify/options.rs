//! The options of a verification; data only.

use serde::Serialize;
use tarflume_base::check::CheckLevel;
use tarflume_base::{Choice, Stop};
use tarflume_formats::json::JsonRules;
use tarflume_formats::{ClassTable, ObjectTable};

use super::contents::parts::PartOptions;
use super::profile::Profile;
use super::watch::Watch;
use crate::class_field::ClassField;
use crate::schema::PartSchema;

/// The thoroughness of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Lengths, ends, sidecars; a few headers of each tar.
    Quick,
    /// Every header, every checksum, every digest; keys and parts of the whole set.
    Full,
    /// As full, and every image and JSON decoded; for JPEGs, every Huffman code read.
    Decode,
}

impl Choice for Level {
    const ALL: &'static [Level] = &[Level::Quick, Level::Full, Level::Decode];

    fn word(self) -> &'static str {
        match self {
            Level::Quick => "quick",
            Level::Full => "full",
            Level::Decode => "decode",
        }
    }
}

/// The options of a verification.
#[derive(Debug, Clone)]
pub struct Options {
    /// The level.
    pub level: Level,
    /// Extensions that each sample must have (`image` means any image); `None` warns of parts that
    /// nearly all samples have and some lack.
    pub require: Option<Vec<String>>,
    /// Readers whose misreadings are reported.
    pub profiles: Vec<Profile>,
    /// JSON Schemas for parts; read at the levels full and decode.
    pub schemas: Vec<PartSchema>,
    /// Where the class of a sample is, to count classes; read at the levels full and decode.
    pub class: Option<ClassField>,
    /// Without `class`: counts the classes of the field that the manifests state, if all state the same.
    pub count_classes: bool,
    /// The classes of the samples, whose names are compared; `None` for those that the data set states.
    pub class_table: Option<ClassTable>,
    /// Checks the objects of samples: boxes, classes, outlines, keypoints, masks; read at the levels full and decode.
    pub objects: bool,
    /// What the numbers of objects mean; `None` for what the data set states.
    pub object_table: Option<ObjectTable>,
    /// Requires that all bytes have a checksum: the data of shards in their sidecars, and the manifest in itself.
    pub require_checksums: bool,
    /// Which texts are JSON; `None` for the rules with which the data set was packed.
    pub json: Option<JsonRules>,
    /// How parts were checked when they were packed; `None` for what the data set states. After
    /// [`CheckLevel::Structure`], pictures of kinds and sizes that are not decoded here are warnings.
    pub check: Option<CheckLevel>,
    /// Reads on behind end markers, for tars that were joined.
    pub ignore_zeros: bool,
    /// Takes the paths as files that changed, and verifies the data sets that have them. Tars that are not here, or whose
    /// place a Git LFS pointer has, are no problems: what is stated about them is compared.
    pub changed: bool,
    /// Number of shards processed at the same time.
    pub jobs: usize,
    /// Ends the verification early.
    pub stop: Stop,
    /// How stores of URLs are reached: names and values of options. The environment has the others.
    pub storage: Vec<(String, String)>,
    /// What is looked for in parts.
    pub parts: PartOptions,
    /// Is told of each shard that was verified.
    pub watch: Watch,
}
