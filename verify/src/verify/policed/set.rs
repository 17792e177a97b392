//! Judges a data set as a whole: the shares of its parts and fields, its classes, its shards and its totals.

use std::collections::BTreeMap;

use tarflume_base::check::Content;
use tarflume_base::{Problem, ProblemKind, Problems, units};
use tarflume_formats::{ClassTable, Result};
use tarflume_shards::clashes::Shards;
use tarflume_shards::kinds;

use super::measure::{Measured, NAMED, is_bounded, is_required, picture};
use crate::class_field::NO_CLASS;
use crate::policy::sift::SetRules;
use crate::policy::source::Stated;
use crate::verify::options::{Level, Options};

/// The word for any image.
const IMAGE: &str = "image";
/// Classes that a reason names.
const CLASSES: usize = 5;

/// The size of a shard.
#[derive(Debug)]
pub(in crate::verify) struct ShardSize {
    pub(in crate::verify) path: String,
    pub(in crate::verify) bytes: u64,
    pub(in crate::verify) samples: u64,
}

/// What is known of a data set.
#[derive(Debug)]
pub(in crate::verify) struct SetFacts<'a> {
    pub(in crate::verify) place: String,
    pub(in crate::verify) shards: &'a Shards,
    pub(in crate::verify) sizes: &'a [ShardSize],
    pub(in crate::verify) measured: &'a Measured,
    pub(in crate::verify) classes: Option<&'a ClassTable>,
}

/// Judges a data set.
///
/// # Errors
/// Returns an error if the machine failed.
pub(in crate::verify) fn judge(
    facts: &SetFacts<'_>,
    rules: &SetRules,
    options: &Options,
) -> Result<Problems> {
    let mut judge = Judge { facts, rules, samples: 0, problems: options.problems() };
    judge.samples = facts.sizes.iter().map(|size| size.samples).sum();
    if let Err(error) = judge.sidecars(options) {
        judge.problems.push(kinds::in_index(&kinds::of_data(error)?));
    }
    // Of shards that are not read, nothing is known of the values.
    if options.level > Level::Quick && !options.scope.is_partial() {
        judge.fields();
        judge.classes();
    }
    judge.shards();
    judge.totals();
    Ok(judge.problems)
}

struct Judge<'a> {
    facts: &'a SetFacts<'a>,
    rules: &'a SetRules,
    samples: u64,
    problems: Problems,
}

