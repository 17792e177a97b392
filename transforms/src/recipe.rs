//! `Recipe`: the operations of a column of pictures.

mod annotated;
pub mod device_list;
mod fused;
mod owners;
pub(crate) mod split;

use serde::{Deserialize, Serialize};
use tarflume_image::{ImageSize, Random};
use tarflume_types::Result;

use crate::actions::Action;
use crate::frame::Frame;
use crate::kernels::color::pointwise;
use crate::kernels::color::table::Table;
use crate::kernels::sets::Set;
use crate::operations::crop::BucketCrop;
use crate::operations::steps::Steps;
use crate::operations::{Draws, Operation, Shape};

/// What is done with each picture of a column, after it is decoded and before it is written as a row.
///
/// Serde has the list of operations, as `pack view --transform` reads it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "Steps", into = "Steps")]
pub struct Recipe {
    steps: Steps,
}

impl From<Steps> for Recipe {
    fn from(mut steps: Steps) -> Recipe {
        steps.name(0);
        Recipe { steps }
    }
}

impl From<Recipe> for Steps {
    fn from(recipe: Recipe) -> Steps {
        recipe.steps
    }
}

impl Recipe {
    /// A recipe of these operations, in their order.
    pub fn new(operations: impl IntoIterator<Item = Operation>) -> Recipe {
        Recipe::from(Steps::from(operations.into_iter().collect::<Vec<Operation>>()))
    }

    /// The operations.
    pub fn operations(&self) -> &[Operation] {
        self.steps.operations()
    }

    /// The steps.
    pub(crate) fn steps(&self) -> &Steps {
        &self.steps
    }

    /// Checks the arguments of all operations.
    ///
    /// # Errors
    /// Returns a usage error that names the operation and states valid arguments.
    pub fn validate(&self) -> Result<()> {
        self.steps.validate_recipe()
    }

    /// How many pictures it makes of one: several, if `FiveCrop` or `TenCrop` is the last operation.
    pub fn pictures(&self) -> usize {
        self.steps.pictures()
    }

    /// The recipe that makes picture `number` of [`Recipe::pictures`], counted from 0.
    pub fn picture(&self, number: usize) -> Recipe {
        Recipe { steps: self.steps.with_picture(number) }
    }

    /// Whether an operation of its list waits for the size of a bucket.
    pub fn lacks_bucket(&self) -> bool {
        let mut operations = self.operations().iter();
        operations.any(|operation| {
            matches!(operation, Operation::BucketCrop(BucketCrop { size: None, .. }))
        })
    }

    /// The recipe for pictures of a bucket of this size.
    #[must_use]
    pub fn in_bucket(&self, size: ImageSize) -> Recipe {
        let operations = self.operations().iter().map(|operation| match operation {
            Operation::BucketCrop(crop) => {
                BucketCrop { size: Some([size.height, size.width]), ..crop.clone() }.into()
            }
            other => other.clone(),
        });
        Recipe::new(operations)
    }

    /// The size of every result, if it is the same for every picture.
    pub fn fixed_size(&self) -> Option<ImageSize> {
        self.steps.fixed_size(None)
    }

    /// The most pixels of a result, for pictures of at most `pixels` pixels.
    pub fn most_pixels(&self, pixels: u64) -> u64 {
        self.steps.most_pixels(pixels)
    }

    /// Appends what the sample of this seed gets to `actions`, for a picture of shape `on`. Columns with the same `stream`
    /// get the same draws.
    ///
    /// # Errors
    /// Returns an error if the picture cannot be used. The message states why.
    pub fn draw(
        &self,
        seed: u64,
        stream: u64,
        on: Shape,
        actions: &mut Vec<Action>,
    ) -> Result<Shape> {
        self.draw_with(seed, stream, on, None, actions)
    }

    /// As [`Recipe::draw`], for a picture with boxes: left, top, right, bottom in pixels of the picture before all actions.
    /// Operations that are chosen by boxes see them after the actions before. None if no boxes are known.
    ///
    /// # Errors
    /// As [`Recipe::draw`]; and a usage error if there are no boxes and the recipe [needs them](Recipe::needs_boxes).
    pub fn draw_with(
        &self,
        seed: u64,
        stream: u64,
        on: Shape,
        boxes: Option<&[[f64; 4]]>,
        actions: &mut Vec<Action>,
    ) -> Result<Shape> {
        let seed = Random::stream(seed, stream).seed();
        let draws = Draws::new(seed, 0).with(boxes, on.size, actions.len());
        self.steps.draw(on, draws, actions)
    }
}

/// Applies actions in their order. Neighboring tables become one.
///
/// # Errors
/// Returns an error if memory is short.
pub fn apply(actions: &[Action], frame: &mut Frame) -> Result<()> {
    apply_each(actions, frame, |_| ())
}

/// As [`apply`]. Calls `done` with the number of an action after its pixels are written: of neighboring tables, that of the
/// last one.
///
/// # Errors
/// Returns an error if memory is short.
pub fn apply_each(
    actions: &[Action],
    frame: &mut Frame,
    mut done: impl FnMut(usize),
) -> Result<()> {
    let mut pending: Option<Table> = None;
    for (at, action) in actions.iter().enumerate() {
        if let Some(table) = action.table() {
            pending =
                Some(pending.map_or(table, |first| first.map(|byte| table[usize::from(byte)])));
            continue;
        }
        if let Some(table) = pending.take() {
            pointwise::look_up(Set::best(), frame.pixels_mut(), &table);
            done(at - 1);
        }
        action.apply(frame)?;
        done(at);
    }
    if let Some(table) = pending {
        pointwise::look_up(Set::best(), frame.pixels_mut(), &table);
        done(actions.len() - 1);
    }
    Ok(())
}
