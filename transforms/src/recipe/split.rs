//! A recipe in two parts: the first actions of a sample as one placement, which a decoder carries out, and the rest, which
//! changes pixels. Both parts together are what [`Recipe::draw`] draws.

use std::any::Any;
use std::cell::Cell;

use tarflume_image::{Extent, Filter, ImageSize, Placement, Random, Transform};
use tarflume_types::Result;

use super::Recipe;
use super::fused::Fused;
use crate::actions::Action;
use crate::operations::{Draws, Operation, Placing, Shape};
use crate::settings::{CropInterpolation, Interpolation};

/// The most pixels of a picture, if nothing else is known of it: the default limit of a column.
const MOST_PIXELS: u64 = 1 << 28;

/// A step that resizes while decoding.
struct FirstResize {
    at: usize,
    interpolation: CropInterpolation,
}

thread_local! {
    /// The memory of the actions of a sample.
    static ACTIONS: Cell<Vec<Action>> = const { Cell::new(Vec::new()) };
}

/// Calls `f` with an empty list whose memory the thread keeps.
pub(super) fn with_actions<R>(f: impl FnOnce(&mut Vec<Action>) -> R) -> R {
    let mut actions = ACTIONS.take();
    actions.clear();
    let result = f(&mut actions);
    ACTIONS.set(actions);
    result
}

impl Recipe {
    /// What the decoder carries out for the sample of this seed: crops, a resize and flips that are drawn before anything
    /// else. For a recipe that begins with something else, the whole picture.
    ///
    /// # Errors
    /// Returns an error if the picture cannot be used. The message states why.
    pub fn placement(&self, seed: u64, stream: u64, on: Shape) -> Result<Placement> {
        self.placement_with(seed, stream, on, None)
    }

    /// As [`Recipe::placement`], for a picture with boxes: see [`Recipe::draw_with`].
    ///
    /// # Errors
    /// As [`Recipe::draw_with`].
    pub fn placement_with(
        &self,
        seed: u64,
        stream: u64,
        on: Shape,
        boxes: Option<&[[f64; 4]]>,
    ) -> Result<Placement> {
        self.place_by(Random::stream(seed, stream).seed(), on, boxes)
    }

    fn place_by(&self, seed: u64, on: Shape, boxes: Option<&[[f64; 4]]>) -> Result<Placement> {
        with_actions(|actions| {
            let mut fused = self.fused(seed, on);
            let draws = Draws::new(seed, 0).with(boxes, on.size, 0);
            let mut shape = on;
            for at in 0..self.steps.count() {
                let first = actions.len();
                shape = self.steps.draw_step(at, shape, draws, actions)?;
                if fused.join(&actions[first..]) < actions.len() - first {
                    break;
                }
            }
            Ok(fused.placement())
        })
    }

    /// Calls `f` with the actions that are drawn for the sample of this seed, but for those of [`Recipe::placement`]. `on` is
    /// the picture before that.
    ///
    /// # Errors
    /// Returns an error if the picture cannot be used, or the error of `f`.
    pub fn with_rest<R>(
        &self,
        seed: u64,
        stream: u64,
        on: Shape,
        f: impl FnOnce(&[Action]) -> Result<R>,
    ) -> Result<R> {
        self.with_owned_rest(seed, stream, on, |actions, _| f(actions))
    }

    /// As [`Recipe::with_rest`], for a picture with boxes: see [`Recipe::draw_with`].
    ///
    /// # Errors
    /// As [`Recipe::draw_with`], or the error of `f`.
    pub fn with_rest_and_boxes<R>(
        &self,
        seed: u64,
        stream: u64,
        on: Shape,
        boxes: Option<&[[f64; 4]]>,
        f: impl FnOnce(&[Action]) -> Result<R>,
    ) -> Result<R> {
        self.with_owned_rest_and_boxes(seed, stream, on, boxes, |actions, _| f(actions))
    }

