//! Checks data sets and shards; finds every problem and continues after each.
//!
//! `sets` finds the shards of a set; `shard` checks one tar and its sidecar, quickly or by one
//! `pass` over all its bytes, unless `remembered` has its result; `cursor` compares the sidecar's rows with the tar's members, and
//! `points` its entry points with the JPEGs; `across` checks all keys and parts of a set. `remote` verifies
//! shards in stores on copies, `profile` finds what certain readers misread. `kinds`
//! converts errors to problems, `display` a report to text, `class_names` compares names of classes, `unchecked` is
//! what was asked for and matches nothing. Writes and prints nothing.

mod absent;
pub(crate) mod across;
mod contents;
pub(crate) mod options;
pub(crate) mod pass;
pub(crate) mod policed;
mod proved;
mod remembered;
mod remote;
mod report;
pub(crate) mod sets;
pub(crate) mod shard;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use tarflume_base::{Exit, Failure, Problem, ProblemKind, Problems, counts, units};
use tarflume_formats::IrregularJpegs;
use tarflume_formats::manifest::ShardEntry;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Message, Name, Task};
use tarflume_formats::shown::ShowPath;
use tarflume_formats::url::url_of;
use tarflume_shards::braces::expand_all;
use tarflume_shards::clashes::Shards;
use tarflume_shards::index::{in_parallel, numbered};

use crate::expect::Expect;
use crate::policy::Date;
use crate::policy::sift::{SetRules, Sift};
use crate::scope::{Coverage, SetTotals};
use contents::parts::Values;
use pass::LongParts;
use policed::{Measured, SetFacts, ShardSize};
use proved::Proved;
use report::found::FoundSamples;
use sets::{Set, Target};

pub use crate::class_field::ClassField;
pub use contents::parts::{ExtChecks, PartChecks, PartOptions, UniqueField};
pub use contents::profile::Profile;
pub use options::watch::{ShardCase, VerifiedShard, Watch};
pub use options::{Level, Options};
pub use policed::Sifted;

/// The result of a verification.
#[derive(Debug, Serialize)]
pub struct Report {
    /// True if there is no problem, and all bytes were checked, and all that was asked for.
    pub whole: bool,
    /// False for a report that was written while the verification went on, or after it was stopped.
    pub finished: bool,
    /// The level of the verification.
    pub level: Level,
    /// Number of verified shards.
    pub shards: u64,
    /// Samples in them.
    pub samples: u64,
    /// Bytes of their tars.
    pub bytes: u64,
    /// Parts by extension.
    pub extensions: BTreeMap<String, u64>,
    /// By extension, how many parts were looked at by which check.
    pub checked: PartChecks,
    /// The shards, in the order of the problems.
    #[serde(skip)]
    pub cases: Vec<ShardCase>,
    /// What was asked for and could not be checked, a sentence each: a schema whose part no sample has, a path at which
    /// there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<Message>,
    /// Number of shards whose sidecar has no checksums, so that their data is not verified.
    pub shards_without_checksums: u64,
    /// Number of shards that an interrupted append has moved beside the data set. They are not verified.
    pub shards_of_append: u64,
    /// Remarks on shards that are no problems, one line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Message>,
    /// What is unusual and does not make a shard bad: a part that nearly all samples have and some lack, pictures that
    /// are not decoded here and that packing has accepted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Problem>,
    /// JPEGs that break rules of their format without losing a pixel. Level decode finds them.
    #[serde(skip_serializing_if = "IrregularJpegs::is_empty")]
    pub irregular_jpegs: IrregularJpegs,
    /// How much was read, if a part of the data may be left unread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// Tars that were not pulled: a pointer is in their place, or DVC tracks them.
    #[serde(skip_serializing_if = "crate::scope::totals::is_zero")]
    pub not_pulled: u64,
    /// The data sets in folders, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sets: Vec<SetTotals>,
    /// What the data set contains, for `pack verify --expect`.
    #[serde(skip)]
    pub found: Expect,
    /// Number of listed problems by kind.
    pub counts: BTreeMap<ProblemKind, u64>,
    /// Number of problems that are not listed because there are too many.
    pub unlisted: u64,
    /// What the policy and the baseline took out.
    #[serde(flatten)]
    pub sifted: Sifted,
    /// The problems: set by set, in the order of shards and bytes; those between shards last.
    pub problems: Vec<Problem>,
}

