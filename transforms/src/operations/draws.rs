//! `Draws`: the random numbers of a step, and the boxes of the picture.

use std::cell::Cell;

use tarflume_image::{ImageSize, Random};
use tarflume_types::Result;

use crate::actions::Action;
use crate::annotations::move_boxes;
use crate::settings::{CropInterpolation, Interpolation};

/// Distinguishes the draws of an interpolation from the others of a step.
const INTERPOLATION: u64 = u64::from_le_bytes(*b"interpol");

thread_local! {
    /// The memory of boxes that were moved.
    static MOVED: Cell<Vec<[f64; 4]>> = const { Cell::new(Vec::new()) };
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
