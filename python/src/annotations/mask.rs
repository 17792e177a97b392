//! `Mask`: its Python class.

use pyo3::prelude::*;
use tarflume::{DType, MaskKind};

use crate::arguments::constructor_args::{ConstructorArgs, NewArgs, again};
use crate::arguments::words;
use crate::faults::errors::usage;

/// A picture of numbers that moves with the picture of a loader: an array `[height, width]`, such as the class of each pixel.
///
/// ```python
/// loader = tarflume.Loader("ade/", batch_size=16, image=tarflume.Image(recipe),
///                          mask=tarflume.Mask("mask.png", dtype="int64"))
/// for batch in loader.epoch(0):
///     batch["mask"]                # int64 [16, 512, 512]
/// ```
///
/// `part` is the extension of a PNG or TIFF with a palette or gray levels, whose numbers are taken as they are stored, of 8 or 16
/// bits. It has the size of the stored picture of the column `of` (with `upright=True`: of the upright picture), is turned by the
/// picture's EXIF orientation and moved by what the recipe draws for the sample, with the nearest pixel. `kind` is "semantic"
/// (numbers are classes; 255 where the picture was not, which losses ignore), "instance" (0 there) or "binary" (1 where the
/// number is not 0; 0 there). `dtype` is "uint8", "uint16", "int32" or "int64".
///
/// A mask of another size than its picture makes the sample bad, and so do numbers that `dtype` does not hold.
#[pyclass(frozen, module = "tarflume")]
pub struct Mask(pub(crate) PlaneSettings, ConstructorArgs);

/// The settings of a column of masks of whole pictures.
#[derive(Clone)]
pub(crate) struct PlaneSettings {
    pub(crate) part: String,
    pub(crate) of: String,
    pub(crate) kind: MaskKind,
    pub(crate) dtype: DType,
    pub(crate) upright: bool,
}

#[pymethods]
impl Mask {
    #[new]
    #[pyo3(signature = (part, kind = "semantic", *, dtype = "uint8", of = "image", upright = false))]
    fn new(
        py: Python<'_>,
        part: &str,
        kind: &str,
        #[pyo3(from_py_with = words::dtype_word)] dtype: &str,
        of: &str,
        upright: bool,
    ) -> PyResult<Self> {
        let again = again!(py, part, kind, dtype, of, upright);
        let kind = match kind {
            "semantic" => MaskKind::Semantic,
            "instance" => MaskKind::Instance,
            "binary" => MaskKind::Binary,
            other => {
                let text =
                    format!("kind is \"semantic\", \"instance\" or \"binary\", not {other:?}");
                return Err(usage(py, text));
            }
        };
        let dtype = words::dtype(py, dtype)?;
        let settings =
            PlaneSettings { part: part.to_string(), of: of.to_string(), kind, dtype, upright };
        Ok(Mask(settings, again))
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        self.1.words(py)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        slf.get().1.shown(slf.as_any())
    }
}
