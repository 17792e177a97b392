//! `Ragged`: a column whose rows have different lengths, such as files, texts and sequences.

use std::sync::Arc;

use pyo3::exceptions::{PyAttributeError, PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PySlice, PyString};
use tarflume::internal::{ObjectRows, nearest_bf16, nearest_f16};
use tarflume::{Batch, DType, Element};

use crate::arguments::words::dtype_name;
use crate::batches::column::{Column, own};
use crate::buffers::memory::{BatchColumnMemory, Memory};
use crate::faults::errors::{OrRaise, bug, usage};

/// Rows of different lengths: a sequence of `bytes`, of `str`, or of `Column`. Pictures of different sizes
/// are `Column`s of three dimensions.
///
/// `values` contains all elements, row after row, without a copy. `offsets` contains where each row begins
/// in them, and where the last one ends.
#[pyclass(frozen, module = "tarflume")]
pub struct Ragged {
    batch: Arc<Batch>,
    name: String,
    text: bool,
    /// What a row has of each object, if the column is one of annotations.
    objects: Option<ObjectRows>,
}

/// The bytes of one row, in the memory of all rows.
struct RowMemory {
    whole: Arc<dyn Memory>,
    from: usize,
    to: usize,
}

impl Memory for RowMemory {
    fn bytes(&self) -> &[u8] {
        &self.whole.bytes()[self.from..self.to]
    }
}

/// Where a row of numbers begins, in bytes, and its shape.
pub(crate) struct RowPlace {
    pub(crate) from: usize,
    pub(crate) shape: Vec<usize>,
}

/// The rows that an index or a slice means.
pub(crate) enum WhichRows {
    One(usize),
    Several(Vec<usize>),
}

impl WhichRows {
    /// # Errors
    /// Neither an index nor a slice, or no row has this number.
    pub(crate) fn of(which: &Bound<'_, PyAny>, rows: usize) -> PyResult<WhichRows> {
        let rows = rows as isize;
        if let Ok(slice) = which.cast::<PySlice>() {
            let range = slice.indices(rows)?;
            let places = (0..range.slicelength as isize).map(|n| range.start + n * range.step);
            return Ok(WhichRows::Several(places.map(|row| row as usize).collect()));
        }
        let row = which.extract::<isize>().map_err(|_| {
            let text = "a column of rows of different lengths takes the number of a row, or a slice: \
                        column[row][place]";
            PyTypeError::new_err(text)
        })?;
        let at = if row < 0 { row + rows } else { row };
        if !(0..rows).contains(&at) {
            return Err(PyIndexError::new_err(format!("row {row} of {rows}")));
        }
        Ok(WhichRows::One(at as usize))
    }
}

impl Ragged {
    pub(crate) fn new(
        batch: &Arc<Batch>,
        name: &str,
        text: bool,
        objects: Option<ObjectRows>,
    ) -> Ragged {
        Ragged { batch: batch.clone(), name: name.to_string(), text, objects }
    }

    /// The shape of the numbers of an object; `None` if rows have no such numbers.
    fn object_shape(&self) -> Option<&[usize]> {
        match &self.objects {
            Some(ObjectRows::Numbers(shape)) => Some(shape),
            Some(ObjectRows::Masks | ObjectRows::Plane) | None => None,
        }
    }

    /// Elements of what a row is a list of: the numbers of an object, or one.
    fn each(&self) -> usize {
        self.object_shape().map_or(1, |shape| shape.iter().product())
    }

    /// The dimensions of `elements` elements: objects and their shape, or one dimension.
    fn dims(&self, elements: usize) -> Vec<usize> {
        let mut dims = vec![elements / self.each()];
        dims.extend(self.object_shape().into_iter().flatten());
        dims
    }

