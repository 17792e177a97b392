//! Boxes with an angle, by counting places and by trying angles.

use proptest::prelude::*;
use tarflume_image::{Area, Cut, ImageSize, Placement};

use super::super::{move_points, move_seen_rotated_boxes};
use super::*;
use crate::Interpolation;
use crate::actions::{Crop, HorizontalFlip, KeepCenters, Resize};

const ON: ImageSize = ImageSize { width: 60, height: 40 };

fn resize(size: [u32; 2]) -> Action {
    Resize { size, interpolation: Interpolation::Bilinear }.into()
}

fn crop(top: u32, left: u32, height: u32, width: u32) -> Action {
    Crop { top, left, height, width }.into()
}

/// Places in a box, evenly spread.
fn spread([x, y, width, height, degrees]: [f64; 5]) -> Vec<[f64; 2]> {
    const SIDE: u8 = 60;
    let quad = corners([x, y, width, height, degrees]);
    let axes = [quad[1], quad[3]].map(|[x, y]| [x - quad[0][0], y - quad[0][1]]);
    let mut places = Vec::new();
    for across in 0..SIDE {
        for down in 0..SIDE {
            let [across, down] =
                [across, down].map(|number| (f64::from(number) + 0.5) / f64::from(SIDE));
            places.push(
                [0, 1].map(|axis| quad[0][axis] + across * axes[0][axis] + down * axes[1][axis]),
            );
        }
    }
    places
}

fn is_in(place: [f64; 2], size: ImageSize) -> bool {
    let ImageSize { width, height } = size;
    (0.0..=f64::from(width)).contains(&place[0]) && (0.0..=f64::from(height)).contains(&place[1])
}

fn area(quad: &RotatedBox) -> f64 {
    let [_, _, width, height, _] = from_corners(quad);
    width * height
}

proptest! {
    #[test]
    fn the_visible_part_is_that_of_the_places_of_a_box(
        x in -5.0..65.0, y in -5.0..45.0, width in 4.0..40.0, height in 4.0..40.0, degrees in -180.0..180.0,
    ) {
        let actions = [
            crop(3, 8, 30, 40),
            resize([60, 80]),
            crop(10, 20, 40, 50),
        ];
        let of = [x, y, width, height, degrees];
        let mut quads = [corners(of)];
        let mut visible = [shown_part(&quads[0], ON)];
        let mut places = spread(of);
        let all = places.len() as f64;
        places.retain(|&place| is_in(place, ON));
        let mut size = ON;
        for action in actions {
            let before = size;
            move_points(std::slice::from_ref(&action), before, &mut places).unwrap();
            let step = std::slice::from_ref(&action);
            size = move_seen_rotated_boxes(step, before, &mut quads, &mut visible).unwrap();
            places.retain(|&place| is_in(place, size));
            let expected = places.len() as f64 / all;
            prop_assert!((visible[0] - expected).abs() < 0.03, "{} {expected}", visible[0]);
        }
        // The places that are left are in the box around what is shown.
        let [left, top, right, bottom] = shown_around(&quads[0], size);
        for [x, y] in places {
            prop_assert!((left - 1e-6..=right + 1e-6).contains(&x) && (top - 1e-6..=bottom + 1e-6).contains(&y));
        }
    }

    #[test]
    fn four_corners_become_the_smallest_rectangle_around_them(
        numbers in proptest::array::uniform8(0.0..50.0),
    ) {
        let [a, b, c, d, e, f, g, h] = numbers;
        let quad = [[a, b], [c, d], [e, f], [g, h]];
        let found = fitted(&quad);
        let [x, y, width, height, degrees] = from_corners(&found);
        let again = corners([x, y, width, height, degrees]);
        for (one, other) in again.as_flattened().iter().zip(found.as_flattened()) {
            prop_assert!((one - other).abs() < 0.2, "{found:?}");
        }
        let mut least = f64::INFINITY;
        for angle in 0..720 {
            let angle = f64::from(angle).to_radians() / 8.0;
            let axes = [[angle.cos(), angle.sin()], [-angle.sin(), angle.cos()]];
            let lengths = axes.map(|axis| {
                let along = quad.map(|[x, y]| x * axis[0] + y * axis[1]);
                along.iter().fold(f64::MIN, |a, &b| a.max(b)) - along.iter().fold(f64::MAX, |a, &b| a.min(b))
            });
            least = least.min(lengths[0] * lengths[1]);
        }
        prop_assert!(area(&found) <= least * 1.001 + 1e-6 && area(&found) >= least * 0.9, "{} {least}", area(&found));
    }

    #[test]
    fn corners_of_a_rectangle_stay_in_both_directions(
        x in 0.0..60.0, y in 0.0..40.0, width in 0.0..40.0, height in 0.0..40.0, degrees in -180.0..180.0, first in 0usize..4,
    ) {
        let mut quad = corners([x, y, width, height, degrees]);
        quad.rotate_left(first);
        prop_assert_eq!(fitted(&quad), quad);
        let [a, b, c, d] = quad;
        if width > 0.1 && height > 0.1 {
            prop_assert_eq!(fitted(&[a, d, c, b]), quad);
        }
    }
}

