//! A report as text: one line per problem and warning, then the totals.

use std::fmt;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Message, Task};

use tarflume_base::units;
use tarflume_shards::irregular_note;

use crate::verify::{Level, Report};

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.problems {
            writeln!(f, "{problem}")?;
        }
        if self.unlisted > 0 {
            writeln!(f, "at least {} more are not listed", units::count(self.unlisted))?;
        }
        self.warnings.iter().try_for_each(|warning| writeln!(f, "warning: {warning}"))?;
        self.unchecked.iter().try_for_each(|what| writeln!(f, "not checked: {what}"))?;
        f.write_str(&self.summary())?;
        let irregular = irregular_note(&self.irregular_jpegs);
        self.notes
            .iter()
            .chain(&irregular)
            .try_for_each(|note| write!(f, "\nnote: {}", note.text()))
    }
}

impl Report {
    /// Returns the totals: `12 shards, 34,567 samples, 3.2 GB: whole`, or the number of problems by
    /// kind.
    pub fn summary(&self) -> String {
        let mut line = format!(
            "{}, {}, {}: ",
            units::counted(self.shards, "shard", "shards"),
            units::counted(self.samples, "sample", "samples"),
            units::bytes(self.bytes)
        );
        if self.whole && self.shards_without_checksums > 0 && self.level > Level::Quick {
            line.push_str("no problem found, but not all bytes have checksums");
        } else if self.whole {
            line.push_str("whole");
        } else if self.problems.is_empty() {
            line.push_str("no problem found, but not all was checked");
        } else {
            let kinds: Vec<String> = self
                .counts
                .iter()
                .map(|(kind, n)| format!("{kind} {}", units::count(*n)))
                .collect();
            let total = units::counted(self.problems.len() as u64, "problem", "problems");
            line.push_str(&format!("{total} ({})", kinds.join(", ")));
        }
        if !self.warnings.is_empty() {
            let warnings = units::counted(self.warnings.len() as u64, "warning", "warnings");
            line.push_str(&format!("; {warnings}"));
        }
        if self.shards_of_append > 0 {
            let shards = units::counted(self.shards_of_append, "shard is", "shards are");
            line.push_str(&Message::text(&message!("\nnote: {shards} of an interrupted append and not yet part of the data set; run `{append}` again"; append = Call::of(Task::Append))));
        }
        line
    }
}
