//! The decoders of the reader as Python classes: from a part of a sample to a row of a column.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyString;
use tarflume::{Decode, JsonDefault, Normalize};

use crate::apply::{ApplyDecoder, ApplyOptions};
use crate::constructor_args::{ConstructorArgs, NewArgs, again};
use crate::errors::{OrRaise, usage};
use crate::numbers::{Number, plain};
use crate::tokens::Tokens;
use crate::transforms::transform_of;
use crate::words;

/// Extensions of pictures, in the order of the search.
const PICTURES: &str = "jpg;jpeg;png;webp;bmp;gif;tif;tiff";
/// The part of `label="/pointer"`.
const JSON: &str = "json";

/// A decoder, and whether its rows are text.
pub(crate) type Part = (Arc<dyn Decode>, bool);

macro_rules! part {
    ($name:ident) => {
        impl $name {
            fn of(
                py: Python<'_>,
                decode: impl Decode,
                text: bool,
                again: ConstructorArgs,
            ) -> PyResult<Self> {
                decode.validate().or_raise(py)?;
                Ok($name((Arc::new(decode), text), again))
            }
        }
    };
}

/// A picture, cropped and resized by `transform`: an array of the shape of a row.
///
/// `part` is its extension, or several: `"jpg;png"` takes the first that a sample has. `layout` is "hwc" or
/// "chw"; `channels` is "rgb", "gray" or "rgba". `dtype="float32"`, `"float16"` or `"bfloat16"` computes
/// `(byte / 255 - mean) / std`, by default with ImageNet's `mean` and `std`; with a device, bytes are copied
/// and the GPU computes. `filter` is "bilinear", "bicubic", "lanczos", "nearest" or "bilinear-fast"
/// (aliased). `orientation` applies the orientation of EXIF. `reducing_gap`: a JPEG is decoded at a reduced
/// scale that is at least this many times the output (None: always in full). `damaged="keep"` decodes JPEGs
/// of which pixels are lost (cut files, missing scans, broken codes) to the pixels of libjpeg-turbo, as Pillow
/// does with `LOAD_TRUNCATED_IMAGES`, and `stats()["jpegs_damaged"]` counts them; by default they are bad
/// samples.
///
/// With a device: `resize_on_device=side` sends pictures of up to `side * side` pixels as they were decoded,
/// and the GPU crops and resizes. `device_decoder` has the GPU's JPEG decoder (nvJPEG) decode a share of the
/// pictures, 0 to 1, or with "auto" a share that makes both sides finish at the same time.
#[pyclass(frozen, module = "tarflume")]
pub struct Image(Part, ConstructorArgs);
part!(Image);

#[pymethods]
impl Image {
    #[new]
    #[allow(clippy::too_many_arguments)] // the keywords of a Python class
    #[pyo3(signature = (transform, part = PICTURES, *, layout = "hwc", channels = "rgb",
           dtype = "uint8", mean = None, std = None, filter = "bilinear", orientation = true,
           reducing_gap = 2.0, damaged = "error", resize_on_device = None, device_decoder = None))]
    fn new(
        py: Python<'_>,
        transform: &Bound<'_, PyAny>,
        part: &str,
        layout: &str,
        channels: &str,
        dtype: &str,
        mean: Option<[f32; 3]>,
        std: Option<[f32; 3]>,
        filter: &str,
        orientation: bool,
        reducing_gap: Option<f64>,
        damaged: &str,
        resize_on_device: Option<Number<u32>>,
        device_decoder: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let resize_on_device = resize_on_device.map(|n| n.0);
        let again = again!(
            py,
            transform,
            part,
            layout,
            channels,
            dtype,
            mean,
            std,
            filter,
            orientation,
            reducing_gap,
            damaged,
            resize_on_device,
            device_decoder
        );
        let Some(transform) = transform_of(transform) else {
            return Err(usage(
                py,
                "Image takes a transform: tarflume.RandomResizedCrop(224), or another",
            ));
        };
        let normalize = match (mean, std) {
            (None, None) => Normalize::imagenet(),
            (mean, std) => Normalize::new(mean.unwrap_or([0.0; 3]), std.unwrap_or([1.0; 3])),
        };
        let image = tarflume::Image::new(part, transform)
            .layout(words::layout(py, layout)?)
            .channels(words::channels(py, channels)?)
            .filter(words::filter(py, filter)?)
            .orientation(orientation)
            .reducing_gap(reducing_gap)
            .keep_damaged(words::damaged(py, damaged)?);
        let image = match resize_on_device {
            Some(side) => image.resize_on_device(side),
            None => image,
        };
        let image = match device_decoder {
            Some(share) => image.device_decoder(words::share(py, &share)?),
            None => image,
        };
        let image = match dtype {
            "uint8" if mean.is_none() && std.is_none() => image,
            "uint8" => {
                let text = "mean and std need dtype=\"float32\", \"float16\" or \"bfloat16\"";
                return Err(usage(py, text));
            }
            "float32" => image.to_f32(normalize),
            "float16" => image.to_f16(normalize),
            "bfloat16" => image.to_bf16(normalize),
            other => {
                let text = format!(
                    "pictures are \"uint8\", \"float32\", \"float16\" or \"bfloat16\", not {other:?}"
                );
                return Err(usage(py, text));
            }
        };
        Image::of(py, image, false, again)
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        self.1.words(py)
    }
}

