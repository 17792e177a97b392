//! The differences of two data sets in Markdown, for a comment in a pull request: totals first, then classes, parts and the
//! first samples, folded.

use tarflume_base::{Failure, units};
use tarflume_inspect::diff::sides::{ChangesByClass, ClassChanges, SideClasses, SideFacts};
use tarflume_inspect::diff::{Change, SampleChange, Totals};
use tarflume_shards::listing::Listing;

use super::steps::{Steps, difference};
use crate::reports::{cell, code};

/// Samples that are listed of each kind of change: a comment has at most 64 KiB.
const SAMPLES: usize = 100;
/// Classes that are listed.
const CLASSES: usize = 100;
/// Characters of a listed line.
const LINE: usize = 200;

/// What the page needs of each differing sample.
pub(super) struct Page<'a> {
    before: &'a Listing,
    after: &'a Listing,
    classes_before: Option<SideClasses<'a>>,
    classes_after: Option<SideClasses<'a>>,
    classes: ChangesByClass,
    lines: [Vec<String>; 3],
}

/// The headings of the folded lists, in their order.
const HEADINGS: [&str; 3] = ["added", "removed", "changed"];

fn number(change: Change) -> usize {
    match change {
        Change::Added => 0,
        Change::Removed => 1,
        Change::Changed => 2,
    }
}

impl<'a> Page<'a> {
    /// Begins a page.
    ///
    /// # Errors
    /// Returns an error if a sidecar is damaged.
    pub(super) fn new(before: &'a Listing, after: &'a Listing) -> Result<Page<'a>, Failure> {
        Ok(Page {
            before,
            after,
            classes_before: SideClasses::of(before)?,
            classes_after: SideClasses::of(after)?,
            classes: ChangesByClass::default(),
            lines: Default::default(),
        })
    }

    /// Adds a differing sample, whose line as text is `line`.
    ///
    /// # Errors
    /// Returns an error if a sidecar is damaged.
    pub(super) fn add(&mut self, change: &SampleChange, line: &str) -> Result<(), Failure> {
        let lines = &mut self.lines[number(change.change)];
        if lines.len() < SAMPLES {
            // The heading says what the sign before the key says.
            lines.push(line.chars().skip(2).take(LINE).collect());
        }
        // The ordinal is that of the first data set, but for an added sample.
        let classes = match change.change {
            Change::Added => &self.classes_after,
            Change::Removed | Change::Changed => &self.classes_before,
        };
        let Some(classes) = classes else { return Ok(()) };
        let class = classes.class(change.ordinal)?;
        if let Some(counted) = self.classes.of(class) {
            match change.change {
                Change::Added => counted.added += 1,
                Change::Removed => counted.removed += 1,
                Change::Changed => counted.changed += 1,
            }
        }
        Ok(())
    }

    /// Returns the page.
    ///
    /// # Errors
    /// Returns an error if a sidecar is damaged.
    pub(super) fn text(
        self,
        totals: &Totals,
        tables: &[String],
        steps: Option<Steps>,
    ) -> Result<String, Failure> {
        let before = SideFacts::of(self.before)?;
        let after = SideFacts::of(self.after)?;
        let is_same = totals.are_same() && tables.is_empty();
        let mut text = format!(
            "{} {} added, {} removed, {} changed, {} the same\n",
            if is_same { "✅" } else { "🔶" },
            units::counted(totals.added, "sample", "samples"),
            units::count(totals.removed),
            units::count(totals.changed),
            units::count(totals.same)
        );
        text.push_str(&epoch(&before, &after));
        text.extend(steps.map(|steps| steps.row()));
        if !tables.is_empty() {
            text.push_str("\n`dataset.json`:\n\n");
            text.extend(tables.iter().map(|difference| format!("- {}\n", cell(difference))));
        }
        text.push_str(&classes(self.classes.ranked()));
        text.push_str(&parts(&before, &after));
        let counts = [totals.added, totals.removed, totals.changed];
        for ((heading, lines), count) in HEADINGS.iter().zip(&self.lines).zip(counts) {
            text.push_str(&folded(heading, lines, count));
        }
        Ok(text)
    }
}

/// Returns what an epoch reads.
fn epoch(before: &SideFacts, after: &SideFacts) -> String {
    let mut text = "\n| an epoch | before | after | change |\n|---|---:|---:|---:|\n".to_string();
    for (what, before, after) in
        [("samples", before.samples, after.samples), ("shards", before.shards, after.shards)]
    {
        text.push_str(&format!(
            "| {what} | {} | {} | {} |\n",
            units::count(before),
            units::count(after),
            difference(before, after, units::count)
        ));
    }
    text.push_str(&format!(
        "| bytes of parts | {} | {} | {} |\n",
        units::bytes(before.bytes()),
        units::bytes(after.bytes()),
        difference(before.bytes(), after.bytes(), units::bytes)
    ));
    text
}

fn classes(ranked: Vec<(String, ClassChanges)>) -> String {
    if ranked.is_empty() {
        return String::new();
    }
    let mut text = "\n| class | added | removed | changed |\n|---|---:|---:|---:|\n".to_string();
    for (class, changes) in ranked.iter().take(CLASSES) {
        let class: String = class.chars().take(LINE).collect();
        text.push_str(&format!(
            "| {} | {} | {} | {} |\n",
            cell(&class),
            units::count(changes.added),
            units::count(changes.removed),
            units::count(changes.changed)
        ));
    }
    let more = ranked.len().saturating_sub(CLASSES) as u64;
    if more > 0 {
        let more = units::counted(more, "more class is", "more classes are");
        text.push_str(&format!("\n{more} not listed here.\n"));
    }
    text
}

/// Returns the parts by extension, before and after.
fn parts(before: &SideFacts, after: &SideFacts) -> String {
    let mut exts: Vec<&String> = before.extensions.keys().chain(after.extensions.keys()).collect();
    exts.sort_unstable();
    exts.dedup();
    let mut text =
        "\n| part | before | after | bytes before | bytes after |\n|---|---:|---:|---:|---:|\n"
            .to_string();
    for ext in exts {
        let one = before.extensions.get(ext).copied().unwrap_or_default();
        let other = after.extensions.get(ext).copied().unwrap_or_default();
        text.push_str(&format!(
            "| `{}` | {} | {} | {} | {} |\n",
            code(ext),
            units::count(one.parts),
            units::count(other.parts),
            units::bytes(one.bytes),
            units::bytes(other.bytes)
        ));
    }
    text
}

fn folded(heading: &str, lines: &[String], count: u64) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let samples = units::counted(count, "sample", "samples");
    let mut text = format!("\n<details><summary>{samples} {heading}</summary>\n\n");
    text.extend(lines.iter().map(|line| format!("- {}\n", cell(line))));
    let more = count - lines.len() as u64;
    if more > 0 {
        text.push_str(&format!("- and {} more\n", units::count(more)));
    }
    text.push_str("\n</details>\n");
    text
}
