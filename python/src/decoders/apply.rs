//! `ApplyDecoder`: a decoder that passes the rows of another decoder to a Python function, in the decoding
//! threads. It measures the cost of each call.

use std::sync::Arc;
use std::time::Instant;

use pyo3::exceptions::{PyException, PyMemoryError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyString};
use tarflume::internal::room_pixels;
use tarflume::{
    DType, Decode, Error, ErrorKind, PictureShape, Result, Row, RowShape, Sample, Scratch,
};

use crate::arguments::words;
use crate::decoders::gate::with_python;
use crate::faults::errors::usage;

/// The arguments of `Apply` other than the function and the column.
pub(crate) struct ApplyOptions<'a> {
    pub(crate) dtype: Option<&'a str>,
    pub(crate) shape: Option<Vec<usize>>,
    pub(crate) most: Option<usize>,
    pub(crate) text: bool,
    pub(crate) seeded: bool,
}

/// The decoder itself.
pub(crate) struct ApplyDecoder {
    name: String,
    function: Py<PyAny>,
    /// Calls the function, and makes bytes of what it returns.
    row: Py<PyAny>,
    inner: Arc<dyn Decode>,
    inner_text: bool,
    shape: RowShape,
    /// Bytes of a variable row.
    most: u64,
    text: bool,
    seeded: bool,
}

impl ApplyOptions<'_> {
    /// What a row holds, and the bytes of a variable one.
    fn row(&self, py: Python<'_>, inner: RowShape) -> PyResult<(RowShape, u64)> {
        if self.text && (self.dtype.is_some() || self.shape.is_some()) {
            return Err(usage(py, "a text has most=, its bytes; no shape= and no dtype="));
        }
        let dtype = match self.dtype {
            Some(word) => words::dtype(py, word)?,
            None if self.text => DType::U8,
            None => inner.dtype(),
        };
        match (&self.shape, self.most, inner) {
            (Some(_), Some(_), _) => Err(usage(py, "Apply takes shape or most, not both")),
            (Some(shape), None, _) => Ok((RowShape::Fixed(dtype, shape.clone()), 0)),
            (None, Some(most), _) => {
                Ok((RowShape::Variable(dtype), (most as u64).saturating_mul(dtype.size() as u64)))
            }
            (None, None, RowShape::Fixed(_, shape)) if !self.text => {
                Ok((RowShape::Fixed(dtype, shape), 0))
            }
            (None, None, _) => {
                let text = "Apply cannot determine the size of the function's result: give shape=(...), or most= for \
                            the maximum number of elements";
                Err(usage(py, text))
            }
        }
    }
}

/// What was decoded into a row's memory.
pub(crate) struct DecodedRow {
    /// Its bytes.
    pub(crate) used: usize,
    /// Its shape, if it is a picture of any size.
    pub(crate) picture: Option<PictureShape>,
}

/// Bytes of memory for the row of a sample.
pub(crate) fn row_room(column: &dyn Decode, sample: &Sample<'_>) -> usize {
    if let Some(fixed) = column.shape().bytes() {
        return fixed;
    }
    let lengths: Vec<u64> = sample.parts.iter().map(|(_, part)| part.len() as u64).collect();
    if !column.wants_pixels() {
        return column.room(&lengths) as usize;
    }
    let pixels = sample.parts.iter().map(|&(_, part)| Some(room_pixels(part)));
    let pixels: Vec<Option<u64>> = pixels.collect();
    column.room_of(&lengths, &pixels) as usize
}

/// Decodes the row of a sample into `bytes`, which have the length of [`row_room`].
///
/// # Errors
/// Those of the decoder.
pub(crate) fn decode_row(
    column: &dyn Decode,
    sample: &Sample<'_>,
    bytes: &mut [u8],
    scratch: &mut Scratch,
) -> Result<DecodedRow> {
    let mut used = bytes.len();
    let mut picture = None;
    let row = match column.shape() {
        RowShape::Fixed(..) => Row::fixed(bytes),
        RowShape::Padded(_) | RowShape::Packed(_) => Row::variable(bytes, &mut used),
        RowShape::Variable(_) => Row::pictured(bytes, &mut used, &mut picture),
    };
    column.decode(sample, row, scratch)?;
    Ok(DecodedRow { used, picture })
}

/// A row of the inner column, in `u64`s so that it is aligned for any type.
#[derive(Default)]
struct RowBuffer(Vec<u64>);

impl ApplyDecoder {
    pub(crate) fn new(
        function: &Bound<'_, PyAny>,
        inner: Arc<dyn Decode>,
        inner_text: bool,
        wanted: ApplyOptions<'_>,
    ) -> PyResult<ApplyDecoder> {
        let py = function.py();
        if !function.is_callable() {
            let text = format!("Apply takes a function and a column, not {}", function.repr()?);
            return Err(usage(py, text));
        }
        let (shape, most) = wanted.row(py, inner.shape())?;
        let name = function.getattr("__qualname__").and_then(|name| name.extract());
        Ok(ApplyDecoder {
            name: name.unwrap_or_else(|_| "the function".into()),
            function: function.clone().unbind(),
            row: py.import("tarflume.applying")?.getattr("_row")?.unbind(),
            inner,
            inner_text,
            shape,
            most,
            text: wanted.text,
            seeded: wanted.seeded,
        })
    }

