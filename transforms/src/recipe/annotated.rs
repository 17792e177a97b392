//! What a recipe needs of the annotations of a picture, and what it does to them.

use super::Recipe;
use crate::operations::Operation;

impl Recipe {
    /// Whether an operation is chosen by the boxes of the picture. Such a recipe draws with boxes alone:
    /// [`Recipe::draw_with`].
    ///
    /// ```
    /// use tarflume::transforms::Recipe;
    /// use tarflume::transforms::operations::detection::RandomIoUCrop;
    ///
    /// assert!(Recipe::new([RandomIoUCrop::default().into()]).needs_boxes());
    /// ```
    pub fn needs_boxes(&self) -> bool {
        self.steps().find(&|operation| matches!(operation, Operation::RandomIoUCrop(_))).is_some()
    }

    /// The name of the first operation that mixes copies of the picture, which it may move differently: annotations cannot
    /// follow it.
    pub fn blends(&self) -> Option<&'static str> {
        let blending = self.steps().find(&|operation| match operation {
            Operation::AugMix(_) => true,
            Operation::TimmAugment(of) => of.mixes(),
            _ => false,
        });
        blending.map(Operation::name)
    }
}
