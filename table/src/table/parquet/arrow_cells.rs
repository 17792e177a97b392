//! The kinds of the columns of a file of Arrow, and the values of a row.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};
use tarflume_formats::json::{JsonRules, Value};
use tarflume_formats::message::Message;

use super::arrow_batches::{ArrowBatch, ArrowBatches};
use super::json::{value, without_json};

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrowKind {
    /// Bytes.
    Bytes,
    /// Images as Hugging Face writes them: bytes and a path.
    Image,
    /// Lists of bytes or of images.
    List,
    /// Lists of numbers, also of several dimensions.
    Numbers(ArrowNumber),
    /// Text.
    Text,
    /// Whole numbers.
    Whole,
    /// Other values that have JSON; the word for their type in a manifest.
    Json(&'static str),
    /// Values without JSON that have bytes somewhere.
    InnerBytes,
    /// Other values without JSON.
    Unread,
}

/// The type of the numbers of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrowNumber {
    /// numpy's name.
    pub name: &'static str,
    /// Bytes.
    pub size: u64,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrowColumn {
    /// Its name.
    pub name: String,
    /// What its values are.
    pub kind: ArrowKind,
    /// The word for their type in a manifest, of values with JSON.
    pub word: &'static str,
    /// Whether a value may be null.
    pub is_nullable: bool,
}

impl ArrowColumn {
    /// Returns true if one column of a data set describes both.
    pub fn is_described_as(&self, other: &ArrowColumn) -> bool {
        self.name == other.name
            && self.kind == other.kind
            && self.word == other.word
            && self.is_nullable == other.is_nullable
    }
}

/// Bytes of a value.
#[derive(Debug, Clone, Copy)]
pub struct PlacedBytes<'b> {
    /// The bytes.
    pub bytes: &'b [u8],
    /// Where they are in the file.
    pub at: u64,
}

/// The numbers of a list.
#[derive(Debug)]
pub enum PlacedNumbers<'b> {
    /// The list is null.
    Null,
    /// It has nulls, or inner lists of different lengths, or no numbers.
    Uneven,
    /// The lengths of the lists, the outermost first, and the numbers.
    Value(Vec<u64>, PlacedBytes<'b>),
}

/// A value that is not in the file as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misplaced;

impl ArrowBatches {
    /// Returns the columns.
    pub fn columns(&self) -> Vec<ArrowColumn> {
        let fields = self.schema().fields().iter();
        let columns = fields.map(|field| ArrowColumn {
            name: field.name().clone(),
            kind: kind(field.data_type()),
            word: word(field.data_type()),
            is_nullable: field.is_nullable(),
        });
        columns.collect()
    }
}

/// Returns what the values of a type are.
fn kind(kind: &DataType) -> ArrowKind {
    use DataType as D;
    match kind {
        kind if is_bytes(kind) => ArrowKind::Bytes,
        D::Struct(fields) if image(fields.iter()).is_some() => ArrowKind::Image,
        D::List(field) | D::LargeList(field) if is_element(field) => ArrowKind::List,
        D::Utf8 | D::LargeUtf8 | D::Utf8View => ArrowKind::Text,
        kind if kind.is_integer() => ArrowKind::Whole,
        kind if without_json(kind).is_none() => match numbers(kind) {
            Some(number) => ArrowKind::Numbers(number),
            None => ArrowKind::Json(word(kind)),
        },
        kind if has_bytes(kind) => ArrowKind::InnerBytes,
        _ => ArrowKind::Unread,
    }
}

/// Returns the word of a manifest for a type.
fn word(kind: &DataType) -> &'static str {
    use DataType as D;
    match kind {
        D::Boolean => "bool",
        D::UInt64 => "uint64",
        D::Float16 | D::Float32 => "float32",
        D::Float64 => "float64",
        D::List(_) | D::LargeList(_) | D::FixedSizeList(..) => "list",
        D::Struct(_) | D::Map(..) => "object",
        kind if kind.is_integer() => "int64",
        _ => "string",
    }
}

fn is_bytes(kind: &DataType) -> bool {
    use DataType as D;
    matches!(kind, D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_))
}

fn has_bytes(kind: &DataType) -> bool {
    use DataType as D;
    match kind {
        D::List(field) | D::LargeList(field) | D::FixedSizeList(field, _) | D::Map(field, _) => {
            has_bytes(field.data_type())
        }
        D::Struct(fields) => fields.iter().any(|field| has_bytes(field.data_type())),
        kind => is_bytes(kind),
    }
}

