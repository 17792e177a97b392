//! The values of typed columns: where they are in a sidecar, and what they are.
//!
//! Values are copied from the map, or by reads of the file as in `lookup`; both make the same checks.

use std::ops::Range;

use crate::bytes::le::{u16_at, u32_at, u64_at};
use crate::errors::error::{Error, ErrorKind, Result};
use crate::index::body::{Body, make_room};
use crate::index::columns::{ColumnSpec, StoredColumn, Value, ValueType};
use crate::index::layout as l;
use crate::index::view::Index;

/// Bytes of a column's record before its texts.
const RECORD: usize = 24;

const SIZED: &str = "other types have a size";

/// A value, its text in the buffer of the caller.
enum Gathered {
    Nothing,
    Plain(Value<'static>),
    Text,
}

impl Index {
    /// Returns the typed columns in their order. They are read once and kept.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Damaged`] if the sidecar is damaged, [`ErrorKind::Truncated`] if it was truncated while it
    /// was mapped.
    pub fn columns(&self) -> Result<&[StoredColumn]> {
        if let Some(columns) = self.body.columns.get() {
            return Ok(columns);
        }
        let columns = self.described_columns()?;
        self.intact()?;
        Ok(self.body.columns.get_or_init(|| columns.into()))
    }

    /// Returns the number of the typed column with this name.
    ///
    /// # Errors
    /// As [`Index::columns`].
    pub fn column(&self, name: &str) -> Result<Option<usize>> {
        Ok(self.columns()?.iter().position(|column| column.spec.name == name))
    }

