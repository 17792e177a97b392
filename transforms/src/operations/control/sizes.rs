//! The sizes of results where a draw decides which steps change a picture, and in which order.

use tarflume_image::ImageSize;

use crate::operations::Draw;

/// The size that all possible results have.
pub(super) fn agreed(mut sizes: impl Iterator<Item = Option<ImageSize>>) -> Option<ImageSize> {
    let first = sizes.next()?;
    if sizes.all(|size| size == first) { first } else { None }
}

/// The size of the result of all steps in any order: fixed if each step keeps the size or makes it that of the result.
pub(super) fn in_any_order<'a>(
    steps: impl Iterator<Item = &'a dyn Draw> + Clone,
    from: Option<ImageSize>,
) -> Option<ImageSize> {
    let changed = steps.clone().map(|step| step.fixed_size(from)).find(|size| *size != from);
    let Some(to) = changed else { return from };
    let mut steps = steps;
    let agree = steps.all(|step| {
        let first = step.fixed_size(from);
        (first == from || first == to) && step.fixed_size(to) == to
    });
    if agree { to } else { None }
}

/// A bound of the pixels after all steps in any order: each may be the one that adds most, as often as there are steps.
pub(super) fn most_in_any_order<'a>(
    steps: impl Iterator<Item = &'a dyn Draw> + Clone,
    pixels: u64,
) -> u64 {
    steps.clone().fold(pixels, |most, _| {
        steps.clone().fold(most, |largest, step| largest.max(step.most_pixels(most)))
    })
}

#[cfg(test)]
mod tests {
    use tarflume_types::Result;

    use super::*;
    use crate::actions::Action;
    use crate::operations::{Draws, Shape};

    /// A step whose results have this size, or any size.
    struct To(Option<ImageSize>);

    impl Draw for To {
        fn draw(&self, _: Shape, _: Draws<'_>, _: &mut Vec<Action>) -> Result<()> {
            Ok(())
        }

        fn fixed_size(&self, _: Option<ImageSize>) -> Option<ImageSize> {
            self.0
        }

        fn most_pixels(&self, pixels: u64) -> u64 {
            self.0.map_or(2 * pixels, ImageSize::pixels)
        }
    }

    /// A step that keeps the size.
    struct Keep;

    impl Draw for Keep {
        fn draw(&self, _: Shape, _: Draws<'_>, _: &mut Vec<Action>) -> Result<()> {
            Ok(())
        }
    }

    const SMALL: Option<ImageSize> = Some(ImageSize { width: 8, height: 8 });
    const LARGE: Option<ImageSize> = Some(ImageSize { width: 20, height: 10 });

    #[test]
    fn results_of_one_size_agree() {
        assert_eq!(agreed([SMALL, SMALL].into_iter()), SMALL);
        assert_eq!(agreed([SMALL, LARGE].into_iter()), None);
        assert_eq!(agreed([SMALL, None].into_iter()), None);
        assert_eq!(agreed([None, SMALL].into_iter()), None);
        assert_eq!(agreed([].into_iter()), None);
    }

    fn in_order(steps: &[&dyn Draw], from: Option<ImageSize>) -> Option<ImageSize> {
        in_any_order(steps.iter().copied(), from)
    }

    #[test]
    fn the_size_in_any_order_is_fixed_if_no_order_has_another() {
        let small = To(SMALL);
        let large = To(LARGE);
        let any = To(None);
        for from in [None, SMALL] {
            assert_eq!(in_order(&[], from), from);
            assert_eq!(in_order(&[&Keep, &Keep], from), from);
        }
        for from in [None, SMALL, LARGE] {
            assert_eq!(in_order(&[&Keep, &small], from), SMALL);
            assert_eq!(in_order(&[&small, &Keep, &small], from), SMALL);
            assert_eq!(in_order(&[&small, &large], from), None);
            assert_eq!(in_order(&[&small, &any], from), None);
            assert_eq!(in_order(&[&any, &small], from), None);
        }
    }

    #[test]
    fn no_order_has_more_pixels() {
        let steps: [&dyn Draw; 4] = [&To(SMALL), &Keep, &To(LARGE), &To(None)];
        assert_eq!(most_in_any_order(steps[..2].iter().copied(), 10), 64);
        assert_eq!(most_in_any_order(steps[..2].iter().copied(), 100), 100);
        assert_eq!(most_in_any_order(steps[..3].iter().copied(), 100), 200);
        assert!(most_in_any_order(steps.iter().copied(), 10) >= 400);
        assert_eq!(most_in_any_order(steps[..0].iter().copied(), 10), 10);
    }
}