/// Returns the positions of the bytes and of the path in the structure of an image.
fn image<'f>(fields: impl ExactSizeIterator<Item = &'f Arc<Field>>) -> Option<[usize; 2]> {
    if fields.len() != 2 {
        return None;
    }
    let mut places = [None; 2];
    for (at, field) in fields.enumerate() {
        match (field.name().as_str(), field.data_type()) {
            ("bytes", kind) if is_bytes(kind) || *kind == DataType::Null => places[0] = Some(at),
            ("path", DataType::Utf8 | DataType::LargeUtf8) => places[1] = Some(at),
            _ => {}
        }
    }
    Some([places[0]?, places[1]?])
}

fn is_element(field: &Field) -> bool {
    match field.data_type() {
        DataType::Struct(fields) => image(fields.iter()).is_some(),
        kind => is_bytes(kind),
    }
}

/// Returns the numbers of a list of numbers, or of such lists.
fn numbers(kind: &DataType) -> Option<ArrowNumber> {
    use DataType as D;
    let (D::List(field) | D::LargeList(field) | D::FixedSizeList(field, _)) = kind else {
        return None;
    };
    let name = match field.data_type() {
        D::Int8 => "int8",
        D::Int16 => "int16",
        D::Int32 => "int32",
        D::Int64 => "int64",
        D::UInt8 => "uint8",
        D::UInt16 => "uint16",
        D::UInt32 => "uint32",
        D::UInt64 => "uint64",
        D::Float16 => "float16",
        D::Float32 => "float32",
        D::Float64 => "float64",
        inner => return numbers(inner),
    };
    let size = field.data_type().primitive_width()? as u64;
    Some(ArrowNumber { name, size })
}

impl ArrowBatch {
    /// Returns the bytes of a row: of text its UTF-8, of an image its bytes. `None` for null.
    ///
    /// # Errors
    /// Returns an error if they are not in the file as they are.
    pub fn bytes(&self, column: usize, row: usize) -> Result<Option<PlacedBytes<'_>>, Misplaced> {
        self.placed(self.rows.column(column), row)
    }

    /// Returns the bytes of the elements of a row's list, each `None` for a null; `None` if the list is null.
    ///
    /// # Errors
    /// Returns an error if they are not in the file as they are.
    pub fn list(
        &self,
        column: usize,
        row: usize,
    ) -> Result<Option<Vec<Option<PlacedBytes<'_>>>>, Misplaced> {
        let array = self.rows.column(column);
        if array.is_null(row) {
            return Ok(None);
        }
        let Some(Span { items, start, end }) = span(array, row, row + 1) else { return Ok(None) };
        (start..end).map(|n| self.placed(items, n)).collect::<Result<Vec<_>, _>>().map(Some)
    }

    /// Returns the numbers of a row's list.
    ///
    /// # Errors
    /// Returns an error if they are not in the file as they are.
    pub fn numbers(&self, column: usize, row: usize) -> Result<PlacedNumbers<'_>, Misplaced> {
        let mut array = self.rows.column(column);
        if array.is_null(row) {
            return Ok(PlacedNumbers::Null);
        }
        let mut dims = Vec::new();
        let mut rows = row..row + 1;
        while let Some(Span { items, start, end }) = span(array, rows.start, rows.end) {
            let lists = rows.len();
            let each = (end - start) / lists.max(1);
            let is_even = rows.clone().all(|n| {
                !array.is_null(n)
                    && span(array, n, n + 1).is_some_and(|one| one.end - one.start == each)
            });
            if !is_even || end == start {
                return Ok(PlacedNumbers::Uneven);
            }
            dims.push(each as u64);
            (array, rows) = (items, start..end);
        }
        if rows.clone().any(|n| array.is_null(n)) {
            return Ok(PlacedNumbers::Uneven);
        }
        let Some(bytes) = numbers_of(array, rows.start, rows.end) else {
            return Ok(PlacedNumbers::Uneven);
        };
        let at = self.place(bytes).ok_or(Misplaced)?;
        Ok(PlacedNumbers::Value(dims, PlacedBytes { bytes, at }))
    }

    /// Returns the text of a row, or the path of its image; `None` for null.
    pub fn path(&self, column: usize, row: usize) -> Option<&str> {
        let array = self.rows.column(column);
        if array.is_null(row) {
            return None;
        }
        let array = match array.data_type() {
            DataType::Struct(fields) => {
                let [_, path] = image(fields.iter())?;
                array.as_struct().column(path)
            }
            _ => array,
        };
        if array.is_null(row) {
            return None;
        }
        match array.data_type() {
            DataType::Utf8 => Some(array.as_string::<i32>().value(row)),
            DataType::LargeUtf8 => Some(array.as_string::<i64>().value(row)),
            DataType::Utf8View => Some(array.as_string_view().value(row)),
            _ => None,
        }
    }

    /// Returns the JSON of a row's value.
    ///
    /// # Errors
    /// Returns the reason if it has none.
    pub fn json(&self, column: usize, row: usize, rules: JsonRules) -> Result<Value, Message> {
        value(self.rows.column(column), row, rules)
    }

    fn placed<'b>(
        &'b self,
        array: &'b ArrayRef,
        row: usize,
    ) -> Result<Option<PlacedBytes<'b>>, Misplaced> {
        if array.is_null(row) {
            return Ok(None);
        }
        let bytes: &[u8] = match array.data_type() {
            DataType::Binary => array.as_binary::<i32>().value(row),
            DataType::LargeBinary => array.as_binary::<i64>().value(row),
            DataType::BinaryView => array.as_binary_view().value(row),
            DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().value(row),
            DataType::Utf8 => array.as_string::<i32>().value(row).as_bytes(),
            DataType::LargeUtf8 => array.as_string::<i64>().value(row).as_bytes(),
            DataType::Utf8View => array.as_string_view().value(row).as_bytes(),
            DataType::Struct(fields) => {
                let Some([bytes, _]) = image(fields.iter()) else { return Ok(None) };
                return self.placed(array.as_struct().column(bytes), row);
            }
            _ => return Ok(None),
        };
        let at = self.place(bytes).ok_or(Misplaced)?;
        Ok(Some(PlacedBytes { bytes, at }))
    }
}

