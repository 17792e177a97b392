//! Labels: the name of a sample's folder -> the class in its JSON, and the table of classes.
//!
//! Runs between the scan and the plan. Floors: `folder` selects the component of a path, `classes`
//! holds names and ids, `doubts` finds names that may not be meant, `merge` adds fields to JSON text; this file
//! labels a scan.

mod classes;
mod doubts;
mod folder;
mod merge;

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
use tarflume_sources::part_bytes::json_of;

use self::classes::Classes;
use self::doubts::Doubts;
use self::merge::merged;

pub(crate) use self::classes::ClassList;
pub(crate) use self::folder::FolderRule;

/// How samples get their class.
#[derive(Debug)]
pub(crate) struct LabelRule {
    /// Where the class's name is in the path.
    pub(crate) folder: FolderRule,
    /// The classes that have ids already.
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
        let folder = FolderRule::parse(label);
        let folder =
            folder.map_err(|e| Failure::usage(message!("{label}: {e}"; label = Name::Label)))?;
        let list = classes.map(ClassList::read).transpose()?.unwrap_or_default();
        Ok(Some(LabelRule { folder, list, split: None }))
    }

    /// Returns a digest of the classes for the plan's options; `None` if none were given.
    pub(crate) fn planned(&self) -> Option<String> {
        match &self.list {
            ClassList::Folders => None,
            ClassList::Fixed(table) | ClassList::Grows(table) => Some(digest(table)),
        }
    }
}

/// The samples of a folder whose name is no class.
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
/// Returns an error if the machine fails, and after an interruption. What is wrong with a sample is a
/// problem.
pub(crate) fn label(
    scan: &mut Scan,
    roots: &[PathBuf],
    rule: &LabelRule,
    rules: JsonRules,
    stop: &Stop,
) -> Result<(), Failure> {
    let found = Doubts::of(scan, rule.folder, rule.split);
    let reasons = match &rule.list {
        ClassList::Folders => found.reasons(scan, rule.folder),
        ClassList::Fixed(_) | ClassList::Grows(_) => BTreeMap::new(),
    };
    let names: BTreeSet<String> =
        found.names().filter(|name| !reasons.contains_key(*name)).cloned().collect();
    let classes = Classes::of(&rule.list, &names);
    let mut unknown: BTreeMap<String, Unknown> = BTreeMap::new();
    scan.revise(
        "json",
        roots,
        |scan, sample| {
            if stop.requested() {
                return Err(Failure::interrupted());
            }
            let Some(Ok(class)) = class_of(scan.folders(&sample.source), &rule.folder) else {
                return Ok(Read::Unlabeled(no_class(scan.folders(&sample.source), &rule.folder)));
            };
            let Some(id) = classes.id(class) else {
                let files = scan.files(sample, roots);
                let path = scan.shown(sample, roots);
                return Ok(Read::Unknown(class.into(), files, path));
            };
            Ok(Read::Json(id, class.into(), json_of(scan, roots, sample)?))
        },
        |sample, read, text| {
            Ok(match read {
                Read::Unlabeled(reason) => Attached::Refused(ProblemKind::NoClass, reason),
                Read::Unknown(class, files, path) => {
                    let folder = unknown.entry(class).or_default();
                    if folder.samples == 0 {
                        (folder.root, folder.path) = (sample.root, path);
                    }
                    folder.samples += 1;
                    folder.files.extend(files);
                    Attached::LeftOut
                }
                Read::Json(_, _, Err(reason)) => Attached::Refused(
                    ProblemKind::BadJson,
                    message!("its JSON can't be read: {reason}"; reason = reason),
                ),
                Read::Json(id, class, Ok(json)) => match merged(json.as_deref(), rules, id, &class)
                {
                    Ok(json) => {
                        text.extend_from_slice(&json);
                        Attached::Text
                    }
                    Err(reason) => Attached::Refused(ProblemKind::BadJson, reason),
                },
            })
        },
    )?;
    scan.problems.extend(unknown.into_iter().map(|(class, folder)| match reasons.get(&class) {
        Some(reason) => left_out(ProblemKind::AmbiguousClass, folder, reason.clone()),
        None => unknown_class(&class, folder),
    }));
    if matches!(rule.list, ClassList::Folders) {
        let empty = empty_classes(scan, roots, rule.folder, &found);
        scan.problems.extend(empty);
    }
    scan.about.classes = Some(classes.into_table());
    Ok(())
}

/// What was found out about a sample before its JSON is made.
enum Read {
    /// It has no class that can be a name, for this reason.
    Unlabeled(Message),
    /// Its class is none; its files, and the path for a message.
    Unknown(String, Vec<PathBuf>, String),
    /// The id and the name of its class, and its JSON, if it has one, or why it cannot be read.
    Json(i64, String, Result<Option<Vec<u8>>, Message>),
}

/// Returns the name of a class in a path; `None` if it has no such folder.
fn class_of<'s>(
    source: &'s [u8],
    rule: &FolderRule,
) -> Option<Result<&'s str, std::str::Utf8Error>> {
    rule.of(source).map(std::str::from_utf8)
}

fn no_class(source: &[u8], rule: &FolderRule) -> Message {
    match class_of(source, rule) {
        Some(_) => Message::words("the name of its class folder is not UTF-8; rename the folder"),
        None => rule.missing(source),
    }
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
        let Some(Ok(class)) = class_of(scan.folders(&folder.path), &rule) else { continue };
        if found.explain(class, scan.folders(&folder.path)) {
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

fn unknown_class(class: &str, folder: Unknown) -> ScanProblem {
    let reason = message!("the list of classes has no '{}', the folder of {}, of which this is the first; add it to the \
             file of {classes}, or {exclude} the folder", name::shown(class.as_bytes()), units::counted(folder.samples, "sample", "samples"); classes = Name::Classes, exclude = Name::Exclude);
    left_out(ProblemKind::UnknownClass, folder, reason)
}

/// Returns the problem of samples that are left out because of their folder.
fn left_out(kind: ProblemKind, folder: Unknown, reason: Message) -> ScanProblem {
    let problem = Problem::new(kind, folder.path, reason);
    ScanProblem::new(problem, folder.root, folder.files)
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
