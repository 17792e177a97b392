//! Finds the box with an angle for four marked corners: the smallest one that encloses them.

use super::corners::RotatedBox;

/// How far four corners are from those of a rectangle at most, as a part of its shorter side and of its sines.
const TOLERANCE: f64 = 1e-3;

/// A direction of the plane and the one that is a quarter clockwise of it, as unit vectors.
struct Axes {
    across: [f64; 2],
    down: [f64; 2],
}

/// The rectangle of four corners that follow each other in either direction: clockwise from the first one.
///
/// Corners of a rectangle stay as they are. Others become the smallest rectangle around them, with the corner that is nearest
/// to the first one first. One of its sides is along an edge of their convex hull (Freeman and Shapira, 1975).
///
/// ```
/// use tarflume::transforms::annotations::fitted;
///
/// let counterclockwise = [[2.0, 3.0], [2.0, 5.0], [8.0, 5.0], [8.0, 3.0]];
/// let rectangle = [[2.0, 3.0], [8.0, 3.0], [8.0, 5.0], [2.0, 5.0]];
/// assert_eq!(fitted(&counterclockwise), rectangle);
/// assert_eq!(fitted(&[[2.0, 3.0], [8.0, 3.0], [7.0, 5.0], [3.0, 5.0]]), rectangle);
/// ```
pub fn fitted(corners: &RotatedBox) -> RotatedBox {
    let corners = clockwise(corners);
    if is_rectangle(&corners) { corners } else { smallest(&corners) }
}

fn apart(from: [f64; 2], to: [f64; 2]) -> [f64; 2] {
    [to[0] - from[0], to[1] - from[1]]
}

fn dot(a: [f64; 2], b: [f64; 2]) -> f64 {
    a[0] * b[0] + a[1] * b[1]
}

/// The corners in the order in which they are clockwise, with y downwards.
fn clockwise(corners: &RotatedBox) -> RotatedBox {
    let [first, second, third, fourth] = *corners;
    let one = apart(first, third);
    let other = apart(second, fourth);
    // Twice the area.
    if one[0] * other[1] - one[1] * other[0] < 0.0 {
        [first, fourth, third, second]
    } else {
        *corners
    }
}

fn is_rectangle(corners: &RotatedBox) -> bool {
    let [first, second, third, fourth] = *corners;
    let across = apart(first, second);
    let down = apart(first, fourth);
    let lengths = [across, down].map(|[x, y]| x.hypot(y));
    let [gap_x, gap_y] = apart(apart(first, second), apart(fourth, third));
    gap_x.hypot(gap_y) <= TOLERANCE * lengths[0].min(lengths[1])
        && dot(across, down).abs() <= TOLERANCE * lengths[0] * lengths[1]
}

/// The smallest rectangle around the corners; the corners themselves if they are one point, or not finite.
fn smallest(corners: &RotatedBox) -> RotatedBox {
    let mut found = *corners;
    let mut least = f64::INFINITY;
    for (from, to) in [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 3)] {
        let [x, y] = apart(corners[from], corners[to]);
        let length = x.hypot(y);
        if !(length > 0.0 && length.is_finite()) {
            continue;
        }
        let across = [x / length, y / length];
        let axes = Axes { across, down: [-across[1], across[0]] };
        let ends = [axes.across, axes.down].map(|axis| ends(corners, axis));
        let area = (ends[0][1] - ends[0][0]) * (ends[1][1] - ends[1][0]);
        if area < least {
            least = area;
            found = axes.rectangle(ends);
        }
    }
    nearest_order(&found, corners)
}

/// The least and the most of the corners along an axis.
fn ends(corners: &RotatedBox, axis: [f64; 2]) -> [f64; 2] {
    corners.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |ends, &corner| {
        let at = dot(corner, axis);
        [ends[0].min(at), ends[1].max(at)]
    })
}

impl Axes {
    /// The rectangle between these ends, clockwise.
    fn rectangle(&self, [[left, right], [top, bottom]]: [[f64; 2]; 2]) -> RotatedBox {
        [[left, top], [right, top], [right, bottom], [left, bottom]]
            .map(|[along, below]| [0, 1].map(|at| along * self.across[at] + below * self.down[at]))
    }
}

/// The corners of a rectangle, from the one on that puts them nearest to others.
fn nearest_order(rectangle: &RotatedBox, others: &RotatedBox) -> RotatedBox {
    let mut nearest = *rectangle;
    let mut least = f64::INFINITY;
    for first in 0..4 {
        let mut order = *rectangle;
        order.rotate_left(first);
        let pairs = order.iter().zip(others);
        let distance: f64 = pairs.map(|(a, b)| apart(*a, *b)).map(|gap| dot(gap, gap)).sum();
        if distance < least {
            least = distance;
            nearest = order;
        }
    }
    nearest
}
