//! `Patches`: the columns of pictures cut into patches, as a Python class. `pieces::patches` makes them.

use std::sync::Arc;

use pyo3::prelude::*;
use tarflume::Decode;

use crate::arguments::constructor_args::ConstructorArgs;

/// A column of the patches of pictures of different sizes.
///
/// `image` is a recipe that ends in sizes of whole patches, as `transforms.PatchResize` gives them, or an `Image` with one.
/// `kind`: "pixels" (`[tokens, patch * patch * channels]`, of the type of the image); "coordinates" (the row and the column of each
/// patch, int32 `[tokens, 2]`); "mask" (True for patches of the picture, bool `[tokens]`); "grid" (the patches down and across,
/// int64 `[2]`). With `tokens` each row has so many patches, and zeros are behind those of the picture. Without it, rows have as
/// many as their pictures, and `batch[name].values` has them without gaps.
///
/// The elements of a patch are `[patch, patch, channels]`, or with `channels_first` `[channels, frames, patch, patch]`. `merge`
/// puts blocks of `merge` patches across and down together. `merge=2, channels_first=True, frames=2` is the order of Qwen2-VL.
#[pyclass(frozen, module = "tarflume")]
pub struct Patches(pub(crate) (Arc<dyn Decode>, bool), pub(crate) ConstructorArgs);
