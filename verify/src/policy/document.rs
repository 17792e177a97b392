//! `Policy`: the text of `pack.toml`, read; and how it is found.

use std::path::{Path, PathBuf};

use tarflume_base::{Failure, units};
use tarflume_formats::files;
use tarflume_formats::message;
use tarflume_formats::message::Name;

use super::accept::Acceptance;
use super::bounds::{Bounds, StatedOptions};
use super::date::Date;
use super::paths::Base;
use super::rules::Levels;
use super::signers::{self, Signer};
use super::source::{self, PolicyFault, Source, Table};
use super::tables;

/// What is demanded of data sets: levels of rules, and bounds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Demands {
    pub(crate) levels: Levels,
    pub(crate) bounds: Bounds,
}

/// A data set that the policy names.
#[derive(Debug)]
pub(crate) struct NamedSet {
    pub(crate) name: String,
    pub(crate) place: PathBuf,
    pub(crate) own: Demands,
}

/// Data sets that may not have the same pictures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateRule {
    /// The names of the data sets, in the order in which a picture is kept.
    pub across: Vec<String>,
    /// Their folders or URLs.
    pub places: Vec<PathBuf>,
    /// Bits in which pictures that look alike differ at most; `None` compares bytes.
    pub near: Option<u32>,
    /// The line of the policy.
    pub line: usize,
}

/// A policy.
#[derive(Debug)]
pub struct Policy {
    path: PathBuf,
    pub(crate) folder: Base,
    pub(crate) options: StatedOptions,
    pub(crate) base: Demands,
    pub(crate) sets: Vec<NamedSet>,
    duplicates: Vec<DuplicateRule>,
    pub(crate) accept: Vec<Acceptance>,
    signers: Vec<Signer>,
}

impl Policy {
    /// Parses the text of the policy at `path`.
    ///
    /// # Errors
    /// Returns the first fault, with its line.
    pub fn parse(path: &Path, text: &str) -> Result<Policy, PolicyFault> {
        let source = Source { path, text };
        let parsed = source::parsed(source)?;
        let whole = Table::whole(source, &parsed);
        let mut known =
            vec!["verify", "checksums", "rules", "sets", "duplicates", "accept", "signatures"];
        known.extend(tables::TABLES);
        whole.only(&known)?;
        let folder = Base::of_file(path).map_err(|why| source.fault(0, why.text()))?;
        let base = demands(&whole)?;
        let sets = named_sets(&whole, &folder)?;
        let duplicates = match whole.get("duplicates") {
            None => Vec::new(),
            Some(item) => {
                let tables = item.tables()?;
                tables.iter().map(|table| duplicate_rule(table, &sets)).collect::<Result<_, _>>()?
            }
        };
        let accept = match whole.get("accept") {
            None => Vec::new(),
            Some(item) => item.tables()?.iter().map(Acceptance::read).collect::<Result<_, _>>()?,
        };
        Ok(Policy {
            path: path.into(),
            options: tables::options(&whole, &folder)?,
            signers: signers::read(&whole)?,
            folder,
            base,
            sets,
            duplicates,
            accept,
        })
    }

    /// Returns the path of the file, as it was given or found.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the keys that may sign the data sets; empty if no signature is demanded.
    pub fn signers(&self) -> &[Signer] {
        &self.signers
    }

    /// Returns the data sets that may not have the same pictures.
    pub fn duplicates(&self) -> &[DuplicateRule] {
        &self.duplicates
    }

    /// Returns the data sets of `[sets]`, in the order of their names: what a verification without paths is of. Folders
    /// below the working directory are relative to it.
    ///
    /// # Errors
    /// Returns an error if the policy names none.
    pub fn set_paths(&self) -> Result<Vec<PathBuf>, Failure> {
        if self.sets.is_empty() {
            let why = "no path is given, and this policy names no data sets in [sets]; give the path of one";
            return Err(refused(&self.path, why));
        }
        let here = std::env::current_dir()
            .map_err(|error| Failure::io(error, "find the working directory", Path::new(".")))?;
        let paths = self.sets.iter().map(|set| match set.place.strip_prefix(&here) {
            Ok(below) if below.as_os_str().is_empty() => PathBuf::from("."),
            Ok(below) => below.into(),
            Err(_) => set.place.clone(),
        });
        Ok(paths.collect())
    }

    /// Returns the file of the baseline, if one is stated.
    pub fn baseline(&self) -> Option<&Path> {
        self.options.baseline.as_deref()
    }

    /// Returns the file of what is expected, if one is stated.
    pub fn expect(&self) -> Option<&Path> {
        self.options.expect.as_deref()
    }

    /// Returns what is demanded of the data set at a place, and the name that the policy gives it.
    pub(crate) fn demands(&self, place: Option<&str>) -> Demands {
        let base = &self.base;
        match place.and_then(|place| self.named(place)) {
            None => base.clone(),
            Some(NamedSet { own, .. }) => Demands {
                levels: own.levels.over(&base.levels),
                bounds: own.bounds.over(&base.bounds),
            },
        }
    }

    /// Returns the named data set at a place, or the one whose folder has the place; the innermost one.
    pub(crate) fn named(&self, place: &str) -> Option<&NamedSet> {
        let place = self.folder.joined(&self.folder.relative(place));
        let sets = self.sets.iter().filter(|set| place.starts_with(&set.place));
        sets.max_by_key(|set| set.place.components().count())
    }

    /// Returns the name of the file.
    pub(crate) fn file_name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// Returns how a message names a line of the policy: `pack.toml:14`.
    pub fn line(&self, line: usize) -> String {
        format!("{}:{line}", self.file_name())
    }

