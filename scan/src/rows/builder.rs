//! `ScanBuilder`: rows of a table or array -> the samples of a scan.
//!
//! A row source states keys and where parts are; the builder applies the rules for names, numbers
//! extensions and collects problems. It reads no part.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tarflume_base::{Failure, Problem, ProblemKind, units};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::plan::PlannedSource;
use tarflume_formats::shown::ShowPath;
use tarflume_formats::{About, Column};
use tarflume_formats::{files, name};

use crate::filter::absent::Absent;
use crate::folders::refusal;
use crate::names::exts::ExtTable;
use crate::names::rules::{Action, MAX_NAME, Rule, Verdict, shortened};
use crate::options::{ScanOptions, ScanProblem};
pub use crate::rows::row::{RowName, RowPart};
use crate::rows::row_notes::RowNotes;
use crate::samples::described::{Columns, Described};
use crate::samples::layout::Layout;
use crate::samples::list::{FoundAt, FoundPart, Run, SampleList};
use crate::samples::texts::Texts;
use crate::scan::Scan;
use crate::source::{shown_path, stamp};

/// Limit on the texts of a sample: they are in the plan.
const TEXTS_MAX: u64 = 6 << 20;
/// Digits of a key that is a row number, at least.
const DIGITS: usize = 8;

/// Collects the rows of all sources of a build.
#[derive(Debug)]
pub struct ScanBuilder<'a> {
    options: &'a ScanOptions,
    exts: ExtTable,
    sources: Vec<PlannedSource>,
    paths: Vec<PathBuf>,
    samples: SampleList,
    run: Option<Run>,
    parts: Vec<FoundPart>,
    texts: Texts,
    about: About,
    /// The columns that the sources state.
    pub described: Described,
    problems: Vec<ScanProblem>,
    skipped: u64,
    renamed: u64,
    newest: i64,
    /// What messages call a row.
    unit: &'static str,
    /// Rows whose key is their number.
    numbered: u64,
    /// Notes for the summary.
    pub notes: RowNotes,
    /// Samples that do not meet the conditions.
    unselected: u64,
    /// What the conditions read and no sample has.
    pub absent: Absent,
    /// Rows that were given, whether they became samples or not.
    rows: u64,
}

/// A root of the plan.
#[derive(Debug, Clone, Copy)]
pub struct Root<'a> {
    /// Its position among the roots of the plan, from 0.
    pub number: u32,
    /// The folder or file.
    pub path: &'a Path,
}

impl<'a> ScanBuilder<'a> {
    /// Creates a builder with the rules of these options.
    pub fn new(options: &'a ScanOptions) -> ScanBuilder<'a> {
        ScanBuilder {
            options,
            exts: ExtTable::default(),
            sources: Vec::new(),
            paths: Vec::new(),
            samples: SampleList::default(),
            run: None,
            parts: Vec::new(),
            texts: Texts::default(),
            about: About::default(),
            described: Described::default(),
            problems: Vec::new(),
            skipped: 0,
            renamed: 0,
            newest: 0,
            unit: "row",
            numbered: 0,
            notes: RowNotes::default(),
            unselected: 0,
            absent: Absent::default(),
            rows: 0,
        }
    }

    /// Sets what messages call a row: `sample`, `record`.
    pub fn call_rows(&mut self, unit: &'static str) {
        self.unit = unit;
    }

    /// Notes for the summary that a column of parts has no value in a row, whose sample lacks the part.
    pub fn note_missing(&mut self, row: RowName, column: &str) {
        let path = &self.paths[row.source as usize];
        self.notes.missing(column, || format!("{} {} of {}", self.unit, row.row, path.shown()));
    }

    /// Returns the number of rows that were given, whether they became samples or not.
    pub fn rows(&self) -> u64 {
        self.rows + self.unselected + self.skipped + self.problems.len() as u64
    }

    /// Returns the options of the scan.
    pub fn options(&self) -> &'a ScanOptions {
        self.options
    }

    /// Returns the next key of rows without keys: their numbers, counted over all sources.
    pub fn number(&mut self) -> String {
        self.numbered += 1;
        format!("{:0DIGITS$}", self.numbered - 1)
    }

    /// Begins the samples of a source, or of one file of a source whose files have different columns.
    pub fn begin(&mut self, name: impl fmt::Display, has: Columns) {
        self.described.begin(name.to_string(), has);
    }

    /// Adds a column to the description of the samples. Sources that have it, too, must agree.
    ///
    /// # Errors
    /// Returns an error if an earlier source has another type or shape.
    pub fn describe(&mut self, column: Column) -> Result<(), Failure> {
        self.described.add(column, &mut self.about)
    }

    /// Returns true if `--exclude` has this path in a source, and counts it.
    pub fn leaves_out(&mut self, path: &[u8]) -> bool {
        let excluded = self.options.excludes(b"", path);
        self.skipped += u64::from(excluded);
        excluded
    }

    /// Counts members of a source that cannot be part of a sample.
    pub fn skip(&mut self, members: u64) {
        self.skipped += members;
    }

