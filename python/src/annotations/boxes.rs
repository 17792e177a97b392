//! `Boxes`: its Python class.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tarflume::transforms::annotations::Sanitize;

use super::settings::{NamedValues, Source, format, named_values};
use crate::arguments::constructor_args::{ConstructorArgs, NewArgs, again};
use crate::faults::errors::OrRaise;

/// Boxes that move with the picture of a loader: a column of four numbers for each object, float32 `[objects, 4]`, or of five or
/// eight for boxes with an angle.
///
/// ```python
/// recipe = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip()])
/// loader = tarflume.Loader("coco/", batch_size=16, image=tarflume.Image(recipe),
///                          boxes=tarflume.Boxes("/boxes", format="xywh", labels="/category_index"))
/// for batch in loader.epoch(0):
///     batch["boxes"].values        # float32 [objects of all pictures, 4]: left, top, right, bottom
///     batch["boxes"].offsets       # where the objects of each picture begin
///     batch["labels"][3]           # int64 [objects of picture 3]
/// ```
///
/// `pointer` is the list of boxes in the JSON part `part`, or one member of each object of a list: `"/annotations/*/bbox"`.
/// `format` is how they are written: "xywh" (left, top, width, height: COCO), "xyxy" (corners: Pascal VOC) or "cxcywh" (middle
/// and size: YOLO); with `relative=True` in fractions of the picture's sides. `out` is the format of the rows, and with
/// `normalize=True` they are fractions of the sides of the picture in the batch: `out="cxcywh", normalize=True` for DETR.
///
/// Boxes with an angle have the formats of torchvision: "cxcywhr" (middle, size, degrees counterclockwise), "xywhr" (first
/// corner, size, degrees), "xyxyxyxy" (four corners: eight numbers, four pairs or one polygon, in either direction), for
/// `format` and for `out`. `Boxes("/segmentation", format="xyxyxyxy", relative=True, out="cxcywhr")` reads what `pack build
/// --yolo` writes of oriented boxes. They move by their corners. With `out="xyxy"`, "xywh" or "cxcywh" a row has the box around
/// what the picture shows of each.
///
/// Every other keyword is a column of one number for each object, with the pointer to it: `labels="/category_index"`,
/// `iscrowd="/iscrowd"`, `area="/area"`, `difficult=("/difficult", "uint8")`. They are int64, `area` and `score` float32.
/// `classes` numbers the texts of `labels`, as `Json`'s `labels`.
///
/// Boxes are turned with the picture's EXIF orientation (`upright=True`: they are those of the upright picture already), then
/// moved by what the recipe of the column `of` draws for the sample, and clamped to the picture. An object is left out of all
/// columns with the same part and picture, `Masks` and `Keypoints` too, if its box has a side below `min_size` pixels, an area
/// below `min_area`, or if less than `min_visibility` of its area is left. A box with an angle is clamped to the smallest one of
/// the same angle around what is inside, so its corners may be outside; `min_area` and `min_visibility` are about the area that
/// the picture shows.
///
/// A box with a number that is not finite or with a negative side makes the sample bad (see `on_bad`).
#[pyclass(frozen, module = "tarflume")]
pub struct Boxes(pub(crate) BoxSettings, ConstructorArgs);

/// The settings of a column of boxes.
#[derive(Clone)]
pub(crate) struct BoxSettings {
    pub(crate) source: Source,
    pub(crate) boxes: tarflume::Boxes,
    pub(crate) keep: Sanitize,
    pub(crate) values: Vec<NamedValues>,
}

#[pymethods]
impl Boxes {
    #[new]
    #[allow(clippy::too_many_arguments)] // the keywords of a Python class
    #[pyo3(signature = (pointer, format, *, relative = false, out = "xyxy", normalize = false, classes = None,
           min_size = 1.0, min_area = 1.0, min_visibility = 0.0, part = "json", of = "image", rules = "strict",
           upright = false, **values),
           text_signature = "(pointer, format, *, relative=False, out='xyxy', normalize=False, classes=None, \
           min_size=1.0, min_area=1.0, min_visibility=0.0, part='json', of='image', rules='strict', \
           upright=False, **values)")]
    fn new(
        py: Python<'_>,
        pointer: &str,
        format: &str,
        relative: bool,
        out: &str,
        normalize: bool,
        classes: Option<&Bound<'_, PyAny>>,
        min_size: f64,
        min_area: f64,
        min_visibility: f64,
        part: &str,
        of: &str,
        rules: &str,
        upright: bool,
        values: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let again = again!(
            py,
            pointer,
            format,
            relative,
            out,
            normalize,
            classes,
            min_size,
            min_area,
            min_visibility,
            part,
            of,
            rules,
            upright
        );
        let keep = Sanitize { min_size, min_area, min_visibility };
        keep.validate().or_raise(py)?;
        let boxes = tarflume::Boxes::new(pointer, self::format(py, format)?)
            .relative(relative)
            .out(self::format(py, out)?)
            .normalize(normalize);
        boxes.validate().or_raise(py)?;
        let settings = BoxSettings {
            source: Source::new(py, part, of, rules, upright)?,
            boxes,
            keep,
            values: named_values(py, "Boxes", values, classes)?,
        };
        Ok(Boxes(settings, again.and(py, values)?))
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        self.1.words(py)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        slf.get().1.shown(slf.as_any())
    }
}
