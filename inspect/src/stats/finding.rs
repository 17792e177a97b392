//! `Findings`: what is unusual in a data set, with a count and the first examples of each kind.

use std::collections::BTreeMap;

use serde::Serialize;

/// Ordinals that are kept of each kind, unless all are wanted.
pub(crate) const KEPT: usize = 12;

/// The kinds, in the order of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// A part whose bytes differ from their checksum.
    DamagedPart,
    /// A picture whose header cannot be read.
    BadPicture,
    /// A JSON part that is not JSON.
    BadJson,
    /// A part that most samples have is missing.
    MissingPart,
    /// The sample has no class, and others have one.
    MissingLabel,
    /// A part without bytes.
    EmptyPart,
    /// Length and checksum of the first picture (of the first part, if there is none) are those of an earlier sample.
    Duplicate,
    /// A JPEG of four inks.
    FourInks,
    /// A side has fewer than 32 pixels, and the median has at least 64.
    TinyPicture,
    /// One side is more than four times the other one.
    ExtremeAspect,
    /// More than 16 times the median of its extension.
    LargePart,
}

impl FindingKind {
    /// Returns its word in reports.
    pub fn word(self) -> &'static str {
        match self {
            FindingKind::DamagedPart => "damaged-part",
            FindingKind::BadPicture => "bad-picture",
            FindingKind::BadJson => "bad-json",
            FindingKind::MissingPart => "missing-part",
            FindingKind::MissingLabel => "missing-label",
            FindingKind::EmptyPart => "empty-part",
            FindingKind::Duplicate => "duplicate",
            FindingKind::FourInks => "four-inks",
            FindingKind::TinyPicture => "tiny-picture",
            FindingKind::ExtremeAspect => "extreme-aspect",
            FindingKind::LargePart => "large-part",
        }
    }
}

/// A kind with its count and examples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The kind.
    pub kind: FindingKind,
    /// The extension or the reason; empty if the kind says everything.
    pub detail: String,
    /// Number of samples.
    pub count: u64,
    /// The first samples.
    pub examples: Vec<Example>,
}

impl Finding {
    /// Returns kind and detail as one text.
    pub fn flag(&self) -> String {
        format!("{} {}", self.kind.word(), self.detail).trim_end().to_string()
    }
}

/// A sample of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Example {
    /// Its ordinal.
    pub ordinal: u64,
    /// Its key.
    pub key: String,
}

/// A count, and the lowest ordinals among what was counted: ascending, unless all are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) count: u64,
    pub(crate) first: Vec<u64>,
}

impl Count {
    /// Counts a sample, and keeps its ordinal if it is one of the lowest `most`.
    pub(crate) fn add(&mut self, ordinal: u64, most: usize) {
        self.count += 1;
        self.keep(ordinal, most);
    }

    pub(crate) fn merge(&mut self, other: &Count, most: usize) {
        self.count += other.count;
        if most == usize::MAX {
            self.first.extend_from_slice(&other.first);
        } else {
            other.first.iter().for_each(|&ordinal| self.keep(ordinal, most));
        }
    }

    fn keep(&mut self, ordinal: u64, most: usize) {
        if most == usize::MAX {
            // Sorted once at the end: there may be as many as samples.
            return self.first.push(ordinal);
        }
        if self.first.len() >= most && self.first.last().is_some_and(|&last| last < ordinal) {
            return;
        }
        let at = self.first.partition_point(|&kept| kept < ordinal);
        self.first.insert(at, ordinal);
        self.first.truncate(most);
    }
}

/// Counts by kind and detail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Findings(pub(crate) BTreeMap<(FindingKind, String), Count>);

impl Findings {
    pub(crate) fn add(&mut self, kind: FindingKind, detail: &str, ordinal: u64, most: usize) {
        self.0.entry((kind, detail.to_string())).or_default().add(ordinal, most);
    }

    pub(crate) fn put(&mut self, kind: FindingKind, detail: &str, count: Count) {
        if count.count > 0 {
            self.0.entry((kind, detail.to_string())).or_default().merge(&count, usize::MAX);
        }
    }

    pub(crate) fn merge(&mut self, other: &Findings, most: usize) {
        for (key, count) in &other.0 {
            self.0.entry(key.clone()).or_default().merge(count, most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_keep_the_lowest_ordinals_in_any_order() {
        let mut up = Count::default();
        let mut down = Count::default();
        (0..100).for_each(|ordinal| up.add(ordinal, KEPT));
        (0..100).rev().for_each(|ordinal| down.add(ordinal, KEPT));
        assert_eq!(up, down);
        assert_eq!((up.count, up.first.as_slice()), (100, &(0..12).collect::<Vec<u64>>()[..]));
        let mut left = Count::default();
        let mut right = Count::default();
        (0..50).for_each(|ordinal| right.add(ordinal * 2, KEPT));
        (0..50).for_each(|ordinal| left.add(ordinal * 2 + 1, KEPT));
        left.merge(&right, KEPT);
        assert_eq!(left, up);
    }
}
