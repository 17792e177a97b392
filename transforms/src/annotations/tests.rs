//! Boxes, points and masks after actions whose results are known.

use crate::Interpolation;
use crate::actions::{
    AdjustBrightness, Affine, Crop, Elastic, HorizontalFlip, Invert, KeepCenters, MixBegin, MixEnd,
    Pad, Perspective, QuarterTurn, Resize, VerticalFlip,
};
use crate::settings::{Fill, PaddingMode};

use super::*;

const ON: ImageSize = ImageSize { width: 20, height: 10 };

fn pad(padding: [u32; 4]) -> Action {
    Pad { padding, fill: Fill::default(), padding_mode: PaddingMode::Constant }.into()
}

fn affine(matrix: [f64; 6], size: [u32; 2]) -> Action {
    Affine { matrix, size, interpolation: Interpolation::Bilinear, fill: Fill::from(9) }.into()
}

fn resize(size: [u32; 2]) -> Action {
    Resize { size, interpolation: Interpolation::Bicubic }.into()
}

fn moved(action: &Action) -> [[f64; 4]; 2] {
    let mut boxes = [[2.0, 3.0, 12.0, 7.0], [15.0, 0.0, 20.0, 10.0]];
    action.move_boxes(ON, &mut boxes).unwrap();
    boxes
}

#[test]
fn boxes_follow_whole_pixels() {
    let crop = Crop { top: 4, left: 5, height: 6, width: 10 }.into();
    assert_eq!(moved(&crop), [[0.0, 0.0, 7.0, 3.0], [10.0, 0.0, 10.0, 6.0]]);
    assert_eq!(moved(&pad([1, 2, 3, 4])), [[3.0, 5.0, 13.0, 9.0], [16.0, 2.0, 21.0, 12.0]]);
    let flip = HorizontalFlip {}.into();
    assert_eq!(moved(&flip), [[8.0, 3.0, 18.0, 7.0], [0.0, 0.0, 5.0, 10.0]]);
    let upended = VerticalFlip {}.into();
    assert_eq!(moved(&upended), [[2.0, 3.0, 12.0, 7.0], [15.0, 0.0, 20.0, 10.0]]);
    assert_eq!(moved(&resize([5, 60])), [[6.0, 1.5, 36.0, 3.5], [45.0, 0.0, 60.0, 5.0]]);
    assert_eq!(moved(&Invert {}.into()), [[2.0, 3.0, 12.0, 7.0], [15.0, 0.0, 20.0, 10.0]]);
}

#[test]
fn a_quarter_turn_is_counterclockwise() {
    fn turned(turns: u8) -> [f64; 4] {
        moved(&QuarterTurn { turns }.into())[0]
    }

    assert_eq!(turned(0), [2.0, 3.0, 12.0, 7.0]);
    assert_eq!(turned(1), [3.0, 8.0, 7.0, 18.0]);
    assert_eq!(turned(2), [8.0, 3.0, 18.0, 7.0]);
    assert_eq!(turned(3), [3.0, 2.0, 7.0, 12.0]);
    assert_eq!(turned(5), turned(1));
}

#[test]
fn the_box_of_a_pixel_follows_the_pixel() {
    let actions = [
        Crop { top: 1, left: 2, height: 8, width: 15 }.into(),
        HorizontalFlip {}.into(),
        pad([1, 2, 3, 4]),
        QuarterTurn { turns: 1 }.into(),
        VerticalFlip {}.into(),
        affine([1.0, 0.0, -3.0, 0.0, 1.0, 2.0], [19, 14]),
        QuarterTurn { turns: 3 }.into(),
    ];
    for [x, y] in [[2, 1], [16, 8], [9, 4], [5, 7]] {
        let mut frame = crate::Frame::default();
        let pixels = frame.begin(ON, 1).unwrap();
        pixels.fill(0);
        pixels[y * 20 + x] = 1;
        crate::apply(&actions, &mut frame).unwrap();
        let place = frame.pixels().iter().position(|pixel| *pixel == 1);
        let size = frame.size();
        let mut edges = [[x as f64, y as f64, x as f64 + 1.0, y as f64 + 1.0]];
        assert_eq!(move_boxes(&actions, ON, &mut edges).unwrap(), size);
        let [left, top, right, bottom] = edges[0];
        let Some(place) = place else {
            assert_eq!((right - left) * (bottom - top), 0.0, "{x} {y}");
            continue;
        };
        let column = (place % size.width as usize) as f64;
        let row = (place / size.width as usize) as f64;
        assert_eq!(edges[0], [column, row, column + 1.0, row + 1.0], "{x} {y}");
    }
}