/// The value at `pointer` (RFC 6901: "/class", "/boxes/0") of a JSON part: a number of `dtype` in each row.
///
/// With `shape` it is an array, with `variable=True` an array of any length, with both an array of any number of
/// arrays of this shape: `Json("/boxes", shape=[4], variable=True)` has all numbers of a sample in one row. With `text=True` a string. With
/// `labels`, a list of strings, it is the index of the string in the list. `default` is the value where the
/// pointer finds nothing.
#[pyclass(frozen, module = "tarflume")]
pub struct Json(Part, ConstructorArgs);
part!(Json);

#[pymethods]
impl Json {
    #[new]
    #[allow(clippy::too_many_arguments)] // the keywords of a Python class
    #[pyo3(signature = (pointer, part = JSON, *, dtype = "int64", shape = None, variable = false,
           text = false, labels = None, default = None))]
    fn new(
        py: Python<'_>,
        pointer: &str,
        part: &str,
        dtype: &str,
        shape: Option<Vec<Number<usize>>>,
        variable: bool,
        text: bool,
        labels: Option<Vec<String>>,
        default: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let shape = shape.map(plain);
        let again = again!(py, pointer, part, dtype, shape, variable, text, labels, default);
        let mut json = tarflume::Json::new(part, pointer).dtype(words::dtype(py, dtype)?);
        json = match (shape, variable) {
            (Some(shape), true) => json.variable_of(shape),
            (Some(shape), false) => json.shape(shape),
            (None, true) => json.variable(),
            (None, false) => json,
        };
        if text {
            json = json.text();
        }
        if let Some(labels) = labels {
            json = json.labels(labels);
        }
        if let Some(default) = default {
            json = json.default(json_default(default)?);
        }
        Json::of(py, json, text, again)
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        self.1.words(py)
    }
}

fn json_default(value: &Bound<'_, PyAny>) -> PyResult<JsonDefault> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(JsonDefault::Text(text.to_string()));
    }
    if let Ok(whole) = value.extract::<i64>() {
        return Ok(whole.into());
    }
    if let Ok(real) = value.extract::<f64>() {
        return Ok(real.into());
    }
    match value.extract::<Vec<i64>>() {
        Ok(whole) => Ok(whole.into()),
        Err(_) => Ok(value.extract::<Vec<f64>>()?.into()),
    }
}

/// A class label: a part that contains a whole number in decimal, such as WebDataset's `.cls`. Each row is a
/// number of `dtype`.
#[pyclass(frozen, module = "tarflume")]
pub struct ClassLabel(Part, ConstructorArgs);
part!(ClassLabel);

#[pymethods]
impl ClassLabel {
    #[new]
    #[pyo3(signature = (part = "cls", *, dtype = "int64"))]
    fn new(py: Python<'_>, part: &str, dtype: &str) -> PyResult<Self> {
        let again = again!(py, part, dtype);
        ClassLabel::of(py, tarflume::Class::new(part).dtype(words::dtype(py, dtype)?), false, again)
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        self.1.words(py)
    }
}

/// A part's bytes as they are: `bytes` of any length, or an array of `dtype` and `shape`. With
/// `optional=True`, a sample without the part has an empty row instead of being bad.
#[pyclass(frozen, module = "tarflume")]
pub struct Raw(Part, ConstructorArgs);
part!(Raw);

#[pymethods]
impl Raw {
    #[new]
    #[pyo3(signature = (part, *, dtype = "uint8", shape = None, optional = false))]
    fn new(
        py: Python<'_>,
        part: &str,
        dtype: &str,
        shape: Option<Vec<Number<usize>>>,
        optional: bool,
    ) -> PyResult<Self> {
        let shape = shape.map(plain);
        let again = again!(py, part, dtype, shape, optional);
        let mut raw = tarflume::Raw::new(part).dtype(words::dtype(py, dtype)?);
        if let Some(shape) = shape {
            raw = raw.shape(shape);
        }
        Raw::of(py, if optional { raw.allow_missing() } else { raw }, false, again)
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        self.1.words(py)
    }
}

/// A part as UTF-8 text: each row is a `str`.
#[pyclass(frozen, module = "tarflume")]
pub struct Text(Part, ConstructorArgs);
part!(Text);

#[pymethods]
impl Text {
    #[new]
    #[pyo3(signature = (part = "txt"))]
    fn new(py: Python<'_>, part: &str) -> PyResult<Self> {
        let again = again!(py, part);
        Text::of(py, tarflume::Text::new(part), true, again)
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        self.1.words(py)
    }
}

