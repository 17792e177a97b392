//! Which operation of a recipe drew each action, for statistics.

use std::cell::Cell;

use tarflume_image::Random;
use tarflume_types::Result;

use super::Recipe;
use super::split::with_actions;
use crate::actions::Action;
use crate::operations::steps::Steps;
use crate::operations::{Draws, Operation, Shape};

thread_local! {
    /// The memory of the owners of a sample's actions.
    static OWNERS: Cell<Vec<usize>> = const { Cell::new(Vec::new()) };
}

/// Draws the actions of one sample, and notes the number of the operation beside each.
struct OwnedDraw<'a> {
    draws: Draws<'a>,
    actions: &'a mut Vec<Action>,
    owners: &'a mut Vec<usize>,
    /// The number of the next operation.
    number: usize,
}

impl OwnedDraw<'_> {
    /// Draws all steps of a list, and of the `Compose`s in it. Returns the picture after them.
    fn steps(&mut self, steps: &Steps, mut on: Shape) -> Result<Shape> {
        for at in 0..steps.count() {
            if let Operation::Compose(inner) = &steps.operations()[at] {
                on = self.steps(&inner.transforms, on)?;
                continue;
            }
            on = steps.draw_step(at, on, self.draws, self.actions)?;
            self.owners.resize(self.actions.len(), self.number);
            self.number += 1;
        }
        Ok(on)
    }
}

impl Recipe {
    /// The names of the operations, those inside a `Compose` among them. An operation that chooses among others has their
    /// names, too: `RandomApply(GaussianBlur)`.
    ///
    /// ```
    /// use tarflume::transforms::Recipe;
    /// use tarflume::transforms::operations::turn::RandomHorizontalFlip;
    ///
    /// let recipe = Recipe::new([RandomHorizontalFlip { p: 0.5 }.into()]);
    /// assert_eq!(recipe.labels(), ["RandomHorizontalFlip"]);
    /// ```
    pub fn labels(&self) -> Vec<String> {
        let mut labels = Vec::new();
        add_labels(&self.steps, &mut labels);
        labels
    }

    /// As [`Recipe::with_rest`]. Beside each action, `f` gets the number of its operation among [`Recipe::labels`].
    ///
    /// # Errors
    /// Returns an error if the picture cannot be used, or the error of `f`.
    pub fn with_owned_rest<R>(
        &self,
        seed: u64,
        stream: u64,
        on: Shape,
        f: impl FnOnce(&[Action], &[usize]) -> Result<R>,
    ) -> Result<R> {
        self.with_owned_rest_and_boxes(seed, stream, on, None, f)
    }

    /// As [`Recipe::with_owned_rest`], for a picture with boxes: see [`Recipe::draw_with`].
    ///
    /// # Errors
    /// As [`Recipe::draw_with`], or the error of `f`.
    pub fn with_owned_rest_and_boxes<R>(
        &self,
        seed: u64,
        stream: u64,
        on: Shape,
        boxes: Option<&[[f64; 4]]>,
        f: impl FnOnce(&[Action], &[usize]) -> Result<R>,
    ) -> Result<R> {
        with_actions(|actions| {
            let mut owners = OWNERS.take();
            owners.clear();
            let seed = Random::stream(seed, stream).seed();
            let draws = Draws::new(seed, 0).with(boxes, on.size, 0);
            let mut drawing = OwnedDraw { draws, actions, owners: &mut owners, number: 0 };
            let result = drawing.steps(&self.steps, on).and_then(|_| {
                let joined = self.fused(seed, on).join(actions);
                f(&actions[joined..], &owners[joined..])
            });
            OWNERS.set(owners);
            result
        })
    }
}

fn add_labels(steps: &Steps, labels: &mut Vec<String>) {
    for operation in steps.operations() {
        match operation {
            Operation::Compose(inner) => add_labels(&inner.transforms, labels),
            _ => labels.push(label(operation)),
        }
    }
}

fn label(operation: &Operation) -> String {
    let inner = match operation {
        Operation::Compose(of) => &of.transforms,
        Operation::RandomApply(of) => &of.transforms,
        Operation::RandomChoice(of) => &of.transforms,
        Operation::RandomOrder(of) => &of.transforms,
        _ => return operation.name().to_string(),
    };
    let names: Vec<String> = inner.operations().iter().map(label).collect();
    format!("{}({})", operation.name(), names.join(", "))
}

#[cfg(test)]
mod tests {
    use tarflume_image::ImageSize;

    use super::*;

    const ON: Shape = Shape { size: ImageSize { width: 61, height: 47 }, channels: 3 };

    /// A crop, a jitter and a choice in a `Compose`, and a blur behind it.
    fn recipe() -> Recipe {
        let json = r#"[
            {"Compose": {"transforms": [
                {"RandomResizedCrop": {"size": [24, 32]}},
                {"ColorJitter": {"brightness": [0.6, 1.4], "contrast": [0.6, 1.4]}},
                {"RandomApply": {"transforms": [{"RandomSolarize": {"threshold": 128, "p": 1.0}}], "p": 0.5}}
            ]}},
            {"RandomHorizontalFlip": {"p": 0.5}}
        ]"#;
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn operations_inside_compose_have_labels_of_their_own() {
        let labels = recipe().labels();
        let want = [
            "RandomResizedCrop",
            "ColorJitter",
            "RandomApply(RandomSolarize)",
            "RandomHorizontalFlip",
        ];
        assert_eq!(labels, want);
    }

    #[test]
    fn the_owned_actions_are_those_that_the_recipe_draws() {
        let recipe = recipe();
        let mut solarized = 0;
        for seed in 0..100 {
            let mut all = Vec::new();
            recipe.draw(seed, 3, ON, &mut all).unwrap();
            recipe
                .with_owned_rest(seed, 3, ON, |rest, owners| {
                    assert_eq!(rest, &all[all.len() - rest.len()..]);
                    assert_eq!(rest.len(), owners.len());
                    for (action, owner) in rest.iter().zip(owners) {
                        let want = match action {
                            Action::AdjustBrightness(_) | Action::AdjustContrast(_) => 1,
                            Action::Solarize(_) => 2,
                            Action::HorizontalFlip(_) => 3,
                            other => panic!("{other:?}"),
                        };
                        assert_eq!(*owner, want);
                        solarized += usize::from(want == 2);
                    }
                    Ok(())
                })
                .unwrap();
        }
        assert!((20..80).contains(&solarized), "{solarized}");
    }
}
