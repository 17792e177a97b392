//! `JsonRows`: rows of a Parquet file as JSON, with the types of their columns.
//!
//! Integers stay integers, decimals become text without loss, times become ISO 8601. Keys are
//! sorted; numbers have the fewest digits that read back as the same number. Bytes have no JSON.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType,
    Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, TimeUnit};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use tarflume_base::Failure;
use tarflume_formats::json::{JsonRules, Object, Value};
use tarflume_formats::message;
use tarflume_formats::message::Message;

use super::file::{ParquetFile, failure, guarded};
use crate::json_float::{NotFinite, double, single};

/// Rows that are decoded at a time.
const BATCH: usize = 256;

/// Reads rows of some columns of a file, from the first to the last.
pub struct JsonRows {
    file: ParquetFile,
    /// `None` if no column is read.
    reader: Option<ParquetRecordBatchReader>,
    batch: Option<RecordBatch>,
    /// The next row in the batch, and in the file.
    next: usize,
    row: u64,
    rules: JsonRules,
}

impl JsonRows {
    /// Begins the rows of a file with these leaf columns; `rules` say whether `NaN` is a number.
    ///
    /// # Errors
    /// Returns an error if a column has a type that is not read.
    pub fn new(
        file: &ParquetFile,
        leaves: &[usize],
        rules: JsonRules,
    ) -> Result<JsonRows, Failure> {
        for &leaf in leaves {
            file.check_leaf(leaf)?;
        }
        let reader = match leaves {
            [] => None,
            leaves => {
                let mask = ProjectionMask::leaves(file.schema(), leaves.iter().copied());
                let builder =
                    ParquetRecordBatchReaderBuilder::new_with_metadata(file.pages(), file.footer());
                let reader =
                    guarded(|| builder.with_projection(mask).with_batch_size(BATCH).build())
                        .map_err(|e| failure(e, file.path(), "its columns"))?;
                for field in RecordBatchReader::schema(&reader).fields() {
                    if let Some(kind) = without_json(field.data_type()) {
                        return Err(Failure::usage(format!(
                            "column '{}': its type {kind} has no JSON; leave it out with \
                             ?json=OTHER,COLUMNS",
                            field.name()
                        ))
                        .in_file(file.path()));
                    }
                }
                Some(reader)
            }
        };
        Ok(JsonRows { file: file.clone(), reader, batch: None, next: 0, row: 0, rules })
    }

    /// Returns the next row; `None` after the last.
    ///
    /// # Errors
    /// Returns an error if the file is damaged or cannot be read.
    pub fn next_row(&mut self) -> Result<Option<JsonRow>, Failure> {
        if !self.advance()? {
            return Ok(None);
        }
        let mut found = JsonRow { values: Object::new(), fault: None };
        if let Some((batch, at)) = self.current() {
            for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
                match value(column, at, self.rules) {
                    Ok(value) => {
                        found.values.insert(field.name().clone(), value);
                    }
                    Err(why) => {
                        found.fault = Some(message!("column '{}': {why}", field.name(); why = why))
                    }
                }
            }
        }
        Ok(Some(found))
    }

    /// Reads the next row for [`JsonRows::current`]; returns false after the last.
    ///
    /// # Errors
    /// Returns the errors of [`JsonRows::next`].
    pub(super) fn advance(&mut self) -> Result<bool, Failure> {
        if self.row == self.file.rows() {
            return Ok(false);
        }
        let Some(reader) = &mut self.reader else {
            self.row += 1;
            return Ok(true);
        };
        while self.batch.as_ref().is_none_or(|batch| self.next == batch.num_rows()) {
            let read = guarded(|| reader.next().transpose().map_err(ParquetError::from));
            let of = format!("the rows from row {}", self.row);
            let read = read.map_err(|e| failure(e, self.file.path(), &of))?;
            let Some(batch) = read else {
                let text = format!(
                    "its footer declares {} rows, and row {} is missing",
                    self.file.rows(),
                    self.row
                );
                return Err(Failure::bad_data(text).in_file(self.file.path()));
            };
            (self.batch, self.next) = (Some(batch), 0);
        }
        self.next += 1;
        self.row += 1;
        Ok(true)
    }

    /// Returns the row that was read last: its batch and its place there. `None` without columns.
    pub(super) fn current(&self) -> Option<(&RecordBatch, usize)> {
        Some((self.batch.as_ref()?, self.next.checked_sub(1)?))
    }
}

/// A row.
#[derive(Debug)]
pub struct JsonRow {
    /// The values by column.
    pub values: Object,
    /// Why a value has no JSON, if one has none.
    pub fault: Option<Message>,
}

/// Returns the type in a column's type whose values have no JSON; `None` if all have some.
pub(super) fn without_json(kind: &DataType) -> Option<&DataType> {
    use DataType as D;
    match kind {
        D::List(field) | D::LargeList(field) | D::FixedSizeList(field, _) | D::Map(field, _) => {
            without_json(field.data_type())
        }
        D::Struct(fields) => fields.iter().find_map(|field| without_json(field.data_type())),
        D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_) => Some(kind),
        D::Duration(_)
        | D::Interval(_)
        | D::Union(..)
        | D::RunEndEncoded(..)
        | D::Dictionary(..) => Some(kind),
        _ => None,
    }
}

