//! `Conversion`: the options of an `Image` that decide how samples become numbers.

use pyo3::prelude::*;
use tarflume::{Channels, Normalize};

use crate::arguments::words;
use crate::faults::errors::usage;

/// The options that decide how samples become numbers.
pub(crate) struct Conversion<'a> {
    pub(crate) normalize: Option<&'a str>,
    pub(crate) mean: Option<[f32; 3]>,
    pub(crate) std: Option<[f32; 3]>,
}

impl Conversion<'_> {
    /// Sets the type of the elements.
    pub(crate) fn apply(
        &self,
        py: Python<'_>,
        image: tarflume::Image,
        dtype: &str,
        channels: Channels,
    ) -> PyResult<tarflume::Image> {
        let is_plain = self.normalize.is_none() && self.mean.is_none() && self.std.is_none();
        Ok(match dtype {
            "uint8" | "uint16" if !is_plain => {
                let text =
                    "normalize, mean and std need dtype=\"float32\", \"float16\" or \"bfloat16\"";
                return Err(usage(py, text));
            }
            "uint8" => image,
            "uint16" => image.to_u16(),
            "float32" => image.to_f32(self.normalization(py, channels)?),
            "float16" => image.to_f16(self.normalization(py, channels)?),
            "bfloat16" => image.to_bf16(self.normalization(py, channels)?),
            other => {
                let text = format!(
                    "pictures are \"uint8\", \"uint16\", \"float32\", \"float16\" or \"bfloat16\", not {other:?}"
                );
                return Err(usage(py, text));
            }
        })
    }

    fn normalization(&self, py: Python<'_>, channels: Channels) -> PyResult<Normalize> {
        match (self.normalize, self.mean, self.std) {
            (Some("imagenet"), None, None) if channels.count() == 1 => {
                let text = "ImageNet's statistics are of red, green and blue: give mean=[m] * 3 and std=[s] * 3 of your \
                            gray pictures";
                Err(usage(py, text))
            }
            (Some(word), None, None) => words::normalize(py, word),
            (Some(_), ..) => Err(usage(py, "give normalize=, or mean= and std=, not both")),
            (None, mean, std) if mean.iter().chain(&std).flatten().any(|&number| number > 1.0) => {
                let text = "mean and std are on the scale of 0 to 255, and pictures are from 0 to 1 here: divide both by 255";
                Err(usage(py, text))
            }
            (None, mean, std) => {
                Ok(Normalize::new(mean.unwrap_or([0.0; 3]), std.unwrap_or([1.0; 3])))
            }
        }
    }
}