    /// Returns what the policy has, in words.
    pub fn summary(&self) -> String {
        let Bounds { parts, fields, .. } = &self.base.bounds;
        let counts = [
            counted(self.base.levels.count(), "rule with a level", "rules with a level"),
            counted(self.sets.len(), "named set", "named sets"),
            counted(parts.len(), "part", "parts"),
            counted(fields.len(), "field", "fields"),
            counted(self.accept.len(), "acceptance", "acceptances"),
            counted(self.duplicates.len(), "comparison of sets", "comparisons of sets"),
            counted(self.signers.len(), "signer", "signers"),
        ];
        counts.join(", ")
    }

    /// Returns a fault of a line.
    pub(crate) fn fault(&self, line: usize, reason: impl Into<String>) -> PolicyFault {
        PolicyFault { path: self.path.clone(), line, column: 1, reason: reason.into() }
    }

    /// Returns the lines of acceptances whose date has passed on a day.
    pub fn ended(&self, today: Date) -> Vec<usize> {
        let ended = self.accept.iter().filter(|acceptance| acceptance.until < today);
        ended.map(|acceptance| acceptance.line).collect()
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    units::counted(count as u64, one, many)
}

fn demands(table: &Table<'_>) -> Result<Demands, PolicyFault> {
    Ok(Demands { levels: Levels::read(table)?, bounds: tables::bounds(table)? })
}

fn named_sets(whole: &Table<'_>, folder: &Base) -> Result<Vec<NamedSet>, PolicyFault> {
    let Some(item) = whole.get("sets") else { return Ok(Vec::new()) };
    let mut sets = Vec::new();
    for item in item.table()?.items() {
        let table = item.table()?;
        let mut known = vec!["path", "rules"];
        known.extend(tables::TABLES);
        table.only(&known)?;
        let path = table.get("path").ok_or_else(|| item.key_fault("'path' is missing"))?;
        sets.push(NamedSet {
            name: item.key.into(),
            place: folder.joined(path.text()?),
            own: demands(&table)?,
        });
    }
    Ok(sets)
}

fn duplicate_rule(table: &Table<'_>, sets: &[NamedSet]) -> Result<DuplicateRule, PolicyFault> {
    table.only(&["across", "kind", "distance"])?;
    let across =
        table.get("across").ok_or_else(|| table.fault("[[duplicates]]: 'across' is missing"))?;
    let names = across.texts()?;
    if names.len() < 2 {
        return Err(across.fault("name two sets or more"));
    }
    let mut places = Vec::new();
    for name in &names {
        let Some(set) = sets.iter().find(|set| &set.name == name) else {
            let known: Vec<&str> = sets.iter().map(|set| set.name.as_str()).collect();
            let choices = source::choices(name, &known);
            return Err(across.fault(format!("there is no set '{name}' in [sets]{choices}")));
        };
        places.push(set.place.clone());
    }
    let kind = table.get("kind");
    let word = kind.as_ref().map(|item| item.text()).transpose()?;
    let distance = table.get("distance");
    let near = match (word, &distance) {
        (None | Some("exact"), None) => None,
        (None | Some("exact"), Some(distance)) => {
            return Err(distance.fault("only kind = \"near\" has a distance"));
        }
        (Some("near"), None) => Some(DuplicateRule::DISTANCE),
        (Some("near"), Some(distance)) => {
            let bits = u32::try_from(distance.count()?).ok();
            let bits = bits.filter(|bits| *bits <= DuplicateRule::MOST_DISTANCE);
            Some(bits.ok_or_else(|| distance.fault("a number from 0 to 16 is needed"))?)
        }
        (Some(other), _) => {
            let choices = source::choices(other, &["exact", "near"]);
            return Err(table.fault(format!("[[duplicates]]: '{other}' is no kind{choices}")));
        }
    };
    Ok(DuplicateRule { across: names, places, near, line: table.line() })
}

impl DuplicateRule {
    /// The distance of pictures that look alike, if none is stated.
    const DISTANCE: u32 = 6;
    /// The largest distance.
    pub const MOST_DISTANCE: u32 = 16;
}

/// The name of the file.
pub const FILE_NAME: &str = "pack.toml";

/// The bytes of the largest policy.
const LONGEST: u64 = 4 << 20;

/// Returns the policy of a folder: its `pack.toml`, or that of the nearest folder above, up to the one with `.git`. `None`
/// if there is none.
///
/// The search begins at the working directory and not at the data: a data set that was downloaded must not decide how it
/// is judged.
///
/// # Errors
/// Returns an error if the operating system does not answer.
pub fn find(folder: &Path) -> Result<Option<PathBuf>, Failure> {
    for folder in folder.ancestors() {
        let path = folder.join(FILE_NAME);
        if files::exists(&path)? {
            return Ok(Some(path));
        }
        if files::exists(&folder.join(".git"))? {
            return Ok(None);
        }
    }
    Ok(None)
}

impl Policy {
    /// Reads the policy at `path`.
    ///
    /// # Errors
    /// Returns an error if it cannot be read, and its first fault with its line.
    pub fn read(path: &Path) -> Result<Policy, Failure> {
        if !files::exists(path)? {
            return Err(refused(path, "there is no such file"));
        }
        if files::metadata(path, "find the policy")?.len() > LONGEST {
            return Err(refused(path, "this is no policy: it has more than 4 MiB"));
        }
        let bytes = files::read_whole(path, "read the policy")?;
        let text =
            std::str::from_utf8(&bytes).map_err(|_| refused(path, "the text is not UTF-8"))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Ok(Policy::parse(path, text)?)
    }
}

fn refused(path: &Path, why: &str) -> Failure {
    let text = message!("{policy}: {why}"; policy = Name::Policy.is(path));
    Failure::usage(text).with_file(path)
}
