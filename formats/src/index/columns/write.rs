//! `ColumnValues`: collects the values of a shard's samples, and encodes the sections `cols` and `vals`.

use super::spec::{ColumnSpec, Value, ValueType};
use crate::errors::error::{Error, ErrorKind, Result};
use crate::index::layout as l;

/// The values of all columns, row by row.
#[derive(Debug, Default)]
pub(in crate::index) struct ColumnValues {
    columns: Vec<Column>,
    rows: usize,
}

#[derive(Debug)]
struct Column {
    spec: ColumnSpec,
    /// True for rows that have a value.
    known: Vec<bool>,
    /// Numbers in little-endian, one byte for a `bool`, the texts one after the other.
    bytes: Vec<u8>,
    /// Where each text ends.
    ends: Vec<usize>,
}

impl ColumnValues {
    pub(in crate::index) fn new(specs: Vec<ColumnSpec>) -> ColumnValues {
        ColumnValues { columns: specs.into_iter().map(Column::new).collect(), rows: 0 }
    }

    /// Begins a row without values.
    pub(in crate::index) fn begin(&mut self) {
        self.rows += 1;
        for column in &mut self.columns {
            column.known.push(false);
            match column.spec.kind {
                ValueType::Str => column.ends.push(column.bytes.len()),
                kind => column.bytes.resize(self.rows * kind.size().unwrap_or(1), 0),
            }
        }
    }

    /// Sets the value of the newest row in column number `column`. A value of another type counts as none: the caller
    /// has used [`ValueType::take`].
    pub(in crate::index) fn set(&mut self, column: usize, value: Value<'_>) {
        let Some(column) = self.columns.get_mut(column).filter(|c| !c.known.is_empty()) else {
            return;
        };
        let Ok(value) = column.spec.kind.take(value) else { return };
        let last = column.known.len() - 1;
        column.known[last] = true;
        match (column.spec.kind, value) {
            (ValueType::Str, Value::Text(text)) => {
                let start = last.checked_sub(1).map_or(0, |before| column.ends[before]);
                column.bytes.truncate(start);
                column.bytes.extend_from_slice(text.as_bytes());
                column.ends[last] = column.bytes.len();
            }
            (_, Value::Bool(value)) => column.bytes[last] = value.into(),
            (ValueType::F32, Value::Float(value)) => {
                column.bytes[last * 4..].copy_from_slice(&(value as f32).to_le_bytes());
            }
            (ValueType::F64, Value::Float(value)) => {
                column.bytes[last * 8..].copy_from_slice(&value.to_le_bytes());
            }
            (kind, Value::Whole(value)) => {
                let size = kind.size().expect("a type of whole numbers has a size");
                column.bytes[last * size..].copy_from_slice(&value.to_le_bytes()[..size]);
            }
            _ => {}
        }
    }

    /// Returns `cols` and `vals`; `None` without columns.
    ///
    /// # Errors
    /// Returns an error if the texts of a column have more than 4 GiB.
    pub(in crate::index) fn sections(&self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        if self.columns.is_empty() {
            return Ok(None);
        }
        let mut described = (self.columns.len() as u32).to_le_bytes().to_vec();
        let mut values = Vec::new();
        for column in &self.columns {
            values.resize(l::aligned(values.len()), 0);
            let start = values.len();
            let has_nulls = column.encode(&mut values)?;
            let ColumnSpec { name, kind, ext, pointer } = &column.spec;
            described.extend([kind.code(), u8::from(has_nulls)]);
            described.extend(text_length(name));
            described.extend(text_length(ext));
            described.extend(pointer.as_deref().map_or(u16::MAX.to_le_bytes(), text_length));
            described.extend((start as u64).to_le_bytes());
            described.extend(((values.len() - start) as u64).to_le_bytes());
            let texts = [name, ext, pointer.as_deref().unwrap_or_default()];
            texts.iter().for_each(|text| described.extend(text.as_bytes()));
        }
        Ok(Some((described, values)))
    }
}

fn text_length(text: &str) -> [u8; 2] {
    (text.len() as u16).to_le_bytes()
}

impl Column {
    fn new(spec: ColumnSpec) -> Column {
        Column { spec, known: Vec::new(), bytes: Vec::new(), ends: Vec::new() }
    }

    /// Appends the buffers of the column; returns true if rows without a value are marked.
    fn encode(&self, out: &mut Vec<u8>) -> Result<bool> {
        let has_nulls = self.known.contains(&false);
        if has_nulls {
            put_bits(out, self.known.iter().copied());
            out.resize(l::aligned(out.len()), 0);
        }
        match self.spec.kind {
            ValueType::Bool => put_bits(out, self.bytes.iter().map(|&byte| byte != 0)),
            ValueType::Str => {
                if u32::try_from(self.bytes.len()).is_err() {
                    let text = format!(
                        "the values of column '{}' have more than 4 GiB in one shard; make smaller shards",
                        self.spec.name
                    );
                    return Err(Error::new(ErrorKind::Limit, text));
                }
                let starts = [0].into_iter().chain(self.ends.iter().copied());
                out.extend(starts.flat_map(|at| (at as u32).to_le_bytes()));
                out.resize(l::aligned(out.len()), 0);
                out.extend_from_slice(&self.bytes);
            }
            _ => out.extend_from_slice(&self.bytes),
        }
        Ok(has_nulls)
    }
}

/// Appends bits, the first in the lowest bit of the first byte.
fn put_bits(out: &mut Vec<u8>, bits: impl Iterator<Item = bool>) {
    let start = out.len();
    for (n, bit) in bits.enumerate() {
        if n % 8 == 0 {
            out.push(0);
        }
        out[start + n / 8] |= u8::from(bit) << (n % 8);
    }
}
