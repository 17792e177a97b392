//! What the operations of detection draw, with boxes and without.

use tarflume_image::ImageSize;

use super::*;
use crate::actions::{Action, KeepCenters};
use crate::annotations::move_boxes;
use crate::operations::{Operation, Shape};
use crate::{Fill, PaddingMode, Recipe};

const ON: Shape = Shape { size: ImageSize { width: 200, height: 100 }, channels: 3 };

fn iou_crop(options: &[f64]) -> Operation {
    RandomIoUCrop { sampler_options: options.to_vec(), ..RandomIoUCrop::default() }.into()
}

fn drawn(recipe: &Recipe, seed: u64, boxes: &[[f64; 4]]) -> Vec<Action> {
    let mut actions = Vec::new();
    recipe.draw_with(seed, 0, ON, Some(boxes), &mut actions).unwrap();
    actions
}

#[test]
fn a_crop_has_a_center_and_enough_of_a_box() {
    let boxes = [[20.0, 10.0, 60.0, 50.0], [120.0, 20.0, 190.0, 95.0]];
    for least in [0.0, 0.3, 0.7] {
        let recipe = Recipe::new([iou_crop(&[least])]);
        recipe.validate().unwrap();
        for seed in 0..200 {
            let actions = drawn(&recipe, seed, &boxes);
            let [Action::KeepCenters(keep), Action::Crop(crop)] = actions[..] else {
                panic!("{actions:?}")
            };
            assert_eq!(
                [keep.top, keep.left, keep.height, keep.width],
                [crop.top, crop.left, crop.height, crop.width]
            );
            assert!(crop.left + crop.width <= 200 && crop.top + crop.height <= 100);
            assert!(crop.width >= 60 && crop.height >= 30);
            let best = boxes.iter().filter(|edges| keep.keeps(**edges)).map(|edges| {
                let right = f64::from(crop.left + crop.width);
                let bottom = f64::from(crop.top + crop.height);
                let across = edges[2].min(right) - edges[0].max(f64::from(crop.left));
                let down = edges[3].min(bottom) - edges[1].max(f64::from(crop.top));
                let all = (edges[2] - edges[0]) * (edges[3] - edges[1])
                    + f64::from(crop.width * crop.height);
                across * down / (all - across * down)
            });
            assert!(best.fold(-1.0, f64::max) >= least, "{seed}");
        }
    }
}

#[test]
fn the_boxes_are_those_after_the_actions_before() {
    // The crop has to have the center of the only box, where it is after a flip and on a larger canvas.
    let text = r#"[
        {"RandomHorizontalFlip": {"p": 1.0}},
        {"RandomApply": {"transforms": [{"RandomZoomOut": {"side_range": [2.0, 2.0], "p": 1.0}}], "p": 1.0}},
        {"RandomChoice": {"transforms": [{"Compose": {"transforms": [{"RandomIoUCrop": {"sampler_options": [0.0]}}]}}]}}
    ]"#;
    let recipe: Recipe = serde_json::from_str(text).unwrap();
    assert!(recipe.needs_boxes() && !Recipe::default().needs_boxes());
    for seed in 0..100 {
        let boxes = [[3.0, 4.0, 9.0, 8.0]];
        let actions = drawn(&recipe, seed, &boxes);
        let [before @ .., Action::KeepCenters(keep), Action::Crop(_)] = &actions[..] else {
            panic!("{actions:?}")
        };
        let mut moved = boxes;
        let size = move_boxes(before, ON.size, &mut moved).unwrap();
        assert_eq!(size, ImageSize::new(400, 200));
        assert!(keep.keeps(moved[0]), "{actions:?}");
    }
}

#[test]
fn the_parts_of_a_recipe_are_what_is_drawn_with_boxes() {
    let text = r#"[{"Resize": {"size": [60, 90]}}, {"RandomIoUCrop": {}}, {"RandomHorizontalFlip": {}}, {"RandomInvert": {}}]"#;
    let recipe: Recipe = serde_json::from_str(text).unwrap();
    let boxes = [[20.0, 10.0, 60.0, 50.0], [120.0, 20.0, 190.0, 95.0]];
    let mut cropped = 0;
    for seed in 0..200 {
        let all = drawn(&recipe, seed, &boxes);
        let placement = recipe.placement_with(seed, 0, ON, Some(&boxes)).unwrap();
        let placed = recipe.placed(seed, 0, ON, &all);
        let size = all[..placed].iter().fold(ON.size, |size, action| action.size(size));
        assert_eq!(placement.size, size);
        cropped += usize::from(size != ImageSize::new(90, 60));
        recipe
            .with_owned_rest_and_boxes(seed, 0, ON, Some(&boxes), |actions, owners| {
                assert_eq!(actions, &all[placed..]);
                assert!(owners.iter().all(|owner| *owner == 3));
                Ok(())
            })
            .unwrap();
    }
    assert!((80..200).contains(&cropped), "{cropped}");
}

#[test]
fn without_boxes_a_draw_is_an_error() {
    let recipe = Recipe::new([iou_crop(&[0.5])]);
    let error = recipe.draw(1, 0, ON, &mut Vec::new()).unwrap_err();
    assert!(error.text().contains("no boxes are bound"), "{error}");
    assert!(recipe.placement(1, 0, ON).is_err());
    assert!(recipe.with_rest(1, 0, ON, |_| Ok(())).is_err());
}