/// The elements of lists that follow one another.
struct Span<'a> {
    items: &'a ArrayRef,
    start: usize,
    end: usize,
}

/// Returns the elements of the lists from `first` to `end`; `None` for another array.
fn span(array: &ArrayRef, first: usize, end: usize) -> Option<Span<'_>> {
    match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let offsets = list.value_offsets();
            let start = offsets[first] as usize;
            let end = offsets[end] as usize;
            Some(Span { items: list.values(), start, end })
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let offsets = list.value_offsets();
            let start = offsets[first] as usize;
            let end = offsets[end] as usize;
            Some(Span { items: list.values(), start, end })
        }
        DataType::FixedSizeList(_, size) => {
            let list = array.as_fixed_size_list();
            let size = usize::try_from(*size).ok()?;
            Some(Span { items: list.values(), start: first * size, end: end * size })
        }
        _ => None,
    }
}

/// Returns the numbers of an array of numbers from `start` to `end` as bytes.
fn numbers_of(array: &ArrayRef, start: usize, end: usize) -> Option<&[u8]> {
    fn bytes<T: ArrowPrimitiveType>(array: &ArrayRef, start: usize, end: usize) -> Option<&[u8]> {
        let size = size_of::<T::Native>();
        array.as_primitive::<T>().values().inner().as_slice().get(start * size..end * size)
    }
    match array.data_type() {
        DataType::Int8 => bytes::<Int8Type>(array, start, end),
        DataType::Int16 => bytes::<Int16Type>(array, start, end),
        DataType::Int32 => bytes::<Int32Type>(array, start, end),
        DataType::Int64 => bytes::<Int64Type>(array, start, end),
        DataType::UInt8 => bytes::<UInt8Type>(array, start, end),
        DataType::UInt16 => bytes::<UInt16Type>(array, start, end),
        DataType::UInt32 => bytes::<UInt32Type>(array, start, end),
        DataType::UInt64 => bytes::<UInt64Type>(array, start, end),
        DataType::Float16 => bytes::<Float16Type>(array, start, end),
        DataType::Float32 => bytes::<Float32Type>(array, start, end),
        DataType::Float64 => bytes::<Float64Type>(array, start, end),
        _ => None,
    }
}