/// Verifies data sets and single shards; `on_bytes` gets the number of bytes of tars that were
/// processed since its last call.
///
/// # Errors
/// Returns an error if there is no such path, nothing to verify or no thread, if the machine failed
/// (the result would be incomplete), and after an interruption.
pub fn verify(
    paths: &[PathBuf],
    options: &Options,
    on_bytes: &(dyn Fn(u64) + Sync),
) -> Result<Report, Failure> {
    let (urls, local): (Vec<_>, Vec<_>) =
        expand_all(paths)?.into_iter().partition(|path| url_of(path).is_some());
    let options = &options.scoped()?;
    let sets::chosen::Chosen { paths: local, touched } =
        sets::chosen::chosen(&local, &options.scope)?;
    if let Some(cache) = &options.scope.cache {
        cache.must_be_outside(&local)?;
    }
    let sets::FoundSets { mut sets, mut nothing } = sets::find(&local, options)?;
    for url in &urls {
        match remote::set(url, options) {
            Err(failure) if failure.exit() == Exit::Usage => nothing.push(failure),
            set => sets.push(set?),
        }
    }
    if sets.is_empty() && !(touched.is_some() && nothing.is_empty()) {
        return Err(nothing
            .into_iter()
            .next()
            .unwrap_or_else(|| Failure::usage("no path is given")));
    }
    let reads_data = !options.schemas.is_empty()
        || options.class.is_some()
        || options.objects
        || !options.parts.unique.is_empty();
    if options.level == Level::Quick && reads_data {
        let text = message!("{level} reads no data, so no schema, object or value is checked and no class counted; leave it out"; level = Name::Level.is("quick"));
        return Err(Failure::usage(text));
    }
    let options = &Options {
        class: options.class.clone().or_else(|| stated_class(&sets, options)),
        ..options.clone()
    };
    sets::wants::assign(&mut sets, &options.scope, touched.as_ref())?;
    let sift = Sift::new(&options.rules, Date::today());
    let mut report = Report::new(options.level, Sifted::new(sift.clone(), options));
    report.notes.extend(policed::notes(&sift, options));
    report.unchecked.extend(report::unchecked::signatures(&sets, options));
    let mut found = FoundSamples::default();
    for set in sets {
        let place = set.place.clone();
        let before = report.totals();
        verify_set(set, options, on_bytes, &mut report, &mut found)?;
        report.sets.extend(place.map(|place| report.totals().since(&before, &place)));
    }
    report.unchecked.extend(nothing.into_iter().map(|failure| failure.message()));
    report.unchecked.extend(report::unchecked::schemas(&report, options));
    report.unchecked.extend(report::unchecked::objects(found.objects, options));
    report.unchecked.extend(report::unchecked::profiles(&urls, options));
    report.sifted.sift = Some(sift);
    report.without_checksums(found.without_checksums.take(), options);
    report.end_scope(&options.scope, &found.not_pulled);
    report.found = found.expect(report.samples, &report.extensions, options)?;
    report.judge();
    Ok(report)
}

/// Returns the field of the class that all manifests state, if classes are to be counted.
fn stated_class(sets: &[Set], options: &Options) -> Option<ClassField> {
    if !options.count_classes || options.level == Level::Quick {
        return None;
    }
    let first = sets.first().and_then(class_pointer)?;
    let is_same = sets.iter().all(|set| class_pointer(set) == Some(first));
    ClassField::parse(&format!("json:{first}")).ok().filter(|_| is_same)
}

fn class_pointer(set: &Set) -> Option<&String> {
    Some(&set.about.as_ref()?.classes.as_ref()?.pointer)
}