/// A NumPy file as an array of `dtype`, which must be that of the file. The array has `shape`, or any number
/// of rows of the shape `tail`, or one dimension of any length.
#[pyclass(frozen, module = "tarflume")]
pub struct Npy(Part, ConstructorArgs);
part!(Npy);

#[pymethods]
impl Npy {
    #[new]
    #[pyo3(signature = (dtype, part = "npy", *, shape = None, tail = None))]
    fn new(
        py: Python<'_>,
        dtype: &str,
        part: &str,
        shape: Option<Vec<Number<usize>>>,
        tail: Option<Vec<Number<usize>>>,
    ) -> PyResult<Self> {
        let (shape, tail) = (shape.map(plain), tail.map(plain));
        let again = again!(py, dtype, part, shape, tail);
        let npy = tarflume::Npy::new(part, words::dtype(py, dtype)?);
        let npy = match (shape, tail) {
            (None, None) => npy,
            (Some(shape), None) => npy.shape(shape),
            (None, Some(tail)) => npy.tail(tail),
            _ => return Err(usage(py, "Npy takes shape or tail, not both")),
        };
        Npy::of(py, npy, false, again)
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        self.1.words(py)
    }
}

/// Applies a Python function to each sample of a column: `function(value)`.
///
/// `column` is any column: an `Image`, a `Json`, a part's name (its bytes), another `Apply`. The function's
/// argument is a row: a NumPy array that it may change, a NumPy number, the `bytes` of a part, or the `str`
/// of a text. It returns an array of the same shape and type; with `shape` and `dtype`, an array of these;
/// with `most`, an array of one dimension and up to `most` elements, or `bytes`; with `text=True`, a `str`
/// of up to `most` bytes. With `seeded=True` it is called as `function(value, seed=number)`: a random number
/// for the sample and the epoch, which does not depend on threads, ranks and resuming.
///
/// It runs in the loader's threads. One at a time holds the interpreter lock, unless Python is free-threaded;
/// `loader.stats()` shows the cost. An exception makes the sample bad (see `on_bad`) and is the `__cause__`
/// of the error.
#[pyclass(frozen, module = "tarflume")]
pub struct Apply(Part, ConstructorArgs);
part!(Apply);

#[pymethods]
impl Apply {
    #[new]
    #[allow(clippy::too_many_arguments)] // the keywords of a Python class
    #[pyo3(signature = (function, column, *, dtype = None, shape = None, most = None, text = false,
           seeded = false))]
    fn new(
        py: Python<'_>,
        function: &Bound<'_, PyAny>,
        column: &Bound<'_, PyAny>,
        dtype: Option<&str>,
        shape: Option<Vec<Number<usize>>>,
        most: Option<Number<usize>>,
        text: bool,
        seeded: bool,
    ) -> PyResult<Self> {
        let shape = shape.map(plain);
        let most = most.map(|n| n.0);
        let again = again!(py, function, column, dtype, shape, most, text, seeded);
        let wanted = ApplyOptions { dtype, shape, most, text, seeded };
        Apply::of(py, ApplyDecoder::new(function, part(py, column)?, wanted)?, text, again)
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        self.1.words(py)
    }
}

/// The decoder for an object; a string is a part, whose bytes are the rows.
pub(crate) fn part(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Part> {
    macro_rules! known {
        ($($class:ident),*) => {
            $(if let Ok(part) = object.cast::<$class>() {
                return Ok(part.get().0.clone());
            })*
        };
    }
    known!(Image, Json, ClassLabel, Raw, Text, Npy, Tokens, Apply);
    if let Ok(name) = object.extract::<String>() {
        return Ok((Arc::new(tarflume::Raw::new(name)), false));
    }
    let text = "a column is a part's name, or one of Image, Json, ClassLabel, Raw, Text, Npy, Tokens, \
                Apply";
    Err(usage(py, format!("{text}, not {}", object.repr()?)))
}

/// The value of `image=`: a transform, an `Image`, or an `Apply` to one.
pub(crate) fn image(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Part> {
    match transform_of(object) {
        Some(transform) => Ok((Arc::new(tarflume::Image::new(PICTURES, transform)), false)),
        None if object.cast::<Image>().is_ok() || object.cast::<Apply>().is_ok() => {
            part(py, object)
        }
        None => Err(usage(
            py,
            format!("image= takes a transform, a tarflume.Image or Apply, not {}", object.repr()?),
        )),
    }
}

/// The value of `label=`: a pointer into the JSON part, the name of a part with a number, or a column.
pub(crate) fn label(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Part> {
    let Ok(name) = object.extract::<String>() else { return part(py, object) };
    let decode: Arc<dyn Decode> = match name.starts_with('/') {
        true => Arc::new(tarflume::Json::new(JSON, name)),
        false => Arc::new(tarflume::Class::new(name)),
    };
    decode.validate().or_raise(py)?;
    Ok((decode, false))
}
