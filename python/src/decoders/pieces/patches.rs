//! How `Patches` are made, and the sizes that `PatchResize` chooses.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tarflume::transforms::operations::Operation;
use tarflume::{Decode, ImageSize};

use crate::arguments::constructor_args::{ConstructorArgs, NewArgs, again};
use crate::arguments::numbers::Number;
use crate::decoders::parts;
use crate::decoders::piece_columns::patches::Patches;
use crate::faults::errors::{OrRaise, usage};
use crate::faults::unknown_keywords;

#[pymethods]
impl Patches {
    #[new]
    #[allow(clippy::too_many_arguments)] // the keywords of a Python class
    #[pyo3(signature = (image, patch, kind = "pixels", *, tokens = None, merge = Number(1), channels_first = false,
           frames = Number(1), **unknown),
           text_signature = "(image, patch, kind='pixels', *, tokens=None, merge=1, channels_first=False, frames=1)")]
    fn new(
        py: Python<'_>,
        image: &Bound<'_, PyAny>,
        patch: Number<u32>,
        kind: &str,
        tokens: Option<Number<usize>>,
        merge: Number<u32>,
        channels_first: bool,
        frames: Number<u32>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        unknown_keywords::refuse::<Patches>(py, unknown)?;
        let patch = patch.0;
        let tokens = tokens.map(|tokens| tokens.0);
        let merge = merge.0;
        let frames = frames.0;
        let again = again!(py, image, patch, kind, tokens, merge, channels_first, frames);
        let column = parts::image(py, image)?;
        let Some(patches) = tarflume::Patches::of_column(&*column.0, patch) else {
            let text =
                "Patches takes a recipe of tarflume.transforms or a tarflume.Image of one picture";
            return Err(usage(py, text));
        };
        let mut patches = patches.merge(merge);
        if channels_first {
            patches = patches.channels_first(frames);
        } else if frames != 1 {
            return Err(usage(py, "frames= is for channels_first=True"));
        }
        if let Some(tokens) = tokens {
            patches = patches.padded(tokens);
        }
        let column = match kind {
            "pixels" => patches.pixels(),
            "coordinates" => patches.coordinates(),
            "mask" => patches.mask(),
            "grid" => patches.grid(),
            other => {
                let known = "pixels, coordinates, mask or grid";
                return Err(usage(py, format!("kind= is one of {known}, not {other:?}")));
            }
        };
        column.validate().or_raise(py)?;
        Ok(Patches((Arc::new(column), false), again))
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        self.1.words(py)
    }
}

/// The height and the width that a `PatchResize`, as JSON, gives a picture.
#[pyfunction]
pub(crate) fn patch_size(
    py: Python<'_>,
    operation: &str,
    height: u32,
    width: u32,
) -> PyResult<(u32, u32)> {
    let Ok(Operation::PatchResize(resize)) = serde_json::from_str(operation) else {
        return Err(usage(py, "this is no PatchResize"));
    };
    let size = resize.size_of(ImageSize::new(width, height)).or_raise(py)?;
    Ok((size.height, size.width))
}
