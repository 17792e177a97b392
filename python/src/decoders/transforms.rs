//! The transforms of the reader as Python classes: the crop of a picture and its output size.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyTuple};
use tarflume::{ImageSize, Transform};

use crate::arguments::constructor_args::{ConstructorArgs, NewArgs, again};
use crate::arguments::numbers::Number;
use crate::decoders::recipes::recipe_of;
use crate::faults::errors::{OrRaise, usage};
use crate::faults::unknown_keywords;

/// One number for a square, or `(height, width)`.
#[derive(IntoPyObject, Clone, Copy)]
pub(crate) enum Sides {
    #[pyo3(transparent)]
    Square(u32),
    #[pyo3(transparent)]
    Both((u32, u32)),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Sides {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(side) = object.extract::<u32>() {
            return Ok(Sides::Square(side));
        }
        match object.extract::<(u32, u32)>() {
            Ok(both) => Ok(Sides::Both(both)),
            Err(_) => {
                let given = object.repr()?;
                let text = format!(
                    "a size is a number of pixels for a square, or (height, width), not {given}"
                );
                Err(usage(object.py(), text))
            }
        }
    }
}

impl From<Sides> for ImageSize {
    fn from(sides: Sides) -> ImageSize {
        match sides {
            Sides::Square(side) => side.into(),
            Sides::Both(height_width) => height_width.into(),
        }
    }
}

/// A range that includes both ends: in Python `(least, most)`.
#[derive(Clone, Copy)]
pub(crate) struct Interval {
    least: f64,
    most: f64,
}

impl Interval {
    fn new(least: f64, most: f64) -> Interval {
        Interval { least, most }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Interval {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let (least, most) = object.extract()?;
        Ok(Interval { least, most })
    }
}

impl<'py> IntoPyObject<'py> for Interval {
    type Target = PyTuple;
    type Output = Bound<'py, PyTuple>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        (self.least, self.most).into_pyobject(py)
    }
}

/// Any of the transforms.
pub(crate) type AnyTransform = Arc<dyn Transform>;

/// The transform of a Python object, if it is one, or the recipe of an operation of `tarflume.transforms`.
pub(crate) fn transform_of(object: &Bound<'_, PyAny>) -> PyResult<Option<AnyTransform>> {
    macro_rules! known {
        ($($class:ident),*) => {
            $(if let Ok(transform) = object.cast::<$class>() {
                return Ok(Some(transform.get().0.clone()));
            })*
        };
    }
    known!(RandomResizedCrop, Resize, CenterCrop, ResizeCenterCrop, OriginalSize);
    Ok(recipe_of(object)?.map(|recipe| Arc::new(recipe) as AnyTransform))
}

/// The advice for a value that is no transform, such as the size of a square.
pub(crate) fn transforms_to(object: &Bound<'_, PyAny>) -> String {
    let is_flag = object.is_instance_of::<PyBool>();
    match object.extract::<u32>() {
        Ok(size) if !is_flag => format!(
            ": image=tarflume.RandomResizedCrop({size}) in training, \
             image=tarflume.ResizeCenterCrop({}, {size}) in validation",
            u64::from(size) * 8 / 7
        ),
        _ => "; such as image=tarflume.RandomResizedCrop(224)".into(),
    }
}

/// Validates a transform.
fn checked(py: Python<'_>, transform: impl Transform) -> PyResult<AnyTransform> {
    transform.validate().or_raise(py)?;
    Ok(Arc::new(transform))
}

/// A crop of random area and shape at a random place, resized, as torchvision's `RandomResizedCrop`. `flip`
/// is the probability of mirroring it left to right.
///
/// `size` is a number of pixels for a square, or `(height, width)`. `scale` is the range of the crop's area as
/// a share of the picture's, `ratio` the range of its width divided by its height.
#[pyclass(frozen, module = "tarflume")]
pub struct RandomResizedCrop(AnyTransform, ConstructorArgs);