    /// Counts a sample that the conditions or the list of keys leave out.
    pub fn leave_unselected(&mut self) {
        self.unselected += 1;
    }

    /// Adds a source file and returns its number. `under` is its path under the root;
    /// it is empty if the root is this file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be examined.
    pub fn source(
        &mut self,
        root: Root<'_>,
        under: &str,
        kind: &str,
        options: serde_json::Value,
    ) -> Result<u32, Failure> {
        let path = if under.is_empty() { root.path.to_path_buf() } else { root.path.join(under) };
        let found = files::metadata(&path, "examine")?;
        if !found.is_file() {
            let text = message!("{path} is not a regular file"; path = &path);
            return Err(Failure::usage(text).with_file(path));
        }
        let changed = found.mtime().saturating_mul(1_000_000_000) + found.mtime_nsec();
        let at = found.ctime().saturating_mul(1_000_000_000) + found.ctime_nsec();
        self.newest = self.newest.max(changed.min(at));
        self.sources.push(PlannedSource {
            root: root.number,
            path: under.into(),
            kind: kind.into(),
            options,
            bytes: found.len(),
            stamp: stamp(found.mtime(), found.mtime_nsec()),
        });
        self.paths.push(path);
        Ok(self.sources.len() as u32 - 1)
    }

    /// Returns the description of the samples, to be completed by the source.
    pub fn about(&mut self) -> &mut About {
        &mut self.about
    }

