//! `Steps`: a list of operations whose draws depend on their names. `Recipe`: the steps of a column.

mod fused;
pub(crate) mod split;

use serde::{Deserialize, Serialize};
use tarflume_image::{ImageSize, Random};
use tarflume_types::Result;

use crate::actions::{Action, Table};
use crate::frame::Frame;
use crate::kernels::pointwise;
use crate::kernels::sets::Set;
use crate::operations::{Draws, Operation, Shape};

/// Operations in their order.
///
/// A step's random numbers depend on the sample's seed, the names of the steps around it, its own name, and how many steps
/// of that name are before it in the same list. An operation that is inserted changes the draws of no operation with
/// another name. Serde has the list of operations.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Operation>", into = "Vec<Operation>")]
pub struct Steps {
    operations: Vec<Operation>,
    keys: Vec<u64>,
}

impl From<Vec<Operation>> for Steps {
    fn from(operations: Vec<Operation>) -> Steps {
        Steps { keys: Vec::new(), operations }
    }
}

impl From<Steps> for Vec<Operation> {
    fn from(steps: Steps) -> Vec<Operation> {
        steps.operations
    }
}

impl Steps {
    /// The operations.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Names the steps, and those inside them. Called once, from the recipe down.
    pub(crate) fn name(&mut self, parent: u64) {
        self.keys.clear();
        for at in 0..self.operations.len() {
            let name = self.operations[at].name();
            let before = self.operations[..at].iter().filter(|other| other.name() == name).count();
            let key = key(parent, name, before as u64);
            self.operations[at].name_steps(key);
            self.keys.push(key);
        }
    }

    /// The number of steps.
    pub(crate) fn count(&self) -> usize {
        self.operations.len()
    }

    /// Appends the actions of step `at`. Returns the picture after them.
    pub(crate) fn draw_step(
        &self,
        at: usize,
        on: Shape,
        draws: Draws,
        actions: &mut Vec<Action>,
    ) -> Result<Shape> {
        let first = actions.len();
        self.operations[at].draw(on, draws.of_step(self.keys[at]), actions)?;
        let size = actions[first..].iter().fold(on.size, |size, action| action.size(size));
        Ok(Shape { size, ..on })
    }

    /// Appends the actions of all steps, in their order. Returns the picture after them.
    pub(crate) fn draw(
        &self,
        mut on: Shape,
        draws: Draws,
        actions: &mut Vec<Action>,
    ) -> Result<Shape> {
        for at in 0..self.count() {
            on = self.draw_step(at, on, draws, actions)?;
        }
        Ok(on)
    }

    pub(crate) fn validate(&self) -> Result<()> {
        self.operations.iter().try_for_each(Operation::validate)
    }

    pub(crate) fn fixed_size(&self, from: Option<ImageSize>) -> Option<ImageSize> {
        self.operations.iter().fold(from, |size, operation| operation.fixed_size(size))
    }

    pub(crate) fn most_pixels(&self, pixels: u64) -> u64 {
        self.operations.iter().fold(pixels, |pixels, operation| operation.most_pixels(pixels))
    }
}

/// The key of a step: FNV-1a of the parent's key, the name and the number of steps with that name before it. Frozen: a
/// change would change augmentations. Never 0, the stream of columns.
fn key(parent: u64, name: &str, before: u64) -> u64 {
    let numbers = parent.to_le_bytes().into_iter().chain(before.to_le_bytes());
    let hash = numbers.chain(name.bytes()).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash.max(1)
}

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

    /// Checks the arguments of all operations.
    ///
    /// # Errors
    /// Returns a usage error that names the operation and states valid arguments.
    pub fn validate(&self) -> Result<()> {
        self.steps.validate()
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
        let seed = Random::stream(seed, stream).seed();
        self.steps.draw(on, Draws::new(seed, 0), actions)
    }
}

/// Applies actions in their order. Neighboring tables become one.
///
/// # Errors
/// Returns an error if memory is short.
pub fn apply(actions: &[Action], frame: &mut Frame) -> Result<()> {
    let mut pending: Option<Table> = None;
    for action in actions {
        if let Some(table) = action.table() {
            pending =
                Some(pending.map_or(table, |first| first.map(|byte| table[usize::from(byte)])));
            continue;
        }
        if let Some(table) = pending.take() {
            pointwise::look_up(Set::best(), frame.pixels_mut(), &table);
        }
        action.apply(frame)?;
    }
    if let Some(table) = pending {
        pointwise::look_up(Set::best(), frame.pixels_mut(), &table);
    }
    Ok(())
}
