//! `Walk`: the values of one column of a row group, one row at a time, and where they are in the file.
//!
//! Holds one page, or two where a row ends one and begins the next, and the dictionary. A value of an
//! uncompressed page is found again in the page, so that its bytes can be read from the file later
//! without any decoding. Does not choose columns.

use std::sync::{Arc, Mutex};

use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    FloatType, Int32Type, Int64Type,
};
use parquet::errors::Result;
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::{ColumnDescriptor, Type};
use tarflume_table::parquet::{ParquetFile, guarded};

use super::seen::{Seen, Spy, lock};

/// The type of the numbers of a column, as they are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Element {
    /// numpy's name.
    pub(super) name: &'static str,
    /// Bytes.
    pub(super) size: usize,
}

impl Element {
    /// Returns the numbers of a column; `None` if its values are not plain numbers.
    pub(super) fn of(column: &ColumnDescriptor) -> Option<Element> {
        let native = if column.physical_type() == Physical::INT64 { 64 } else { 32 };
        let found = match (column.physical_type(), column.logical_type_ref()) {
            (Physical::BOOLEAN, _) => Some(("bool", 1)),
            (Physical::FLOAT, _) => Some(("float32", 4)),
            (Physical::DOUBLE, _) => Some(("float64", 8)),
            (Physical::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Float16))
                if column.type_length() == 2 =>
            {
                Some(("float16", 2))
            }
            (Physical::INT32 | Physical::INT64, Some(LogicalType::Integer(int))) => {
                integer(int.bit_width, int.is_signed).filter(|(_, size)| size * 8 <= native)
            }
            (Physical::INT32 | Physical::INT64, Some(_)) => None,
            (Physical::INT32 | Physical::INT64, None) => match column.converted_type() {
                ConvertedType::NONE => integer(native as i8, true),
                ConvertedType::INT_8 => integer(8, true),
                ConvertedType::INT_16 => integer(16, true),
                ConvertedType::INT_32 => integer(32, true),
                ConvertedType::INT_64 => integer(64, true),
                ConvertedType::UINT_8 => integer(8, false),
                ConvertedType::UINT_16 => integer(16, false),
                ConvertedType::UINT_32 => integer(32, false),
                ConvertedType::UINT_64 => integer(64, false),
                _ => None,
            }
            .filter(|(_, size)| size * 8 <= native),
            _ => None,
        };
        found.map(|(name, size)| Element { name, size })
    }
}

/// Returns name and bytes of a type of whole numbers.
fn integer(bits: i8, signed: bool) -> Option<(&'static str, usize)> {
    Some(match (bits, signed) {
        (8, true) => ("int8", 1),
        (16, true) => ("int16", 2),
        (32, true) => ("int32", 4),
        (64, true) => ("int64", 8),
        (8, false) => ("uint8", 1),
        (16, false) => ("uint16", 2),
        (32, false) => ("uint32", 4),
        (64, false) => ("uint64", 8),
        _ => return None,
    })
}

/// Returns true if the values of a column are bytes without a meaning for Parquet, or text.
pub(super) fn is_bytes(column: &ColumnDescriptor, text_too: bool) -> bool {
    if !matches!(column.physical_type(), Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY) {
        return false;
    }
    match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::String | LogicalType::Json | LogicalType::Enum), _)
        | (None, ConvertedType::UTF8 | ConvertedType::JSON | ConvertedType::ENUM) => text_too,
        (
            None | Some(LogicalType::Bson | LogicalType::Unknown),
            ConvertedType::NONE | ConvertedType::BSON,
        ) => true,
        _ => false,
    }
}

/// The value of one row, as far as its bytes do not tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RowValue {
    /// There are no more rows.
    End,
    /// The value is null.
    Null,
    /// The row's list has nulls, or inner lists of different lengths, or, of numbers, no values.
    Uneven,
    /// [`Walk::value`] returns the bytes.
    Value {
        /// The lengths of the lists, the outermost first.
        dims: Vec<u64>,
        /// The position of the bytes in the file, if they are there as they are.
        at: Option<u64>,
    },
}

enum Values {
    Bytes(ColumnReaderImpl<ByteArrayType>, Vec<ByteArray>),
    Fixed(ColumnReaderImpl<FixedLenByteArrayType>, Vec<FixedLenByteArray>),
    Bool(ColumnReaderImpl<BoolType>, Vec<bool>),
    I32(ColumnReaderImpl<Int32Type>, Vec<i32>),
    I64(ColumnReaderImpl<Int64Type>, Vec<i64>),
    F32(ColumnReaderImpl<FloatType>, Vec<f32>),
    F64(ColumnReaderImpl<DoubleType>, Vec<f64>),
}