impl Judge<'_> {
    fn push(&mut self, kind: ProblemKind, line: usize, bound: &str, found: &str) {
        let reason = format!("{}: {found}", self.rules.bound(line, bound));
        self.problems.push(Problem::new(kind, self.facts.place.clone(), reason));
    }

    /// Compares what the sidecars have.
    fn sidecars(&mut self, options: &Options) -> Result<()> {
        self.parts()?;
        if options.level == Level::Quick {
            self.pictures_of_sidecars()?;
        }
        Ok(())
    }

    /// Compares how many samples have each part.
    fn parts(&mut self) -> Result<()> {
        let wanted = &self.rules.bounds.parts;
        if wanted.is_empty() || self.samples == 0 {
            return Ok(());
        }
        let mut found: Vec<Lacking> = wanted.iter().map(|_| Lacking::default()).collect();
        for sample in self.facts.shards.indexes().flat_map(|index| index.iter()) {
            let sample = sample?;
            let mut exts: Vec<&[u8]> = Vec::new();
            for part in sample.parts() {
                exts.push(part?.ext);
            }
            for (ext, lacking) in wanted.keys().zip(&mut found) {
                let has = exts.iter().any(|found| is_part(found, ext));
                lacking.count(has, || sample.shown_key());
            }
        }
        for ((ext, stated), lacking) in wanted.iter().zip(found) {
            if is_below(self.samples - lacking.samples, self.samples, stated.value) {
                let bound = format!("parts.{ext} = {}%", stated.value);
                let found = lacking.sentence(self.samples);
                self.push(ProblemKind::PolicyPart, stated.line, &bound, &found);
            }
        }
        Ok(())
    }

    /// Compares how many samples have each field.
    fn fields(&mut self) {
        let rules = self.rules;
        for (name, bounds) in rules.bounds.fields.iter().filter(|(_, bounds)| is_required(bounds)) {
            let Some(stated) = &bounds.required else { continue };
            let count = self.facts.measured.fields.get(name);
            let having = count.map_or(0, |count| count.samples).min(self.samples);
            if is_below(having, self.samples, stated.value) {
                let keys = count.map(|count| count.lacking.clone()).into_iter().flatten().collect();
                let lacking = Lacking { samples: self.samples - having, keys };
                let bound = format!("{}.required = {}%", bounds.name, stated.value);
                let found = lacking.sentence(self.samples);
                self.push(ProblemKind::PolicyField, stated.line, &bound, &found);
            }
        }
    }

    /// Compares the counts of the classes with the bounds.
    fn classes(&mut self) {
        let rules = self.rules;
        if rules.class.is_none() {
            return;
        }
        let counts = named(&self.facts.measured.classes.counts, self.facts.classes);
        let all: u64 = counts.values().sum();
        let bounds = &rules.bounds.classes;
        if self.facts.measured.classes.is_too_many {
            let line = bounds.line();
            let found = "there are more than 100,000 different classes: name another field";
            return self.push(ProblemKind::PolicyClass, line, "classes", found);
        }
        if let Some(stated) = &bounds.required {
            let absent =
                stated.value.iter().filter(|class| counts.get(*class).is_none_or(|n| *n == 0));
            let absent: Vec<String> = absent.map(|class| format!("'{class}'")).collect();
            if !absent.is_empty() {
                let found = format!("no sample has {}", first(&absent));
                self.push(ProblemKind::PolicyClass, stated.line, "classes.required", &found);
            }
        }
        if let Some(stated) = &bounds.min_count {
            let bound = format!("classes.min-count = {}", stated.value);
            self.outside(&counts, all, &bound, stated.line, |n| n < stated.value);
        }
        if let Some(stated) = &bounds.min_share {
            let bound = format!("classes.min-share = {}%", stated.value);
            self.outside(&counts, all, &bound, stated.line, |n| is_below(n, all, stated.value));
        }
        if let Some(stated) = &bounds.max_share {
            let bound = format!("classes.max-share = {}%", stated.value);
            self.outside(&counts, all, &bound, stated.line, |n| is_above(n, all, stated.value));
        }
    }

    fn outside(
        &mut self,
        counts: &BTreeMap<String, u64>,
        all: u64,
        bound: &str,
        line: usize,
        is_outside: impl Fn(u64) -> bool,
    ) {
        let outside = counts.iter().filter(|(_, n)| is_outside(**n));
        let outside: Vec<String> = outside
            .map(|(class, n)| format!("'{class}' has {} ({})", units::count(*n), percent(*n, all)))
            .collect();
        if !outside.is_empty() {
            let found =
                format!("of {} samples with a class {}", units::count(all), first(&outside));
            self.push(ProblemKind::PolicyClass, line, bound, &found);
        }
    }

    /// Compares the pictures whose dimensions the sidecars have.
    fn pictures_of_sidecars(&mut self) -> Result<()> {
        let rules = self.rules;
        if !rules.bounds.pictures.is_stated() {
            return Ok(());
        }
        for (shard, index) in self.facts.shards.indexes().enumerate() {
            for sample in index.iter() {
                let sample = sample?;
                let size = index.dimensions(sample.row)?.map(<[u32; 2]>::from);
                // The dimensions are those of the first picture.
                for part in sample.parts() {
                    let part = part?;
                    if !Content::of(part.ext).is_image() {
                        continue;
                    }
                    if is_bounded(&rules.bounds.pictures, part.ext) {
                        for broken in picture(rules, size, part.length) {
                            let path = self.facts.shards.path(shard);
                            let problem = Problem::new(broken.kind, path, broken.reason);
                            self.problems.push(problem.at(part.offset).of(sample.shown_key()));
                        }
                    }
                    break;
                }
            }
        }
        Ok(())
    }

    fn shards(&mut self) {
        let rules = self.rules;
        let bounds = &rules.bounds.shards;
        for size in self.facts.sizes {
            let numbers = [
                ShardNumber { name: "bytes", range: &bounds.bytes, value: size.bytes },
                ShardNumber { name: "samples", range: &bounds.samples, value: size.samples },
            ];
            for number in numbers {
                let Some(broken) = number.range.broken(number.value) else { continue };
                let bound = format!("shards.{}-{} = {}", broken.bound, number.name, broken.value);
                let bound = rules.bound(broken.line, &bound);
                let reason = format!("{bound}: the shard has {} {}", number.value, number.name);
                let problem = Problem::new(ProblemKind::PolicyShards, size.path.clone(), reason);
                self.problems.push(problem);
            }
        }
        let samples: Vec<u64> = self.facts.sizes.iter().map(|size| size.samples).collect();
        let bytes: Vec<u64> = self.facts.sizes.iter().map(|size| size.bytes).collect();
        self.deviation("samples", bounds.samples_deviation.as_ref(), &samples);
        self.deviation("bytes", bounds.bytes_deviation.as_ref(), &bytes);
    }

    /// Compares the sizes of the shards with their mean. The last one may be smaller.
    fn deviation(&mut self, name: &str, stated: Option<&Stated<f64>>, sizes: &[u64]) {
        let Some(stated) = stated else { return };
        let Some((last, full)) = sizes.split_last().filter(|(_, full)| !full.is_empty()) else {
            return;
        };
        let mean = full.iter().map(|size| *size as f64).sum::<f64>() / full.len() as f64;
        let most = stated.value / 100.0 * mean;
        let mut beyond = 0;
        let mut worst: Option<usize> = None;
        for (number, size) in sizes.iter().enumerate() {
            let difference = *size as f64 - mean;
            let is_last = number == full.len() && *last as f64 <= mean;
            if is_last || difference.abs() <= most {
                continue;
            }
            beyond += 1;
            let is_worse =
                worst.is_none_or(|worst| (sizes[worst] as f64 - mean).abs() < difference.abs());
            if is_worse {
                worst = Some(number);
            }
        }
        let Some(worst) = worst else { return };
        let bound = format!("shards.{name}-deviation = {}%", stated.value);
        let found = format!(
            "{} more than that from the mean of {mean:.0}; the most is {} with {}",
            units::counted(beyond, "shard differs", "shards differ"),
            self.facts.sizes[worst].path,
            sizes[worst]
        );
        self.push(ProblemKind::PolicyShards, stated.line, &bound, &found);
    }

    fn totals(&mut self) {
        let rules = self.rules;
        let bounds = &rules.bounds.total;
        let bytes = self.facts.sizes.iter().map(|size| size.bytes).sum();
        let shards = self.facts.sizes.len() as u64;
        let totals = [
            Total { name: "samples", stated: bounds.samples.as_ref(), found: self.samples },
            Total { name: "shards", stated: bounds.shards.as_ref(), found: shards },
            Total { name: "bytes", stated: bounds.bytes.as_ref(), found: bytes },
        ];
        let tolerance = bounds.tolerance.as_ref().map_or(0.0, |stated| stated.value);
        for Total { name, stated, found } in totals {
            let Some(stated) = stated else { continue };
            if found.abs_diff(stated.value) as f64 * 100.0 <= stated.value as f64 * tolerance {
                continue;
            }
            let bound = format!("total.{name} = {}", stated.value);
            let allowed = match tolerance {
                0.0 => String::new(),
                tolerance => format!(" and may differ by {tolerance}%"),
            };
            let found = format!(
                "{} are expected{allowed}, {} are found",
                units::count(stated.value),
                units::count(found)
            );
            self.push(ProblemKind::PolicyTotal, stated.line, &bound, &found);
        }
    }
}

