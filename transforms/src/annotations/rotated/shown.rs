//! What a picture shows of a box with an angle: a polygon, cut at the sides of the picture.
//!
//! Sutherland and Hodgman, "Reentrant Polygon Clipping" (1974): one side after the other.

use tarflume_image::ImageSize;

use super::corners::RotatedBox;
use crate::annotations::way::sides;

/// The most corners: each of the four sides adds one.
const MOST: usize = 8;

/// Corners of a polygon, one after the other.
struct Polygon {
    places: [[f64; 2]; MOST],
    count: usize,
}

/// What is on one side of a line along an axis.
struct Half {
    /// 0 for x, 1 for y.
    axis: usize,
    limit: f64,
    /// 1 if numbers above the limit are in it, -1 if those below are.
    sign: f64,
}

impl Half {
    /// How far inside a place is.
    fn depth(&self, place: [f64; 2]) -> f64 {
        (place[self.axis] - self.limit) * self.sign
    }
}

impl Polygon {
    const EMPTY: Polygon = Polygon { places: [[0.0; 2]; MOST], count: 0 };

    fn of(quad: &RotatedBox) -> Polygon {
        let mut polygon = Polygon::EMPTY;
        quad.iter().for_each(|&place| polygon.push(place));
        polygon
    }

    /// The part of a box in a picture of this width and height.
    fn shown(quad: &RotatedBox, canvas: [f64; 2]) -> Polygon {
        let [width, height] = canvas;
        let halves = [[0.0, width], [0.0, height]];
        let mut polygon = Polygon::of(quad);
        for (axis, [least, most]) in halves.into_iter().enumerate() {
            polygon = polygon.cut(&Half { axis, limit: least, sign: 1.0 });
            polygon = polygon.cut(&Half { axis, limit: most, sign: -1.0 });
        }
        polygon
    }

    /// Adds a corner. A convex polygon has room for all that cuts add.
    fn push(&mut self, place: [f64; 2]) {
        if let Some(to) = self.places.get_mut(self.count) {
            *to = place;
            self.count += 1;
        }
    }

    fn places(&self) -> &[[f64; 2]] {
        &self.places[..self.count]
    }

    /// The part in a half of the plane.
    fn cut(&self, half: &Half) -> Polygon {
        let mut cut = Polygon::EMPTY;
        let Some(mut before) = self.places().last().copied() else { return cut };
        for &place in self.places() {
            let depth = half.depth(place);
            let other = half.depth(before);
            if (depth >= 0.0) != (other >= 0.0) {
                let share = other / (other - depth);
                let mut crossing = [0, 1].map(|at| before[at] + (place[at] - before[at]) * share);
                crossing[half.axis] = half.limit;
                cut.push(crossing);
            }
            if depth >= 0.0 {
                cut.push(place);
            }
            before = place;
        }
        cut
    }

    fn area(&self) -> f64 {
        let Some(mut before) = self.places().last().copied() else { return 0.0 };
        let mut twice = 0.0;
        for &place in self.places() {
            twice += before[0] * place[1] - place[0] * before[1];
            before = place;
        }
        twice.abs() / 2.0
    }

    /// Left, top, right, bottom; zeros without a corner.
    fn around(&self) -> [f64; 4] {
        let Some(first) = self.places().first() else { return [0.0; 4] };
        self.places().iter().fold([first[0], first[1], first[0], first[1]], |all, [x, y]| {
            [all[0].min(*x), all[1].min(*y), all[2].max(*x), all[3].max(*y)]
        })
    }
}

/// Whether all corners are in a picture of this width and height.
fn is_inside(quad: &RotatedBox, [width, height]: [f64; 2]) -> bool {
    quad.iter().all(|[x, y]| (0.0..=width).contains(x) && (0.0..=height).contains(y))
}

/// The part of a box that is in a picture of this width and height: 0 to 1. A box without area is inside or outside.
pub(super) fn part_inside(quad: &RotatedBox, canvas: [f64; 2]) -> f64 {
    if is_inside(quad, canvas) {
        return 1.0;
    }
    let area = Polygon::of(quad).area();
    if area > 0.0 { (Polygon::shown(quad, canvas).area() / area).min(1.0) } else { 0.0 }
}

/// The part of a box with an angle that a picture shows: the area of the box in the picture, divided by that of the box.
///
/// ```
/// use tarflume::transforms::annotations::{corners, shown_part};
///
/// let half = shown_part(&corners([0.0, 20.0, 8.0, 8.0, 45.0]), (40, 50).into());
/// assert!((half - 0.5).abs() < 1e-9);
/// ```
pub fn shown_part(quad: &RotatedBox, size: ImageSize) -> f64 {
    part_inside(quad, sides(size))
}

/// The area of a box with an angle that a picture shows, in pixels.
pub fn shown_area(quad: &RotatedBox, size: ImageSize) -> f64 {
    Polygon::shown(quad, sides(size)).area()
}

/// The box around what a picture shows of a box with an angle: left, top, right, bottom; zeros if it shows nothing.
///
/// ```
/// use tarflume::transforms::annotations::shown_around;
///
/// let quad = [[10.0, -4.0], [18.0, 4.0], [10.0, 12.0], [2.0, 4.0]];
/// assert_eq!(shown_around(&quad, (40, 50).into()), [2.0, 0.0, 18.0, 12.0]);
/// ```
pub fn shown_around(quad: &RotatedBox, size: ImageSize) -> [f64; 4] {
    Polygon::shown(quad, sides(size)).around()
}

/// The box around a box with an angle: left, top, right, bottom.
pub fn around(quad: &RotatedBox) -> [f64; 4] {
    Polygon::of(quad).around()
}
