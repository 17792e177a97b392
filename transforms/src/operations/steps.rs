//! `Steps`: a list of operations whose draws depend on their names.

use serde::{Deserialize, Serialize};
use tarflume_image::ImageSize;
use tarflume_types::{Error, Result};

use super::{Draws, Operation, Shape};
use crate::actions::Action;

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

impl Operation {
    /// The list inside it, if it has one.
    fn inner(&self) -> Option<&Steps> {
        match self {
            Operation::Compose(of) => Some(&of.transforms),
            Operation::RandomApply(of) => Some(&of.transforms),
            Operation::RandomChoice(of) => Some(&of.transforms),
            Operation::RandomOrder(of) => Some(&of.transforms),
            _ => None,
        }
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

    /// The first operation of a kind, inside others too.
    pub(crate) fn find(&self, is_it: &dyn Fn(&Operation) -> bool) -> Option<&Operation> {
        self.operations.iter().find_map(|operation| match operation.inner() {
            Some(steps) => steps.find(is_it),
            None => is_it(operation).then_some(operation),
        })
    }

    /// The number of steps.
    pub(crate) fn count(&self) -> usize {
        self.operations.len()
    }

    /// The draws of step `at`.
    pub(crate) fn draws_of<'a>(&self, at: usize, draws: Draws<'a>) -> Draws<'a> {
        draws.of_step(self.keys[at])
    }

    /// Appends the actions of step `at`. Returns the picture after them.
    pub(crate) fn draw_step(
        &self,
        at: usize,
        on: Shape,
        draws: Draws<'_>,
        actions: &mut Vec<Action>,
    ) -> Result<Shape> {
        let first = actions.len();
        self.operations[at].draw(on, self.draws_of(at, draws), actions)?;
        let size = actions[first..].iter().fold(on.size, |size, action| action.size(size));
        Ok(Shape { size, ..on })
    }

    /// Appends the actions of all steps, in their order. Returns the picture after them.
    pub(crate) fn draw(
        &self,
        mut on: Shape,
        draws: Draws<'_>,
        actions: &mut Vec<Action>,
    ) -> Result<Shape> {
        for at in 0..self.count() {
            on = self.draw_step(at, on, draws, actions)?;
        }
        Ok(on)
    }

    /// Checks the arguments of all steps, each of which makes one picture.
    pub(crate) fn validate(&self) -> Result<()> {
        match self.operations.iter().find(|operation| operation.pictures() > 1) {
            Some(operation) => Err(Error::usage(format!(
                "{} makes several pictures of one: it can be the last operation of a recipe alone, and not inside another",
                operation.name()
            ))),
            None => self.operations.iter().try_for_each(Operation::validate),
        }
    }

    /// As [`Steps::validate`]; the last step may make several pictures.
    pub(crate) fn validate_recipe(&self) -> Result<()> {
        let mut inner = self.operations.iter().filter_map(Operation::inner);
        if inner.any(|steps| steps.find(&|one| matches!(one, Operation::BucketCrop(_))).is_some()) {
            return Err(Error::usage(
                "BucketCrop is for all pictures of a batch: it stands in the first list of a recipe, not inside \
                 another operation",
            ));
        }
        self.with_picture(0).validate()
    }

    /// The number of pictures that the last step makes of one.
    pub(crate) fn pictures(&self) -> usize {
        self.operations.last().map_or(1, Operation::pictures)
    }

    /// The steps that make picture `number` of several.
    pub(crate) fn with_picture(&self, number: usize) -> Steps {
        let mut steps = self.clone();
        if let Some(last) = steps.operations.last_mut() {
            *last = last.picture(number);
        }
        steps
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
