//! Labels: what states the class of a sample -> the class in its JSON, and the table of classes.
//!
//! Runs between the scan and the plan. Floors: `folder` selects the component of a path, `rule` is the value of
//! `--label`, `class_list` and above it `class_json`, `class_lines` and `class_file` read `--classes`, `classes` numbers
//! the classes, `stated` reads what samples state, `doubts` finds names of folders that may not be meant, `merge` adds
//! fields to JSON text; this file labels a scan.

mod class_file;
mod class_json;
mod class_lines;
mod class_list;
mod classes;
mod doubts;
mod folder;
mod merge;
mod rule;
mod stated;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tarflume_base::{Failure, Problem, ProblemKind, Stop, units};
use tarflume_formats::ClassTable;
use tarflume_formats::json::JsonRules;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::name;
use tarflume_scan::Scan;
use tarflume_scan::attach::Attached;
use tarflume_scan::options::ScanProblem;
use tarflume_scan::samples::list::FoundSample;
use tarflume_sources::part_bytes::json_of;

use self::classes::{ClassValue, Classes};
use self::doubts::Doubts;
use self::merge::{Class, merged};
use self::stated::{Json, Labeled, check_kinds};

pub(crate) use self::class_file::ClassesOption;
pub(crate) use self::classes::ClassList;
pub(crate) use self::folder::FolderRule;
pub(crate) use self::rule::LabelBy;

/// How samples get their class.
#[derive(Debug)]
pub(crate) struct LabelRule {
    /// Where the class is stated.
    pub(crate) by: LabelBy,
    /// The classes that have numbers already.
    pub(crate) list: ClassList,
    /// The rule that takes the splits from folders, if one does.
    pub(crate) split: Option<FolderRule>,
}

impl LabelRule {
    /// Parses `--label` and `--classes`; `None` without `--label`.
    ///
    /// # Errors
    /// Returns an error that shows the expected form, and for a list of classes that cannot be read.
    pub(crate) fn parse(
        label: Option<&str>,
        classes: Option<&Path>,
    ) -> Result<Option<LabelRule>, Failure> {
        let Some(label) = label else { return Ok(None) };
        let by = LabelBy::parse(label)
            .map_err(|e| Failure::usage(message!("{label}: {e}"; label = Name::Label)))?;
        let option = classes.map(ClassesOption::parse).transpose()?.unwrap_or_default();
        Ok(Some(LabelRule { by, list: ClassList::read(&option)?, split: None }))
    }

    /// Returns the order of classes for the plan's options; `None` for the usual one.
    pub(crate) fn class_order(&self) -> Option<String> {
        self.list.is_by_number().then(|| "number".into())
    }

    /// Returns a digest of the classes for the plan's options; `None` if none were given.
    pub(crate) fn planned(&self) -> Option<String> {
        match &self.list {
            ClassList::Open | ClassList::Numbers(_) => None,
            ClassList::Fixed(table) | ClassList::Grows(table) => Some(digest(table)),
        }
    }
}

/// The samples of a class that has no number.
#[derive(Debug, Default)]
struct Unknown {
    root: u32,
    samples: u64,
    path: String,
    files: Vec<PathBuf>,
}

/// Adds `class` and `class_name` to the JSON of each sample, and the table of classes to the scan's
/// description. A sample without a JSON gets one.
///
/// # Errors
/// Returns an error if the machine fails, after an interruption, and for a field with numbers and texts. What is wrong with
/// a sample is a problem.
pub(crate) fn label(
    scan: &mut Scan,
    roots: &[PathBuf],
    rule: &LabelRule,
    rules: JsonRules,
    stop: &Stop,
) -> Result<(), Failure> {
    let labeled = Labeled { scan, roots, by: &rule.by, rules };
    let named = Named::of(labeled, rule, stop)?;
    let mut unknown: BTreeMap<ClassValue, Unknown> = BTreeMap::new();
    scan.revise(
        "json",
        roots,
        |scan, sample| {
            if stop.requested() {
                return Err(Failure::interrupted());
            }
            named.read(Labeled { scan, roots, by: &rule.by, rules }, sample)
        },
        |sample, read, text| {
            Ok(attached(sample.root, read, Terms { rule, rules }, &mut unknown, text))
        },
    )?;
    scan.problems.extend(unknown.into_iter().map(
        |(class, left)| match named.reasons.get(&class) {
            Some(reason) => left_out(ProblemKind::AmbiguousClass, left, reason.clone()),
            None => unknown_class(&class, &rule.by, left),
        },
    ));
    if let Some((doubts, folder)) = named.doubts.as_ref().zip(rule.by.folder())
        && rule.list.is_open()
    {
        let empty = empty_classes(scan, roots, folder, doubts);
        scan.problems.extend(empty);
    }
    scan.about.classes = Some(named.classes.into_table());
    Ok(())
}

/// The classes of a scan.
struct Named {
    classes: Classes,
    /// The folders of classes, if they are stated there.
    doubts: Option<Doubts>,
    /// Why names are no classes.
    reasons: BTreeMap<ClassValue, Message>,
}

impl Named {
    fn of(labeled: Labeled<'_>, rule: &LabelRule, stop: &Stop) -> Result<Named, Failure> {
        let folder = rule.by.folder();
        let doubts = folder.map(|folder| Doubts::of(labeled.scan, folder, rule.split));
        let mut found: BTreeSet<ClassValue> = match &doubts {
            Some(doubts) => doubts.names().map(|name| ClassValue::Name(name.clone())).collect(),
            None if rule.list.is_fixed() => BTreeSet::new(),
            None => labeled.all(stop)?,
        };
        let mut reasons = BTreeMap::new();
        if rule.list.is_open() {
            check_kinds(&rule.by, &found)?;
            reasons = match doubts.as_ref().zip(folder) {
                Some((doubts, folder)) => doubts.reasons(labeled.scan, folder),
                None => single(&found),
            };
            found.retain(|class| !reasons.contains_key(class));
        }
        Ok(Named { classes: Classes::of(&rule.list, &found)?, doubts, reasons })
    }

