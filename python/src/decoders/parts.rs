//! The decoders of the reader as Python classes: from a part of a sample to a row of a column.

pub(crate) mod one;

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tarflume::Decode;
use tarflume::internal::Language;

use crate::arguments::constructor_args::{ConstructorArgs, NewArgs, again};
use crate::arguments::numbers::{Number, Shape};
use crate::arguments::{labels, words};
use crate::decoders::apply::{ApplyDecoder, ApplyOptions};
use crate::decoders::class_label::ClassLabel;
use crate::decoders::conversion::Conversion;
use crate::decoders::fallback::PillowFallback;
use crate::decoders::json_default::json_default;
use crate::decoders::piece_columns::patches::Patches;
use crate::decoders::piece_columns::views::{self, ViewsColumn};
use crate::decoders::recipes::{column_of, recipe_of};
use crate::decoders::tokens::Tokens;
use crate::decoders::transforms::{transform_of, transforms_to};
use crate::faults::errors::{OrRaise, usage};
use crate::faults::unknown_keywords;

/// Extensions of pictures, in the order of the search.
const PICTURES: &str = "jpg;jpeg;png;webp;bmp;gif;tif;tiff;jfif;jpe;mpo;ppm;pgm;pbm;pnm";
/// Extensions of pictures that a fallback decodes, too, in the order of the search.
const MORE_PICTURES: &str = "avif;heic;heif;jxl;jp2;j2k;jpx;jxr";
/// The part of `label="/pointer"`.
const JSON: &str = "json";

/// A decoder, and whether its rows are text.
pub(crate) type ColumnDecoder = (Arc<dyn Decode>, bool);

