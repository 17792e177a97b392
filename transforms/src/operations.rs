//! `Operation`: draws the actions of one step of a recipe.
//!
//! Names, arguments and distributions are those of `torchvision.transforms.v2`.

pub mod color;
pub mod control;
pub mod crop;
pub mod crops;
pub mod detection;
pub mod filter;
pub mod pad;
pub mod policy;
pub mod resize;
pub(crate) mod steps;
pub mod turn;
pub mod warp;

use std::cell::Cell;

use serde::{Deserialize, Serialize};
use tarflume_image::{ImageSize, Random};
use tarflume_types::Result;

use crate::actions::Action;
use crate::annotations::move_boxes;
pub(crate) use crate::limits::{probability, range};
use crate::settings::{CropInterpolation, Interpolation};

/// Distinguishes the draws of an interpolation from the others of a step.
const INTERPOLATION: u64 = u64::from_le_bytes(*b"interpol");

thread_local! {
    /// The memory of boxes that were moved.
    static MOVED: Cell<Vec<[f64; 4]>> = const { Cell::new(Vec::new()) };
}

/// The picture for which an operation draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Its size before the operation.
    pub size: ImageSize,
    /// 1 or 3.
    pub channels: usize,
}

/// The random numbers of one step for one sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draws<'a> {
    seed: u64,
    /// Of the step: from the names on the way to it.
    key: u64,
    bound: Option<Bound<'a>>,
}

/// The boxes of a picture before all actions.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bound<'a> {
    boxes: &'a [[f64; 4]],
    /// Of the picture then.
    size: ImageSize,
    /// The number of the picture's first action in the list.
    first: usize,
}

impl<'a> Draws<'a> {
    /// The draws of the sample with this seed, for the step with this key.
    pub fn new(seed: u64, key: u64) -> Draws<'static> {
        Draws { seed, key, bound: None }
    }

    /// Binds the boxes of a picture of this size, whose first action will have the number `first`.
    pub(crate) fn with(
        self,
        boxes: Option<&'a [[f64; 4]]>,
        size: ImageSize,
        first: usize,
    ) -> Draws<'a> {
        Draws { bound: boxes.map(|boxes| Bound { boxes, size, first }), ..self }
    }

    /// The random numbers of the step itself.
    pub fn random(self) -> Random {
        Random::stream(self.seed, self.key)
    }

    /// Calls `f` with the boxes of the picture as they are after the actions that were drawn so far. None if no boxes are
    /// bound.
    ///
    /// # Errors
    /// Returns an error if boxes cannot follow the actions.
    pub(crate) fn with_boxes<R>(
        self,
        actions: &[Action],
        f: impl FnOnce(&[[f64; 4]]) -> R,
    ) -> Result<Option<R>> {
        let Some(Bound { boxes, size, first }) = self.bound else { return Ok(None) };
        let mut moved = MOVED.take();
        moved.clear();
        moved.extend_from_slice(boxes);
        let result = move_boxes(&actions[first..], size, &mut moved).map(|_| Some(f(&moved)));
        MOVED.set(moved);
        result
    }

    /// The interpolation of a crop's resize. It is drawn apart from the crop, which is the same for each interpolation.
    pub(crate) fn interpolation(self, choice: CropInterpolation) -> Interpolation {
        choice.chosen(|| self.of_step(self.key ^ INTERPOLATION).random().chance(0.5))
    }

    /// The draws of a step inside the step.
    pub(crate) fn of_step(self, key: u64) -> Draws<'a> {
        Draws { key, ..self }
    }
}

/// What an operation does to every picture, if a decoder can do it. Its actions are `Crop`, `Resize` and `HorizontalFlip`
/// alone, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placing {
    /// Crops this size from a picture that has it.
    Crop(ImageSize),
    /// Resizes a crop of the picture or all of it. The sides of the result are at least those of `least`.
    Resize { interpolation: CropInterpolation, least: ImageSize },
    /// Mirrors left to right.
    Flip,
}

/// Draws the actions of one step.
pub(crate) trait Draw {
    /// Appends the actions of one sample to `actions`.
    ///
    /// # Errors
    /// Returns an error if the picture cannot be used. The message states why.
    fn draw(&self, on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()>;

    /// Checks the arguments.
    ///
    /// # Errors
    /// Returns a usage error that states valid ones.
    fn validate(&self) -> Result<()> {
        Ok(())
    }

    /// Names the steps inside this one, each by `parent` and its own name.
    fn name_steps(&mut self, parent: u64) {
        let _ = parent;
    }

    /// What the operation does to a picture, if a decoder can always do it while it decodes.
    fn placing(&self) -> Option<Placing> {
        None
    }

    /// The size of the result for a picture of size `from`, if each sample gets the same.
    fn fixed_size(&self, from: Option<ImageSize>) -> Option<ImageSize> {
        from
    }

    /// The most pixels of the result for a picture of at most `pixels` pixels.
    fn most_pixels(&self, pixels: u64) -> u64 {
        pixels
    }
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident($module:ident)),+ $(,)?) => {
        /// One step of a recipe. Serde writes `{"RandomRotation": {"degrees": [-10.0, 10.0]}}`, with the arguments of
        /// torchvision: ranges and sizes are pairs, arguments may be left out where torchvision has a default.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[non_exhaustive]
        pub enum Operation {
            $($(#[$doc])* $name($module::$name),)+
        }

        $(impl From<$module::$name> for Operation {
            fn from(operation: $module::$name) -> Operation {
                Operation::$name(operation)
            }
        })+

        impl Operation {
            /// The name: of torchvision, where it has the operation.
            pub fn name(&self) -> &'static str {
                match self { $(Operation::$name(_) => stringify!($name),)+ }
            }

            fn drawing(&self) -> &dyn Draw {
                match self { $(Operation::$name(operation) => operation,)+ }
            }

            pub(crate) fn name_steps(&mut self, parent: u64) {
                match self { $(Operation::$name(operation) => operation.name_steps(parent),)+ }
            }
        }
    };
}