    /// Finds the class of a sample, and reads its JSON.
    fn read(&self, labeled: Labeled<'_>, sample: &FoundSample) -> Result<Read, Failure> {
        let Labeled { scan, roots, .. } = labeled;
        let json = json_of(scan, roots, sample)?;
        let class = match labeled.of(sample, &json) {
            Ok(class) => class,
            Err(reason) => return Ok(Read::Unlabeled(reason)),
        };
        Ok(match self.classes.class(&class) {
            Some((id, name)) => Read::Json(id, name.into(), json),
            None => Read::Unknown(class, scan.files(sample, roots), scan.shown(sample, roots)),
        })
    }
}

/// What was found out about a sample before its JSON is made.
enum Read {
    /// It has no class that can be a name, for this reason.
    Unlabeled(Message),
    /// Its class is none; its files, and the path for a message.
    Unknown(ClassValue, Vec<PathBuf>, String),
    /// The id and the name of its class, and its JSON, if it has one, or why it cannot be read.
    Json(i64, String, Json),
}

/// How a label is added to a JSON.
#[derive(Clone, Copy)]
struct Terms<'a> {
    rule: &'a LabelRule,
    rules: JsonRules,
}

/// Returns what a sample under this root gets; its JSON is added to `text`.
fn attached(
    root: u32,
    read: Read,
    terms: Terms<'_>,
    unknown: &mut BTreeMap<ClassValue, Unknown>,
    text: &mut Vec<u8>,
) -> Attached {
    match read {
        Read::Unlabeled(reason) => Attached::Refused(ProblemKind::NoClass, reason),
        Read::Unknown(class, files, path) => {
            let left = unknown.entry(class).or_default();
            if left.samples == 0 {
                (left.root, left.path) = (root, path);
            }
            left.samples += 1;
            left.files.extend(files);
            Attached::LeftOut
        }
        Read::Json(_, _, Err(reason)) => Attached::Refused(
            ProblemKind::BadJson,
            message!("its JSON can't be read: {reason}"; reason = reason),
        ),
        Read::Json(id, name, Ok(json)) => {
            let class = Class { id, name: &name };
            match merged(json.as_deref(), terms.rules, class, terms.rule.by.replaced()) {
                Ok(json) => {
                    text.extend_from_slice(&json);
                    Attached::Text
                }
                Err(reason) => Attached::Refused(ProblemKind::BadJson, reason),
            }
        }
    }
}

/// Returns the reason why the only class is none: it is probably not what was meant.
fn single(found: &BTreeSet<ClassValue>) -> BTreeMap<ClassValue, Message> {
    let Some(class) = found.first().filter(|_| found.len() == 1) else { return BTreeMap::new() };
    let reason = message!("all samples would be one class, '{class}'; if there is only one class, list it: {classes}"; classes = Name::Classes.stand("FILE"));
    BTreeMap::from([(class.clone(), reason)])
}

/// Returns the problems of folders of classes without files. A class that has samples elsewhere keeps its number.
fn empty_classes(
    scan: &Scan,
    roots: &[PathBuf],
    rule: FolderRule,
    found: &Doubts,
) -> Vec<ScanProblem> {
    let mut problems = Vec::new();
    for folder in &scan.layout.empty {
        let path = scan.folders(&folder.path);
        let Some(Ok(class)) = rule.of(path).map(std::str::from_utf8) else { continue };
        if found.explain(class, path) {
            continue;
        }
        let reason = message!("the class '{}' has no file, so it would have no number, and the classes after it would have \
                 other numbers than with it; add its files, {exclude} the folder, or give the numbers with \
                 {classes}", name::shown(class.as_bytes()); exclude = Name::Exclude, classes = Name::Classes.stand("FILE"));
        let problem = Problem::new(ProblemKind::EmptyClass, folder.shown(roots), reason);
        problems.push(ScanProblem::new(problem, folder.root, Vec::new()));
    }
    problems
}

fn unknown_class(class: &ClassValue, by: &LabelBy, left: Unknown) -> ScanProblem {
    let reason = message!("the list of classes has no '{class}', {stated} of {}, of which this is the first; add it to the \
             file of {classes}, or {exclude} the {}", units::counted(left.samples, "sample", "samples"), if by.folder().is_some() { "folder" } else { "files" }; stated = by.stated(), classes = Name::Classes, exclude = Name::Exclude);
    left_out(ProblemKind::UnknownClass, left, reason)
}

/// Returns the problem of samples that are left out because of their class.
fn left_out(kind: ProblemKind, left: Unknown, reason: Message) -> ScanProblem {
    let problem = Problem::new(kind, left.path, reason);
    ScanProblem::new(problem, left.root, left.files)
}

/// Returns the digest of a table, which may be large.
pub(crate) fn digest(table: &ClassTable) -> String {
    let mut hasher = blake3::Hasher::new();
    for (position, name) in table.names.iter().enumerate() {
        hasher.update(&table.id(position).to_le_bytes());
        hasher.update(&(name.len() as u64).to_le_bytes()).update(name.as_bytes());
    }
    hasher.finalize().to_hex()[..32].to_string()
}