macro_rules! decoder {
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

/// A picture as an array, cropped and resized by `transform`, or changed by a recipe of `tarflume.transforms`.
///
/// `part` is its extension, or several: `"jpg;png"` takes the first that a sample has. `layout` is "hwc" or
/// "chw". `channels` is "rgb", "rgba", "gray", "luma" or "index". "index" gives the numbers that a mask stores:
/// indices of a palette, or gray levels that are not scaled. "gray" of a picture with a palette is an error;
/// "luma" is the gray of its colors.
///
/// `dtype` is "uint8", "uint16", "float32", "float16" or "bfloat16". Floats are from 0 to 1, exact also for
/// pictures of 16 bits. `normalize="imagenet"` subtracts ImageNet's mean and divides by its standard deviation,
/// "centered" gives -1 to 1, "unit" is the default, and `mean` and `std` are your own numbers:
/// `(value - mean) / std`. With a device, bytes are copied and the GPU computes. "uint16" has the values of
/// pictures of 16 bits; those of 8 bits are multiplied by 257, except of "index".
///
/// `filter` is "bilinear", "bicubic", "lanczos", "nearest" or "bilinear-fast" (aliased); the default is
/// "bilinear", and "nearest" for "index". `orientation` applies the orientation of EXIF, or of XMP where EXIF
/// states none. `filter="bicubic"` and `"lanczos"` give the bytes of Pillow 13, others differ by 1 at most.
///
/// `reducing_gap`: a JPEG is decoded at a reduced scale that is at least this many times the output (None: always
/// in full). "auto", the default, is 2, and None with "bicubic" and "lanczos", so that these give what Pillow gives.
///
/// `fallback="pillow"` lets Pillow decode pictures of exactly those kinds that are errors here: AVIF, HEIC and JPEG XL (with
/// the plugins of Pillow), JPEG 2000, arithmetic and lossless JPEG, rare TIFF and BMP. One thread at a time decodes such a
/// picture; `stats()["functions"]` has the cost.
///
/// `damaged="keep"` decodes JPEGs of which pixels are lost (cut files, missing scans, broken codes) to the pixels of
/// libjpeg-turbo, as Pillow does with `LOAD_TRUNCATED_IMAGES`, and `stats()["jpegs_damaged"]` counts them; by default
/// they are bad samples.
///
/// With a device: `resize_on_device=side` sends pictures of up to `side * side` pixels as they were decoded, and the GPU
/// crops and resizes. `device_decoder` has the GPU's JPEG decoder (nvJPEG) decode a share of the pictures, 0 to 1, or with
/// "auto" a share that makes both sides finish at once; "kernels" has tarflume's own kernels decode what crops need of JPEGs
/// with entry points, with the CPU's bytes (not yet run on a GPU). `transforms_on="device"` runs the operations of a recipe
/// behind its crop, resize and flip on the GPU, with the draws and bytes of the host; "auto" divides by who waits for whom.
#[pyclass(frozen, module = "tarflume")]
pub struct Image(ColumnDecoder, ConstructorArgs);
decoder!(Image);

#[pymethods]
impl Image {
    #[new]
    #[allow(clippy::too_many_arguments)] // the keywords of a Python class
    #[pyo3(signature = (transform, part = None, *, layout = "hwc", channels = "rgb", dtype =
           "uint8", normalize = None, mean = None, std = None, filter = None, orientation = true,
           reducing_gap = Some(words::Gap::auto()), damaged = "error", resize_on_device = None, device_decoder = None,
           transforms_on = "host", fallback = None, **unknown),
           text_signature = "(transform, part=None, *, layout='hwc', channels='rgb', \
           dtype='uint8', normalize=None, mean=None, std=None, filter=None, orientation=True, \
           reducing_gap='auto', damaged='error', resize_on_device=None, device_decoder=None, \
           transforms_on='host', fallback=None)")]
    fn new(
        py: Python<'_>,
        transform: &Bound<'_, PyAny>,
        part: Option<&str>,
        layout: &str,
        channels: &str,
        #[pyo3(from_py_with = words::dtype_word)] dtype: &str,
        normalize: Option<&str>,
        mean: Option<[f32; 3]>,
        std: Option<[f32; 3]>,
        filter: Option<&str>,
        orientation: bool,
        reducing_gap: Option<words::Gap>,
        damaged: &str,
        resize_on_device: Option<Number<u32>>,
        device_decoder: Option<Bound<'_, PyAny>>,
        transforms_on: &str,
        fallback: Option<&str>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        unknown_keywords::refuse::<Image>(py, unknown)?;
        let resize_on_device = resize_on_device.map(|n| n.0);
        let again = again!(
            py,
            transform,
            part,
            layout,
            channels,
            dtype,
            normalize,
            mean,
            std,
            filter,
            orientation,
            reducing_gap,
            damaged,
            resize_on_device,
            device_decoder,
            transforms_on,
            fallback
        );
        let Some(transform) = transform_of(transform)? else {
            return Err(usage(
                py,
                "Image takes a transform: tarflume.RandomResizedCrop(224), or another, or a recipe of \
                 tarflume.transforms",
            ));
        };
        let channels = words::channels(py, channels)?;
        let part = match (part, fallback) {
            (Some(part), _) => part.to_string(),
            (None, None) => PICTURES.to_string(),
            (None, Some(_)) => format!("{PICTURES};{MORE_PICTURES}"),
        };
        let image = tarflume::Image::new(part, transform)
            .layout(words::layout(py, layout)?)
            .channels(channels)
            .orientation(orientation)
            .keep_damaged(words::damaged(py, damaged)?)
            .transforms_on(transforms_on.parse().or_raise(py)?);
        let image = match fallback {
            Some(name) => image.fallback(PillowFallback::named(py, name, orientation)?),
            None => image,
        };
        let image = match reducing_gap.map(|gap| gap.number(py)).transpose()? {
            Some(None) => image,
            Some(gap) => image.reducing_gap(gap),
            None => image.reducing_gap(None),
        };
        let image = match filter {
            Some(filter) => image.filter(words::filter(py, filter)?),
            None => image,
        };
        let image = match resize_on_device {
            Some(side) => image.resize_on_device(side),
            None => image,
        };
        let image = match device_decoder {
            Some(decoder) => words::device_decoder(py, image, &decoder)?,
            None => image,
        };
        let conversion = Conversion { normalize, mean, std };
        let image = conversion.apply(py, image, dtype, channels)?;
        Image::of(py, views::of_image(image), false, again)
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        self.1.words(py)
    }
}

