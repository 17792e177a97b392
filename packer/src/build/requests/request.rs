//! `Request`: sources, target and options of a build, checked and converted.

use std::path::PathBuf;

use tarflume_base::{Stop, split_names, units};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::{IMAGE_EXTS, Manifest};
use tarflume_scan::Scan;
use tarflume_scan::grouped::GroupRule;
use tarflume_scan::options::ScanOptions;
use tarflume_scan::pair::Side;
use tarflume_shards::workdir::quarantine::Policy;
use tarflume_sources::present::Present;
use tarflume_sources::rows::SourceUrl;

use super::joins::Joins;
use crate::label::LabelRule;
use crate::plan::Shape;
use crate::plan::naming::Base;
use crate::plan::split::SplitRule;
use crate::plan::split::files::EXAMPLE;

/// The sources, target and options of a build.
#[derive(Debug)]
pub struct Request {
    /// The source folders, absolute.
    pub roots: Vec<PathBuf>,
    /// The sources that are not folders; if there are any, the roots are their files.
    pub(crate) sources: Vec<SourceUrl>,
    /// What is joined to the samples.
    pub(crate) join: Joins,
    /// Scans of all parts of the folders, by [`scan_part`](crate::build::scan_part()); if there are any, the folders are not
    /// read.
    pub(crate) scans: Vec<PathBuf>,
    /// Lists of files; if there are any, the folders are not read.
    pub(crate) lists: Vec<PathBuf>,
    /// Folders whose files are paired; empty for none.
    pub(crate) pair: Vec<Side>,
    /// Which folders are samples, if folders are.
    pub(crate) group: Option<GroupRule>,
    /// Whether the required parts are the default.
    pub(crate) usual_require: bool,
    /// The output folder.
    pub out: PathBuf,
    /// The options of the scan.
    pub(crate) scan: ScanOptions,
    /// The options that determine the shards.
    pub(crate) shape: Shape,
    /// How samples get their class.
    pub(crate) label: Option<LabelRule>,
    /// How samples are divided into splits.
    pub(crate) split: Option<SplitRule>,
    /// Whether no option states splits.
    pub(crate) splits_unstated: bool,
    /// The data set that gets the shards, if there is one already.
    pub(crate) append: Option<Append>,
    /// Whether sidecars get JPEG entry points.
    pub(crate) entry_points: bool,
    /// How problems are handled.
    pub policy: Policy,
    /// Threads.
    pub jobs: usize,
    /// Discard an unfinished attempt in the output folder.
    pub(crate) fresh: bool,
    /// Write nothing.
    pub dry_run: bool,
    /// Check contents in a dry run, too.
    pub(crate) look: bool,
    /// Ends the build early.
    pub stop: Stop,
}

impl Request {
    /// True if an unfinished attempt is discarded first.
    pub fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Returns a line about splits that the names of files or arrays state, if samples of all of them become one set.
    pub(in crate::build) fn split_note(&self, scan: &Scan) -> Option<Message> {
        let has_own = self.sources.iter().any(|s| s.splits.iter().any(Option::is_some));
        if !self.splits_unstated || has_own {
            return None;
        }
        if scan.sources.iter().any(|s| s.kind == "npz" && s.options["split"].is_string()) {
            return Some(
                message!("the names of the arrays state splits, and all samples become one set without splits; {split_by} keeps \
                     them as splits, {split_by_option} confirms one set"; split_by = Name::SplitBy.is("file"), split_by_option = Name::SplitBy.is("none")),
            );
        }
        let files = self.sources.iter().flat_map(|source| &source.files);
        let splits = split_names::of_files(files.map(PathBuf::as_path))?;
        let without = splits.iter().filter(|split| split.is_none()).count() as u64;
        if without > 0 {
            let others = units::counted(without, "other file", "other files");
            return Some(
                message!("the names of some files state splits ({}), those of {others} state none, and all samples become one set without \
                     splits; {split_by} divides them, {split_by_option} confirms one set", split_names::counted(&splits); split_by = Name::SplitBy.is(EXAMPLE), split_by_option = Name::SplitBy.is("none")),
            );
        }
        Some(
            message!("the names of the files state splits ({}), and all samples become one set without splits; \
                 {split_by} keeps them as splits, {split_by_option} confirms one set", split_names::counted(&splits); split_by = Name::SplitBy.is("source"), split_by_option = Name::SplitBy.is("none")),
        )
    }

    /// Returns true if the data set that gets more samples has some of several pictures.
    pub(in crate::build) fn adds_to_several_pictures(&self) -> bool {
        self.append.as_ref().is_some_and(|Append { manifest, .. }| {
            let images = IMAGE_EXTS.iter().filter_map(|ext| manifest.extensions.get(*ext));
            images.sum::<u64>() > manifest.samples
        })
    }
}

/// A data set that gets more shards.
#[derive(Debug)]
pub(crate) struct Append {
    /// Its manifest.
    pub(crate) manifest: Manifest,
    /// What the plan needs of it.
    pub(crate) base: Base,
    /// Its keys.
    pub(crate) present: Present,
}

impl Request {
    /// The options of its plan that a scan depends on.
    pub(in crate::build) fn options_of_scan(&self) -> serde_json::Value {
        let all = serde_json::to_value(&self.shape).expect("texts and numbers serialize");
        let of_scan = [
            "names",
            "require",
            "ext_map",
            "ext_by_content",
            "exclude",
            "follow_links",
            "join",
            "keep_empty",
        ];
        let kept =
            of_scan.iter().filter_map(|name| Some((name.to_string(), all.get(name)?.clone())));
        serde_json::Value::Object(kept.collect())
    }
}