    /// Returns the value of the sample at `row` in column number `column`; `None` if it has none, and past the end. A
    /// text is copied into `text`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Damaged`] if the blocks that hold it fail their checksum or are inconsistent,
    /// [`ErrorKind::Truncated`] if the file was truncated while it was mapped.
    pub fn value<'t>(
        &self,
        column: usize,
        row: u64,
        text: &'t mut Vec<u8>,
    ) -> Result<Option<Value<'t>>> {
        let body = &self.body;
        let found = body.intact_after(|| {
            self.gather_value(column, row, text, &mut |at, into: &mut [u8]| body.copy(at, into))
        })?;
        self.shown_value(row, found, text)
    }

    /// As [`Index::value`], but calls `read(at, into)` for bytes of the sidecar's file: at most three reads. Touches no
    /// page of the map once [`Index::columns`] was called.
    ///
    /// # Errors
    /// Returns the errors of [`Index::value`] and of `read`.
    pub fn value_by<'t, E: From<Error>>(
        &self,
        column: usize,
        row: u64,
        read: impl Fn(u64, &mut [u8]) -> Result<(), E>,
        text: &'t mut Vec<u8>,
    ) -> Result<Option<Value<'t>>, E> {
        let found = self.gather_value(column, row, text, &mut |at, into: &mut [u8]| {
            self.body.copy_by(at, into, &read)
        })?;
        Ok(self.shown_value(row, found, text)?)
    }

    fn shown_value<'t>(
        &self,
        row: u64,
        found: Gathered,
        text: &'t [u8],
    ) -> Result<Option<Value<'t>>> {
        Ok(match found {
            Gathered::Nothing => None,
            Gathered::Plain(value) => Some(value),
            Gathered::Text => {
                Some(Value::Text(std::str::from_utf8(text).map_err(|_| {
                    self.body.inconsistent(row, "the text of a column is not UTF-8")
                })?))
            }
        })
    }

    /// Reads a value. `get` fills bytes from a position of the file on, after checking their blocks.
    fn gather_value<E: From<Error>>(
        &self,
        column: usize,
        row: u64,
        text: &mut Vec<u8>,
        get: &mut impl FnMut(usize, &mut [u8]) -> Result<(), E>,
    ) -> Result<Gathered, E> {
        let Some(column) = self.columns()?.get(column).filter(|_| row < self.samples()) else {
            return Ok(Gathered::Nothing);
        };
        let row_at = row as usize; // bounded by the section of rows
        if let Some(known) = &column.known
            && !bit(known, row_at, get)?
        {
            return Ok(Gathered::Nothing);
        }
        match column.spec.kind {
            ValueType::Bool => Ok(Gathered::Plain(Value::Bool(bit(&column.values, row_at, get)?))),
            ValueType::Str => {
                self.gather_text(column, row, text, get)?;
                Ok(Gathered::Text)
            }
            kind => {
                let size = kind.size().expect(SIZED);
                let mut bytes = [0; 8];
                get(column.values.start + row_at * size, &mut bytes[..size])?;
                Ok(Gathered::Plain(kind.number(bytes)))
            }
        }
    }

    fn gather_text<E: From<Error>>(
        &self,
        column: &StoredColumn,
        row: u64,
        text: &mut Vec<u8>,
        get: &mut impl FnMut(usize, &mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut ends = [0; 8];
        get(column.values.start + row as usize * 4, &mut ends)?;
        let start = u32_at(&ends, 0) as usize;
        let end = u32_at(&ends, 4) as usize;
        if start > end || end > column.texts.len() {
            let what = "the text of a column is outside its section";
            return Err(self.body.inconsistent(row, what).into());
        }
        make_room(text, 0, end - start)?;
        get(column.texts.start + start, text)
    }

    /// Reads the description of all columns from the map.
    fn described_columns(&self) -> Result<Vec<StoredColumn>> {
        let Some((described, values)) = &self.body.sections.columns else { return Ok(Vec::new()) };
        let count = u32_at(self.body.read(described.start, 4)?, 0) as usize;
        if count > l::MAX_COLUMNS || count * RECORD > described.len() {
            return Err(wrong(&self.body, "it has too many columns"));
        }
        let mut columns = Vec::with_capacity(count);
        let mut at = 4;
        for _ in 0..count {
            let (column, end) = self.described(described, values, at)?;
            columns.push(column);
            at = end;
        }
        Ok(columns)
    }

    /// Returns the column that is described at byte `at` of the section, and where the next one is.
    fn described(
        &self,
        described: &Range<usize>,
        values: &Range<usize>,
        at: usize,
    ) -> Result<(StoredColumn, usize)> {
        let body = &self.body;
        let record = self.described_bytes(at, RECORD, described)?;
        let kind = *ValueType::ALL
            .get(usize::from(record[0]))
            .ok_or_else(|| wrong(body, "a column has an unknown type"))?;
        if record[1] > 1 {
            return Err(wrong(body, "a column has unknown flags"));
        }
        let [name, ext, pointer] = [2, 4, 6].map(|field| u16_at(record, field));
        let has_pointer = pointer != u16::MAX;
        let pointer = if has_pointer { usize::from(pointer) } else { 0 };
        let name = usize::from(name);
        let ext = usize::from(ext);
        let texts = self.described_bytes(at + RECORD, name + ext + pointer, described)?;
        let spec = ColumnSpec {
            name: column_text(0..name, texts, body)?,
            kind,
            ext: column_text(name..name + ext, texts, body)?,
            pointer: has_pointer
                .then(|| column_text(name + ext..texts.len(), texts, body))
                .transpose()?,
        };
        let start = u64_at(record, 8);
        let length = u64_at(record, 16);
        let end = start.checked_add(length).filter(|&end| end <= values.len() as u64);
        let Some(end) = end else { return Err(wrong(body, "a column is outside its section")) };
        let range = values.start + start as usize..values.start + end as usize;
        let column = self.buffers(spec, record[1] == 1, range)?;
        Ok((column, at + RECORD + texts.len()))
    }

    /// Returns bytes of the section that describes the columns.
    fn described_bytes(
        &self,
        from: usize,
        length: usize,
        described: &Range<usize>,
    ) -> Result<&[u8]> {
        if from + length <= described.len() {
            self.body.read(described.start + from, length)
        } else {
            Err(wrong(&self.body, "their description is too short"))
        }
    }

    /// Divides the bytes of a column into its buffers.
    fn buffers(
        &self,
        spec: ColumnSpec,
        has_nulls: bool,
        range: Range<usize>,
    ) -> Result<StoredColumn> {
        let samples = self.samples() as usize; // bounded by the section of rows
        let bits = samples.div_ceil(8);
        let mut at = range.start;
        let known = has_nulls.then(|| at..at + bits);
        if has_nulls {
            at += l::aligned(bits);
        }
        let length = match spec.kind {
            ValueType::Bool => bits,
            ValueType::Str => (samples + 1) * 4,
            kind => samples * kind.size().expect(SIZED),
        };
        let values = at..at + length;
        let texts = match spec.kind {
            ValueType::Str => at + l::aligned(length)..range.end,
            _ => values.end..values.end,
        };
        if texts.start > texts.end || texts.end != range.end {
            return Err(wrong(&self.body, "a column has not one value for each sample"));
        }
        Ok(StoredColumn { spec, known, values, texts })
    }

    /// Checks all columns and all their values.
    pub(in crate::index) fn check_columns(&self) -> Result<()> {
        let columns = self.columns()?;
        let mut text = Vec::new();
        for (number, column) in columns.iter().enumerate() {
            if columns[..number].iter().any(|other| other.spec.name == column.spec.name) {
                return Err(wrong(&self.body, "two columns have the same name"));
            }
            (0..self.samples()).try_for_each(|row| self.value(number, row, &mut text).map(drop))?;
        }
        Ok(())
    }
}

fn column_text(range: Range<usize>, texts: &[u8], body: &Body) -> Result<String> {
    let text = std::str::from_utf8(&texts[range]).map(str::to_string);
    text.map_err(|_| wrong(body, "the name of a column is not UTF-8"))
}

/// Returns the bit of a row.
fn bit<E>(
    bits: &Range<usize>,
    row: usize,
    get: &mut impl FnMut(usize, &mut [u8]) -> Result<(), E>,
) -> Result<bool, E> {
    let mut byte = [0];
    get(bits.start + row / 8, &mut byte)?;
    Ok(byte[0] >> (row % 8) & 1 == 1)
}

fn wrong(body: &Body, what: &str) -> Error {
    let text = format!("the columns of the sidecar are inconsistent: {what}");
    body.error(ErrorKind::Damaged, text)
}
