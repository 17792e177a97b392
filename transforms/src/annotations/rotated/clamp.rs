//! Boxes with an angle that are partly outside of the picture are made smaller: torchvision's clamping mode `soft`.
//!
//! Each of the four sides of the picture is the left side once. A corner on its left moves along the edges of the box.

use tarflume_image::ImageSize;

use super::corners::RotatedBox;
use crate::annotations::way::sides;

/// The smallest box with the same angle that has all of a box that is inside of a picture: its corners may be outside. It is
/// torchvision's clamping mode `soft`. A box that is outside becomes zeros.
///
/// ```
/// use tarflume::transforms::annotations::clamp_rotated_box;
///
/// let level = [[-4.0, 2.0], [6.0, 2.0], [6.0, 8.0], [-4.0, 8.0]];
/// let clamped = clamp_rotated_box(&level, (20, 20).into());
/// assert_eq!(clamped, [[0.0, 2.0], [6.0, 2.0], [6.0, 8.0], [0.0, 8.0]]);
/// ```
pub fn clamp_rotated_box(quad: &RotatedBox, size: ImageSize) -> RotatedBox {
    clamped(quad, sides(size))
}

/// The box of a picture of this width and height: the smallest one with the same angle that has all of the box that is inside.
pub(super) fn clamped(quad: &RotatedBox, canvas: [f64; 2]) -> RotatedBox {
    let mut quad = *quad;
    let mut original = quad;
    let [mut width, mut height] = canvas;
    for _ in 0..4 {
        let first = leftmost(&quad);
        quad.rotate_left(first);
        original.rotate_left(first);
        quad = clamped_left(&quad, &original, height);
        quad.rotate_left(first);
        original.rotate_left(first);
        for [x, y] in quad.iter_mut().chain(&mut original) {
            [*x, *y] = [*y, width - *x];
        }
        [width, height] = [height, width];
    }
    quad
}

/// The number of the corner that is furthest to the left; of several, the uppermost.
fn leftmost(quad: &RotatedBox) -> usize {
    let most = [0, 1].map(|axis| quad.iter().fold(0.0, |most: f64, at| most.max(at[axis].abs())));
    let weights = quad.map(|[x, y]| y / most[1] + x / most[0] * 100.0);
    let mut first = 0;
    for at in 1..4 {
        if !weights[first].is_nan() && (weights[at] < weights[first] || weights[at].is_nan()) {
            first = at;
        }
    }
    first
}

/// The slopes of the lines from each corner to the next, and where they cross the left side of the picture.
struct Lines {
    slopes: [f64; 4],
    starts: [f64; 4],
}

impl Lines {
    fn of(quad: &RotatedBox) -> Lines {
        let slopes: [f64; 4] = std::array::from_fn(|at| {
            let [from, to] = [quad[at], quad[(at + 1) % 4]];
            (to[1] - from[1]) / (to[0] - from[0])
        });
        let starts = std::array::from_fn(|at| quad[at][1] - slopes[at] * quad[at][0]);
        Lines { slopes, starts }
    }

    /// Where each line crosses the one before it.
    fn corners(&self) -> RotatedBox {
        std::array::from_fn(|at| {
            let before = (at + 3) % 4;
            let apart = self.starts[at] - self.starts[before];
            let x = -apart / (self.slopes[at] - self.slopes[before]);
            [x, self.slopes[at] * x + self.starts[at]]
        })
    }
}

/// A number within limits; the upper one if they are exchanged.
fn within(number: f64, least: f64, most: f64) -> f64 {
    if number.is_nan() || least.is_nan() || most.is_nan() {
        return f64::NAN;
    }
    number.max(least).min(most)
}

/// Whether two numbers are equal but for rounding, by the measure of PyTorch.
fn close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-8 + 1e-5 * b.abs()
}

/// Moves what is on the left of a picture of this height.
fn clamped_left(quad: &RotatedBox, original: &RotatedBox, height: f64) -> RotatedBox {
    let mut lines = Lines::of(quad);
    let limits = Lines::of(original).starts;
    let [a, b, c, d] = lines.starts;
    let upper = within(within(b, a, c), 0.0, height);
    let lower = within(within(c, b, d), 0.0, height);
    lines.starts = [
        within(upper, limits[0], limits[2]),
        within(b, limits[1], limits[3]),
        within(c, limits[0], limits[2]),
        within(lower, limits[1], limits[3]),
    ];
    let [first, second, third, fourth] = *quad;
    let is_level = close(first[1], second[1]) || close(third[1], fourth[1]);
    let is_outside = quad.iter().all(|corner| corner[0] <= 0.0);
    let is_flat = close(first[1], fourth[1]) || close(second[1], third[1]);
    if is_outside || is_flat || (is_level && close(first[0], second[0])) {
        return RotatedBox::default();
    }
    if is_level {
        let mut quad = *quad;
        for corner in [0, 3] {
            quad[corner][0] = within(quad[corner][0], 0.0, f64::INFINITY);
        }
        return quad;
    }
    let corners = lines.corners();
    let is_known = corners.iter().flatten().all(|number| !number.is_nan());
    if first[0] < 0.0 && is_known { corners } else { *quad }
}