/// Reads one column of one row group from its first row on.
pub(super) struct Walk {
    values: Values,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    max: (i16, i16),
    /// `None` if the values are byte strings.
    element: Option<Element>,
    /// The definition level from which a list of byte strings has an element.
    filled: i16,
    /// The positions of the row's byte strings in the file, if they are there as they are.
    places: Vec<Option<u64>>,
    /// The row's numbers as they are packed.
    packed: Vec<u8>,
    seen: Arc<Mutex<Seen>>,
    /// Levels read: the number of values, if none is null.
    levels: u64,
    /// The row that is read next.
    row: u64,
}

impl Walk {
    /// Begins a column of a row group.
    ///
    /// # Errors
    /// Returns an error if its first page cannot be found.
    pub(super) fn new(file: &ParquetFile, group: usize, leaf: usize) -> Result<Walk> {
        let metadata = file.metadata().row_group(group).column(leaf);
        let column = metadata.column_descr_ptr();
        let (first, rows) = file.group(group);
        let pages = Arc::new(file.pages());
        let seen = Arc::new(Mutex::new(Seen::default()));
        let inner = SerializedPageReader::new(pages.clone(), metadata, rows as usize, None)?;
        let plain = metadata.compression() == Compression::UNCOMPRESSED;
        let spy = Box::new(Spy { inner, pages, seen: seen.clone(), plain });
        let values = match column.physical_type() {
            Physical::BOOLEAN => Values::Bool(ColumnReaderImpl::new(column.clone(), spy), vec![]),
            Physical::INT32 => Values::I32(ColumnReaderImpl::new(column.clone(), spy), vec![]),
            Physical::INT64 => Values::I64(ColumnReaderImpl::new(column.clone(), spy), vec![]),
            Physical::FLOAT => Values::F32(ColumnReaderImpl::new(column.clone(), spy), vec![]),
            Physical::DOUBLE => Values::F64(ColumnReaderImpl::new(column.clone(), spy), vec![]),
            Physical::BYTE_ARRAY => {
                Values::Bytes(ColumnReaderImpl::new(column.clone(), spy), vec![])
            }
            Physical::FIXED_LEN_BYTE_ARRAY => {
                Values::Fixed(ColumnReaderImpl::new(column.clone(), spy), vec![])
            }
            Physical::INT96 => {
                return Err(parquet::errors::ParquetError::NYI("INT96".into()));
            }
        };
        Ok(Walk {
            values,
            definitions: Vec::new(),
            repetitions: Vec::new(),
            max: (column.max_def_level(), column.max_rep_level()),
            element: Element::of(&column),
            filled: level_of_elements(file.schema().root_schema(), column.path().parts()),
            places: Vec::new(),
            packed: Vec::new(),
            seen,
            levels: 0,
            row: first,
        })
    }

    /// Returns the row that is read next, counted from the start of the file.
    pub(super) fn row(&self) -> u64 {
        self.row
    }

    /// Skips rows.
    ///
    /// # Errors
    /// Returns an error if a page is damaged.
    pub(super) fn skip(&mut self, rows: u64) -> Result<()> {
        let count = rows as usize;
        let skipped = guarded(|| match &mut self.values {
            Values::Bytes(reader, _) => reader.skip_records(count),
            Values::Fixed(reader, _) => reader.skip_records(count),
            Values::Bool(reader, _) => reader.skip_records(count),
            Values::I32(reader, _) => reader.skip_records(count),
            Values::I64(reader, _) => reader.skip_records(count),
            Values::F32(reader, _) => reader.skip_records(count),
            Values::F64(reader, _) => reader.skip_records(count),
        })?;
        self.row += skipped as u64;
        Ok(())
    }

    /// Reads the next row.
    ///
    /// # Errors
    /// Returns an error if a page is damaged.
    pub(super) fn next(&mut self) -> Result<RowValue> {
        self.definitions.clear();
        self.repetitions.clear();
        let levels = Some((&mut self.definitions, &mut self.repetitions));
        let values = &mut self.values;
        let (records, count, read) = guarded(|| {
            let (defs, reps) = levels.map_or((None, None), |(d, r)| (Some(d), Some(r)));
            macro_rules! read {
                ($reader:expr, $values:expr) => {{
                    $values.clear();
                    $reader.read_records(1, defs, reps, $values)
                }};
            }
            match values {
                Values::Bytes(reader, values) => read!(reader, values),
                Values::Fixed(reader, values) => read!(reader, values),
                Values::Bool(reader, values) => read!(reader, values),
                Values::I32(reader, values) => read!(reader, values),
                Values::I64(reader, values) => read!(reader, values),
                Values::F32(reader, values) => read!(reader, values),
                Values::F64(reader, values) => read!(reader, values),
            }
        })?;
        if records == 0 {
            return Ok(RowValue::End);
        }
        let first = self.levels;
        self.levels += read as u64;
        self.row += 1;
        if count != read {
            // In a column without lists, the one value is null.
            let is_null = self.max.1 == 0 || (self.is_of_bytes() && self.has_no_element());
            return Ok(if is_null { RowValue::Null } else { RowValue::Uneven });
        }
        let Some(dims) = dims(&self.repetitions, self.max.1, count) else {
            return Ok(RowValue::Uneven);
        };
        let at = if self.pack() {
            let size = self.element.map_or(1, |element| element.size) as u64;
            lock(&self.seen).numbers(first, &self.packed, size)
        } else {
            let mut places = std::mem::take(&mut self.places);
            places.clear();
            places.extend((0..count).map(|n| lock(&self.seen).position(self.value_of(n))));
            self.places = places;
            self.places.first().copied().flatten()
        };
        lock(&self.seen).forget();
        Ok(RowValue::Value { dims, at })
    }