    pub(crate) fn column(&self, py: Python<'_>) -> PyResult<tarflume::Column<'_>> {
        self.batch.column(&self.name).or_raise(py)
    }

    fn memory(&self) -> Arc<dyn Memory> {
        Arc::new(BatchColumnMemory { batch: self.batch.clone(), name: self.name.clone() })
    }

    fn row<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyAny>> {
        let column = self.column(py)?;
        let bytes = column.row(row);
        let is_picture = column.picture(row).is_some();
        if self.text && !is_picture {
            let text = std::str::from_utf8(bytes).map_err(|_| bug("text that is not UTF-8"))?;
            return Ok(PyString::new(py, text).into_any());
        }
        if column.dtype() == DType::U8 && self.objects.is_none() && !is_picture {
            return Ok(PyBytes::new(py, bytes).into_any());
        }
        let RowPlace { from, shape } = self.place(&column, row)?;
        let memory = RowMemory { whole: self.memory(), from, to: from + bytes.len() };
        Ok(Bound::new(py, Column::new(Arc::new(memory), column.dtype(), &shape))?.into_any())
    }

    /// Where a row of numbers is among all rows.
    pub(crate) fn place(&self, column: &tarflume::Column<'_>, row: usize) -> PyResult<RowPlace> {
        let mut offsets = column.offsets().ok_or_else(|| bug("rows without offsets"))?;
        let from = offsets.nth(row).unwrap_or(0) as usize;
        let shape = match column.picture(row).map(|picture| picture.dims()) {
            // A mask of a whole picture has no third dimension.
            Some(dims) if self.objects == Some(ObjectRows::Plane) => dims[1..].to_vec(),
            Some(dims) => dims.to_vec(),
            None => self.dims(column.row(row).len() / column.dtype().size()),
        };
        Ok(RowPlace { from, shape })
    }

    /// Objects of all rows in one array, and a mask of the objects that rows have.
    fn padded_objects<T: Element + Send + Sync>(
        &self,
        py: Python<'_>,
        value: T,
    ) -> PyResult<(Column, Column)> {
        let column = self.column(py)?;
        let rows = self.batch.len();
        if self.objects == Some(ObjectRows::Masks) {
            let padded = column.padded_pictures(value).or_raise(py)?;
            let counts = padded.shapes.iter().map(|shape| shape.channels as usize).collect();
            let mask = seen(counts, padded.shape[1]);
            return Ok((own(padded.values, T::DTYPE, &padded.shape), mask));
        }
        let padded = column.padded(value).or_raise(py)?;
        let each = self.each();
        let most = padded.shape[1] / each;
        let mut shape = vec![rows, most];
        shape.extend(self.object_shape().into_iter().flatten());
        let counts = padded.lengths.iter().map(|length| length / each).collect();
        Ok((own(padded.values, T::DTYPE, &shape), seen(counts, most)))
    }

    /// True if the rows are pictures of different sizes.
    fn has_pictures(&self, py: Python<'_>) -> PyResult<bool> {
        let column = self.column(py)?;
        Ok((0..self.batch.len()).any(|row| column.picture(row).is_some()))
    }

    fn filled<T: Element + Send + Sync>(
        &self,
        py: Python<'_>,
        value: T,
    ) -> PyResult<(Column, Column)> {
        if self.objects.as_ref().is_some_and(|objects| *objects != ObjectRows::Plane) {
            return self.padded_objects(py, value);
        }
        if self.has_pictures(py)? {
            let padded = self.column(py)?.padded_pictures(value).or_raise(py)?;
            let [rows, first, second, third] = padded.shape;
            let last = padded.shapes.iter().all(|shape| !shape.channels_first);
            let mask = [rows, if last { first } else { second }, if last { second } else { third }];
            let mask = own(padded.mask().or_raise(py)?, DType::Bool, &mask);
            let is_plane = self.objects.is_some();
            let shape = if is_plane { &[rows, second, third][..] } else { &padded.shape[..] };
            return Ok((own(padded.values, T::DTYPE, shape), mask));
        }
        let padded = self.column(py)?.padded(value).or_raise(py)?;
        let lengths = padded.lengths.iter().map(|&n| n as u64).collect();
        Ok((own(padded.values, T::DTYPE, &padded.shape), Column::numbers(lengths)))
    }
}

#[pymethods]
impl Ragged {
    pub(crate) fn __len__(&self) -> usize {
        self.batch.len()
    }

    /// `column[row]`; a slice is a list of rows.
    fn __getitem__<'py>(&self, which: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = which.py();
        match WhichRows::of(which, self.__len__())? {
            WhichRows::One(row) => self.row(py, row),
            WhichRows::Several(rows) => {
                let rows: PyResult<Vec<_>> =
                    rows.into_iter().map(|row| self.row(py, row)).collect();
                Ok(PyList::new(py, rows?)?.into_any())
            }
        }
    }