    /// How many of the actions that were drawn for the sample of this seed are in [`Recipe::placement`].
    #[doc(hidden)]
    pub fn placed(&self, seed: u64, stream: u64, on: Shape, actions: &[Action]) -> usize {
        self.fused(Random::stream(seed, stream).seed(), on).join(actions)
    }

    /// A placement on a picture without an action yet, for the sample of this seed.
    pub(super) fn fused(&self, seed: u64, on: Shape) -> Fused {
        Fused::new(on.size, self.interpolation(seed))
    }

    /// The step with the first resize that a decoder can do, and its interpolation.
    fn first_resize(&self) -> Option<FirstResize> {
        self.operations().iter().enumerate().find_map(|(at, operation)| match operation.placing() {
            Some(Placing::Resize { interpolation, .. }) => Some(FirstResize { at, interpolation }),
            _ => None,
        })
    }

    /// The interpolation of that resize, for the sample of this seed.
    fn interpolation(&self, seed: u64) -> Interpolation {
        self.first_resize().map_or_else(Interpolation::default, |first| {
            self.steps.draws_of(first.at, Draws::new(seed, 0)).interpolation(first.interpolation)
        })
    }

    /// The filter of the resize in [`Recipe::placement`]; of several that are drawn, the one that reads most pixels.
    pub fn filter(&self) -> Filter {
        let first = self.first_resize();
        first.map_or_else(Interpolation::default, |first| first.interpolation.widest()).filter()
    }

    /// The filter of the resize in [`Recipe::placement`] for the sample of this seed.
    pub fn filter_of(&self, seed: u64, stream: u64) -> Filter {
        self.interpolation(Random::stream(seed, stream).seed()).filter()
    }

    /// Whether the placement is everything, for every picture and sample. Such a recipe takes pixels of any type.
    pub fn is_placement(&self) -> bool {
        let mut least = ImageSize::new(1, 1);
        let mut resized = false;
        let mut flipped = false;
        self.operations().iter().all(|operation| match operation.placing() {
            Some(Placing::Resize { least: result, .. }) => {
                let fits = !resized && !flipped;
                (least, resized) = (result, true);
                fits
            }
            Some(Placing::Crop(size)) => {
                let fits = !flipped && size.width <= least.width && size.height <= least.height;
                least = size;
                fits
            }
            Some(Placing::Flip) => {
                flipped = true;
                true
            }
            None => false,
        })
    }

    /// Whether the last operation erases rectangles: in the row, after its values are normalized.
    pub fn erases_rows(&self) -> bool {
        self.operations().last().map(Operation::name) == Some("RandomErasing")
    }
}

/// [`Transform::extent`] is that of the result; [`Transform::place`] is [`Recipe::placement`] of a picture with three
/// channels.
impl Transform for Recipe {
    fn extent(&self) -> Extent {
        match self.fixed_size() {
            Some(size) => Extent::Fixed(size),
            None => Extent::UpTo(self.most_pixels(MOST_PIXELS)),
        }
    }

    fn place(&self, source: ImageSize, random: &mut Random) -> Result<Placement> {
        self.place_by(random.seed(), Shape { size: source, channels: 3 }, None)
    }

    fn most(&self, pixels: u64) -> u64 {
        self.fixed_size().map_or_else(|| self.most_pixels(pixels), ImageSize::pixels)
    }

    fn validate(&self) -> Result<()> {
        Recipe::validate(self)
    }

