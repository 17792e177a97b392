//! `Texts`: the texts of one column, row by row.

use std::path::Path;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use tarflume_base::Failure;
use tarflume_formats::json::JsonRules;
use tarflume_formats::message;
use tarflume_formats::message::Name;

use super::file::ParquetFile;
use super::json::JsonRows;
use crate::table::bad_row;

/// Names of other columns in an error.
const NAMED: usize = 8;

/// The texts of a column.
pub(crate) struct Texts {
    file: ParquetFile,
    rows: JsonRows,
    name: String,
    row: u64,
}

impl Texts {
    /// Opens the column `name`.
    ///
    /// # Errors
    /// Returns an error if the file is not Parquet, has no such column or one that is not text.
    pub(crate) fn open(path: &Path, name: &str) -> Result<Texts, Failure> {
        let file = ParquetFile::open(path)?;
        let footer = file.footer();
        let fields = footer.schema().fields();
        let Some(number) = fields.iter().position(|field| field.name() == name) else {
            let others = fields.iter().take(NAMED).map(|field| format!("'{}'", field.name()));
            return Err(Failure::usage(message!(
                "there is no column '{name}'; the columns are {}; give the text's name with \
                 {text_field}",
                others.collect::<Vec<_>>().join(", ");
                text_field = Name::TextField
            ))
            .in_file(path));
        };
        let kind = fields[number].data_type();
        let is_text = matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
        let leaf = (0..file.schema().num_columns())
            .find(|&leaf| file.schema().get_column_root_idx(leaf) == number);
        let Some(leaf) = leaf.filter(|_| is_text) else {
            let text = format!("column '{name}' is {kind}, and not text");
            return Err(Failure::usage(text).in_file(path));
        };
        let rows = JsonRows::new(&file, &[leaf], JsonRules::Strict)?;
        Ok(Texts { file, rows, name: name.into(), row: 0 })
    }

    /// Appends the text of the next row to `text`; returns false after the last row.
    ///
    /// # Errors
    /// Returns an error for a text of more than `longest` bytes, a damaged file, and if the operating
    /// system refuses.
    pub(crate) fn next(&mut self, longest: usize, text: &mut String) -> Result<bool, Failure> {
        if !self.rows.advance()? {
            return Ok(false);
        }
        self.row += 1;
        let Some((batch, at)) = self.rows.current() else { return Ok(true) };
        let column = batch.column(0);
        if column.is_null(at) {
            return Ok(true);
        }
        let value = match column.data_type() {
            DataType::LargeUtf8 => column.as_string::<i64>().value(at),
            DataType::Utf8View => column.as_string_view().value(at),
            _ => column.as_string::<i32>().value(at),
        };
        if value.len() > longest {
            let reason =
                format!("column '{}': the text is longer than {} MiB", self.name, longest >> 20);
            return Err(bad_row(self.file.path(), self.row, None, &reason));
        }
        text.push_str(value);
        Ok(true)
    }
}
