//! `Masks`: its Python class.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::settings::{NamedValues, Source, named_values};
use crate::arguments::constructor_args::{ConstructorArgs, NewArgs, again};
use crate::arguments::numbers::Number;
use crate::faults::errors::OrRaise;

/// Masks of objects that move with the picture of a loader: a column of uint8 `[objects, height, width]` of 0 and 1, or of bits.
///
/// ```python
/// loader = tarflume.Loader("coco/", batch_size=4, image=tarflume.Image(recipe),
///                          boxes=tarflume.Boxes("/boxes", format="xywh", labels="/category_index"),
///                          masks=tarflume.Masks("/segmentation"))
/// for batch in loader.epoch(0):
///     batch["masks"][0]            # uint8 [objects, height, width]
/// ```
///
/// `pointer` is the list of segmentations in the JSON part `part`, or one member of each object of a list. A segmentation is a
/// list of polygons, one polygon, or run lengths of COCO, also compressed ones. Masks have the pixels of pycocotools on the
/// stored picture; they are turned and moved as the picture, with the nearest pixel, and are 0 where the picture was not. With
/// `relative=True`, coordinates of polygons are fractions of the picture's sides.
///
/// With `bits=True` a pixel is a bit: uint8 `[objects, height, (width + 7) // 8]`, as `numpy.packbits(masks, axis=-1)` has them,
/// an eighth of the bytes to copy to a device. `numpy.unpackbits(row, axis=-1, count=width)` gives the masks back, and with
/// `tarflume.torch.Loader` `batch["masks"].unpacked(width)`, on any device.
///
/// A batch has memory for `most` masks of each sample; a sample with more objects is bad.
///
/// Other keywords are those of `Boxes`: `of`, `part`, `rules`, `upright`, and columns of values. Objects that `Boxes` leaves
/// out have no mask.
#[pyclass(frozen, module = "tarflume")]
pub struct Masks(pub(crate) MaskSettings, ConstructorArgs);

/// The settings of a column of masks.
#[derive(Clone)]
pub(crate) struct MaskSettings {
    pub(crate) source: Source,
    pub(crate) masks: tarflume::Masks,
    pub(crate) values: Vec<NamedValues>,
}

#[pymethods]
impl Masks {
    #[new]
    #[allow(clippy::too_many_arguments)] // the keywords of a Python class
    #[pyo3(signature = (pointer, *, relative = false, most = Number(100), bits = false, classes = None, part = "json",
           of = "image", rules = "strict", upright = false, **values),
           text_signature = "(pointer, *, relative=False, most=100, bits=False, classes=None, part='json', \
           of='image', rules='strict', upright=False, **values)")]
    fn new(
        py: Python<'_>,
        pointer: &str,
        relative: bool,
        most: Number<usize>,
        bits: bool,
        classes: Option<&Bound<'_, PyAny>>,
        part: &str,
        of: &str,
        rules: &str,
        upright: bool,
        values: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let Number(most) = most;
        let again = again!(py, pointer, relative, most, bits, classes, part, of, rules, upright);
        let masks = tarflume::Masks::new(pointer).relative(relative).most(most).bits(bits);
        masks.validate().or_raise(py)?;
        let settings = MaskSettings {
            source: Source::new(py, part, of, rules, upright)?,
            masks,
            values: named_values(py, "Masks", values, classes)?,
        };
        Ok(Masks(settings, again.and(py, values)?))
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        self.1.words(py)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        slf.get().1.shown(slf.as_any())
    }
}
