//! What a report says about its parts: the data sets, what was read of them, and what was not pulled.

use tarflume_base::units;
use tarflume_formats::Index;
use tarflume_formats::message;
use tarflume_formats::message::Message;

use crate::pointers::NotPulled;
use crate::scope::coverage::Covered;
use crate::scope::{Coverage, Scope, SetTotals};
use crate::verify::{Level, Report};

impl Report {
    /// Returns true if there is no problem, and all that was asked for was checked: of a slice, the slice.
    pub fn is_passed(&self) -> bool {
        self.problems.is_empty() && self.unchecked.is_empty()
    }

    /// Returns the totals up to now.
    pub(in crate::verify) fn totals(&self) -> SetTotals {
        SetTotals {
            path: String::new(),
            shards: self.shards,
            samples: self.samples,
            bytes: self.bytes,
            problems: self.problems.len() as u64 + self.unlisted,
        }
    }

    /// Adds what was read of a shard.
    pub(in crate::verify) fn cover(
        &mut self,
        covered: &Covered,
        index: Option<&Index>,
        bytes: u64,
    ) {
        let samples = index.map_or(0, Index::samples);
        self.coverage.get_or_insert_default().add(covered, samples, bytes);
    }

    /// Adds what was left out, and what was not pulled. A verification without limits has no coverage.
    pub(in crate::verify) fn end_scope(&mut self, scope: &Scope, not_pulled: &NotPulled) {
        self.not_pulled = not_pulled.count();
        let sentences = not_pulled.sentences();
        if scope.may_lack_tars() {
            self.notes.extend(sentences);
        } else {
            self.unchecked.extend(sentences);
        }
        if self.sets.len() < 2 {
            self.sets.clear();
        }
        // The level quick reads no data, whatever is chosen.
        let is_quick = self.level == Level::Quick && !scope.manifest_only;
        if is_quick || !scope.is_partial() && scope.cache.is_none() {
            self.coverage = None;
            return;
        }
        let coverage = self.coverage.get_or_insert_default();
        coverage.share = scope.share.as_ref().map(|share| share.text().into());
        let coverage = coverage.clone();
        self.notes.extend(notes(&coverage, scope));
        if !scope.is_partial() && coverage.unchanged == 0 {
            self.coverage = None;
        }
    }
}

/// Returns a sentence for each thing that was left out.
fn notes(coverage: &Coverage, scope: &Scope) -> Vec<Message> {
    let mut notes: Vec<Message> = Vec::new();
    let all = units::counted(coverage.of_shards, "shard", "shards");
    if coverage.unchanged > 0 {
        let unchanged = units::count(coverage.unchanged);
        notes.push(message!(
            "{unchanged} of {all} unchanged since they were verified; they were not read again"
        ));
    }
    notes.extend(scope.cache.as_ref().and_then(|cache| cache.note()));
    if scope.manifest_only {
        notes.push("manifests and sidecars were compared; no tar was opened".into());
        return notes;
    }
    if coverage.ended_early {
        let unread = units::bytes(coverage.of_bytes - coverage.bytes.min(coverage.of_bytes));
        notes.push(message!(
            "the time was over before all was read: {unread} of the tars were not read"
        ));
    }
    if let Some(change) = scope.change.as_ref().filter(|_| scope.share.is_none()) {
        let touched = units::count(coverage.shards);
        notes.push(message!("{touched} of {all} read: those that the files of {change} touch"; change = change.name()));
    }
    if let Some(share) = &scope.share {
        let whole = units::count(coverage.whole_shards);
        notes.push(message!(
            "{}: the digests of {whole} of {all} were compared: those read whole",
            share.text()
        ));
    }
    notes
}