/// The value at `pointer` (RFC 6901: "/class", "/boxes/0") of a JSON part: a number of `dtype` in each row.
///
/// With `shape` it is an array, with `variable=True` an array of any length, with both an array of any number of
/// arrays of this shape: `Json("/boxes", shape=[4], variable=True)` has all numbers of a sample in one row. With `text=True` a string. With
/// `labels`, a list of strings, it is the index of the string in the list; with a dict, `{"cat": 7}` or `{7: "cat"}`, the
/// number of the string. `"/class_name"` is numbered by the classes of the data set, if its manifest has them. `default` is the value where the
/// pointer finds nothing. `rules="python"` also accepts `NaN`, `Infinity`, `-Infinity` and halves of surrogate pairs,
/// which Python's `json` writes; a half becomes U+FFFD.
///
/// A whole number that `dtype` would round is an error; a fraction becomes the nearest float.
#[pyclass(frozen, module = "tarflume")]
pub struct Json(ColumnDecoder, ConstructorArgs);
decoder!(Json);

#[pymethods]
impl Json {
    #[new]
    #[allow(clippy::too_many_arguments)] // the keywords of a Python class
    #[pyo3(signature = (pointer, part = JSON, *, dtype = "int64", shape = None, variable = false,
           text = false, labels = None, default = None, rules = "strict", **unknown),
           text_signature = "(pointer, part='json', *, dtype='int64', shape=None, \
           variable=False, text=False, labels=None, default=None, rules='strict')")]
    fn new(
        py: Python<'_>,
        pointer: &str,
        part: &str,
        #[pyo3(from_py_with = words::dtype_word)] dtype: &str,
        shape: Option<Shape>,
        variable: bool,
        text: bool,
        labels: Option<&Bound<'_, PyAny>>,
        default: Option<&Bound<'_, PyAny>>,
        rules: &str,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        unknown_keywords::refuse::<Json>(py, unknown)?;
        let shape = shape.map(|Shape(shape)| shape);
        let numbers = labels.map(labels::numbers).transpose()?;
        let labels = labels.map(labels::copied).transpose()?;
        let again = again!(py, pointer, part, dtype, shape, variable, text, labels, default, rules);
        let mut json = tarflume::Json::new(part, pointer)
            .language(Some(Language::Python))
            .dtype(words::dtype(py, dtype)?)
            .rules(words::json_rules(py, "rules", rules)?);
        json = match (shape, variable) {
            (Some(shape), true) => json.variable_of(shape),
            (Some(shape), false) => json.shape(shape),
            (None, true) => json.variable(),
            (None, false) => json,
        };
        if text {
            json = json.text();
        }
        if let Some(numbers) = numbers {
            json = json.label_numbers(numbers);
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

/// A part's bytes as they are: `bytes` of any length, or an array of `dtype` and `shape`. With
/// `optional=True`, a sample without the part has an empty row instead of being bad.
#[pyclass(frozen, module = "tarflume")]
pub struct Raw(ColumnDecoder, ConstructorArgs);
decoder!(Raw);

#[pymethods]
impl Raw {
    #[new]
    #[pyo3(signature = (part, *, dtype = "uint8", shape = None, optional = false, **unknown),
           text_signature = "(part, *, dtype='uint8', shape=None, optional=False)")]
    fn new(
        py: Python<'_>,
        part: &str,
        #[pyo3(from_py_with = words::dtype_word)] dtype: &str,
        shape: Option<Shape>,
        optional: bool,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        unknown_keywords::refuse::<Raw>(py, unknown)?;
        let shape = shape.map(|Shape(shape)| shape);
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
pub struct Text(ColumnDecoder, ConstructorArgs);
decoder!(Text);

#[pymethods]
impl Text {
    #[new]
    #[pyo3(signature = (part = "txt", **unknown), text_signature = "(part='txt')")]
    fn new(py: Python<'_>, part: &str, unknown: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        unknown_keywords::refuse::<Text>(py, unknown)?;
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
pub struct Npy(ColumnDecoder, ConstructorArgs);
decoder!(Npy);

#[pymethods]
impl Npy {
    #[new]
    #[pyo3(signature = (dtype, part = "npy", *, shape = None, tail = None, **unknown),
           text_signature = "(dtype, part='npy', *, shape=None, tail=None)")]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = words::dtype_word)] dtype: &str,
        part: &str,
        shape: Option<Shape>,
        tail: Option<Shape>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        unknown_keywords::refuse::<Npy>(py, unknown)?;
        let shape = shape.map(|Shape(shape)| shape);
        let tail = tail.map(|Shape(tail)| tail);
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
pub struct Apply(ColumnDecoder, ConstructorArgs);
decoder!(Apply);

#[pymethods]
impl Apply {
    #[new]
    #[allow(clippy::too_many_arguments)] // the keywords of a Python class
    #[pyo3(signature = (function, column, *, dtype = None, shape = None, most = None, text =
           false, seeded = false, **unknown),
           text_signature = "(function, column, *, dtype=None, shape=None, most=None, \
           text=False, seeded=False)")]
    fn new(
        py: Python<'_>,
        function: &Bound<'_, PyAny>,
        column: &Bound<'_, PyAny>,
        dtype: Option<&str>,
        shape: Option<Shape>,
        most: Option<Number<usize>>,
        text: bool,
        seeded: bool,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        unknown_keywords::refuse::<Apply>(py, unknown)?;
        let shape = shape.map(|Shape(shape)| shape);
        let most = most.map(|n| n.0);
        let again = again!(py, function, column, dtype, shape, most, text, seeded);
        let wanted = ApplyOptions { dtype, shape, most, text, seeded };
        let (inner, inner_text) = decoder(py, column)?;
        Apply::of(py, ApplyDecoder::new(function, inner, inner_text, wanted)?, text, again)
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        self.1.words(py)
    }
}