    /// Decodes the row of the inner column.
    fn inner_row(
        &self,
        sample: &Sample<'_>,
        held: &mut Vec<u64>,
        scratch: &mut Scratch,
    ) -> Result<DecodedRow> {
        let room = row_room(&*self.inner, sample);
        let made = self.shape.bytes().map_or(self.most, |bytes| bytes as u64);
        // The interpreter holds copies.
        let copies = (room as u64).saturating_mul(3).saturating_add(made.saturating_mul(2));
        scratch.reserve_around(copies)?;
        held.resize(room.div_ceil(8), 0);
        let bytes = &mut bytemuck::cast_slice_mut(held)[..room];
        decode_row(&*self.inner, sample, bytes, scratch)
    }

    /// Calls the function for a row; returns the bytes of its result.
    fn call(
        &self,
        py: Python<'_>,
        bytes: &[u8],
        picture: Option<PictureShape>,
        seed: u64,
    ) -> PyResult<Vec<u8>> {
        let value = match (self.inner_text, self.inner.shape()) {
            _ if picture.is_some() => PyByteArray::new(py, bytes).into_any(),
            (true, _) => PyString::new(py, &String::from_utf8_lossy(bytes)).into_any(),
            (_, RowShape::Variable(DType::U8)) => PyBytes::new(py, bytes).into_any(),
            _ => PyByteArray::new(py, bytes).into_any(),
        };
        let inner = words::dtype_name(self.inner.shape().dtype());
        let shape = match fixed(self.shape.clone()) {
            Some(shape) => Some(pyo3::types::PyTuple::new(py, shape)?),
            None => None,
        };
        let words = PyDict::new(py);
        if self.seeded {
            words.set_item("seed", seed)?;
        }
        let outer = if self.text { "text" } else { words::dtype_name(self.shape.dtype()) };
        let inner_shape = picture.map(|picture| picture.dims().to_vec());
        let inner_shape = inner_shape.or_else(|| fixed(self.inner.shape()));
        let args = (&self.function, value, inner, inner_shape, outer, shape, words);
        let made = self.row.bind(py).call1(args)?;
        let made = made.cast::<PyBytes>()?;
        Ok(made.as_bytes().to_vec())
    }

    /// The function's exception as the source of this sample's error. Only what Python calls an `Exception` is about the
    /// sample: Ctrl-C, an exit, and memory that is not there end the epoch.
    fn failed(&self, error: PyErr) -> Error {
        let text = format!("{} failed", self.name);
        let is_of_sample = with_python(|py| {
            error.is_instance_of::<PyException>(py) && !error.is_instance_of::<PyMemoryError>(py)
        });
        let kind = match is_of_sample {
            Some(false) => ErrorKind::Machine,
            _ => ErrorKind::Decode,
        };
        Error::new(kind, text).with_source(error)
    }
}

impl Decode for ApplyDecoder {
    fn parts(&self) -> Vec<String> {
        self.inner.parts()
    }

    fn shape(&self) -> RowShape {
        self.shape.clone()
    }

    fn optional(&self) -> bool {
        self.inner.optional()
    }

    fn validate(&self) -> Result<()> {
        self.inner.validate()
    }

    fn room(&self, _: &[u64]) -> u64 {
        self.most
    }

    fn group(&self) -> usize {
        self.inner.group()
    }

    fn prepare(&self, samples: &[Sample<'_>], scratch: &mut Scratch) {
        self.inner.prepare(samples, scratch);
    }

    fn wants_entry_points(&self) -> bool {
        self.inner.wants_entry_points()
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        let mut held = std::mem::take(&mut scratch.get::<RowBuffer>().0);
        let DecodedRow { used, picture } = self.inner_row(sample, &mut held, scratch)?;
        let requested = Instant::now();
        let called = with_python(|py| {
            let entered = Instant::now();
            let bytes: &[u8] = bytemuck::cast_slice(&held);
            (entered, self.call(py, &bytes[..used], picture, sample.seed))
        });
        let Some((entered, made)) = called else {
            let text = "Python is shutting down: close the loader before the program ends";
            return Err(Error::new(ErrorKind::Decode, text));
        };
        scratch.called(entered - requested, entered.elapsed());
        if held.capacity() * 8 <= Scratch::KEEP {
            scratch.get::<RowBuffer>().0 = held;
        }
        row.put(&made.map_err(|error| self.failed(error))?)
    }
}

/// The shape of rows that all have the same.
fn fixed(shape: RowShape) -> Option<Vec<usize>> {
    match shape {
        RowShape::Fixed(_, shape) => Some(shape),
        RowShape::Variable(_) | RowShape::Padded(_) | RowShape::Packed(_) => None,
    }
}
