//! `RowNotes`: what the summary says about the columns of a source. Pure.

use tarflume_base::units;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::name;

/// Limit on the lines about extensions.
const MOST: usize = 32;

/// Notes about columns, each once.
#[derive(Debug, Default)]
pub struct RowNotes {
    /// Columns with extensions by their first bytes.
    exts: Vec<(String, String)>,
    missing: Vec<Missing>,
    others: Vec<Message>,
}

/// A column that has no value in some rows.
#[derive(Debug)]
struct Missing {
    column: String,
    /// The first of these rows.
    first: String,
    rows: u64,
}

impl RowNotes {
    /// Notes that values of a column have an extension by their first bytes.
    pub fn ext(&mut self, column: &str, ext: &str) {
        if self.exts.iter().any(|(c, e)| c == column && e == ext) || self.exts.len() == MOST {
            return;
        }
        self.exts.push((column.into(), ext.into()));
    }

    /// Notes that a column of parts has no value in a row; `row` names it.
    pub(crate) fn missing(&mut self, column: &str, row: impl FnOnce() -> String) {
        match self.missing.iter_mut().find(|missing| missing.column == column) {
            Some(missing) => missing.rows += 1,
            None => self.missing.push(Missing { column: column.into(), first: row(), rows: 1 }),
        }
    }

    /// Adds a note.
    pub fn push(&mut self, note: impl Into<Message>) {
        let note = note.into();
        if !self.others.contains(&note) {
            self.others.push(note);
        }
    }

    /// Returns true if there is no note of [`RowNotes::push`].
    pub fn has_no_other(&self) -> bool {
        self.others.is_empty()
    }

    /// Returns the lines. `unit` is what a row is called.
    pub(crate) fn finish(self, unit: &str) -> Vec<Message> {
        let exts = self.exts.iter().map(|(column, ext)| {
            message!("column '{column}' is packed as {ext}, by its first bytes")
        });
        let missing = self.missing.iter().map(|missing| missing.note(unit));
        exts.chain(self.others.iter().cloned()).chain(missing).collect()
    }
}

impl Missing {
    /// Returns the line of a column without values. `unit` is what a row is called.
    fn note(&self, unit: &str) -> Message {
        let Missing { column, first, rows } = self;
        message!("column '{}' has no value in {}, the first is {first}: such a sample has no part of it; \
                 {require} makes this a problem", name::shown(column.as_bytes()), units::counted(*rows, unit, &format!("{unit}s")); require = Name::Require.stand("EXT"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_is_told_once() {
        let mut notes = RowNotes::default();
        for row in 2..5 {
            notes.missing("a", || format!("row {row} of t.csv"));
            notes.ext("image", "jpg");
            notes.push("column 'Img' is packed as img.raw");
        }
        assert!(!notes.has_no_other());
        let told: Vec<String> = notes.finish("row").iter().map(Message::text).collect();
        assert_eq!(
            told,
            [
                "column 'image' is packed as jpg, by its first bytes",
                "column 'Img' is packed as img.raw",
                "column 'a' has no value in 3 rows, the first is row 2 of t.csv: such a sample has no part of it; \
                 --require EXT makes this a problem"
            ]
        );
    }
}