    /// Adds a row as a sample, or the problem that keeps it from being one. The parts are in any order.
    ///
    /// # Errors
    /// Returns an error if the machine fails; what is wrong with the row is a problem.
    pub fn push(
        &mut self,
        row: RowName,
        key: &[u8],
        parts: &[(&str, RowPart<'_>)],
    ) -> Result<(), Failure> {
        self.rows += 1;
        if self.options.listed.has(key) {
            self.skipped += 1;
            return Ok(());
        }
        let exts: Vec<&[u8]> = parts.iter().map(|(ext, _)| ext.as_bytes()).collect();
        let key = match self.judged(key, &exts) {
            Ok(Some(key)) => key,
            Ok(None) => {
                self.skipped += 1;
                return Ok(());
            }
            Err((kind, reason)) => {
                self.refuse(row, kind, Some(key), reason);
                return Ok(());
            }
        };
        if parts.is_empty() {
            let reason = "it makes no part of a sample: its values are empty or null; fill them in, or \
                          pack another column, too";
            self.refuse(row, ProblemKind::MissingPart, Some(&key), reason);
            return Ok(());
        }
        if let Some(ext) = twice(&exts) {
            let reason = format!(
                "two of its columns become the part '{}'; give them different names",
                name::shown(ext)
            );
            self.refuse(row, ProblemKind::RepeatedPart, Some(&key), reason);
            return Ok(());
        }
        if let Some(missing) = self.options.require.missing(&exts) {
            let reason = message!("it has no '{missing}'; add it, or give {require}"; require = Name::Require);
            self.refuse(row, ProblemKind::MissingPart, Some(&key), reason);
            return Ok(());
        }
        let sizes = parts.iter().map(|(ext, part)| (*ext, part.size()));
        if let Some(reason) = self.described.misfit(sizes) {
            self.refuse(row, ProblemKind::Unreadable, Some(&key), reason);
            return Ok(());
        }
        let empty = parts
            .iter()
            .find(|(ext, part)| part.size() == 0 && !self.options.empty.keeps(ext.as_bytes()));
        if let Some((ext, _)) = empty {
            let reason = message!("its part '{ext}' is empty; if that has a meaning, give {keep_empty}"; keep_empty = Name::KeepEmpty.is(ext.to_string()));
            self.refuse(row, ProblemKind::Empty, Some(&key), reason);
            return Ok(());
        }
        let texts = parts.iter().filter(|(_, part)| matches!(part, RowPart::Text(_)));
        let texts: u64 = texts.map(|(_, part)| part.size()).sum();
        if texts > TEXTS_MAX {
            let reason = format!("its values take {texts} bytes of text, and 6 MiB are the limit");
            self.refuse(row, ProblemKind::BadJson, Some(&key), reason);
            return Ok(());
        }
        self.keep(row, &key, parts)
    }

    /// Adds a problem of a row.
    pub fn refuse(
        &mut self,
        row: RowName,
        kind: ProblemKind,
        key: Option<&[u8]>,
        reason: impl Into<Message>,
    ) {
        let reason = message!("{} {}: {why}", self.unit, row.row; why = reason.into());
        self.refuse_at(row.source, None, kind, key, reason);
    }

    /// Adds a problem at a byte of a source.
    pub fn refuse_at(
        &mut self,
        source: u32,
        byte: Option<u64>,
        kind: ProblemKind,
        key: Option<&[u8]>,
        reason: impl Into<Message>,
    ) {
        let path = &self.paths[source as usize];
        let mut problem = Problem::new(kind, shown_path(path), reason).at(byte);
        problem.key = key.map(name::shown);
        let root = self.sources[source as usize].root;
        self.problems.push(ScanProblem::new(problem, root, Vec::new()));
    }

    fn keep(
        &mut self,
        row: RowName,
        key: &[u8],
        parts: &[(&str, RowPart<'_>)],
    ) -> Result<(), Failure> {
        let mut order: Vec<&(&str, RowPart<'_>)> = parts.iter().collect();
        order
            .sort_unstable_by(|a, b| name::lower(a.0.as_bytes()).cmp(&name::lower(b.0.as_bytes())));
        self.parts.clear();
        for &&(ext, ref part) in &order {
            let ext = name::lower(ext.as_bytes());
            let number = match part {
                RowPart::File { .. } => self.exts.number_of_paths(&ext),
                _ => self.exts.number(&ext, &ext),
            };
            let Some(number) = number else {
                let text = "more than 65,536 different extensions; pack fewer columns";
                return Err(Failure::usage(text));
            };
            let at = match *part {
                RowPart::Text(text) => FoundAt::Text(self.texts.push(text)?),
                RowPart::File { path, stamp, .. } => {
                    FoundAt::Path(self.texts.push(path)?, path.len() as u32, stamp)
                }
                RowPart::Range { source, at, .. } => FoundAt::Range(source, at),
                RowPart::Cell { source, row, column, .. } => FoundAt::Cell(source, row, column),
            };
            self.parts.push(FoundPart { ext: number, size: part.size(), at });
        }
        let root = self.sources[row.source as usize].root;
        if self.run.as_ref().is_some_and(|run| run.root != root || run.is_full()) {
            self.close_run();
        }
        let run = self.run.get_or_insert_with(|| Run::new(root, [].into(), [].into()));
        run.push(key, None, &self.parts);
        Ok(())
    }

    fn close_run(&mut self) {
        if let Some(mut run) = self.run.take() {
            run.shrink();
            self.samples.push(run);
        }
    }

    /// Returns the key after the rules for names; `None` if the row is left out.
    fn judged(
        &mut self,
        key: &[u8],
        exts: &[&[u8]],
    ) -> Result<Option<Vec<u8>>, (ProblemKind, Message)> {
        let names = &self.options.names;
        let cleaned = names.cleaned(key).map_err(|why| (ProblemKind::BadName, why))?;
        let given = name::without_dot(key);
        let key = cleaned.as_ref();
        let mut out = Vec::with_capacity(key.len());
        let mut components = key.split(|&b| b == b'/').peekable();
        while let Some(component) = components.next() {
            let last = components.peek().is_none();
            match self.options.names.judge(component, last) {
                Verdict::Keep => out.extend_from_slice(component),
                Verdict::Becomes(new) => out.extend(new),
                Verdict::Skip => return Ok(None),
                Verdict::Refuse(rule) => {
                    return Err((ProblemKind::BadName, refusal::misread(rule, component)));
                }
            }
            if !last {
                out.push(b'/');
            }
        }
        let longest = exts.iter().map(|ext| ext.len()).max().unwrap_or(0);
        if out.len() + 1 + longest > MAX_NAME {
            match self.options.names.action(Rule::Long) {
                Action::Allow | Action::Skip => {}
                Action::Replace if MAX_NAME > longest + 18 => {
                    out = shortened(&out, &out, MAX_NAME - longest - 1);
                }
                action => {
                    return Err((ProblemKind::BadName, refusal::long(action, key, longest)));
                }
            }
        }
        self.renamed += u64::from(out != given);
        Ok(Some(out))
    }

    /// Returns lines about samples that were not selected and keys that no sample has.
    fn note_selection(&self) -> Vec<Message> {
        let mut notes = Vec::new();
        if self.unselected > 0 {
            let samples = units::counted(self.unselected, "sample is", "samples are");
            notes.push(message!("{samples} not selected ({where_option}, {keys})"; where_option = Name::Where, keys = Name::Keys));
        }
        notes.extend(self.absent.notes(&self.options.filters, self.samples.is_empty()));
        if let Some(absent) = self.options.only.as_ref().and_then(|only| only.absent()) {
            let keys = units::counted(absent.keys, "key", "keys");
            notes.push(message!("{keys} of {keys_option} in no source; the first is '{}'", absent.first; keys_option = Name::Keys));
        }
        notes
    }

    /// Returns the scan.
    pub fn finish(mut self) -> Scan {
        self.close_run();
        self.described.settle(&mut self.about);
        let mut notes = std::mem::take(&mut self.notes).finish(self.unit);
        notes.extend(self.note_selection());
        Scan {
            samples: self.samples,
            exts: self.exts.into_list(),
            sources: self.sources,
            texts: self.texts,
            about: self.about,
            notes,
            problems: self.problems,
            tables: Vec::new(),
            layout: Layout::default(),
            skipped: self.skipped,
            renamed: self.renamed,
            newest: self.newest,
        }
    }
}

/// Returns an extension that occurs twice; upper-case letters are the same as lower-case ones.
fn twice<'e>(exts: &[&'e [u8]]) -> Option<&'e [u8]> {
    exts.iter()
        .enumerate()
        .find(|&(n, ext)| exts[..n].iter().any(|other| other.eq_ignore_ascii_case(ext)))
        .map(|(_, ext)| *ext)
}