    /// Returns the bytes of the row that was read last.
    pub(super) fn value(&self) -> &[u8] {
        self.value_of(0)
    }

    /// Returns byte string `number` of the row that was read last; of numbers, all of them.
    pub(super) fn value_of(&self, number: usize) -> &[u8] {
        match &self.values {
            Values::Bytes(_, values) => values.get(number).map_or(&[], ByteArray::data),
            Values::Fixed(_, values) if self.element.is_none() => {
                values.get(number).map_or(&[], |value| value.data())
            }
            _ => &self.packed,
        }
    }

    /// Returns the position in the file of byte string `number` of the row that was read last.
    pub(super) fn place_of(&self, number: usize) -> Option<u64> {
        self.places.get(number).copied().flatten()
    }

    fn is_of_bytes(&self) -> bool {
        matches!(self.values, Values::Bytes(..) | Values::Fixed(..)) && self.element.is_none()
    }

    /// Returns true if the list of the row that was read last is null or empty.
    fn has_no_element(&self) -> bool {
        self.definitions.first().is_some_and(|level| *level < self.filled)
    }

    /// Packs the row's numbers; returns false if the values are byte strings.
    fn pack(&mut self) -> bool {
        let size = self.element.map_or(0, |element| element.size);
        let packed = &mut self.packed;
        packed.clear();
        match &self.values {
            Values::Bytes(..) => return false,
            Values::Fixed(..) if self.element.is_none() => return false,
            Values::Fixed(_, values) => values.iter().for_each(|v| packed.extend(v.data())),
            Values::Bool(_, values) => packed.extend(values.iter().map(|&v| u8::from(v))),
            // An integer of 8 or 16 bits has 32 in Parquet.
            Values::I32(_, v) => {
                v.iter().for_each(|v| packed.extend(&v.to_le_bytes()[..size.min(4)]))
            }
            Values::I64(_, v) => {
                v.iter().for_each(|v| packed.extend(&v.to_le_bytes()[..size.min(8)]))
            }
            Values::F32(_, v) => v.iter().for_each(|v| packed.extend(v.to_le_bytes())),
            Values::F64(_, v) => v.iter().for_each(|v| packed.extend(v.to_le_bytes())),
        }
        true
    }
}

/// Returns the definition level of the elements of the outermost list on the way to a column.
fn level_of_elements(root: &Type, path: &[String]) -> i16 {
    let mut node = root;
    let mut level = 0;
    for name in path {
        let Some(next) = node.get_fields().iter().find(|field| field.name() == name) else { break };
        node = next;
        match node.get_basic_info().repetition() {
            Repetition::REQUIRED => {}
            Repetition::OPTIONAL => level += 1,
            Repetition::REPEATED => return level + 1,
        }
        if !node.is_group() {
            break;
        }
    }
    level
}

/// Returns the lengths of a row's lists, the outermost first; `None` if inner ones differ.
fn dims(repetitions: &[i16], depth: i16, values: usize) -> Option<Vec<u64>> {
    let mut dims = Vec::new();
    for level in 1..=depth {
        // The items of this level begin where the level is at most `level`, their lists where it
        // is less.
        let mut lengths = Vec::new();
        for &repetition in repetitions {
            if repetition < level {
                lengths.push(0u64);
            }
            if repetition <= level {
                *lengths.last_mut()? += 1;
            }
        }
        let first = *lengths.first()?;
        if lengths.iter().any(|&length| length != first) {
            return None;
        }
        dims.push(first);
    }
    (dims.iter().product::<u64>() == values as u64).then_some(dims)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_lists_have_a_shape_if_all_inner_lengths_are_equal() {
        assert_eq!(dims(&[], 0, 1), Some(vec![]));
        assert_eq!(dims(&[0, 1, 1], 1, 3), Some(vec![3]));
        assert_eq!(dims(&[0, 2, 2, 1, 2, 2], 2, 6), Some(vec![2, 3]));
        assert_eq!(dims(&[0, 2, 1, 2, 2], 2, 5), None);
        let cube = [0, 3, 2, 3, 1, 3, 2, 3];
        assert_eq!(dims(&cube, 3, 8), Some(vec![2, 2, 2]));
        assert_eq!(dims(&[0, 3, 2, 3, 1, 3], 3, 6), None);
    }
}
