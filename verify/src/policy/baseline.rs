//! `Baseline`: the problems that were there when it was written. Only others fail.
//!
//! A problem is known by its kind, its file, its key and a digest of its reason without offsets, and as often as it was
//! there: a second problem of the same sample, another damage of the same part, or one in another shard is new.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tarflume_base::{Choice, Failure, LISTED_MAX, Problem, ProblemKind};
use tarflume_formats::message;
use tarflume_formats::message::{Face, Name, Piece};
use tarflume_formats::{files, shown};

use super::paths::Base;

/// The bytes of the largest file that is read.
const LONGEST: u64 = 256 << 20;
/// The version of the form.
const VERSION: u32 = 1;
/// Characters of a reason that the file shows.
const SHOWN: usize = 120;

/// What makes a problem the same as an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Identity {
    /// The file.
    pub(crate) path: String,
    kind: ProblemKind,
    key: Option<String>,
    digest: String,
}

impl Identity {
    /// Returns the identity of a problem; paths are relative to `base`.
    pub(crate) fn of(problem: &Problem, base: &Base) -> Identity {
        let reason = reason(problem, base);
        Identity {
            path: base.relative(&problem.path),
            kind: problem.kind,
            key: problem.key.clone(),
            digest: blake3::hash(reason.as_bytes()).to_hex()[..16].to_string(),
        }
    }
}

/// Returns the reason of a problem without offsets, without tasks, and with relative paths: they change with the place
/// from which a verification is started.
fn reason(problem: &Problem, base: &Base) -> String {
    let mut reason = problem.reason.clone();
    reason.map_paths(|path| Some(base.relative(&path.display().to_string()).into()));
    let texts = reason.pieces().iter().map(|piece| match piece {
        Piece::Words(words) => without_offsets(words),
        Piece::Path(path) => path.display().to_string(),
        Piece::Setting(setting) => setting.in_face(Face::Command),
        Piece::Phrase(phrase) => phrase.in_face(Face::Command).into(),
        _ => String::new(),
    });
    let text: String = texts.collect();
    match text.split_once(": ") {
        // The line of the policy moves when a line above it is written.
        Some((_, behind)) if is_of_policy(problem.kind) => behind.into(),
        _ => text,
    }
}

/// Returns true for a kind whose reasons begin with a line of the policy.
fn is_of_policy(kind: ProblemKind) -> bool {
    matches!(
        kind,
        ProblemKind::PolicyPart
            | ProblemKind::PolicyField
            | ProblemKind::PolicyClass
            | ProblemKind::PolicyPicture
            | ProblemKind::PolicyShards
            | ProblemKind::PolicyTotal
            | ProblemKind::PolicyDuplicate
            | ProblemKind::PolicyAcceptance
    )
}

/// Leaves out the number behind the word `byte`, but for quoted text, which is of the data.
fn without_offsets(words: &str) -> String {
    let mut text = String::with_capacity(words.len());
    let mut rest = words;
    while let Some(at) = rest.find("byte ") {
        let behind = at + "byte ".len();
        let digits = rest[behind..].bytes().take_while(u8::is_ascii_digit).count();
        text.push_str(&rest[..behind]);
        let is_quoted = text.matches(['\'', '"']).count() % 2 == 1;
        let kept = if is_quoted { 0 } else { digits };
        rest = &rest[behind + kept..];
    }
    text.push_str(rest);
    text
}

/// A line of the file: problems of one identity.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    path: String,
    kind: ProblemKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    digest: String,
    count: u64,
    /// The beginning of the reason, for people.
    reason: String,
}

/// The form of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    tarflume_baseline: u32,
    level: String,
    problems: Vec<Entry>,
}

/// The problems that are known.
#[derive(Debug, Clone)]
pub struct Baseline {
    /// The level of the verification that found them.
    level: String,
    base: Base,
    known: BTreeMap<Identity, Known>,
}

/// What is known of the problems of one identity.
#[derive(Debug, Clone)]
struct Known {
    count: u64,
    /// The beginning of the first reason.
    reason: String,
}