    /// All rows: a list of `bytes`, `str` or `Column`.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for row in 0..self.__len__() {
            list.append(self.row(py, row)?)?;
        }
        Ok(list)
    }

    /// The rows as an array of objects: an array of numbers has rows of one length.
    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(usage(py, "rows of different lengths are copied: leave copy=False out"));
        }
        let words = PyDict::new(py);
        words.set_item("dtype", "object")?;
        let array = py.import("numpy")?.call_method("empty", (self.__len__(),), Some(&words))?;
        for row in 0..self.__len__() {
            array.set_item(row, self.row(py, row)?)?;
        }
        dtype.map_or(Ok(array.clone()), |dtype| array.call_method1("astype", (dtype,)))
    }

    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let mut text = format!("'Ragged' object has no attribute '{name}'");
        let array = py.import("numpy")?.getattr("ndarray")?;
        if !name.starts_with('_') && array.hasattr(name)? {
            text += "; its rows have different lengths: take each, [row for row in column], or \
                     values, lengths = column.padded()";
        }
        Err(PyAttributeError::new_err(text))
    }

    /// The type of an element, by its NumPy name.
    #[getter]
    pub(crate) fn dtype(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(dtype_name(self.column(py)?.dtype()))
    }

    /// All elements, row after row, without a copy: a `Column` of one dimension; of boxes and other numbers of objects, a
    /// `Column` of all objects.
    #[getter]
    fn values(&self, py: Python<'_>) -> PyResult<Column> {
        let column = self.column(py)?;
        let shape = self.dims(column.bytes().len() / column.dtype().size());
        Ok(Column::new(self.memory(), column.dtype(), &shape))
    }

    /// Where each row begins in `values`, and where the last one ends: uint64 [rows + 1]. Of columns of annotations, but for
    /// masks, they count objects; otherwise elements.
    #[getter]
    pub(crate) fn offsets(&self, py: Python<'_>) -> PyResult<Column> {
        let column = self.column(py)?;
        let size = (column.dtype().size() * self.each()) as u64;
        let offsets = column.offsets().ok_or_else(|| bug("rows without offsets"))?;
        Ok(Column::numbers(offsets.map(|at| at / size).collect()))
    }

    /// Whether rows have objects that lie on pictures: boxes, their values, masks, keypoints.
    #[getter]
    pub(crate) fn has_objects(&self) -> bool {
        matches!(self.objects, Some(ObjectRows::Numbers(_) | ObjectRows::Masks))
    }

    /// The shape of each row, if rows are pictures of different sizes; otherwise an empty list.
    #[getter]
    pub(crate) fn shapes(&self, py: Python<'_>) -> PyResult<Vec<(usize, usize, usize)>> {
        let column = self.column(py)?;
        let shapes = (0..self.batch.len()).filter_map(|row| column.picture(row));
        Ok(shapes.map(|shape| shape.dims().into()).collect())
    }

    /// Whether pictures are `[channels, height, width]`; None if rows are no pictures.
    #[getter]
    fn channels_first(&self, py: Python<'_>) -> PyResult<Option<bool>> {
        let column = self.column(py)?;
        let picture = (0..self.batch.len()).find_map(|row| column.picture(row));
        Ok(picture.map(|shape| shape.channels_first))
    }

    /// One array with the length of the longest row, where shorter rows are filled with `value`, and the
    /// lengths of the rows. A value that the type of the rows does not hold is an error. For pictures: an array
    /// with the largest height and the largest width, filled at the right and at the bottom, and a mask [rows,
    /// height, width] that is true inside a picture. For boxes and other columns of annotations: an array [rows, most
    /// objects, ...], and a mask [rows, most objects] that is true where a row has an object.
    #[pyo3(signature = (value = 0.0))]
    fn padded(&self, py: Python<'_>, value: f64) -> PyResult<(Column, Column)> {
        let dtype = self.column(py)?.dtype();
        let whole = (value.fract() == 0.0 && value.abs() < 1e20).then_some(value as i128);
        macro_rules! whole {
            ($kind:ty) => {{
                let fill = whole.and_then(|whole| <$kind>::try_from(whole).ok());
                self.filled(py, fill.ok_or_else(|| outside(py, value, dtype))?)
            }};
        }
        match dtype {
            DType::U8 => whole!(u8),
            DType::I8 => whole!(i8),
            DType::U16 => whole!(u16),
            DType::I16 => whole!(i16),
            DType::U32 => whole!(u32),
            DType::I32 => whole!(i32),
            DType::U64 => whole!(u64),
            DType::I64 => whole!(i64),
            DType::F16 => {
                let fill = nearest_f16(value);
                expect_finite(py, value, fill.is_finite(), dtype)?;
                self.filled(py, fill)
            }
            DType::Bf16 => {
                let fill = nearest_bf16(value);
                expect_finite(py, value, fill.is_finite(), dtype)?;
                self.filled(py, fill)
            }
            DType::F32 => {
                let fill = value as f32;
                expect_finite(py, value, fill.is_finite(), dtype)?;
                self.filled(py, fill)
            }
            DType::F64 => self.filled(py, value),
            other => Err(usage(py, format!("rows of {} cannot be padded", dtype_name(other)))),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let what = if self.text { "str" } else { dtype_name(self.column(py)?.dtype()) };
        Ok(format!("Ragged({what}, {} rows)", self.__len__()))
    }
}

/// A mask `[rows, most]` of the objects that rows have.
fn seen(counts: Vec<usize>, most: usize) -> Column {
    let shape = [counts.len(), most];
    let mask: Vec<bool> =
        counts.iter().flat_map(|&count| (0..most).map(move |at| at < count)).collect();
    own(mask, DType::Bool, &shape)
}

/// The error about a value that the type of the rows does not hold.
fn outside(py: Python<'_>, value: f64, dtype: DType) -> PyErr {
    let dtype = dtype_name(dtype);
    usage(py, format!("{value} is no {dtype}, so rows cannot be padded with it"))
}

/// Returns an error if a finite value is not finite in the type of the rows.
fn expect_finite(py: Python<'_>, value: f64, is_finite: bool, dtype: DType) -> PyResult<()> {
    if is_finite || !value.is_finite() { Ok(()) } else { Err(outside(py, value, dtype)) }
}