#[test]
fn points_of_a_flip_are_centers_of_pixels() {
    let mut points = [[0.0, 0.0], [19.0, 9.0], [3.5, -2.0]];
    Action::from(HorizontalFlip {}).move_points(ON, &mut points).unwrap();
    assert_eq!(points, [[19.0, 0.0], [0.0, 9.0], [15.5, -2.0]]);
    Action::from(VerticalFlip {}).move_points(ON, &mut points).unwrap();
    assert_eq!(points, [[19.0, 9.0], [0.0, 0.0], [15.5, 11.0]]);
}

#[test]
fn what_is_no_number_stays_so_and_nothing_else_becomes_it() {
    let elastic = Elastic {
        alpha: [9.0; 2],
        sigma: [1.0; 2],
        seed: 3,
        interpolation: Interpolation::Nearest,
        fill: Fill::default(),
    };
    let perspective = Perspective {
        coefficients: [1.1, 0.1, -2.0, 0.1, 0.9, 1.0, 0.01, 0.02],
        interpolation: Interpolation::Nearest,
        fill: Fill::default(),
    };
    let actions = [
        Crop { top: 0, left: 0, height: 9, width: 9 }.into(),
        HorizontalFlip {}.into(),
        pad([1, 2, 3, 4]),
        resize([30, 31]),
        QuarterTurn { turns: 1 }.into(),
        affine([0.8, 0.5, -3.25, -0.5, 0.8, 2.5], [31, 30]),
        perspective.into(),
        elastic.into(),
    ];
    for action in actions {
        let mut boxes = [[f64::NAN, 1.0, 5.0, 6.0], [1.0, 2.0, 5.0, 4.0], [9.0, 8.0, 7.0, 6.0]];
        action.move_boxes(ON, &mut boxes).unwrap();
        assert!(boxes[0].iter().any(|edge| edge.is_nan()), "{action:?}");
        assert!(boxes[1..].iter().flatten().all(|edge| edge.is_finite()), "{action:?}");
        let mut points = [[f64::NAN, 1.0], [1.0, 2.0]];
        action.move_points(ON, &mut points).unwrap();
        assert!(points[0].iter().any(|number| number.is_nan()), "{action:?}");
        assert!(points[1].iter().all(|number| number.is_finite()), "{action:?}");
        let mut quads = [corners([5.0, 4.0, 3.0, 2.0, 20.0]); 2];
        quads[0][1] = [f64::NAN; 2];
        action.move_rotated_boxes(ON, &mut quads).unwrap();
        assert!(quads[0].iter().flatten().any(|number| number.is_nan()), "{action:?}");
        assert!(quads[1].iter().flatten().all(|number| number.is_finite()), "{action:?}");
    }
}

#[test]
fn a_matrix_without_inverse_is_an_error_for_boxes_alone() {
    let flat = affine([1.0, 2.0, 0.0, 2.0, 4.0, 0.0], [10, 20]);
    flat.move_boxes(ON, &mut []).unwrap();
    let error = flat.move_boxes(ON, &mut [[0.0; 4]]).unwrap_err();
    assert!(error.text().contains("affine") && error.text().contains("inverse"), "{error}");
    assert!(flat.move_points(ON, &mut [[0.0; 2]]).is_err());
}

#[test]
fn corners_are_those_of_a_box_with_an_angle() {
    for numbers in [[5.0, 4.0, 6.0, 2.0, 30.0], [50.0, 40.0, 6.0, 20.0, -170.0]] {
        let back = from_corners(&corners(numbers));
        assert!(numbers.iter().zip(back).all(|(a, b)| (a - b).abs() < 1e-9), "{back:?}");
    }
    let turned = corners([5.0, 4.0, 6.0, 2.0, 90.0]);
    for (corner, want) in turned.iter().zip([[4.0, 7.0], [4.0, 1.0], [6.0, 1.0], [6.0, 7.0]]) {
        assert!((corner[0] - want[0]).abs() + (corner[1] - want[1]).abs() < 1e-9, "{turned:?}");
    }
}

#[test]
fn a_list_that_mirrors_an_odd_number_of_times_is_known() {
    let flip = Action::from(HorizontalFlip {});
    let upended = Action::from(VerticalFlip {});
    let turn = Action::from(QuarterTurn { turns: 1 });
    let mirror = affine([-1.0, 0.0, 0.0, 0.0, 1.0, 0.0], [10, 20]);
    assert!(!mirrors(&[]) && !mirrors(std::slice::from_ref(&turn)));
    assert!(mirrors(&[turn.clone(), flip.clone()]));
    assert!(!mirrors(&[upended.clone(), turn, flip.clone()]));
    assert!(!mirrors(&[mirror, flip]));
    assert!(mirrors(&[upended]));
}