impl Baseline {
    /// Returns the baseline of these problems, to be written at `path`.
    ///
    /// # Errors
    /// Returns an error if there are more problems than a baseline has.
    pub fn of(problems: &[Problem], level: impl Choice, path: &Path) -> Result<Baseline, Failure> {
        let base = Base::of_file(path)?;
        let mut known: BTreeMap<Identity, Known> = BTreeMap::new();
        for problem in problems {
            let identity = Identity::of(problem, &base);
            if known.len() >= LISTED_MAX && !known.contains_key(&identity) {
                return Err(too_many(path));
            }
            let entry = known.entry(identity).or_insert_with(|| Known {
                count: 0,
                reason: reason(problem, &base).chars().take(SHOWN).collect(),
            });
            entry.count += 1;
        }
        Ok(Baseline { level: level.word().into(), base, known })
    }

    /// Reads the file at `path`.
    ///
    /// # Errors
    /// Returns an error if it cannot be read, or is no baseline.
    pub fn read(path: &Path) -> Result<Baseline, Failure> {
        if !files::exists(path)? {
            return Err(refused(path, "there is no such baseline"));
        }
        if files::metadata(path, "find the baseline")?.len() > LONGEST {
            return Err(refused(path, "this is no baseline: it is too long"));
        }
        let bytes = files::read_whole(path, "read the baseline")?;
        let file: File = serde_json::from_slice(&bytes)
            .map_err(|why| refused(path, &format!("this is no baseline: {why}")))?;
        if file.tarflume_baseline != VERSION {
            return Err(refused(path, "a later version wrote this baseline"));
        }
        let mut found =
            Baseline { level: file.level, base: Base::of_file(path)?, known: BTreeMap::new() };
        for Entry { path, kind, key, digest, count, reason } in file.problems {
            let identity = Identity { path, kind, key, digest };
            found.known.entry(identity).or_insert(Known { count: 0, reason }).count += count;
        }
        Ok(found)
    }

    /// Returns the text of the file: a line for each entry, sorted by file, kind and key.
    pub fn to_text(&self) -> String {
        let entries = self.known.iter().map(|(identity, known)| {
            let Identity { path, kind, key, digest } = identity.clone();
            let Known { count, reason } = known.clone();
            shown::json(&Entry { path, kind, key, digest, count, reason })
        });
        let entries: Vec<String> = entries.collect();
        let level = shown::json(&self.level);
        let list = match entries.as_slice() {
            [] => "[]".to_string(),
            entries => format!("[\n{}\n]", entries.join(",\n")),
        };
        format!("{{\"tarflume_baseline\": {VERSION}, \"level\": {level}, \"problems\": {list}}}\n")
    }

    /// Returns the number of problems that are known.
    pub fn count(&self) -> u64 {
        self.known.values().map(|known| known.count).sum()
    }

    /// Returns the word of the level at which it was written.
    pub(crate) fn level(&self) -> &str {
        &self.level
    }

    /// Returns what makes a problem one of this baseline.
    pub(crate) fn identity(&self, problem: &Problem) -> Identity {
        Identity::of(problem, &self.base)
    }

    /// Returns true if a file of the baseline is at a place, or below it.
    pub(crate) fn is_in(&self, path: &str, place: &str) -> bool {
        let place = self.base.relative(place);
        let below = path.strip_prefix(&place);
        place == "." && !path.starts_with('/')
            || below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
    }

    /// Returns how often each problem is known.
    pub(crate) fn known(&self) -> impl Iterator<Item = (&Identity, u64)> {
        self.known.iter().map(|(identity, known)| (identity, known.count))
    }
}

fn refused(path: &Path, why: &str) -> Failure {
    let text =
        message!("{path}: {why}; {write} writes one"; path = path, write = Name::WriteBaseline);
    Failure::usage(text).with_file(path)
}

fn too_many(path: &Path) -> Failure {
    let text = message!(
        "{path}: there are more than {LISTED_MAX} different problems, which no baseline has; repair the data set first, \
         or turn a rule off in the policy";
        path = path
    );
    Failure::usage(text).with_file(path)
}

#[cfg(test)]
mod tests;