#[test]
fn a_placement_moves_boxes_as_its_crop_its_resize_and_its_flip_do() {
    let cut = Cut { left: 8, top: 3, size: ImageSize::new(40, 30) };
    let to = ImageSize::new(20, 45);
    let area = Area { left: 8.0, top: 3.0, width: 40.0, height: 30.0 };
    let actions = [crop(3, 8, 30, 40), resize([45, 20]), HorizontalFlip {}.into()];
    let mut placed: Vec<RotatedBox> = (0..40)
        .map(f64::from)
        .map(|n| corners([n * 1.5, n, 5.0 + n / 4.0, 14.0 - n / 5.0, n * 11.0]))
        .collect();
    let mut moved = placed.clone();
    let mut visible = [vec![1.0; 40], vec![1.0; 40]];
    let by = Placement { cut, area, size: to, flip: true };
    place_rotated_boxes(&by, ON, &mut placed, &mut visible[0]);
    move_seen_rotated_boxes(&actions, ON, &mut moved, &mut visible[1]).unwrap();
    assert_eq!(placed, moved);
    assert_eq!(visible[0], visible[1]);
    assert!(visible[0].contains(&0.0) && visible[0].contains(&1.0));
}

#[test]
fn boxes_that_are_left_out_are_zeros_and_numbers_that_are_none_keep_nothing() {
    let keep = KeepCenters { top: 0, left: 0, height: 10, width: 10 };
    let mut quads = [corners([5.0, 5.0, 4.0, 4.0, 30.0]), corners([20.0, 5.0, 4.0, 4.0, 30.0])];
    let mut visible = [1.0; 2];
    move_seen_rotated_boxes(&[keep.into()], ON, &mut quads, &mut visible).unwrap();
    assert_eq!((quads[1], visible), (RotatedBox::default(), [1.0, 0.0]));
    let any = super::super::Sanitize { min_size: 0.0, min_area: 0.0, min_visibility: 0.0 };
    assert!(any.keeps_rotated(&quads[0], 1.0, ON) && !any.keeps_rotated(&quads[1], 0.0, ON));
    for number in [f64::NAN, f64::INFINITY, 1e300] {
        for at in 0..8 {
            let mut quad = corners([5.0, 5.0, 4.0, 4.0, 30.0]);
            quad.as_flattened_mut()[at] = number;
            let mut quads = [fitted(&quad)];
            let mut visible = [shown_part(&quads[0], ON)];
            let actions = [crop(0, 0, 20, 20), resize([30, 50]), HorizontalFlip {}.into()];
            let size = move_seen_rotated_boxes(&actions, ON, &mut quads, &mut visible).unwrap();
            let around = shown_around(&quads[0], size);
            let is_kept = any.keeps_rotated(&quads[0], visible[0], size);
            assert!(!is_kept || around.iter().all(|number| number.is_finite()), "{number} {at}");
        }
    }
}
