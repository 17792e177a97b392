//! Labels: the name of a sample's folder -> the class in its JSON, and the table of classes.
//!
//! Runs between the scan and the plan. Floors: `folder` selects the component of a path, `classes`
//! holds names and ids, `merge` adds fields to JSON text; this file labels a scan.

mod classes;
mod folder;
mod merge;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use tarflume_formats::ClassTable;
use tarflume_formats::json::JsonRules;
use tarflume_formats::name;

use self::classes::Classes;
use self::merge::merged;
use crate::failure::Failure;
use crate::part_bytes::json_of;
use crate::problem::{Problem, ProblemKind};
use crate::scan::Scan;
use crate::scan::attach::Attached;
use crate::scan::list::FoundSample;
use crate::scan::options::ScanProblem;
use crate::stop::Stop;
use crate::units;

pub(crate) use self::classes::ClassList;
pub(crate) use self::folder::FolderRule;

/// How samples get their class.
#[derive(Debug)]
pub(crate) struct LabelRule {
    /// Where the class's name is in the path.
    pub(crate) folder: FolderRule,
    /// The classes that have ids already.
    pub(crate) list: ClassList,
}

impl LabelRule {
    /// Returns a digest of the classes for the plan's options; `None` if none were given.
    pub(crate) fn planned(&self) -> Option<String> {
        match &self.list {
            ClassList::Folders => None,
            ClassList::Fixed(table) | ClassList::Grows(table) => Some(digest(table)),
        }
    }
}

/// The samples of a folder that is not in the list of classes.
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
    let classes = Classes::of(&rule.list, &folders(scan, &rule.folder));
    let mut unknown: BTreeMap<String, Unknown> = BTreeMap::new();
    scan.revise(
        "json",
        roots,
        |scan, sample| {
            if stop.requested() {
                return Err(Failure::interrupted());
            }
            let Some(Ok(class)) = class_of(sample, &rule.folder) else {
                return Ok(Read::Unlabeled);
            };
            if classes.id(class).is_none() {
                return Ok(Read::Unknown(scan.files(sample, roots), scan.shown(sample, roots)));
            }
            Ok(Read::Json(json_of(scan, roots, sample)?))
        },
        |sample, read, text| {
            Ok(match read {
                Read::Unlabeled => no_class(sample, &rule.folder),
                Read::Unknown(files, path) => {
                    let class =
                        class_of(sample, &rule.folder).and_then(Result::ok).unwrap_or_default();
                    let folder = unknown.entry(class.into()).or_default();
                    if folder.samples == 0 {
                        (folder.root, folder.path) = (sample.root, path);
                    }
                    folder.samples += 1;
                    folder.files.extend(files);
                    Attached::LeftOut
                }
                Read::Json(Err(reason)) => Attached::Refused(
                    ProblemKind::BadJson,
                    format!("its JSON can't be read: {reason}"),
                ),
                Read::Json(Ok(json)) => {
                    let class =
                        class_of(sample, &rule.folder).and_then(Result::ok).unwrap_or_default();
                    let id = classes.id(class).unwrap_or_default(); // `read` has found it
                    match merged(json.as_deref(), rules, id, class) {
                        Ok(json) => {
                            text.extend_from_slice(&json);
                            Attached::Text
                        }
                        Err(reason) => Attached::Refused(ProblemKind::BadJson, reason),
                    }
                }
            })
        },
    )?;
    scan.problems.extend(unknown.into_iter().map(|(class, folder)| unknown_class(&class, folder)));
    scan.about.classes = Some(classes.into_table());
    Ok(())
}

/// What was found out about a sample before its JSON is made.
enum Read {
    /// It has no class that can be a name.
    Unlabeled,
    /// Its class is not in the list; its files, and the path for a message.
    Unknown(Vec<PathBuf>, String),
    /// Its JSON, if it has one, or why it cannot be read.
    Json(Result<Option<Vec<u8>>, String>),
}

/// Returns the names of all class folders.
fn folders(scan: &Scan, rule: &FolderRule) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = BTreeSet::new();
    let mut last = String::new();
    scan.samples.visit(|_, sample| {
        if let Some(Ok(class)) = class_of(sample, rule)
            && class != last
        {
            last = class.to_string();
            names.insert(last.clone());
        }
        true
    });
    names
}

/// Returns the name of a sample's class; `None` if it has no such folder.
fn class_of<'s>(
    sample: &'s FoundSample,
    rule: &FolderRule,
) -> Option<Result<&'s str, std::str::Utf8Error>> {
    rule.of(&sample.source).map(std::str::from_utf8)
}

fn no_class(sample: &FoundSample, rule: &FolderRule) -> Attached {
    let reason = match class_of(sample, rule) {
        Some(_) => "the name of its class folder is not UTF-8; rename the folder".to_string(),
        None => rule.missing(&sample.source),
    };
    Attached::Refused(ProblemKind::NoClass, reason)
}

fn unknown_class(class: &str, folder: Unknown) -> ScanProblem {
    let reason = format!(
        "the list of classes has no '{}', the folder of {}, of which this is the first; add it to the \
         file of --classes, or --exclude the folder",
        name::shown(class.as_bytes()),
        units::counted(folder.samples, "sample", "samples")
    );
    let problem = Problem::new(ProblemKind::UnknownClass, folder.path, reason);
    ScanProblem { problem, root: folder.root, files: folder.files }
}

/// Returns the digest of a table, which may be large.
fn digest(table: &ClassTable) -> String {
    let mut hasher = blake3::Hasher::new();
    for (position, name) in table.names.iter().enumerate() {
        hasher.update(&table.id(position).to_le_bytes());
        hasher.update(&(name.len() as u64).to_le_bytes()).update(name.as_bytes());
    }
    hasher.finalize().to_hex()[..32].to_string()
}
