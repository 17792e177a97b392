//! Writes the cells of a row group, one column after the other, in batches of about a page.

use std::path::Path;

use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::writer::SerializedColumnWriter;
use tarflume_base::Failure;
use tarflume_formats::ErrorKind;
use tarflume_formats::json::Value;
use tarflume_formats::message;
use tarflume_formats::message::Name;

use super::refused::failed;
use super::schema::{Leaf, LeafSource};
use crate::export::fields::{FieldKind, Fields, Item, float_of, integer_of, text_of};
use crate::export::job::Job;
use crate::export::row::{ExportRow, Rows};
use crate::export::values::encoding::Encoding;
use crate::export::values::spans::Span;

/// Bytes, and cells, of a batch.
const BATCH: usize = 1 << 20;
const BATCH_CELLS: usize = 1024;
/// Readers hold a value in a buffer with offsets of 31 bits.
const LIMIT: u64 = (1 << 31) - 1;

/// The values of the fields in a row group, by field.
pub(super) type FieldCells = Vec<Vec<Option<Value>>>;

/// Reads the values of the fields of a row group.
///
/// # Errors
/// Returns an error if a JSON part is damaged or the operating system refuses to read.
pub(super) fn fields(job: &Job<'_>, span: Span, fields: &Fields) -> Result<FieldCells, Failure> {
    let mut cells: FieldCells = fields.list.iter().map(|_| Vec::new()).collect();
    if cells.is_empty() {
        return Ok(cells);
    }
    let mut rows = Rows::of(job, span);
    while let Some(mut row) = rows.next()? {
        let object = row.object()?;
        for (column, value) in cells.iter_mut().zip(fields.values(&object)) {
            column.push(value.cloned());
        }
    }
    Ok(cells)
}

/// Cells on their way into a column.
struct Batch<T: DataType> {
    values: Vec<T::T>,
    /// Definition levels: what of a cell exists.
    defined: Vec<i16>,
    /// Repetition levels: 0 begins a cell; empty for columns without lists.
    repeated: Vec<i16>,
    bytes: usize,
}

impl<T: DataType> Batch<T> {
    fn new() -> Batch<T> {
        Batch { values: Vec::new(), defined: Vec::new(), repeated: Vec::new(), bytes: 0 }
    }

    fn push(&mut self, value: Option<T::T>, defined: i16, bytes: usize) {
        self.defined.push(if value.is_some() { defined } else { 0 });
        self.values.extend(value);
        self.bytes += bytes;
    }

    /// Adds a list: levels are 0 for null, 1 for an empty list, 3 for a value.
    fn list(&mut self, items: Option<Vec<T::T>>) {
        let count = items.as_ref().map_or(0, Vec::len);
        if count == 0 {
            self.defined.push(i16::from(items.is_some()));
            self.repeated.push(0);
        }
        for n in 0..count {
            self.defined.push(3);
            self.repeated.push(i16::from(n > 0));
        }
        self.values.extend(items.into_iter().flatten());
    }

    fn is_full(&self) -> bool {
        self.bytes >= BATCH || self.defined.len() >= BATCH_CELLS
    }

    fn write(&mut self, to: &mut SerializedColumnWriter<'_>, path: &Path) -> Result<(), Failure> {
        if self.defined.is_empty() {
            return Ok(());
        }
        let repeated = (!self.repeated.is_empty()).then_some(self.repeated.as_slice());
        let written = to.typed::<T>().write_batch(&self.values, Some(&self.defined), repeated);
        written.map_err(|e| failed(e, path))?;
        self.values.clear();
        self.defined.clear();
        self.repeated.clear();
        self.bytes = 0;
        Ok(())
    }
}

/// Writes one column of a row group.
///
/// # Errors
/// Returns an error if a part is damaged, too large or not what its encoding states, or if the
/// operating system refuses.
pub(super) fn write(
    job: &Job<'_>,
    span: Span,
    leaf: &Leaf,
    fields: &FieldCells,
    to: &mut SerializedColumnWriter<'_>,
    path: &Path,
) -> Result<(), Failure> {
    match leaf.source {
        LeafSource::Field(n, kind) => field(&fields[n], kind, to, path),
        _ if leaf.is_integer => integers(job, span, leaf, to, path),
        _ => bytes(job, span, leaf, to, path),
    }
}

fn integers(
    job: &Job<'_>,
    span: Span,
    leaf: &Leaf,
    to: &mut SerializedColumnWriter<'_>,
    path: &Path,
) -> Result<(), Failure> {
    let mut batch = Batch::<Int64Type>::new();
    let mut rows = Rows::of(job, span);
    while let Some(mut row) = rows.next()? {
        let dimensions = row.sample.dimensions;
        let value = match leaf.source {
            LeafSource::Row => Some(row.sample.row.cast_signed()),
            LeafSource::Width => dimensions.map(|(width, _)| width.into()),
            LeafSource::Height => dimensions.map(|(_, height)| height.into()),
            LeafSource::Size(n) => row.parts[n].map(|part| part.length.cast_signed()),
            LeafSource::Part(n) => row.parts[n].map(|part| row.integer(&part)).transpose()?,
            _ => None,
        };
        batch.push(value, leaf.defined, 8);
        if batch.is_full() {
            batch.write(to, path)?;
        }
    }
    batch.write(to, path)
}