    fn recipe(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

/// The most bytes that [`apply`](crate::apply) takes for these actions on a picture, with both pictures of a frame.
pub fn memory(actions: &[Action], on: Shape) -> u64 {
    let channels = on.channels as u64;
    let mut size = on.size;
    let mut largest = size.pixels();
    let mut room = 0u64;
    for action in actions {
        room = room.saturating_add(action.room(size, on.channels));
        size = action.size(size);
        largest = largest.max(size.pixels());
    }
    largest.saturating_mul(2 * channels).saturating_add(room)
}

#[cfg(test)]
mod tests {
    use tarflume_image::Cut;

    use super::*;
    use crate::actions::HorizontalFlip;
    use crate::operations::crop::RandomResizedCrop;
    use crate::operations::pad::CenterCrop;
    use crate::operations::resize::{Resize, ResizeSize};
    use crate::operations::turn::RandomHorizontalFlip;
    use crate::{Frame, apply};

    fn crop() -> Operation {
        RandomResizedCrop::new([24, 32]).into()
    }

    fn flip(p: f64) -> Operation {
        RandomHorizontalFlip { p }.into()
    }

    fn resize(side: u32) -> Operation {
        let size = ResizeSize::Shorter(side);
        Resize { size, interpolation: Interpolation::Bicubic, max_size: None }.into()
    }

    const ON: Shape = Shape { size: ImageSize { width: 61, height: 47 }, channels: 3 };

    #[test]
    fn the_parts_are_what_is_drawn() {
        let recipe = Recipe::new([crop(), flip(0.5), flip(0.3), resize(9)]);
        for seed in 0..200 {
            for stream in [0, 3] {
                let mut all = Vec::new();
                recipe.draw(seed, stream, ON, &mut all).unwrap();
                let placement = recipe.placement(seed, stream, ON).unwrap();
                let Action::Crop(crop) = all[0] else { panic!("{all:?}") };
                assert_eq!(placement.cut.left, crop.left);
                let flips = all.iter().filter(|action| **action == HorizontalFlip {}.into());
                assert_eq!(placement.flip, flips.count() == 1);
                recipe
                    .with_rest(seed, stream, ON, |rest| {
                        assert_eq!(rest, &all[all.len() - 1..]);
                        Ok(())
                    })
                    .unwrap();
                let mut random = Random::stream(seed, stream);
                assert_eq!(recipe.place(ON.size, &mut random).unwrap(), placement);
            }
        }
    }

    #[test]
    fn a_drawn_filter_is_that_of_the_resize_and_changes_no_crop() {
        let random = RandomResizedCrop {
            interpolation: CropInterpolation::Random,
            ..RandomResizedCrop::new([24, 32])
        };
        let recipe = Recipe::new([random.into(), flip(0.5)]);
        let plain = Recipe::new([crop(), flip(0.5)]);
        assert!(recipe.is_placement());
        assert_eq!(recipe.filter(), Filter::Bicubic);
        let mut bicubic = 0;
        for seed in 0..400 {
            let mut all = Vec::new();
            recipe.draw(seed, 1, ON, &mut all).unwrap();
            let Action::Resize(resize) = all[1] else { panic!("{all:?}") };
            assert_eq!(resize.interpolation.filter(), recipe.filter_of(seed, 1));
            bicubic += usize::from(resize.interpolation == Interpolation::Bicubic);
            let placement = recipe.placement(seed, 1, ON).unwrap();
            assert_eq!(placement, plain.placement(seed, 1, ON).unwrap());
            assert_eq!(placement.size, ImageSize::new(32, 24));
            let rest = recipe.with_rest(seed, 1, ON, |rest| Ok(rest.len())).unwrap();
            assert_eq!(rest, 0);
        }
        assert!((160..240).contains(&bicubic), "{bicubic} of 400");
    }

    #[test]
    fn a_recipe_that_only_places_is_known_as_such() {
        assert!(Recipe::default().is_placement());
        assert!(Recipe::new([crop(), flip(0.5), flip(1.0)]).is_placement());
        assert!(Recipe::new([resize(9), flip(0.5)]).is_placement());
        assert!(!Recipe::new([flip(0.5), resize(9)]).is_placement());
        assert!(!Recipe::new([resize(9), crop()]).is_placement());
        assert_eq!(Recipe::new([flip(0.5), resize(9), crop()]).filter(), Filter::Bicubic);
        assert_eq!(Recipe::default().filter(), Filter::Bilinear);
    }

    #[test]
    fn crops_of_a_resized_picture_and_of_one_that_is_large_enough_are_placements() {
        let center = |side: u32| Operation::from(CenterCrop { size: [side; 2] });
        assert!(Recipe::new([resize(256), center(224), flip(0.5)]).is_placement());
        assert!(Recipe::new([resize(256), center(256)]).is_placement());
        assert!(!Recipe::new([resize(256), center(257)]).is_placement());
        assert!(!Recipe::new([center(32)]).is_placement());
        for (side, rest) in [(32, 0), (50, 2)] {
            let recipe = Recipe::new([center(side)]);
            recipe
                .with_rest(0, 0, ON, |actions| {
                    assert_eq!(actions.len(), rest, "a picture that is too small has a margin");
                    Ok(())
                })
                .unwrap();
        }
        let placement = Recipe::new([center(32)]).placement(0, 0, ON).unwrap();
        let want = Cut { left: 14, top: 8, size: 32.into() };
        assert_eq!(placement, Placement::of(want, 32.into()));
    }

    /// Recipes whose operations always act, with each buffer of a frame.
    const CHANGING: [&str; 14] = [
        r#"[{"GaussianBlur": {"kernel_size": [23, 5], "sigma": [2.0, 2.0]}}]"#,
        r#"[{"GaussianBlur": {"kernel_size": [1001, 1001], "sigma": [300.0, 300.0]}}]"#,
        r#"[{"ElasticTransform": {"alpha": [50.0, 50.0], "sigma": [5.0, 9.0]}}]"#,
        r#"[{"JPEG": {"quality": [50, 50]}}]"#,
        r#"[{"AugMix": {"mixture_width": 3}}]"#,
        r#"[{"RandomAdjustSharpness": {"sharpness_factor": 2.0, "p": 1.0}}]"#,
        r#"[{"RandomRotation": {"degrees": [30.0, 40.0], "expand": true}}]"#,
        r#"[{"RandomPerspective": {"p": 1.0, "interpolation": "bicubic"}}]"#,
        r#"[{"RandomEqualize": {"p": 1.0}}]"#,
        r#"[{"RandomAutocontrast": {"p": 1.0}}]"#,
        r#"[{"ColorJitter": {"brightness": [0.5, 1.5], "contrast": [0.5, 1.5], "saturation": [0.5, 1.5], "hue": [-0.1, 0.1]}}]"#,
        r#"[{"GaussianNoise": {}}]"#,
        r#"[{"RandomErasing": {"p": 1.0, "value": "random"}}]"#,
        r#"[{"TimmAugment": {"config": "rand-m9-n5-mstd0.5-inc1"}}]"#,
    ];

    #[test]
    fn no_action_keeps_more_memory_than_is_stated() {
        for text in CHANGING {
            let recipe: Recipe = serde_json::from_str(text).expect(text);
            for [width, height] in [[1, 1], [1, 300], [300, 1], [7, 5], [61, 47], [200, 150]] {
                for channels in [1, 3] {
                    let on = Shape { size: ImageSize::new(width, height), channels };
                    let mut actions = Vec::new();
                    recipe.draw(3, 0, on, &mut actions).unwrap();
                    let mut frame = Frame::default();
                    frame.begin(on.size, channels).unwrap().fill(99);
                    apply(&actions, &mut frame).unwrap();
                    let stated = memory(&actions, on);
                    let kept = frame.kept() as u64;
                    assert!(kept <= stated, "{kept} of {stated}: {actions:?} on {on:?}");
                }
            }
        }
    }

    #[test]
    fn memory_is_for_the_largest_picture_and_what_actions_use() {
        let recipe = Recipe::new([crop(), resize(96)]);
        let mut actions = Vec::new();
        recipe.draw(0, 0, ON, &mut actions).unwrap();
        let rest = &actions[2..];
        let on = Shape { size: ImageSize::new(32, 24), channels: 3 };
        let needed = memory(rest, on);
        assert!(needed > 2 * 128 * 96 * 3, "{needed}");
        assert!(needed < 8 * 128 * 96 * 3, "{needed}");
        assert_eq!(memory(&[], on), 2 * 32 * 24 * 3);
    }
}
