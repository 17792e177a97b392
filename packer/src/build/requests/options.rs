//! The options of a build as text and numbers, converted to a [`Request`]. Command and Python module share them.

use std::path::PathBuf;
use std::sync::Arc;

use tarflume_base::check::CheckLevel;
use tarflume_base::compress::Compress;
use tarflume_base::{Choice, Columns, Failure, Stop, json_rules};
use tarflume_formats::json::JsonRules;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_scan::names::exclude;
use tarflume_scan::names::exts::{ExtMap, Require};
use tarflume_scan::names::rules::NameRules;
use tarflume_scan::options::{KeepEmpty, ScanOptions};
use tarflume_scan::pair::Side;
use tarflume_shards::workdir::quarantine::Policy;
use tarflume_sources::rows::{self, KeyBy, SourceFormat, SourceUrl};

use super::joins::Joins;
use super::provenance;
use super::request::Request;
use super::selection::{self, Selection, Tars};
use crate::label::LabelRule;
use crate::pictures::Preparation;
use crate::plan::Shape;
use crate::plan::naming::{PREFIX, is_name_char};
use crate::plan::split::SplitRule;

/// Default for the largest size of a shard.
pub const SHARD_SIZE: u64 = 256 << 20;

/// The options of a build. The fields are the flags of `pack build`.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "`pack build --help` has them, word for word")]
pub struct BuildOptions {
    pub sources: Vec<PathBuf>,
    pub out: PathBuf,
    pub shard_size: Option<u64>,
    pub shard_samples: Option<u64>,
    pub shards: Option<u64>,
    pub prefix: String,
    pub shuffle: Option<u64>,
    pub require: Option<String>,
    pub label: Option<String>,
    pub classes: Option<PathBuf>,
    pub split: Option<String>,
    pub stratify: Option<String>,
    pub split_by: Option<String>,
    pub split_list: Option<String>,
    pub split_group: Option<String>,
    pub ext_map: String,
    pub ext_by_content: bool,
    pub names: String,
    pub key_by: KeyBy,
    pub ignore_zeros: bool,
    pub exclude: Vec<String>,
    pub join: Vec<String>,
    pub coco: Vec<String>,
    pub yolo: Option<String>,
    pub yolo_names: Option<PathBuf>,
    pub voc: Option<String>,
    pub annotations: Option<String>,
    pub objects: bool,
    pub from_scans: Vec<PathBuf>,
    pub files: Vec<PathBuf>,
    pub pair: Vec<String>,
    pub group: Option<String>,
    pub follow_links: bool,
    pub entry_points: bool,
    pub dedupe: bool,
    pub limit: Option<u64>,
    pub prepare: Preparation,
    pub check: Option<CheckLevel>,
    pub on_problem: Policy,
    pub jobs: Option<u64>,
    pub fresh: bool,
    pub dry_run: bool,
    pub compress: Option<Compress>,
    pub columns: Option<String>,
    /// Which texts are JSON; `None` for the strict rules, or those with which existing shards were packed.
    pub json_rules: Option<JsonRules>,
    /// Extensions of parts that may be empty.
    pub keep_empty: Vec<String>,
    /// What is stated about the build: words `NAME=VALUE`.
    pub provenance: Vec<String>,
    /// Existing shards that are packed again: the sources of `pack reshard`.
    pub tars: Vec<Tars>,
    pub selection: Selection,
}

impl BuildOptions {
    /// Creates the default options of `pack build SOURCES -o OUT`.
    pub fn new(sources: Vec<PathBuf>, out: PathBuf) -> BuildOptions {
        BuildOptions {
            sources,
            out,
            shard_size: None,
            shard_samples: None,
            shards: None,
            prefix: PREFIX.into(),
            shuffle: None,
            require: None,
            label: None,
            classes: None,
            split: None,
            stratify: None,
            split_by: None,
            split_list: None,
            split_group: None,
            ext_map: ExtMap::default().to_text(),
            ext_by_content: false,
            names: String::new(),
            key_by: KeyBy::default(),
            ignore_zeros: false,
            exclude: Vec::new(),
            join: Vec::new(),
            coco: Vec::new(),
            yolo: None,
            yolo_names: None,
            voc: None,
            annotations: None,
            objects: false,
            from_scans: Vec::new(),
            files: Vec::new(),
            pair: Vec::new(),
            group: None,
            follow_links: false,
            entry_points: true,
            dedupe: false,
            limit: None,
            prepare: Preparation::default(),
            check: None,
            on_problem: Policy::Fail,
            jobs: None,
            fresh: false,
            dry_run: false,
            compress: None,
            columns: None,
            json_rules: None,
            keep_empty: Vec::new(),
            provenance: Vec::new(),
            tars: Vec::new(),
            selection: Selection::default(),
        }
    }