#[test]
fn a_picture_without_a_valid_crop_stays_whole() {
    let nan = [f64::NAN; 4];
    let outside = [-30.0, 0.0, -5.0, 50.0];
    for boxes in [&[][..], &[nan], &[outside], &[nan, outside]] {
        for options in [&[0.0][..], &[0.0, 1.0], &[1.0]] {
            assert_eq!(drawn(&Recipe::new([iou_crop(options)]), 3, boxes), []);
        }
    }
    // No crop of at least 60 x 30 pixels has so much in common with this box.
    assert_eq!(drawn(&Recipe::new([iou_crop(&[0.9])]), 3, &[[50.0, 50.0, 52.0, 52.0]]), []);
    let recipe = Recipe::new([iou_crop(&[0.0, 1.0])]);
    let on = Shape { size: ImageSize::new(1, 1), channels: 3 };
    let mut actions = Vec::new();
    recipe.draw_with(3, 0, on, Some(&[[0.0, 0.0, 1.0, 1.0]]), &mut actions).unwrap();
    assert_eq!(actions, []);
}

#[test]
fn actions_that_are_before_the_recipe_in_a_list_are_not_its_own() {
    let recipe = Recipe::new([iou_crop(&[0.0])]);
    let mut actions = vec![KeepCenters { top: 0, left: 0, height: 1, width: 1 }.into()];
    recipe.draw_with(1, 0, ON, Some(&[[20.0, 10.0, 60.0, 50.0]]), &mut actions).unwrap();
    assert_eq!(actions.len(), 3);
}

#[test]
fn a_larger_canvas_has_the_whole_picture() {
    let recipe = Recipe::new([RandomZoomOut { p: 1.0, ..RandomZoomOut::default() }.into()]);
    let mut largest = 0;
    for seed in 0..300 {
        let actions = drawn(&recipe, seed, &[]);
        let [Action::Pad(pad)] = actions[..] else { panic!("{actions:?}") };
        let [left, top, right, bottom] = pad.padding;
        let width = 200 + left + right;
        let height = 100 + top + bottom;
        assert!(width <= 800 && height == (f64::from(width) / 2.0) as u32, "{actions:?}");
        assert!(recipe.most_pixels(200 * 100) >= u64::from(width * height));
        largest = largest.max(width);
    }
    assert!(largest > 780, "{largest}");
}

#[test]
fn a_crop_of_fixed_size_is_filled_up_to_the_right_and_below() {
    fn crop(size: [u32; 2]) -> FixedSizeCrop {
        FixedSizeCrop { size, fill: Fill::from(7), padding_mode: PaddingMode::Constant }
    }

    let large = Recipe::new([crop([120, 250]).into()]);
    let actions = drawn(&large, 1, &[]);
    let [Action::Pad(pad)] = actions[..] else { panic!("{actions:?}") };
    assert_eq!(pad.padding, [0, 0, 50, 20]);
    let mixed = Recipe::new([crop([60, 250]).into()]);
    let actions = drawn(&mixed, 1, &[]);
    let [Action::Crop(cut), Action::Pad(pad)] = actions[..] else { panic!("{actions:?}") };
    assert_eq!([cut.left, cut.width, cut.height], [0, 200, 60]);
    assert_eq!(pad.padding, [0, 0, 50, 0]);
    let small = Recipe::new([crop([60, 100]).into()]);
    for seed in 0..100 {
        let actions = drawn(&small, seed, &[]);
        let [Action::Crop(cut)] = actions[..] else { panic!("{actions:?}") };
        assert_eq!([cut.height, cut.width], [60, 100]);
        // One number for both axes: 40 rows and 100 columns are left over.
        assert!(cut.top < 40 && cut.left < 100 && (cut.left * 2 / 5).abs_diff(cut.top) <= 1);
    }
    assert_eq!(drawn(&Recipe::new([crop([100, 200]).into()]), 1, &[]), []);
    assert_eq!(large.fixed_size(), Some(ImageSize::new(250, 120)));
}

#[test]
fn arguments_out_of_range_are_refused() {
    for text in [
        r#"{"RandomZoomOut": {"side_range": [0.5, 2.0]}}"#,
        r#"{"RandomZoomOut": {"side_range": [3.0, 2.0]}}"#,
        r#"{"RandomZoomOut": {"p": 2.0}}"#,
        r#"{"FixedSizeCrop": {"size": [0, 4]}}"#,
        r#"{"RandomIoUCrop": {"max_scale": 1.5}}"#,
        r#"{"RandomIoUCrop": {"min_scale": 0.9, "max_scale": 0.5}}"#,
        r#"{"RandomIoUCrop": {"min_aspect_ratio": 3.0}}"#,
        r#"{"RandomIoUCrop": {"sampler_options": []}}"#,
        r#"{"RandomIoUCrop": {"sampler_options": [-0.5]}}"#,
        r#"{"RandomIoUCrop": {"trials": 0}}"#,
    ] {
        let operation: Operation = serde_json::from_str(text).unwrap();
        assert!(operation.validate().is_err(), "{text}");
    }
    let usual: Operation = serde_json::from_str(r#"{"RandomIoUCrop": {}}"#).unwrap();
    usual.validate().unwrap();
}
