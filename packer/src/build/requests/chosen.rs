//! What the options of a build choose: sources, lists, pairs, splits and the size of shards.

use std::path::PathBuf;

use tarflume_base::{Choice, Failure};
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_scan::grouped::GroupRule;
use tarflume_scan::pair::Side;
use tarflume_sources::rows::{self, KeyBy, SourceUrl, files_named};

use super::given::Given;
use super::options::{BuildOptions, SHARD_SIZE, is_tar};
use super::selection;
use crate::plan::deal::Cut;
use crate::plan::split::{SplitRule, SplitWords};

impl BuildOptions {
    /// Returns the files of the scans.
    pub(super) fn scans(&self, sources: &[SourceUrl]) -> Result<Vec<PathBuf>, Failure> {
        if !self.from_scans.is_empty() && (!sources.is_empty() || !self.pair.is_empty()) {
            return Err(Failure::usage(
                message!("{from_scans}: only folders are scanned in parts"; from_scans = Name::FromScans),
            ));
        }
        let named =
            self.from_scans.iter().map(|path| files_named(&path.to_string_lossy(), &[".scan"]));
        Ok(named.collect::<Result<Vec<_>, Failure>>()?.concat())
    }

    /// Returns the lists of files.
    pub(super) fn lists(&self, sources: &[SourceUrl]) -> Result<Vec<PathBuf>, Failure> {
        let others = !sources.is_empty() || !self.pair.is_empty() || !self.from_scans.is_empty();
        if !self.files.is_empty() && others {
            let text = message!("{files} lists the files of folders; leave out {pair}, {from_scans} and other sources"; files = Name::Files, pair = Name::Pair, from_scans = Name::FromScans);
            return Err(Failure::usage(text));
        }
        let endings = &[".txt", ".list", ".jsonl", ".csv", ".tsv", ".parquet", ".gz", ".zst"];
        let named = self.files.iter().map(|path| files_named(&path.to_string_lossy(), endings));
        Ok(named.collect::<Result<Vec<_>, Failure>>()?.concat())
    }

    /// Returns the folders that are paired.
    pub(super) fn pairing(&self, sources: &[SourceUrl]) -> Result<Vec<Side>, Failure> {
        if self.pair.is_empty() {
            return Ok(Vec::new());
        }
        if !sources.is_empty() || self.sources.len() != 1 {
            return Err(Failure::usage(
                message!("{pair}: give one SRC, the folder that holds both"; pair = Name::Pair),
            ));
        }
        Side::parse_all(&self.pair)
    }

    /// Returns which folders are samples.
    pub(super) fn grouping(&self, sources: &[SourceUrl]) -> Result<Option<GroupRule>, Failure> {
        let Some(group) = &self.group else { return Ok(None) };
        let others = !sources.is_empty()
            || !self.pair.is_empty()
            || !self.files.is_empty()
            || !self.from_scans.is_empty();
        if others {
            let text = message!("{group}: only folders are samples; leave out {pair}, {files}, {from_scans} and other sources"; group = Name::Group, pair = Name::Pair, files = Name::Files, from_scans = Name::FromScans);
            return Err(Failure::usage(text));
        }
        GroupRule::parse(group).map(Some)
    }

    pub(super) fn joined(&self) -> Given<'_> {
        Given {
            join: &self.join,
            coco: &self.coco,
            yolo: self.yolo.as_deref(),
            yolo_names: self.yolo_names.as_deref(),
            voc: self.voc.as_deref(),
            annotations: self.annotations.as_deref(),
            classes: self.classes.as_deref().filter(|_| self.label.is_none()),
        }
    }

    /// Returns true if no option states splits.
    pub(super) fn has_no_splits(&self) -> bool {
        self.split.is_none() && self.split_by.is_none() && self.split_list.is_none()
    }

    /// Keeps the splits of existing shards, unless others are given.
    pub(super) fn follow_splits(&mut self, sources: &[SourceUrl]) {
        match self.split_by.as_deref() {
            Some("none") => self.split_by = None,
            None if self.has_no_splits() && !self.tars.is_empty() => {
                self.split_by = selection::usual_split(sources).map(String::from);
            }
            _ => {}
        }
    }

    /// Returns the sources that are not folders.
    pub(super) fn sources(&self) -> Result<Vec<SourceUrl>, Failure> {
        if !self.tars.is_empty() {
            return Ok(self.of_tars(selection::sources(&self.tars)?));
        }
        let parsed = self.sources.iter().map(|source| SourceUrl::parse(source));
        let parsed = parsed.collect::<Result<Vec<_>, Failure>>()?;
        let folder = parsed.iter().position(Option::is_none);
        if let (Some(folder), Some(Some(source))) = (folder, parsed.iter().find(|s| s.is_some())) {
            return Err(Failure::usage(message!(
                "{path} is a folder and {}: is none; pack them into two data sets and read both",
                source.kind.word();
                path = &self.sources[folder]
            ))
            .with_file(&self.sources[folder]));
        }
        let sources = self.of_tars(parsed.into_iter().flatten().collect());
        if self.ignore_zeros && !sources.iter().any(is_tar) {
            let text = message!("{ignore_zeros} is for tars (tar:FILE), and no source is one; leave it out"; ignore_zeros = Name::IgnoreZeros.on());
            return Err(Failure::usage(text));
        }
        Ok(sources)
    }

    /// Gives tars among the sources the options of the command.
    fn of_tars(&self, mut sources: Vec<SourceUrl>) -> Vec<SourceUrl> {
        for source in sources.iter_mut().filter(|source| is_tar(source)) {
            if self.ignore_zeros {
                source.options.push((rows::IGNORE_ZEROS.into(), "yes".into()));
            }
            if self.key_by != KeyBy::default() {
                source.options.push((rows::KEY_BY.into(), self.key_by.word().into()));
            }
        }
        sources
    }

    pub(super) fn split_rule(&self) -> Result<Option<SplitRule>, Failure> {
        let rule = SplitRule::parse(SplitWords {
            split: self.split.as_deref(),
            stratify: self.stratify.as_deref(),
            group: self.split_group.as_deref(),
            by: self.split_by.as_deref(),
            lists: self.split_list.as_deref(),
        })?;
        if rule.is_some() && self.shards.is_some() {
            let text = message!("{shards} counts the shards of the whole data set, and each split has its own; give {shard_size} \
                 or {shard_samples}"; shards = Name::Shards, shard_size = Name::ShardSize, shard_samples = Name::ShardSamples);
            return Err(Failure::usage(text));
        }
        Ok(rule)
    }

    pub(super) fn cut(&self) -> Cut {
        match (self.shards, self.shard_samples) {
            (Some(shards), _) => Cut::Shards(shards),
            (None, None) => {
                Cut::Limits { bytes: Some(self.shard_size.unwrap_or(SHARD_SIZE)), samples: None }
            }
            (None, samples) => Cut::Limits { bytes: self.shard_size, samples },
        }
    }
}