fn bytes(
    job: &Job<'_>,
    span: Span,
    leaf: &Leaf,
    to: &mut SerializedColumnWriter<'_>,
    path: &Path,
) -> Result<(), Failure> {
    let mut batch = Batch::<ByteArrayType>::new();
    let mut rows = Rows::of(job, span);
    while let Some(mut row) = rows.next()? {
        let value = match leaf.source {
            LeafSource::Key => Some(row.key()?.as_bytes().to_vec()),
            LeafSource::Shard => {
                let name = row.shard().tar.file_name().unwrap_or_default();
                Some(name.to_string_lossy().into_owned().into_bytes())
            }
            LeafSource::Path(n) => row.parts[n]
                .map(|_| row.key().map(|key| format!("{key}.{}", row.ext(n)).into_bytes()))
                .transpose()?,
            LeafSource::Part(n) => part(job, &mut row, n)?,
            _ => None,
        };
        let length = value.as_ref().map_or(0, Vec::len);
        batch.push(value.map(ByteArray::from), leaf.defined, length);
        if batch.is_full() {
            batch.write(to, path)?;
        }
    }
    batch.write(to, path)
}

fn part(job: &Job<'_>, row: &mut ExportRow<'_, '_>, n: usize) -> Result<Option<Vec<u8>>, Failure> {
    let Some(part) = row.parts[n] else { return Ok(None) };
    (job.on_bytes)(part.length);
    if matches!(row.encoding(n), Encoding::Text | Encoding::Json) {
        return Ok(Some(row.text(&part)?.as_bytes().to_vec()));
    }
    if part.length > LIMIT {
        let text = message!("part '{}' has {} bytes, and readers of Parquet hold less than 2 GiB in a cell; leave it out \
                 with {parts}, or export with {to}", row.ext(n), part.length; parts = Name::Parts, to = Name::To.is("folder"));
        return Err(row.error(ErrorKind::Limit, text, part.offset).into());
    }
    let mut bytes = Vec::with_capacity(part.length as usize);
    row.copy(&part, |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(Some(bytes))
}

fn field(
    cells: &[Option<Value>],
    kind: FieldKind,
    to: &mut SerializedColumnWriter<'_>,
    path: &Path,
) -> Result<(), Failure> {
    match kind {
        FieldKind::Bool => scalars::<BoolType>(cells, Value::as_bool, to, path),
        FieldKind::Int => scalars::<Int64Type>(cells, integer_of, to, path),
        FieldKind::Float => scalars::<DoubleType>(cells, float_of, to, path),
        FieldKind::Null | FieldKind::Text | FieldKind::Json => {
            scalars::<ByteArrayType>(cells, bytes_of, to, path)
        }
        FieldKind::List(Item::Bool) => lists::<BoolType>(cells, Value::as_bool, to, path),
        FieldKind::List(Item::Int) => lists::<Int64Type>(cells, integer_of, to, path),
        FieldKind::List(Item::Float) => lists::<DoubleType>(cells, float_of, to, path),
        FieldKind::List(Item::Text | Item::None) => {
            lists::<ByteArrayType>(cells, bytes_of, to, path)
        }
    }
}

fn bytes_of(value: &Value) -> Option<ByteArray> {
    Some(ByteArray::from(text_of(value).into_bytes()))
}

fn scalars<T: DataType>(
    cells: &[Option<Value>],
    of: impl Fn(&Value) -> Option<T::T>,
    to: &mut SerializedColumnWriter<'_>,
    path: &Path,
) -> Result<(), Failure> {
    let mut batch = Batch::<T>::new();
    for cells in cells.chunks(BATCH_CELLS) {
        cells.iter().for_each(|cell| batch.push(cell.as_ref().and_then(&of), 1, 0));
        batch.write(to, path)?;
    }
    Ok(())
}

fn lists<T: DataType>(
    cells: &[Option<Value>],
    of: impl Fn(&Value) -> Option<T::T>,
    to: &mut SerializedColumnWriter<'_>,
    path: &Path,
) -> Result<(), Failure> {
    let mut batch = Batch::<T>::new();
    for cells in cells.chunks(BATCH_CELLS) {
        for cell in cells {
            let items = cell.as_ref().and_then(Value::as_array);
            batch.list(items.map(|items| items.iter().filter_map(&of).collect()));
        }
        batch.write(to, path)?;
    }
    Ok(())
}
