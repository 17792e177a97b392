//! One CSV file with a line for each sample: key, shard, row, sizes and the fields of its JSON,
//! without the parts. Quotes as RFC 4180 does; an empty cell is null, `""` is empty text.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::Durability;
use tarflume_formats::json::Value;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::publish::{create_folders, folder_of, sweep, sync_folder};

use crate::export::columns::KEY;
use crate::export::fields::{FieldKind, Fields, float_of, integer_of, text_of};
use crate::export::job::{Exported, Job, from_the_start};
use crate::export::out_file::OutFile;
use crate::export::row::{ExportRow, Rows};
use crate::export::values::spans::Span;

/// The columns before those of the data.
pub(crate) const HEAD: [&str; 5] = [KEY, "__shard__", "__row__", "__width__", "__height__"];

/// Returns the name of the column with the bytes of a part.
pub(crate) fn size_column(ext: &str) -> String {
    format!("__{ext}_bytes__")
}

/// Writes the table.
///
/// # Errors
/// Returns an error if samples disagree about the type of a field, if a key is not UTF-8, or if the
/// operating system refuses.
pub(crate) fn export(job: &Job<'_>, out: &Path) -> Result<Exported, Failure> {
    if job.options.file_size.is_some() {
        return Err(Failure::usage(
            message!("a table is one file: leave out {shard_size}"; shard_size = Name::ShardSize),
        ));
    }
    let fields = Fields::of(job)?;
    let sizes: Vec<String> =
        job.columns.list.iter().map(|column| size_column(&column.ext)).collect();
    let columns: Vec<&str> = HEAD.into_iter().chain(sizes.iter().map(String::as_str)).collect();
    fields.must_differ_from(columns.iter().copied())?;
    let bytes = write_table(job, out, &columns, &fields).map_err(from_the_start)?;
    Ok(Exported { files: 1, bytes, ..Exported::default() })
}

/// Writes the table; returns its bytes.
fn write_table(
    job: &Job<'_>,
    out: &Path,
    columns: &[&str],
    fields: &Fields,
) -> Result<u64, Failure> {
    create_folders(folder_of(out))?;
    sweep(folder_of(out))?;
    let mut file = OutFile::create(out)?;
    let names = columns.iter().copied().chain(fields.list.iter().map(|field| field.name.as_str()));
    let mut line = Line::new();
    names.for_each(|name| line.text(name));
    file.put(line.end())?;
    let mut rows = Rows::of(job, Span { shard: 0, row: 0, samples: job.listing.samples() });
    while let Some(mut row) = rows.next()? {
        fill(&mut line, &mut row, fields)?;
        file.put(line.end())?;
        (job.on_bytes)(row.bytes);
    }
    let bytes = file.publish(job.options.durability)?;
    if job.options.durability == Durability::Synced {
        sync_folder(folder_of(out))?;
    }
    Ok(bytes)
}

fn fill(line: &mut Line, row: &mut ExportRow<'_, '_>, fields: &Fields) -> Result<(), Failure> {
    line.text(row.key()?);
    line.text(&row.shard().tar.file_name().unwrap_or_default().to_string_lossy());
    line.number(Some(row.sample.row));
    line.number(row.sample.dimensions.map(|(width, _)| u64::from(width)));
    line.number(row.sample.dimensions.map(|(_, height)| u64::from(height)));
    row.parts.iter().for_each(|part| line.number(part.map(|part| part.length)));
    let object = row.object()?;
    for (field, value) in fields.list.iter().zip(fields.values(&object)) {
        line.value(field.kind, value);
    }
    Ok(())
}

/// One line, cell by cell.
#[derive(Debug)]
struct Line {
    text: String,
    /// True until the first cell of a line.
    ended: bool,
}

impl Line {
    fn new() -> Line {
        Line { text: String::new(), ended: true }
    }

    fn cell(&mut self, add: impl FnOnce(&mut String)) {
        if self.ended {
            self.text.clear()
        } else {
            self.text.push(',')
        }
        self.ended = false;
        add(&mut self.text);
    }

    fn number(&mut self, value: Option<u64>) {
        self.cell(|to| value.into_iter().for_each(|value| *to += &value.to_string()));
    }

    fn text(&mut self, value: &str) {
        let bare = !value.is_empty()
            && value.trim() == value
            && !value.contains([',', '"', '\n', '\r'])
            && !value.starts_with('#');
        self.cell(|to| {
            if bare { *to += value } else { *to += &format!("\"{}\"", value.replace('"', "\"\"")) }
        });
    }

    fn value(&mut self, kind: FieldKind, value: Option<&Value>) {
        match (kind, value) {
            (_, None) => self.cell(|_| {}),
            // With its point, so that readers find the type of the column.
            (FieldKind::Float, Some(value)) => {
                self.cell(|to| float_of(value).into_iter().for_each(|n| *to += &format!("{n:?}")));
            }
            (FieldKind::Int, Some(value)) => {
                self.cell(|to| integer_of(value).into_iter().for_each(|n| *to += &n.to_string()));
            }
            (_, Some(value)) => self.text(&text_of(value)),
        }
    }

    /// Ends the line; the next cell begins another.
    fn end(&mut self) -> &[u8] {
        self.text.push('\n');
        self.ended = true;
        self.text.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        let rules = tarflume_formats::json::JsonRules::Strict;
        tarflume_formats::json::parse(text.as_bytes(), rules).unwrap()
    }

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        let mut line = Line::new();
        for cell in ["a", "", "a,b", "say \"x\"", "two\nlines", " blank", "#not a comment"] {
            line.text(cell);
        }
        let want =
            "a,\"\",\"a,b\",\"say \"\"x\"\"\",\"two\nlines\",\" blank\",\"#not a comment\"\n";
        assert_eq!(String::from_utf8_lossy(line.end()), want);
        line.number(None);
        line.number(Some(7));
        line.value(FieldKind::Float, Some(&json(r#"2"#)));
        line.value(FieldKind::Float, Some(&json(r#"0.1"#)));
        line.value(FieldKind::Bool, Some(&json(r#"true"#)));
        line.value(FieldKind::Text, None);
        line.value(FieldKind::Text, Some(&json(r#""""#)));
        line.value(FieldKind::Json, Some(&json(r#"[1, "x"]"#)));
        assert_eq!(line.end(), b",7,2.0,0.1,true,,\"\",\"[1,\"\"x\"\"]\"\n");
    }
}
