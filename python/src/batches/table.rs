//! `Table`: what the sidecars of a data set contain about its samples, for Arrow. `RecordBatch`: the columns of a
//! batch, lent to Arrow.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use tarflume::{Batch, DType, TableBatch, TableColumn, TableValues, ValueType};
use tarflume_formats::message::Face;

use crate::arguments::words::dtype_name;
use crate::buffers::arrow::{Field, Rows, array_capsule, schema_capsule, stream_capsule};
use crate::buffers::memory::{BatchColumnMemory, KEY, Memory, VecMemory};
use crate::faults::errors::{OrRaise, usage};

/// The samples of a data set as a table: an Arrow stream that polars, DuckDB, pandas, pyarrow and others take.
///
/// Columns: `ordinal`, `key`, `shard` (its number), `row` (in the shard), `offset` (the byte of the tar at which
/// the sample begins), `bytes` (of all parts), `width` and `height` of the first image, and for each extension
/// the bytes of the part, such as `jpg_bytes`, and the typed columns of the sidecars. Missing values are null; so is a key that is not UTF-8. Rows come
/// from the sidecars in batches of 65,536, without a tar being read, unless a tar may have been changed after its sidecar was
/// made: then the parts that values and sizes were taken from are compared first. Each stream begins with the first sample.
#[pyclass(frozen, module = "tarflume")]
pub struct Table {
    dataset: tarflume::Dataset,
    field: Field,
}

impl Table {
    pub(crate) fn new(py: Python<'_>, dataset: &tarflume::Dataset) -> PyResult<Table> {
        let table = py.detach(|| dataset.table()).or_raise(py)?;
        let mut columns = vec![
            Field::new("ordinal", "l"),
            Field::new(KEY, "U").nullable(),
            Field::new("shard", "i"),
            Field::new("row", "l"),
            Field::new("offset", "l"),
            Field::new("bytes", "l"),
            Field::new("width", "i").nullable(),
            Field::new("height", "i").nullable(),
        ];
        let parts = table.extensions().iter().map(|ext| Field::new(format!("{ext}_bytes"), "l"));
        columns.extend(parts.map(Field::nullable));
        for spec in table.columns() {
            let taken = columns.iter().any(|field| field.name == spec.name);
            let name =
                if taken { format!("{}_{}", spec.ext, spec.name) } else { spec.name.clone() };
            columns.push(Field::new(name, arrow_format(spec.kind)).nullable());
        }
        Ok(Table { dataset: dataset.clone(), field: Field::new("", "+s").of(columns) })
    }
}

#[pymethods]
impl Table {
    /// The number of rows.
    fn __len__(&self) -> usize {
        self.dataset.len() as usize
    }

    /// The names of all columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.field.children.iter().map(|field| field.name.clone()).collect()
    }

    pub(crate) fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        schema_capsule(py, &self.field)
    }

    #[pyo3(signature = (requested_schema = None))]
    pub(crate) fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        drop(requested_schema); // a producer may ignore it
        let mut table = py.detach(|| self.dataset.table()).or_raise(py)?;
        let batches = Box::new(move || match table.next() {
            Some(Ok(batch)) => Ok(Some(rows_of(batch))),
            Some(Err(error)) => Err(error.in_face(Face::Python)),
            None => Ok(None),
        });
        stream_capsule(py, self.field.clone(), batches)
    }

    fn __repr__(&self) -> String {
        format!("Table({} samples: {})", self.dataset.len(), self.column_names().join(", "))
    }
}

/// A column of numbers, all valid.
fn numbers<T: bytemuck::NoUninit + Send + Sync>(values: Vec<T>) -> Rows {
    let length = values.len();
    let buffers: Vec<Option<Arc<dyn Memory>>> = vec![None, Some(Arc::new(VecMemory(values)))];
    Rows { length, nulls: 0, buffers, children: Vec::new() }
}

/// A column of numbers; those for which `missing` returns true are null.
fn nullable<T>(values: Vec<T>, missing: impl Fn(&T) -> bool) -> Rows
where
    T: bytemuck::NoUninit + Send + Sync,
{
    let (valid, nulls) = validity(values.iter().map(|value| !missing(value)));
    let mut rows = numbers(values);
    (rows.buffers[0], rows.nulls) = (valid, nulls);
    rows
}

/// A bit for each row, and the number of those that are not set; no bits if all are.
fn validity(valid: impl ExactSizeIterator<Item = bool>) -> (Option<Arc<dyn Memory>>, usize) {
    let length = valid.len();
    let mut bits = vec![0_u8; length.div_ceil(8)];
    let mut set = 0;
    for (row, _) in valid.enumerate().filter(|(_, valid)| *valid) {
        bits[row / 8] |= 1 << (row % 8);
        set += 1;
    }
    if set == length { (None, 0) } else { (Some(Arc::new(VecMemory(bits))), length - set) }
}