#[test]
fn a_mask_follows_with_the_nearest_pixel_and_its_own_fill() {
    let actions = [
        AdjustBrightness { factor: 1.5 }.into(),
        pad([1, 2, 3, 4]),
        affine([1.0, 0.0, 0.0, 0.0, 1.0, 0.0], [10, 20]),
    ];
    let mask = mask_actions(&actions, 255).unwrap();
    let [Action::Pad(pad), Action::Affine(affine)] = mask[..] else { panic!("{mask:?}") };
    assert_eq!([pad.fill, affine.fill], [Fill::from(255); 2]);
    assert_eq!(affine.interpolation, Interpolation::Nearest);
}

#[test]
fn a_mix_of_moved_copies_is_an_error_and_one_of_colors_is_not() {
    let begin = Action::from(MixBegin { weight: 0.5 });
    let end = Action::from(MixEnd { weight: 0.5 });
    let colors = [begin.clone(), Invert {}.into(), end.clone(), HorizontalFlip {}.into()];
    let mut boxes = [[0.0, 1.0, 2.0, 3.0]];
    move_boxes(&colors, ON, &mut boxes).unwrap();
    assert_eq!(boxes, [[18.0, 1.0, 20.0, 3.0]]);
    assert_eq!(mask_actions(&colors, 0).unwrap(), [HorizontalFlip {}.into()]);
    let moved = [begin, HorizontalFlip {}.into(), end];
    let error = move_boxes(&moved, ON, &mut boxes).unwrap_err();
    assert!(error.text().contains("AugMix"), "{error}");
    assert_eq!(boxes, [[18.0, 1.0, 20.0, 3.0]]);
    assert!(mask_actions(&moved, 0).is_err() && move_points(&moved, ON, &mut []).is_err());
}

#[test]
fn the_visible_part_is_what_all_clamps_leave() {
    let actions = [
        KeepCenters { top: 0, left: 0, height: 10, width: 18 }.into(),
        Crop { top: 0, left: 5, height: 10, width: 10 }.into(),
        resize([30, 40]),
        HorizontalFlip {}.into(),
        Crop { top: 15, left: 0, height: 15, width: 40 }.into(),
    ];
    let mut boxes = [
        [0.0, 0.0, 10.0, 10.0],
        [6.0, 6.0, 9.0, 9.0],
        [17.0, 0.0, 20.0, 5.0],
        [0.0, 0.0, 4.0, 10.0],
        [6.0, 6.0, 6.0, 9.0],
    ];
    let mut visible = [1.0; 5];
    let size = move_seen_boxes(&actions, ON, &mut boxes, &mut visible).unwrap();
    assert_eq!(size, ImageSize::new(40, 15));
    assert_eq!(visible, [0.25, 1.0, 0.0, 0.0, 1.0]);
    assert_eq!(boxes[0], [20.0, 0.0, 40.0, 15.0]);
    // Left out before the crop, all numbers are 0; the flip puts them to the right edge.
    assert_eq!(boxes[2], [40.0, 0.0, 40.0, 0.0]);
    let mut keep = [false; 5];
    let count = sanitize(&boxes, &visible, size, &Sanitize::default(), &mut keep);
    assert_eq!((count, keep), (2, [true, true, false, false, false]));
    let mut plain = [[0.0, 0.0, 10.0, 10.0]];
    move_boxes(&actions, ON, &mut plain).unwrap();
    assert_eq!(plain[0], boxes[0]);
}

#[test]
fn a_box_on_the_edge_of_a_picture_is_on_its_edge_after_a_resize() {
    for from in 1..120 {
        for to in 1..120 {
            let on = ImageSize::new(from, from + 1);
            let mut boxes = [[0.0, 0.0, f64::from(from), f64::from(from + 1)]];
            resize([to, to + 1]).move_boxes(on, &mut boxes).unwrap();
            assert_eq!(boxes, [[0.0, 0.0, f64::from(to + 1), f64::from(to)]]);
        }
    }
}

#[test]
fn a_picture_without_pixels_has_nothing_to_follow() {
    let elastic = Elastic {
        alpha: [9.0; 2],
        sigma: [1.0; 2],
        seed: 3,
        interpolation: Interpolation::Nearest,
        fill: Fill::default(),
    };
    for action in [elastic.into(), resize([3, 4]), Action::from(HorizontalFlip {})] {
        let mut boxes = [[1.0, 2.0, 3.0, 4.0]];
        action.move_boxes(ImageSize::new(0, 5), &mut boxes).unwrap();
        assert_eq!(boxes, [[1.0, 2.0, 3.0, 4.0]]);
    }
}
