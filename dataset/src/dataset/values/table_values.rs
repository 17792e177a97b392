//! `TableValues`: the values of a typed column in rows of a table. Pure.

use tarflume_formats::index::{Value, ValueType};

/// The values of a typed column, one for each row. A row without a value has zero or an empty text.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "each is named like its type")]
pub enum TableValues {
    Bool(Vec<bool>),
    U8(Vec<u8>),
    I8(Vec<i8>),
    U16(Vec<u16>),
    I16(Vec<i16>),
    U32(Vec<u32>),
    I32(Vec<i32>),
    U64(Vec<u64>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    /// All texts, one after the other, and where each ends.
    Str(String, Vec<usize>),
}

/// A typed column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableColumn {
    /// The values.
    pub values: TableValues,
    /// For each row, whether it has a value.
    pub known: Vec<bool>,
}

impl TableColumn {
    pub(crate) fn new(kind: ValueType) -> TableColumn {
        let values = match kind {
            ValueType::Bool => TableValues::Bool(Vec::new()),
            ValueType::U8 => TableValues::U8(Vec::new()),
            ValueType::I8 => TableValues::I8(Vec::new()),
            ValueType::U16 => TableValues::U16(Vec::new()),
            ValueType::I16 => TableValues::I16(Vec::new()),
            ValueType::U32 => TableValues::U32(Vec::new()),
            ValueType::I32 => TableValues::I32(Vec::new()),
            ValueType::U64 => TableValues::U64(Vec::new()),
            ValueType::I64 => TableValues::I64(Vec::new()),
            ValueType::F32 => TableValues::F32(Vec::new()),
            ValueType::F64 => TableValues::F64(Vec::new()),
            ValueType::Str => TableValues::Str(String::new(), Vec::new()),
        };
        TableColumn { values, known: Vec::new() }
    }

    /// Adds a row. The value has the column's type.
    pub(crate) fn push(&mut self, value: Option<Value<'_>>) {
        self.known.push(value.is_some());
        let (whole, float, flag, text) = match value {
            Some(Value::Whole(number)) => (number, 0.0, false, ""),
            Some(Value::Float(number)) => (0, number, false, ""),
            Some(Value::Bool(flag)) => (0, 0.0, flag, ""),
            Some(Value::Text(text)) => (0, 0.0, false, text),
            None => (0, 0.0, false, ""),
        };
        match &mut self.values {
            TableValues::Bool(values) => values.push(flag),
            TableValues::U8(values) => values.push(whole as u8),
            TableValues::I8(values) => values.push(whole as i8),
            TableValues::U16(values) => values.push(whole as u16),
            TableValues::I16(values) => values.push(whole as i16),
            TableValues::U32(values) => values.push(whole as u32),
            TableValues::I32(values) => values.push(whole as i32),
            TableValues::U64(values) => values.push(whole as u64),
            TableValues::I64(values) => values.push(whole as i64),
            TableValues::F32(values) => values.push(float as f32),
            TableValues::F64(values) => values.push(float),
            TableValues::Str(texts, ends) => {
                texts.push_str(text);
                ends.push(texts.len());
            }
        }
    }
}
