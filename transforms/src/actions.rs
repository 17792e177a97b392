//! `Action`: one change of pixels with all its numbers, as an operation drew it.
//!
//! The names are those of `torchvision.transforms.v2.functional`, and so are the results: pointwise actions, histograms,
//! flips and nearest warps to the bit; blends, filters and other warps within 1 of 255.

mod apply;
mod color;
mod erase;
mod filter;
pub(crate) mod geometry;
mod keep;
mod mix;
pub(crate) mod record;
mod resize;
mod table;

use serde::{Deserialize, Serialize};
use tarflume_image::ImageSize;
use tarflume_types::Result;

use crate::actions::record::Record;
use crate::frame::Frame;
use crate::kernels::color::table::Table;

use self::apply::Apply;

pub use self::color::{
    AdjustBrightness, AdjustContrast, AdjustGamma, AdjustHue, AdjustSaturation, Autocontrast,
    Equalize, Invert, PermuteChannels, Posterize, RgbToGrayscale, Solarize,
};
pub use self::erase::{Element, Erase, EraseValue, RowLayout, RowScale};
pub use self::filter::{AdjustSharpness, GaussianBlur, GaussianNoise, Jpeg};
pub use self::geometry::{
    Affine, Crop, Elastic, HorizontalFlip, Pad, Perspective, QuarterTurn, VerticalFlip,
};
pub use self::keep::KeepCenters;
pub use self::mix::{MixBegin, MixEnd, MixNext};
pub use self::resize::{Resize, ResizeMask};
pub use self::table::SolarizeAdd;

macro_rules! actions {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// One change of pixels with all its numbers. Serde writes `{"adjust_brightness": {"factor": 1.25}}`.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case", deny_unknown_fields)]
        #[non_exhaustive]
        pub enum Action {
            $($(#[$doc])* $name($name),)+
        }

        $(impl From<$name> for Action {
            fn from(action: $name) -> Action {
                Action::$name(action)
            }
        })+

        impl Action {
            fn applied(&self) -> &dyn Apply {
                match self { $(Action::$name(action) => action,)+ }
            }
        }
    };
}

actions! {
    /// Blends with black.
    AdjustBrightness,
    /// Blends with the mean of the gray picture.
    AdjustContrast,
    /// Raises to a power.
    AdjustGamma,
    /// Turns the hue.
    AdjustHue,
    /// Blends with the gray picture.
    AdjustSaturation,
    /// Blends with the smoothed picture.
    AdjustSharpness,
    /// Rotates, translates, scales and shears.
    Affine,
    /// Stretches each channel to the range 0 to 255.
    Autocontrast,
    /// Takes a rectangle.
    Crop,
    /// Moves pixels by a smooth random field.
    Elastic,
    /// Makes all values of a channel equally frequent.
    Equalize,
    /// Overwrites a rectangle.
    Erase,
    /// Smooths with a Gaussian.
    GaussianBlur,
    /// Adds normal noise.
    GaussianNoise,
    /// Exchanges left and right.
    HorizontalFlip,
    /// Subtracts from 255.
    Invert,
    /// Leaves out objects, and changes no pixel.
    KeepCenters,
    /// Begins a mix with the picture.
    MixBegin,
    /// Adds to the mix, which becomes the picture.
    MixEnd,
    /// Adds to the mix and goes back to the picture.
    MixNext,
    /// Compresses and decompresses.
    Jpeg,
    /// Adds a margin.
    Pad,
    /// Reorders the channels.
    PermuteChannels,
    /// Maps four corners to four points.
    Perspective,
    /// Keeps the upper bits.
    Posterize,
    /// Turns by multiples of 90 degrees.
    QuarterTurn,
    /// Resizes.
    Resize,
    /// Resizes a mask.
    ResizeMask,
    /// Replaces colors by gray.
    RgbToGrayscale,
    /// Inverts values from a threshold on.
    Solarize,
    /// Adds to values below a threshold.
    SolarizeAdd,
    /// Exchanges top and bottom.
    VerticalFlip,
}

impl Action {
    /// Applies the action to the pixels of a frame.
    ///
    /// # Errors
    /// Returns an error if memory is short.
    pub fn apply(&self, frame: &mut Frame) -> Result<()> {
        self.applied().apply(frame)
    }

    /// The size of a picture of size `from` after the action.
    pub fn size(&self, from: ImageSize) -> ImageSize {
        self.applied().size(from)
    }

    /// See [`Apply::room`].
    pub(crate) fn room(&self, from: ImageSize, channels: usize) -> u64 {
        self.applied().room(from, channels)
    }

    /// See [`Apply::in_words`].
    pub(crate) fn in_words(&self, on: ImageSize, channels: usize, to: &mut Record) -> bool {
        self.applied().in_words(on, channels, to)
    }

    /// The table of an action that maps each byte alone.
    pub(crate) fn table(&self) -> Option<Table> {
        self.applied().table()
    }
}
