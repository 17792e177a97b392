//! The options of a verification.

pub(crate) mod watch;

use std::num::NonZero;

use serde::Serialize;
use tarflume_base::check::CheckLevel;
use tarflume_base::{Choice, Failure, Stop};
use tarflume_formats::json::JsonRules;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::{ClassTable, ObjectTable};

use self::watch::Watch;
use super::contents::parts::PartOptions;
use super::contents::profile::Profile;
use crate::class_field::ClassField;
use crate::policy::Rules;
use crate::schema::PartSchema;
use crate::scope::Scope;
use crate::signature::Signers;

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
///
/// [`Options::new`] has what `pack verify` does without options; the fields say the rest:
///
/// ```
/// use tarflume_verify::scope::{Scope, Share};
/// use tarflume_verify::{Level, Options, verify};
///
/// let options = Options {
///     require: Some(vec!["txt".into()]),
///     scope: Scope { share: Some(Share::slice("1/2")?), ..Scope::default() },
///     ..Options::new(Level::Full)
/// };
/// # let folder = tempfile::tempdir()?;
/// # let mut tar = tar::Builder::new(std::fs::File::create(folder.path().join("a.tar"))?);
/// # let mut header = tar::Header::new_ustar();
/// # header.set_size(3);
/// # header.set_cksum();
/// # tar.append_data(&mut header, "0001.txt", &b"one"[..])?;
/// # tar.finish()?;
/// # let shards = folder.path().to_path_buf();
/// let report = verify(&[shards], &options, &|_bytes| {})?;
/// assert!(!report.whole, "a tar without a sidecar");
/// println!("{report}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    /// The keys of which one must have signed each manifest; `None` if no signature is checked.
    pub signers: Option<Signers>,
    /// Which texts are JSON; `None` for the rules with which the data set was packed.
    pub json: Option<JsonRules>,
    /// How parts were checked when they were packed; `None` for what the data set states. After
    /// [`CheckLevel::Structure`], pictures of kinds and sizes that are not decoded here are warnings.
    pub check: Option<CheckLevel>,
    /// Reads on behind end markers, for tars that were joined.
    pub ignore_zeros: bool,
    /// What of the data sets is read.
    pub scope: Scope,
    /// Number of shards processed at the same time.
    pub jobs: usize,
    /// Ends the verification early.
    pub stop: Stop,
    /// The policy, the rules that are reported, and the problems that are known.
    pub rules: Rules,
    /// How stores of URLs are reached: names and values of options. The environment has the others.
    pub storage: Vec<(String, String)>,
    /// What is looked for in parts.
    pub parts: PartOptions,
    /// Is told of each shard that was verified.
    pub watch: Watch,
}

impl Options {
    /// Returns the options of a verification at a level: of all data, by no policy, in as many threads as there are
    /// processors.
    pub fn new(level: Level) -> Options {
        Options {
            level,
            require: None,
            profiles: Vec::new(),
            schemas: Vec::new(),
            class: None,
            count_classes: false,
            class_table: None,
            objects: false,
            object_table: None,
            require_checksums: false,
            signers: None,
            json: None,
            check: None,
            ignore_zeros: false,
            scope: Scope::default(),
            jobs: std::thread::available_parallelism().map_or(1, NonZero::get),
            stop: Stop::new(),
            rules: Rules::default(),
            storage: Vec::new(),
            parts: PartOptions::default(),
            watch: Watch::default(),
        }
    }

    /// Returns the options with what their scope implies.
    ///
    /// # Errors
    /// Returns an error that names options which contradict the scope.
    pub(super) fn scoped(&self) -> Result<Options, Failure> {
        let counts = self.class.is_some() || self.count_classes;
        let needs_all = counts.then(|| "the number of samples of each class".into());
        let in_share = (!self.profiles.is_empty()).then(|| "a profile of readers".into());
        self.scope.check(self.level > Level::Quick, needs_all, in_share)?;
        if self.scope.manifest_only && (self.objects || !self.schemas.is_empty()) {
            let text = message!("{manifest} opens no tar, so no schema or object is checked; leave one of them out";
                manifest = Name::ManifestOnly.on());
            return Err(Failure::usage(text));
        }
        let level = if self.scope.manifest_only { Level::Quick } else { self.level };
        Ok(Options { level, ..self.clone() })
    }
}