operations! {
    /// Draws the steps of an inner list, in their order.
    Compose(control),
    /// Draws the steps of an inner list, in their order, with a probability.
    RandomApply(control),
    /// Draws one step of an inner list.
    RandomChoice(control),
    /// Draws the steps of an inner list, in a random order.
    RandomOrder(control),
    /// Random brightness, contrast, saturation and hue.
    ColorJitter(color),
    /// Replaces colors by gray.
    Grayscale(color),
    /// Stretches each channel, with a probability.
    RandomAutocontrast(color),
    /// Reorders the channels.
    RandomChannelPermutation(color),
    /// Equalizes the histogram of each channel, with a probability.
    RandomEqualize(color),
    /// Raises to a random power, with a probability.
    RandomGamma(color),
    /// Replaces colors by gray, with a probability.
    RandomGrayscale(color),
    /// Subtracts from 255, with a probability.
    RandomInvert(color),
    /// The distortions of SSD.
    RandomPhotometricDistort(color),
    /// Keeps the upper bits, with a probability.
    RandomPosterize(color),
    /// Inverts the values from a threshold on, with a probability.
    RandomSolarize(color),
    /// Blurs with a random standard deviation.
    GaussianBlur(filter),
    /// Adds normal noise.
    GaussianNoise(filter),
    /// Compresses as JPEG of a random quality, and decompresses.
    JPEG(filter),
    /// Changes the sharpness with a probability.
    RandomAdjustSharpness(filter),
    /// Erases rectangles with a probability.
    RandomErasing(filter),
    /// Mirrors left to right with a probability.
    RandomHorizontalFlip(turn),
    /// Mirrors top to bottom with a probability.
    RandomVerticalFlip(turn),
    /// Turns by a random multiple of 90 degrees.
    RandomQuarterTurn(turn),
    /// Rotates by a random angle.
    RandomRotation(turn),
    /// Rotates, translates, scales and shears by random numbers.
    RandomAffine(warp),
    /// Moves the corners by random distances with a probability.
    RandomPerspective(warp),
    /// Moves pixels by a smooth random field.
    ElasticTransform(warp),
    /// Adds a margin.
    Pad(pad),
    /// A crop of a fixed size at a random position.
    RandomCrop(pad),
    /// A crop of a fixed size at the center.
    CenterCrop(pad),
    /// Crops the largest part of the shape of a bucket, and resizes it.
    BucketCrop(crop),
    /// A crop of random area and aspect ratio, resized.
    RandomResizedCrop(crop),
    /// Crops at the corners and at the center: several pictures.
    FiveCrop(crops),
    /// Crops at the corners and at the center, also of the mirrored picture: several pictures.
    TenCrop(crops),
    /// A crop of a fixed size at a random position; a smaller picture is filled up.
    FixedSizeCrop(detection),
    /// A crop that is chosen by the boxes of the picture.
    RandomIoUCrop(detection),
    /// Puts the picture on a larger canvas, with a probability.
    RandomZoomOut(detection),
    /// Resizes.
    Resize(resize),
    /// Resizes to a whole number of patches.
    PatchResize(resize),
    /// Resizes to fit a square, which may be filled up.
    ResizeKeepRatio(resize),
    /// Resizes the shorter side to a random length.
    RandomResize(resize),
    /// Resizes the shorter side to a random one of several lengths.
    RandomShortestSize(resize),
    /// Resizes by a random factor.
    ScaleJitter(resize),
    /// Mixes the picture with chains of changes.
    AugMix(policy),
    /// One of the learned pairs of changes.
    AutoAugment(policy),
    /// Changes of one strength.
    RandAugment(policy),
    /// A policy of timm, by its configuration string.
    TimmAugment(policy),
    /// One change of random strength.
    TrivialAugmentWide(policy),
}

impl Operation {
    pub(crate) fn draw(
        &self,
        on: Shape,
        draws: Draws<'_>,
        actions: &mut Vec<Action>,
    ) -> Result<()> {
        self.drawing().draw(on, draws, actions)
    }

    /// Checks the arguments.
    ///
    /// # Errors
    /// Returns a usage error that states valid ones.
    pub fn validate(&self) -> Result<()> {
        self.drawing().validate()
    }

    /// How many pictures it makes of one.
    pub(crate) fn pictures(&self) -> usize {
        match self {
            Operation::FiveCrop(crops) => crops.pictures(),
            Operation::TenCrop(crops) => crops.pictures(),
            _ => 1,
        }
    }

    /// The operation that makes picture `number` of several.
    pub(crate) fn picture(&self, number: usize) -> Operation {
        match self {
            Operation::FiveCrop(crops) => crops.choosing(number).into(),
            Operation::TenCrop(crops) => crops.choosing(number).into(),
            other => other.clone(),
        }
    }

    pub(crate) fn placing(&self) -> Option<Placing> {
        self.drawing().placing()
    }

    pub(crate) fn fixed_size(&self, from: Option<ImageSize>) -> Option<ImageSize> {
        self.drawing().fixed_size(from)
    }

    pub(crate) fn most_pixels(&self, pixels: u64) -> u64 {
        self.drawing().most_pixels(pixels)
    }
}