/// The decoder for an object; a string is a part, whose bytes are the rows.
pub(crate) fn decoder(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<ColumnDecoder> {
    macro_rules! known {
        ($($class:ident),*) => {
            $(if let Ok(column) = object.cast::<$class>() {
                return Ok(column.get().0.clone());
            })*
        };
    }
    known!(Image, Json, ClassLabel, Raw, Text, Npy, Tokens, Patches, Apply, ViewsColumn);
    if let Some(column) = column_of(object)? {
        return decoder(py, &column);
    }
    if let Some(recipe) = recipe_of(object)? {
        return Ok((views::of_image(tarflume::Image::new(PICTURES, recipe)), false));
    }
    if let Ok(name) = object.extract::<String>() {
        if name.starts_with('/') {
            let text =
                format!("{name:?} is a pointer into the JSON part: give tarflume.Json({name:?})");
            return Err(usage(py, text));
        }
        return Ok((Arc::new(tarflume::Raw::new(name)), false));
    }
    let text = "a column is a part's name, or one of Image, Json, ClassLabel, Raw, Text, Npy, Tokens, \
                Patches, Apply, or a recipe of tarflume.transforms";
    Err(usage(py, format!("{text}, not {}", object.repr()?)))
}

/// The value of `image=`: a transform, a recipe, an `Image`, or an `Apply` to one.
pub(crate) fn image(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<ColumnDecoder> {
    if let Some(column) = column_of(object)? {
        return decoder(py, &column);
    }
    match transform_of(object)? {
        Some(transform) => Ok((views::of_image(tarflume::Image::new(PICTURES, transform)), false)),
        None if object.cast::<Image>().is_ok() || object.cast::<Apply>().is_ok() => {
            decoder(py, object)
        }
        None => Err(usage(
            py,
            format!(
                "image= takes a transform, a tarflume.Image or Apply, not {}{}",
                object.repr()?,
                transforms_to(object)
            ),
        )),
    }
}