    /// Checks and converts the options. The build ends early if the request's [`Stop`] is requested.
    ///
    /// # Errors
    /// Returns an error for an unknown word, an unreadable list, or a path that is not UTF-8.
    pub fn request(self) -> Result<Request, Failure> {
        self.resolved(Ok)
    }

    /// As [`BuildOptions::request`]; `resolve` completes what is joined.
    ///
    /// # Errors
    /// Returns the errors of [`BuildOptions::request`] and of `resolve`.
    pub(in crate::build) fn resolved(
        mut self,
        resolve: impl FnOnce(Joins) -> Result<Joins, Failure>,
    ) -> Result<Request, Failure> {
        for ext in &mut self.keep_empty {
            *ext = ext.trim_start_matches('.').to_ascii_lowercase();
        }
        let mut names =
            NameRules::parse(&self.names).map_err(|e| invalid(Name::Names, e.into()))?;
        let exts = ExtMap::parse(&self.ext_map).map_err(|e| invalid(Name::ExtMap, e))?;
        let sources = self.sources()?;
        let by_last_dot = Some(KeyBy::LastDot.word());
        if sources.iter().any(|source| source.option(rows::KEY_BY) == by_last_dot) {
            names.without_dots();
        }
        let scans = self.scans(&sources)?;
        let lists = self.lists(&sources)?;
        let mut label = LabelRule::parse(self.label.as_deref(), self.classes.as_deref())?;
        let splits_unstated = self.has_no_splits();
        self.follow_splits(&sources);
        let split = self.split_rule()?;
        if let (Some(label), Some(SplitRule::Folder(folder))) = (&mut label, &split) {
            label.split = Some(*folder);
        }
        let selected = self.selection.parse(!sources.is_empty() && sources.iter().all(is_tar))?;
        let columns = match &self.columns {
            Some(text) => Columns::parse(text)?,
            None => selection::usual_columns(&sources, &self.tars, |ext| {
                selected.parts.takes(ext).then(|| exts.apply(ext))
            })?,
        };
        let json_rules = match self.json_rules {
            Some(rules) => rules,
            None => selection::usual_json_rules(&sources, &self.tars)?,
        };
        let (parts, drop) = selected.parts.planned();
        let join = resolve(Joins::parse(self.joined())?)?;
        let pair = self.pairing(&sources)?;
        let group = self.grouping(&sources)?;
        if self.ext_by_content && !sources.is_empty() {
            let text = message!("{ext_by_content} reads the files of folders; leave it out for other sources"; ext_by_content = Name::ExtByContent.on());
            return Err(Failure::usage(text));
        }
        if self.objects && !self.prepare.is_nothing() {
            let text = message!("{objects} compares boxes with the pictures as they are; leave out what changes pictures"; objects = Name::Objects.on());
            return Err(Failure::usage(text));
        }
        let require = match &self.require {
            Some(words) => Require::parse(words).renamed_by(&exts)?,
            None if group.is_some() => Require::parse(""), // a folder has the files that it has
            None if label.is_some() => Require::parse("image"), // the label makes the JSON
            None if sources.is_empty() && (join.is_certain() || !pair.is_empty()) => {
                Require::parse("image")
            }
            None if sources.is_empty() => Require::default(),
            None => Require::parse(""), // a table has the parts that it has
        };
        let listed = exclude::listed(&self.exclude)?;
        check_prefix(&self.prefix)?;
        let level = self.check.unwrap_or(CheckLevel::Structure);
        let shape = Shape {
            cut: self.cut(),
            prefix: self.prefix.clone(),
            shuffle: self.shuffle,
            dedupe: self.dedupe,
            limit: self.limit,
            check: level.word().to_string(),
            names: names.to_string(),
            require: require.to_text(),
            ext_map: exts.to_text(),
            ext_by_content: self.ext_by_content,
            objects: self.objects,
            exclude: exclude::planned(&self.exclude, &listed),
            follow_links: self.follow_links,
            label: label.as_ref().map(|rule| rule.by.to_string()),
            class_order: label.as_ref().and_then(LabelRule::class_order),
            classes: label.as_ref().map_or_else(|| join.classes(), LabelRule::planned),
            split: self.split.clone(),
            stratify: self.stratify.clone(),
            split_by: self.split_by.clone(),
            split_list: split.as_ref().map(SplitRule::planned_lists).transpose()?.flatten(),
            split_group: self.split_group.clone(),
            sources: rows::planned(&sources),
            join: join.planned(),
            prepare: (!self.prepare.is_nothing()).then_some(self.prepare),
            pair: Side::planned(&pair),
            group: group.as_ref().map(ToString::to_string),
            filters: selected.filters.iter().map(ToString::to_string).collect(),
            keys: selected.only.as_ref().map(|keys| keys.digest()),
            compress: self.compress.map(|compress| compress.to_string()),
            parts,
            drop,
            columns: columns.planned(),
            keep_empty: self.keep_empty.clone(),
            json_rules: json_rules::planned(json_rules),
            provenance: provenance::parse(&self.provenance)?,
        };
        let roots = if sources.is_empty() {
            selection::roots(&self.sources)?
        } else {
            rows::roots(&sources)
        };
        let scan = ScanOptions {
            follow_links: self.follow_links,
            exts,
            by_content: self.ext_by_content,
            require: if join.is_certain() {
                join.exts().fold(require, Require::without)
            } else {
                require
            },
            names,
            exclude: exclude::globs(&self.exclude)?,
            listed: Arc::new(listed),
            only: selected.only,
            json: json_rules,
            // Packing shards again repairs them: it takes all that a verification accepts.
            empty: if self.tars.is_empty() {
                KeepEmpty::Listed(self.keep_empty)
            } else {
                KeepEmpty::All
            },
            rejoins: !self.tars.is_empty(),
            filters: selected.filters,
            parts: selected.parts,
            joined: join.paths_under(&roots),
            metadata: join.is_auto(),
        };
        Ok(Request {
            roots,
            sources,
            join,
            scans,
            lists,
            pair,
            group,
            usual_require: self.require.is_none(),
            out: self.out,
            scan,
            shape,
            label,
            split,
            splits_unstated,
            append: None,
            // `--check none` promises that contents are not read, so no codes are read either.
            entry_points: self.entry_points && level != CheckLevel::None,
            policy: self.on_problem,
            jobs: jobs(self.jobs),
            fresh: self.fresh,
            dry_run: self.dry_run,
            look: self.check.is_some_and(|level| level != CheckLevel::None),
            stop: Stop::new(),
        })
    }
}

fn invalid(flag: Name, why: Message) -> Failure {
    Failure::usage(message!("{flag}: {why}"; flag = flag, why = why))
}

pub(super) fn is_tar(source: &SourceUrl) -> bool {
    source.kind == SourceFormat::Tar
}

/// Returns the given number of threads, or the number of processors.
pub fn jobs(given: Option<u64>) -> usize {
    match given {
        Some(jobs) => jobs as usize,
        None => std::thread::available_parallelism().map_or(1, usize::from),
    }
}

/// Checks the prefix of shard names.
///
/// # Errors
/// Returns an error for a character that some readers of file names interpret.
pub(crate) fn check_prefix(prefix: &str) -> Result<(), Failure> {
    if !prefix.is_empty() && prefix.chars().all(is_name_char) {
        return Ok(());
    }
    let text = message!("{prefix_option}: letters, digits, '-' and '_' only"; prefix_option = Name::Prefix.quoted(prefix));
    Err(Failure::usage(text))
}