/// A column of keys; those that are not UTF-8 are null.
fn keys<'a>(keys: impl ExactSizeIterator<Item = &'a [u8]> + Clone) -> Rows {
    let length = keys.len();
    let mut bytes = Vec::new();
    let mut offsets = vec![0_i64];
    for key in keys.clone() {
        bytes.extend_from_slice(if is_text(key) { key } else { &[] });
        offsets.push(bytes.len() as i64);
    }
    let (valid, nulls) = validity(keys.map(is_text));
    let buffers: Vec<Option<Arc<dyn Memory>>> =
        vec![valid, Some(Arc::new(VecMemory(offsets))), Some(Arc::new(VecMemory(bytes)))];
    Rows { length, nulls, buffers, children: Vec::new() }
}

fn is_text(key: &[u8]) -> bool {
    std::str::from_utf8(key).is_ok()
}

fn rows_of(batch: TableBatch) -> Rows {
    let length = batch.len();
    let ordinals = (batch.first as i64..).take(length).collect();
    let mut columns = vec![
        numbers::<i64>(ordinals),
        keys((0..length).map(|row| batch.key(row))),
        numbers(batch.shards),
        numbers(batch.rows),
        numbers(batch.offsets),
        numbers(batch.bytes),
        nullable(batch.widths, |&width| width == 0),
        nullable(batch.heights, |&height| height == 0),
    ];
    columns.extend(batch.lengths.into_iter().map(|lengths| nullable(lengths, |&bytes| bytes < 0)));
    columns.extend(batch.columns.into_iter().map(typed));
    Rows { length, nulls: 0, buffers: vec![None], children: columns }
}

/// Arrow's format of a typed column.
fn arrow_format(kind: ValueType) -> &'static str {
    match kind {
        ValueType::Bool => "b",
        ValueType::U8 => "C",
        ValueType::I8 => "c",
        ValueType::U16 => "S",
        ValueType::I16 => "s",
        ValueType::U32 => "I",
        ValueType::I32 => "i",
        ValueType::U64 => "L",
        ValueType::I64 => "l",
        ValueType::F32 => "f",
        ValueType::F64 => "g",
        ValueType::Str => "U",
    }
}

/// A typed column of the sidecars; rows without a value are null.
fn typed(column: TableColumn) -> Rows {
    let mut rows = match column.values {
        TableValues::Bool(values) => {
            let bytes: Vec<u8> = values.iter().map(|&value| value.into()).collect();
            let buffers = vec![None, Some(validity_of(&bytes))];
            Rows { length: values.len(), nulls: 0, buffers, children: Vec::new() }
        }
        TableValues::U8(values) => numbers(values),
        TableValues::I8(values) => numbers(values),
        TableValues::U16(values) => numbers(values),
        TableValues::I16(values) => numbers(values),
        TableValues::U32(values) => numbers(values),
        TableValues::I32(values) => numbers(values),
        TableValues::U64(values) => numbers(values),
        TableValues::I64(values) => numbers(values),
        TableValues::F32(values) => numbers(values),
        TableValues::F64(values) => numbers(values),
        TableValues::Str(texts, ends) => {
            let starts = [0].into_iter().chain(ends.iter().copied());
            let offsets: Vec<i64> = starts.map(|at| at as i64).collect();
            let texts = Some(Arc::new(VecMemory(texts.into_bytes())) as Arc<dyn Memory>);
            let buffers = vec![None, Some(Arc::new(VecMemory(offsets)) as Arc<dyn Memory>), texts];
            Rows { length: ends.len(), nulls: 0, buffers, children: Vec::new() }
        }
    };
    (rows.buffers[0], rows.nulls) = validity(column.known.into_iter());
    rows
}

/// The columns of a batch, lent to Arrow without a copy: `pyarrow.record_batch`, `polars.DataFrame` and others take
/// it. It keeps the batch's memory, and so does what they make of it.
///
/// Columns of arrays are fixed-size lists, columns of different lengths large lists, files large binaries and
/// texts large strings. Pictures of different sizes are lists, and a column such as `image_shape` has their sizes.
/// `bool` is copied, because Arrow has bits.
#[pyclass(frozen, module = "tarflume")]
pub struct RecordBatch {
    field: Field,
    rows: Rows,
}

