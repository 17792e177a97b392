//! `Keypoints`: its Python class.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::settings::{NamedValues, Source, named_values};
use crate::arguments::constructor_args::{ConstructorArgs, NewArgs, again};
use crate::arguments::numbers::Number;
use crate::faults::errors::OrRaise;

/// Keypoints that move with the picture of a loader: a column of float32 `[objects, points, 3]`: x, y and visibility.
///
/// ```python
/// left_and_right = [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10], [11, 12], [13, 14], [15, 16]]
/// loader = tarflume.Loader("coco/", batch_size=4, image=tarflume.Image(recipe),
///                          boxes=tarflume.Boxes("/boxes", format="xywh", labels="/category_index"),
///                          keypoints=tarflume.Keypoints("/keypoints", flip_pairs=left_and_right))
/// ```
///
/// `pointer` is the list of keypoints in the JSON part `part`, or one member of each object of a list: for each object three
/// numbers for each of `count` points, by default the 17 of COCO's persons. An empty list labels none of them. Visibility is 0
/// (not labelled), 1 (hidden) or 2 (visible).
///
/// A point that is outside of the picture after it has moved, and one that is not labelled, is 0, 0, 0. Where the picture is
/// mirrored, the two points of each pair of `flip_pairs` are exchanged: the left hand is the right one then. With
/// `relative=True` the coordinates that are read are fractions of the picture's sides, with `normalize=True` those of the rows.
///
/// Other keywords are those of `Boxes`: `of`, `part`, `rules`, `upright`, and columns of values. Objects that `Boxes` leaves
/// out have no points.
#[pyclass(frozen, module = "tarflume")]
pub struct Keypoints(pub(crate) PointSettings, ConstructorArgs);

/// The settings of a column of keypoints.
#[derive(Clone)]
pub(crate) struct PointSettings {
    pub(crate) source: Source,
    pub(crate) points: tarflume::Keypoints,
    pub(crate) values: Vec<NamedValues>,
}

#[pymethods]
impl Keypoints {
    #[new]
    #[allow(clippy::too_many_arguments)] // the keywords of a Python class
    #[pyo3(signature = (pointer, *, count = Number(17), flip_pairs = Vec::new(), relative = false, normalize = false,
           classes = None, part = "json", of = "image", rules = "strict", upright = false, **values),
           text_signature = "(pointer, *, count=17, flip_pairs=(), relative=False, normalize=False, classes=None, \
           part='json', of='image', rules='strict', upright=False, **values)")]
    fn new(
        py: Python<'_>,
        pointer: &str,
        count: Number<usize>,
        flip_pairs: Vec<[usize; 2]>,
        relative: bool,
        normalize: bool,
        classes: Option<&Bound<'_, PyAny>>,
        part: &str,
        of: &str,
        rules: &str,
        upright: bool,
        values: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let Number(count) = count;
        let again = again!(
            py, pointer, count, flip_pairs, relative, normalize, classes, part, of, rules, upright
        );
        let points = tarflume::Keypoints::new(pointer, count)
            .flip_pairs(flip_pairs)
            .relative(relative)
            .normalize(normalize);
        points.validate().or_raise(py)?;
        let settings = PointSettings {
            source: Source::new(py, part, of, rules, upright)?,
            points,
            values: named_values(py, "Keypoints", values, classes)?,
        };
        Ok(Keypoints(settings, again.and(py, values)?))
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        self.1.words(py)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        slf.get().1.shown(slf.as_any())
    }
}
