//! `Parquet`: one document per row of a Parquet or Arrow file; columns hold the text, or the conversation.

use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::Place;
use tarflume_formats::message;
use tarflume_table::row_texts::RowTexts;
use tarflume_table::text_column::TextColumn;

use super::documents::{DocumentFault, Documents, LONGEST, Next, Reading};
use super::rows::Rows;

/// The documents of a column of texts. A null is an empty document.
struct Texts(TextColumn);

/// The documents of several columns, or of a file of Arrow.
struct Table {
    path: PathBuf,
    texts: RowTexts,
    rows: Rows,
    field: String,
    /// The JSON of a row.
    row: String,
    number: u64,
}

/// Opens a file of Parquet, or of Arrow if its name ends so.
pub(super) fn open(path: &Path, reading: &Reading) -> Result<Box<dyn Documents>, Failure> {
    let is_arrow = path.extension().is_some_and(|own| own.eq_ignore_ascii_case("arrow"));
    if !is_arrow && !reading.rows.are_conversations() {
        return Ok(Box::new(Texts(TextColumn::open(path, &reading.field)?)));
    }
    let names: Vec<&str> =
        reading.rows.fields(&reading.field).iter().map(|(name, _)| *name).collect();
    Ok(Box::new(Table {
        texts: RowTexts::open(path, &names)?,
        path: path.into(),
        rows: reading.rows.clone(),
        field: reading.field.clone(),
        row: String::new(),
        number: 0,
    }))
}

impl Documents for Texts {
    fn next(&mut self, text: &mut String) -> Result<Next, Failure> {
        Ok(if self.0.next(LONGEST, text)? { Next::Text } else { Next::End })
    }
}

impl Documents for Table {
    fn next(&mut self, text: &mut String) -> Result<Next, Failure> {
        self.row.clear();
        if !self.texts.next(LONGEST, &mut self.row)? {
            return Ok(Next::End);
        }
        self.number += 1;
        let read = self.rows.document(self.row.as_bytes(), "row as JSON", &self.field, text);
        let Err(fault) = read else { return Ok(Next::Text) };
        let row = self.number - 1;
        let reason =
            message!("{path}: row {row}: {reason}"; path = &self.path, reason = fault.reason);
        Ok(Next::Bad(DocumentFault { place: Place::file(&self.path), reason }))
    }
}