fn verify_set(
    set: Set,
    options: &Options,
    on_bytes: &(dyn Fn(u64) + Sync),
    report: &mut Report,
    found: &mut FoundSamples,
) -> Result<(), Failure> {
    let place = policed::place_of(&set);
    let Set { place: _, targets, problems, json, check, about, shards_of_append } = set;
    let mut rules = options.rules.clone();
    let sift = report.sifted.sift.clone().expect("a verification sifts");
    let table =
        options.class_table.as_ref().or(about.as_ref().and_then(|about| about.classes.as_ref()));
    let set_rules = Arc::new(SetRules::new(&sift, place.as_deref(), table));
    report.sifted.sift = Some(set_rules.sift.clone());
    report.sifted.places.extend(place.clone());
    rules.set = Some(Arc::clone(&set_rules));
    let options = &Options {
        rules,
        json: Some(options.json.unwrap_or(json)),
        check: options.check.or(check),
        class_table: options
            .class_table
            .clone()
            .or_else(|| about.as_ref().and_then(|about| about.classes.clone())),
        object_table: options
            .object_table
            .clone()
            .or_else(|| about.as_ref().and_then(|about| about.objects.clone())),
        ..options.clone()
    };
    found.tables.extend(about);
    report.shards_of_append += shards_of_append as u64;
    problems.into_iter().for_each(|problem| report.push(problem));
    // Tars in stores are read once, on copies; other readers' files and names are looked at in folders.
    let mut local: Vec<(PathBuf, Option<ShardEntry>)> = targets
        .iter()
        .filter(|target| target.remote.is_none())
        .map(|target| (target.tar.clone(), target.entry.clone()))
        .collect();
    let count = targets.len() as u64;
    let proved = in_parallel(options.jobs, targets, |target: Target| {
        (!options.stop.requested()).then(|| remembered::prove_watched(target, options, on_bytes))
    })?;
    if options.stop.requested() {
        return Err(Failure::interrupted());
    }
    let mut shards = Vec::with_capacity(proved.len());
    let mut absent = HashSet::new();
    let mut unread = HashSet::new();
    let mut values = Values::new(options.parts.fields(options.level == Level::Decode));
    let mut sizes = Vec::new();
    let mut measured = Measured::default();
    for proved in proved.into_iter().flatten() {
        let Proved {
            path,
            bytes,
            without_checksums,
            index,
            classes,
            irregular,
            problems,
            warning,
            long,
            objects,
            is_absent,
            not_pulled,
            covered,
            mut parts,
            time,
            measured: of_shard,
        } = proved?;
        measured.merge(of_shard);
        not_pulled.into_iter().for_each(|stated| found.not_pulled.add(&path, stated));
        report.cover(&covered, index.as_ref(), bytes);
        let seen = std::mem::take(&mut parts.values);
        report.add_case(ShardCase { path: path.clone(), time, is_absent }, parts);
        found.objects += objects;
        if without_checksums {
            found.without_checksums.get_or_insert_with(|| path.display().to_string());
        }
        if is_absent {
            absent.insert(path.clone());
        }
        if options.scope.is_partial() && !covered.is_whole {
            unread.insert(path.clone());
        }
        warning.into_iter().for_each(|warning| report.warn(warning));
        report.add_long(&path, &long);
        report.irregular_jpegs.join(irregular);
        found.classes.merge(classes);
        report.shards += 1;
        report.bytes += bytes;
        report.shards_without_checksums += u64::from(without_checksums);
        report.add(problems);
        if let Some(index) = index {
            report.samples += index.samples();
            let samples = index.samples();
            let bytes = if is_absent { index.tar().length } else { bytes };
            sizes.push(ShardSize { path: path.display().to_string(), bytes, samples });
            found.add(&path, &index)?;
            let note = numbered::note(&index)?;
            report.notes.extend(note.map(|note| message!("{}: {note}", path.shown(); note = note)));
            values.add(shards.len(), seen);
            shards.push((path, index));
        }
    }
    local.retain(|(path, _)| !absent.contains(path) && !unread.contains(path));
    if !absent.is_empty() {
        let tars = units::counted(absent.len() as u64, "tar is", "tars are");
        report.notes.push(message!("{tars} not here; manifest and sidecars were compared"));
    }
    let repeated = values.compare(&shards)?;
    report.unlisted += repeated.problems.unlisted;
    repeated.problems.listed.into_iter().for_each(|problem| report.push(problem));
    repeated.warnings.into_iter().for_each(|warning| report.warn(warning));
    report.unchecked.extend(repeated.unchecked);
    let set = Shards::new(shards);
    let across = across::prove(&set, options)?;
    report.other_readers(&local, options)?;
    let facts = SetFacts {
        place: place.unwrap_or_else(|| ".".into()),
        shards: &set,
        sizes: &sizes,
        measured: &measured,
        classes: options.class_table.as_ref(),
    };
    // Of a shard that need not be here and has no sidecar, nothing is known.
    if sizes.len() as u64 == count || !options.scope.is_partial() {
        report.add(policed::judge(&facts, &set_rules, options)?);
    }
    for (ext, count) in across.extensions {
        *report.extensions.entry(ext).or_default() += count;
    }
    report.add(across.problems);
    across.warnings.into_iter().for_each(|warning| report.warn(warning));
    Ok(())
}