/// Returns the JSON of one value.
pub(super) fn value(
    array: &Arc<dyn Array>,
    row: usize,
    rules: JsonRules,
) -> Result<Value, Message> {
    macro_rules! primitive {
        ($kind:ty) => {
            array.as_primitive::<$kind>().value(row)
        };
    }
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match array.data_type() {
        DataType::Null => Value::Null,
        DataType::Boolean => array.as_boolean().value(row).into(),
        DataType::Int8 => i64::from(primitive!(Int8Type)).into(),
        DataType::Int16 => i64::from(primitive!(Int16Type)).into(),
        DataType::Int32 => i64::from(primitive!(Int32Type)).into(),
        DataType::Int64 => primitive!(Int64Type).into(),
        DataType::UInt8 => u64::from(primitive!(UInt8Type)).into(),
        DataType::UInt16 => u64::from(primitive!(UInt16Type)).into(),
        DataType::UInt32 => u64::from(primitive!(UInt32Type)).into(),
        DataType::UInt64 => primitive!(UInt64Type).into(),
        DataType::Float16 => {
            single(primitive!(Float16Type).to_f32(), rules).map_err(NotFinite::message)?
        }
        DataType::Float32 => single(primitive!(Float32Type), rules).map_err(NotFinite::message)?,
        DataType::Float64 => double(primitive!(Float64Type), rules).map_err(NotFinite::message)?,
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).into(),
        DataType::Utf8View => array.as_string_view().value(row).into(),
        DataType::Decimal32(..) => {
            array.as_primitive::<Decimal32Type>().value_as_string(row).into()
        }
        DataType::Decimal64(..) => {
            array.as_primitive::<Decimal64Type>().value_as_string(row).into()
        }
        DataType::Decimal128(..) => {
            array.as_primitive::<Decimal128Type>().value_as_string(row).into()
        }
        DataType::Decimal256(..) => {
            array.as_primitive::<Decimal256Type>().value_as_string(row).into()
        }
        DataType::List(_) => list(&array.as_list::<i32>().value(row), rules)?,
        DataType::LargeList(_) => list(&array.as_list::<i64>().value(row), rules)?,
        DataType::FixedSizeList(..) => list(&array.as_fixed_size_list().value(row), rules)?,
        DataType::Struct(_) => object(array.as_struct(), row, rules)?,
        DataType::Map(..) => pairs(&array.as_map().value(row), rules)?,
        _ => time(array, row)?,
    })
}

/// Returns dates and times as ISO 8601.
fn time(array: &Arc<dyn Array>, row: usize) -> Result<Value, Message> {
    macro_rules! text {
        ($kind:ty, $method:ident) => {
            array.as_primitive::<$kind>().$method(row).map(|time| format!("{time:?}"))
        };
    }
    let text = match array.data_type() {
        DataType::Date32 => text!(Date32Type, value_as_date),
        DataType::Time32(TimeUnit::Second) => text!(Time32SecondType, value_as_time),
        DataType::Time32(_) => text!(Time32MillisecondType, value_as_time),
        DataType::Time64(TimeUnit::Microsecond) => text!(Time64MicrosecondType, value_as_time),
        DataType::Time64(_) => text!(Time64NanosecondType, value_as_time),
        DataType::Timestamp(unit, zone) => match unit {
            TimeUnit::Second => text!(TimestampSecondType, value_as_datetime),
            TimeUnit::Millisecond => text!(TimestampMillisecondType, value_as_datetime),
            TimeUnit::Microsecond => text!(TimestampMicrosecondType, value_as_datetime),
            TimeUnit::Nanosecond => text!(TimestampNanosecondType, value_as_datetime),
        }
        // Parquet's times with a zone are UTC.
        .map(|text| if zone.is_some() { text + "Z" } else { text }),
        other => return Err(message!("its type {other} has no JSON; leave it out with ?json=")),
    };
    text.map(Value::from).ok_or_else(|| "its date is outside the calendar".into())
}

fn list(items: &Arc<dyn Array>, rules: JsonRules) -> Result<Value, Message> {
    (0..items.len())
        .map(|n| value(items, n, rules))
        .collect::<Result<Vec<_>, _>>()
        .map(Value::Array)
}

fn object(
    fields: &arrow_array::StructArray,
    row: usize,
    rules: JsonRules,
) -> Result<Value, Message> {
    let mut object = Object::new();
    for (field, column) in fields.fields().iter().zip(fields.columns()) {
        add(&mut object, field.name().clone(), value(column, row, rules)?)?;
    }
    Ok(Value::Object(object))
}

/// Adds a member to an object, which may not have its name yet.
fn add(object: &mut Object, name: String, value: Value) -> Result<(), Message> {
    if object.contains_key(&name) {
        let name = tarflume_formats::name::shown(name.as_bytes());
        return Err(message!(
            "the key '{name}' occurs twice, and an object of JSON has one value for it; write a list of pairs"
        ));
    }
    object.insert(name, value);
    Ok(())
}

/// Returns a map as an object; keys that are not text are written as their JSON.
fn pairs(entries: &arrow_array::StructArray, rules: JsonRules) -> Result<Value, Message> {
    let [keys, values] = entries.columns() else { return Err("a map without values".into()) };
    let mut object = Object::new();
    for n in 0..entries.len() {
        let key = match value(keys, n, rules)? {
            Value::String(text) => text,
            other => other.to_string(),
        };
        add(&mut object, key, value(values, n, rules)?)?;
    }
    Ok(Value::Object(object))
}