#[pymethods]
impl RandomResizedCrop {
    #[new]
    #[pyo3(signature = (size, *, scale = Interval::new(0.08, 1.0), ratio = Interval::new(3.0 / 4.0, 4.0 / 3.0), flip = 0.0,
           **unknown),
           text_signature = "(size, *, scale=(0.08, 1.0), ratio=(0.75, 1.3333333333333333), flip=0.0)")]
    fn new(
        py: Python<'_>,
        size: Sides,
        scale: Interval,
        ratio: Interval,
        flip: f64,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        unknown_keywords::refuse::<RandomResizedCrop>(py, unknown)?;
        let again = again!(py, size, scale, ratio, flip);
        let crop = tarflume::RandomResizedCrop::new(size)
            .scale(scale.least..=scale.most)
            .ratio(ratio.least..=ratio.most)
            .flip(flip);
        Ok(RandomResizedCrop(checked(py, crop)?, again))
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        self.1.words(py)
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<String> {
        slf.get().1.shown(slf.as_any())
    }
}

/// Resizes the whole picture to `size` (a number for a square, or `(height, width)`), or until its shorter
/// side has `shorter` pixels, where `longest` limits the longer side.
#[pyclass(frozen, module = "tarflume")]
pub struct Resize(AnyTransform, ConstructorArgs);

#[pymethods]
impl Resize {
    #[new]
    #[pyo3(signature = (size = None, *, shorter = None, longest = None, **unknown),
           text_signature = "(size=None, *, shorter=None, longest=None)")]
    fn new(
        py: Python<'_>,
        size: Option<Sides>,
        shorter: Option<Number<u32>>,
        longest: Option<Number<u32>>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        unknown_keywords::refuse::<Resize>(py, unknown)?;
        let shorter = shorter.map(|n| n.0);
        let longest = longest.map(|n| n.0);
        let again = again!(py, size, shorter, longest);
        let mut resize = match (size, shorter) {
            (Some(size), None) => tarflume::Resize::exact(size),
            (None, Some(side)) => tarflume::Resize::shorter(side),
            _ => return Err(usage(py, "Resize takes a size, or shorter=PIXELS: one of them")),
        };
        if let Some(longest) = longest {
            resize = resize.longest(longest);
        }
        Ok(Resize(checked(py, resize)?, again))
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        self.1.words(py)
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<String> {
        slf.get().1.shown(slf.as_any())
    }
}

/// The middle `size` pixels without resizing: a number for a square, or `(height, width)`. A smaller picture
/// is an error.
#[pyclass(frozen, module = "tarflume")]
pub struct CenterCrop(AnyTransform, ConstructorArgs);

#[pymethods]
impl CenterCrop {
    #[new]
    fn new(py: Python<'_>, size: Sides) -> PyResult<Self> {
        let again = again!(py, size);
        let crop = tarflume::CenterCrop::new(size);
        Ok(CenterCrop(checked(py, crop)?, again))
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        self.1.words(py)
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<String> {
        slf.get().1.shown(slf.as_any())
    }
}

/// Resizes the shorter side to `side` pixels, then takes the middle `size`: the usual transform of an
/// evaluation, `ResizeCenterCrop(256, 224)`.
#[pyclass(frozen, module = "tarflume")]
pub struct ResizeCenterCrop(AnyTransform, ConstructorArgs);

#[pymethods]
impl ResizeCenterCrop {
    #[new]
    fn new(py: Python<'_>, side: Number<u32>, size: Sides) -> PyResult<Self> {
        let Number(side) = side;
        let again = again!(py, side, size);
        let crop = tarflume::ResizeCenterCrop::new(side, size);
        Ok(ResizeCenterCrop(checked(py, crop)?, again))
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        self.1.words(py)
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<String> {
        slf.get().1.shown(slf.as_any())
    }
}

/// Keeps each picture as it is, with at most `max_pixels` pixels: rows have different sizes. A larger
/// picture is an error.
#[pyclass(frozen, module = "tarflume")]
pub struct OriginalSize(AnyTransform, ConstructorArgs);

#[pymethods]
impl OriginalSize {
    #[new]
    fn new(py: Python<'_>, max_pixels: Number<u64>) -> PyResult<Self> {
        let Number(max_pixels) = max_pixels;
        let again = again!(py, max_pixels);
        let whole = tarflume::Whole::up_to(max_pixels);
        Ok(OriginalSize(checked(py, whole)?, again))
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        self.1.words(py)
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<String> {
        slf.get().1.shown(slf.as_any())
    }
}
