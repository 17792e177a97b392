//! A report as text, one line per problem and warning, then the totals; and as JSON. Each is in the words of a face.

use std::fmt;

use serde_json::Value;
use tarflume_base::{Problem, units};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Face, Message, Task};
use tarflume_shards::irregular_note;

use crate::scope::SetTotals;
use crate::verify::{Level, Report};

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text_in(Face::Command))
    }
}

impl Report {
    /// Returns the report as text in the words of a face.
    pub fn text_in(&self, face: Face) -> String {
        let mut lines: Vec<String> =
            self.problems.iter().map(|problem| problem.text_in(face)).collect();
        if self.unlisted > 0 {
            lines.push(format!("at least {} more are not listed", units::count(self.unlisted)));
        }
        let warnings = self.warnings.iter();
        lines.extend(warnings.map(|warning| format!("warning: {}", warning.text_in(face))));
        let unchecked = self.unchecked.iter();
        lines.extend(unchecked.map(|what| format!("not checked: {}", what.in_face(face))));
        lines.push(self.summary().in_face(face));
        lines.extend(self.sets.iter().map(SetTotals::line));
        lines.extend(self.coverage().map(|line| line.in_face(face)));
        let irregular = irregular_note(&self.irregular_jpegs);
        let notes = self.notes.iter().chain(&irregular);
        lines.extend(notes.map(|note| format!("note: {}", note.in_face(face))));
        lines.join("\n")
    }

    /// Returns the report as a JSON value, with its sentences in the words of a face. Files have the words of the command.
    pub fn to_value(&self, face: Face) -> Value {
        let mut value = serde_json::to_value(self).expect("texts and numbers serialize");
        let sentences: [(&str, Value); 4] = [
            ("problems", problems(&self.problems, face)),
            ("warnings", problems(&self.warnings, face)),
            ("notes", texts(&self.notes, face)),
            ("unchecked", texts(&self.unchecked, face)),
        ];
        for (name, list) in sentences {
            // An empty list may be left out of the report.
            if let Some(of_report) = value.get_mut(name) {
                *of_report = list;
            }
        }
        value
    }

    /// Returns the totals: `12 shards, 34,567 samples, 3.2 GB: whole`, or the number of problems by
    /// kind.
    pub fn summary(&self) -> Message {
        let mut line = format!(
            "{}, {}, {}: ",
            units::counted(self.shards, "shard", "shards"),
            units::counted(self.samples, "sample", "samples"),
            units::bytes(self.bytes)
        );
        let unread = self.coverage.as_ref().filter(|coverage| !coverage.is_complete());
        if let Some(coverage) = unread.filter(|_| self.is_passed()) {
            line.push_str(&format!("no problem found; read {}", coverage.part()));
        } else if self.whole && self.shards_without_checksums > 0 && self.level > Level::Quick {
            line.push_str("no problem found, but not all bytes have checksums");
        } else if self.whole && self.sifted.has_chosen_rules() {
            line.push_str("no problem of the chosen rules");
        } else if self.whole && self.sifted.accepted + self.sifted.known > 0 {
            line.push_str("no new problem");
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
            line.extend(unread.map(|coverage| format!("; read {}", coverage.part())));
        }
        if !self.warnings.is_empty() {
            let warnings = units::counted(self.warnings.len() as u64, "warning", "warnings");
            line.push_str(&format!("; {warnings}"));
        }
        line.extend(self.sifted.sentence().map(|sifted| format!("; {sifted}")));
        if self.shards_of_append > 0 {
            let shards = units::counted(self.shards_of_append, "shard is", "shards are");
            return message!("{line}\nnote: {shards} of an interrupted append and not yet part of the data set; run `{append}` again"; append = Call::of(Task::Append));
        }
        line.into()
    }
}

fn problems(list: &[Problem], face: Face) -> Value {
    list.iter().map(|problem| problem.to_value(face)).collect()
}

fn texts(list: &[Message], face: Face) -> Value {
    list.iter().map(|text| text.in_face(face)).collect()
}