struct ShardNumber<'a> {
    name: &'static str,
    range: &'a crate::policy::bounds::Range,
    value: u64,
}

struct Total<'a> {
    name: &'static str,
    stated: Option<&'a Stated<u64>>,
    found: u64,
}

/// Samples that lack something, and the first keys.
#[derive(Debug, Default)]
struct Lacking {
    samples: u64,
    keys: Vec<String>,
}

impl Lacking {
    fn count(&mut self, has: bool, key: impl Fn() -> String) {
        if has {
            return;
        }
        self.samples += 1;
        if self.keys.len() < NAMED {
            self.keys.push(key());
        }
    }

    fn sentence(&self, samples: u64) -> String {
        let having = percent(samples - self.samples, samples);
        let all = units::counted(samples, "sample", "samples");
        let keys = match self.keys.as_slice() {
            [] => String::new(),
            keys if keys.len() as u64 == self.samples => format!(": {}", keys.join(", ")),
            keys => format!(": {}, ...", keys.join(", ")),
        };
        let lacking = units::counted(self.samples, "lacks", "lack");
        format!("{having} of {all} have it, {lacking} it{keys}")
    }
}

fn is_part(found: &[u8], wanted: &str) -> bool {
    let is_image = wanted == IMAGE && Content::of(found).is_image() && !found.contains(&b'.');
    is_image || found == wanted.as_bytes()
}

/// Returns true if `having` is less than a percentage of `all`.
fn is_below(having: u64, all: u64, percent: f64) -> bool {
    (having as f64) * 100.0 < percent * all as f64
}

/// Returns true if `having` is more than a percentage of `all`.
fn is_above(having: u64, all: u64, percent: f64) -> bool {
    (having as f64) * 100.0 > percent * all as f64
}

/// Returns a share in percent, which is 100% for all alone and 0% for none alone.
fn percent(having: u64, all: u64) -> String {
    let percent = having as f64 * 100.0 / all.max(1) as f64;
    match having {
        0 => "0%".into(),
        having if having == all => "100%".into(),
        _ => format!("{:.2}%", percent.clamp(0.01, 99.99)),
    }
}

fn first(list: &[String]) -> String {
    let more = list.len().saturating_sub(CLASSES);
    let listed = list[..list.len() - more].join(", ");
    if more > 0 { format!("{listed} and {more} more") } else { listed }
}

/// Returns the counts by the names of the classes, with those that have no sample.
fn named(counts: &BTreeMap<String, u64>, table: Option<&ClassTable>) -> BTreeMap<String, u64> {
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    if let Some(table) = table {
        found.extend(table.names.iter().map(|name| (name.clone(), 0)));
    }
    for (class, count) in counts.iter().filter(|(class, _)| *class != NO_CLASS) {
        let id = class.parse::<i64>().ok();
        let name = id.zip(table).and_then(|(id, table)| table.name(id));
        *found.entry(name.map_or_else(|| class.clone(), String::from)).or_default() += count;
    }
    found
}

#[cfg(test)]
mod tests;