impl RecordBatch {
    /// # Errors
    /// A column has a type that Arrow does not have.
    pub(crate) fn new(
        py: Python<'_>,
        batch: &Arc<Batch>,
        texts: &[String],
    ) -> PyResult<RecordBatch> {
        let length = batch.len();
        let mut fields = Vec::new();
        let mut columns = Vec::new();
        for column in batch.columns() {
            let name = column.name();
            let memory: Arc<dyn Memory> =
                Arc::new(BatchColumnMemory { batch: batch.clone(), name: name.to_string() });
            let Some(item) = format_of(column.dtype()) else {
                let text = format!(
                    "column {name:?} is {}, which Arrow does not have: dtype=\"float16\" or \"float32\"",
                    dtype_name(column.dtype())
                );
                return Err(usage(py, text));
            };
            let text = texts.iter().any(|text| text == name);
            let shapes: Vec<_> = (0..length).filter_map(|row| column.picture(row)).collect();
            let (field, rows) = match column.offsets() {
                None => fixed(name, item, &column, memory),
                Some(offsets) => {
                    let size = column.dtype().size() as u64;
                    let offsets = offsets.map(|at| (at / size) as i64).collect();
                    let kind = if text {
                        "U"
                    } else if shapes.is_empty() && item == "C" {
                        "Z"
                    } else {
                        "+L"
                    };
                    variable(name, kind, item, offsets, &column, memory)
                }
            };
            fields.push(field);
            columns.push(rows);
            if !shapes.is_empty() {
                let item = Field::new("item", "l");
                fields.push(Field::new(format!("{name}_shape"), "+w:3").of(vec![item]));
                let sides = shapes.iter().flat_map(|shape| shape.dims().map(|side| side as i64));
                let sides = numbers(sides.collect::<Vec<i64>>());
                columns.push(Rows { length, nulls: 0, buffers: vec![None], children: vec![sides] });
            }
        }
        fields.push(Field::new(KEY, "U").nullable());
        columns.push(keys((0..length).map(|row| batch.key(row))));
        if !fields.iter().any(|field| field.name == "ordinal") {
            fields.push(Field::new("ordinal", "l"));
            columns.push(numbers::<i64>(batch.ordinals().map(|ordinal| ordinal as i64).collect()));
        }
        let rows = Rows { length, nulls: 0, buffers: vec![None], children: columns };
        Ok(RecordBatch { field: Field::new("", "+s").of(fields), rows })
    }
}

/// Arrow's format of an element.
fn format_of(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::U8 => "C",
        DType::I8 => "c",
        DType::U16 => "S",
        DType::I16 => "s",
        DType::U32 => "I",
        DType::I32 => "i",
        DType::U64 => "L",
        DType::I64 => "l",
        DType::F16 => "e",
        DType::F32 => "f",
        DType::F64 => "g",
        DType::Bool => "b",
        _ => return None,
    })
}

/// Rows of one shape: fixed-size lists of fixed-size lists.
fn fixed(
    name: &str,
    item: &str,
    column: &tarflume::Column<'_>,
    memory: Arc<dyn Memory>,
) -> (Field, Rows) {
    let shape = column.shape();
    let elements: usize = shape.iter().product();
    let values = if item == "b" { validity_of(column.bytes()) } else { memory };
    let last = if shape.len() == 1 { name } else { "item" };
    let mut field = Field::new(last, item);
    let buffers = vec![None, Some(values)];
    let mut rows = Rows { length: elements, nulls: 0, buffers, children: Vec::new() };
    for (depth, side) in shape.iter().enumerate().skip(1).rev() {
        let name = if depth == 1 { name } else { "item" };
        let length = shape[..depth].iter().product();
        field = Field::new(name, format!("+w:{side}")).of(vec![field]);
        rows = Rows { length, nulls: 0, buffers: vec![None], children: vec![rows] };
    }
    (field, rows)
}

/// A bit for each byte that is not 0.
fn validity_of(bytes: &[u8]) -> Arc<dyn Memory> {
    let mut bits = vec![0_u8; bytes.len().div_ceil(8)];
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte != 0) {
        bits[at / 8] |= 1 << (at % 8);
    }
    Arc::new(VecMemory(bits))
}

/// Rows of different lengths.
fn variable(
    name: &str,
    kind: &str,
    item: &str,
    offsets: Vec<i64>,
    column: &tarflume::Column<'_>,
    memory: Arc<dyn Memory>,
) -> (Field, Rows) {
    let length = offsets.len().saturating_sub(1);
    let offsets: Option<Arc<dyn Memory>> = Some(Arc::new(VecMemory(offsets)));
    let field = Field::new(name, kind);
    if kind != "+L" {
        let buffers = vec![None, offsets, Some(memory)];
        return (field, Rows { length, nulls: 0, buffers, children: Vec::new() });
    }
    let elements = column.bytes().len() / column.dtype().size();
    let values = if item == "b" { validity_of(column.bytes()) } else { memory };
    let buffers = vec![None, Some(values)];
    let values = Rows { length: elements, nulls: 0, buffers, children: Vec::new() };
    let field = field.of(vec![Field::new("item", item)]);
    (field, Rows { length, nulls: 0, buffers: vec![None, offsets], children: vec![values] })
}

#[pymethods]
impl RecordBatch {
    /// The number of rows.
    fn __len__(&self) -> usize {
        self.rows.length
    }

    /// The names of all columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.field.children.iter().map(|field| field.name.clone()).collect()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        schema_capsule(py, &self.field)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        drop(requested_schema); // a producer may ignore it
        let schema = schema_capsule(py, &self.field)?;
        PyTuple::new(py, [schema, array_capsule(py, self.rows.clone())?])
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        drop(requested_schema); // a producer may ignore it
        let mut rows = Some(self.rows.clone());
        stream_capsule(py, self.field.clone(), Box::new(move || Ok(rows.take())))
    }

    fn __repr__(&self) -> String {
        format!("RecordBatch({} rows: {})", self.rows.length, self.column_names().join(", "))
    }
}
