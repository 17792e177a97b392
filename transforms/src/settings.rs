//! Words and values that several operations take.

use serde::{Deserialize, Serialize};
use tarflume_image::Filter;
use tarflume_order::words;
use tarflume_types::Error;

/// How a warp or a resize computes an output pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Interpolation {
    /// The nearest pixel.
    Nearest,
    /// Two pixels on each axis; a resize is antialiased.
    #[default]
    Bilinear,
    /// Cubic convolution: four pixels on each axis. A resize has a = -0.5 and is antialiased, a warp has a = -0.75.
    Bicubic,
    /// Lanczos with three lobes, for resizes only.
    Lanczos,
}

words!(Interpolation, "interpolation", {
    Nearest => "nearest",
    Bilinear => "bilinear",
    Bicubic => "bicubic",
    Lanczos => "lanczos",
});

impl Interpolation {
    /// The filter of a resize.
    pub fn filter(self) -> Filter {
        match self {
            Interpolation::Nearest => Filter::Nearest,
            Interpolation::Bilinear => Filter::Bilinear,
            Interpolation::Bicubic => Filter::Bicubic,
            Interpolation::Lanczos => Filter::Lanczos,
        }
    }
}

/// The filter of a crop's resize: one for all pictures, or one that is drawn for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CropInterpolation {
    /// As [`Interpolation::Nearest`].
    Nearest,
    /// As [`Interpolation::Bilinear`].
    #[default]
    Bilinear,
    /// As [`Interpolation::Bicubic`].
    Bicubic,
    /// As [`Interpolation::Lanczos`].
    Lanczos,
    /// Bilinear or bicubic, each with probability 1/2: timm's choice.
    Random,
}

words!(CropInterpolation, "interpolation", {
    Nearest => "nearest",
    Bilinear => "bilinear",
    Bicubic => "bicubic",
    Lanczos => "lanczos",
    Random => "random",
});

impl From<Interpolation> for CropInterpolation {
    fn from(interpolation: Interpolation) -> CropInterpolation {
        match interpolation {
            Interpolation::Nearest => CropInterpolation::Nearest,
            Interpolation::Bilinear => CropInterpolation::Bilinear,
            Interpolation::Bicubic => CropInterpolation::Bicubic,
            Interpolation::Lanczos => CropInterpolation::Lanczos,
        }
    }
}

impl CropInterpolation {
    /// The interpolation of one picture; `is_bicubic` draws between two.
    pub(crate) fn chosen(self, is_bicubic: impl Fn() -> bool) -> Interpolation {
        match self {
            CropInterpolation::Nearest => Interpolation::Nearest,
            CropInterpolation::Bilinear => Interpolation::Bilinear,
            CropInterpolation::Bicubic => Interpolation::Bicubic,
            CropInterpolation::Lanczos => Interpolation::Lanczos,
            CropInterpolation::Random if is_bicubic() => Interpolation::Bicubic,
            CropInterpolation::Random => Interpolation::Bilinear,
        }
    }

    /// The one that reads most pixels.
    pub(crate) fn widest(self) -> Interpolation {
        self.chosen(|| true)
    }
}

/// What is outside a padded picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PaddingMode {
    /// The fill.
    #[default]
    Constant,
    /// The pixel at the edge.
    Edge,
    /// The picture mirrored at the center of its edge pixels, which are not repeated.
    Reflect,
    /// The picture mirrored at its edge, whose pixels are repeated.
    Symmetric,
}

words!(PaddingMode, "padding_mode", {
    Constant => "constant",
    Edge => "edge",
    Reflect => "reflect",
    Symmetric => "symmetric",
});

/// The value of pixels that come from outside the picture: one for each channel. A gray picture uses the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(from = "FillForm", into = "[u8; 3]")]
pub struct Fill(pub [u8; 3]);

impl From<u8> for Fill {
    fn from(value: u8) -> Fill {
        Fill([value; 3])
    }
}

impl From<[u8; 3]> for Fill {
    fn from(values: [u8; 3]) -> Fill {
        Fill(values)
    }
}

impl From<Fill> for [u8; 3] {
    fn from(fill: Fill) -> [u8; 3] {
        fill.0
    }
}

/// The forms in which a fill is written.
#[derive(Deserialize)]
#[serde(untagged)]
enum FillForm {
    All(u8),
    Each([u8; 3]),
}

impl From<FillForm> for Fill {
    fn from(form: FillForm) -> Fill {
        match form {
            FillForm::All(value) => Fill::from(value),
            FillForm::Each(values) => Fill(values),
        }
    }
}