impl Report {
    /// Compares the data set with what is expected; each difference is a problem of the file at `path`.
    pub fn compare(&mut self, expect: &Expect, path: &Path) {
        let path = path.display().to_string();
        for why in expect.differences(&self.found) {
            self.push(Problem::new(ProblemKind::Unexpected, path.clone(), why));
        }
        self.judge();
    }

    fn judge(&mut self) {
        self.counts = counts(&self.problems);
        self.whole = self.is_passed() && self.coverage.as_ref().is_none_or(Coverage::is_complete);
    }

    /// Notes parts that were not looked into. What was asked for is unchecked in them.
    fn add_long(&mut self, path: &Path, long: &LongParts) {
        let sentence = long.sentence(pass::WHOLE);
        let sentence = sentence.map(|text| message!("{}: {text}", path.shown()));
        if long.was_asked_for {
            self.unchecked.extend(sentence);
        } else {
            self.notes.extend(sentence);
        }
    }

    /// Adds a warning, or a problem if checksums are required, about shards whose sidecars have none.
    fn without_checksums(&mut self, first: Option<String>, options: &Options) {
        let Some(path) = first else { return };
        let others = match self.shards_without_checksums - 1 {
            0 => String::new(),
            more => format!(", nor have {}", units::counted(more, "other shard", "other shards")),
        };
        let mut reason = message!("the sidecar of this shard has no checksums{others}, so the data cannot be verified; `{index}` \
                 adds them"; index = Call::of(Task::Index).with(Name::Force.on()).on_stand("DIR"));
        if options.require_checksums {
            self.push(Problem::new(ProblemKind::NoChecksum, path, reason));
        } else if self.level > Level::Quick {
            reason.push(message!("; {require_checksums} makes this a problem"; require_checksums = Name::RequireChecksums));
            self.warn(Problem::new(ProblemKind::NoChecksum, path, reason));
        }
    }

    fn new(level: Level, sifted: Sifted) -> Report {
        Report {
            whole: false,
            finished: true,
            level,
            shards: 0,
            samples: 0,
            bytes: 0,
            extensions: BTreeMap::new(),
            checked: PartChecks::default(),
            cases: Vec::new(),
            unchecked: Vec::new(),
            shards_without_checksums: 0,
            shards_of_append: 0,
            notes: Vec::new(),
            warnings: Vec::new(),
            irregular_jpegs: IrregularJpegs::default(),
            coverage: None,
            not_pulled: 0,
            sets: Vec::new(),
            found: Expect::default(),
            counts: BTreeMap::new(),
            unlisted: 0,
            sifted,
            problems: Vec::new(),
        }
    }

    fn add(&mut self, problems: Problems) {
        self.problems.extend(problems.listed);
        self.warnings.extend(problems.warnings);
        self.unlisted += problems.unlisted;
    }
}

#[cfg(test)]
mod tests;
