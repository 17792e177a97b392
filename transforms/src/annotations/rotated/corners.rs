//! `RotatedBox`: the corners of a box with an angle.

use crate::numbers::exact::{cos, sin};

/// Four corners: upper left, upper right, lower right, lower left of the box before it was turned; each x, y.
pub type RotatedBox = [[f64; 2]; 4];

/// The corners of a box with an angle: x and y of its center, width, height, and degrees counterclockwise, as `CXCYWHR` of
/// torchvision.
///
/// ```
/// use tarflume::transforms::annotations::corners;
///
/// assert_eq!(corners([5.0, 4.0, 6.0, 2.0, 0.0]), [[2.0, 3.0], [8.0, 3.0], [8.0, 5.0], [2.0, 5.0]]);
/// ```
pub fn corners([x, y, width, height, degrees]: [f64; 5]) -> RotatedBox {
    let angle = degrees.to_radians();
    let half = [width / 2.0, height / 2.0].map(f64::abs);
    let across = [cos(angle), -sin(angle)];
    let down = [sin(angle), cos(angle)];
    let [x, y] = [0, 1].map(|at| [x, y][at] - half[0] * across[at] - half[1] * down[at]);
    corners_from_first([x, y, width, height, degrees])
}

/// The corners of a box with an angle: x and y of its first corner, width, height, and degrees counterclockwise, as `XYWHR` of
/// torchvision.
///
/// ```
/// use tarflume::transforms::annotations::corners_from_first;
///
/// let corners = corners_from_first([2.0, 3.0, 6.0, 2.0, 0.0]);
/// assert_eq!(corners, [[2.0, 3.0], [8.0, 3.0], [8.0, 5.0], [2.0, 5.0]]);
/// ```
pub fn corners_from_first([x, y, width, height, degrees]: [f64; 5]) -> RotatedBox {
    let angle = degrees.to_radians();
    let across = [cos(angle), -sin(angle)];
    let down = [sin(angle), cos(angle)];
    [[0.0, 0.0], [width, 0.0], [width, height], [0.0, height]]
        .map(|[right, below]| [0, 1].map(|at| [x, y][at] + right * across[at] + below * down[at]))
}

/// A box with an angle from its corners: x and y of its center, width, height, and degrees counterclockwise.
pub fn from_corners(corners: &RotatedBox) -> [f64; 5] {
    let [first, second, third, _] = *corners;
    let width = (second[0] - first[0]).hypot(second[1] - first[1]);
    let height = (third[0] - second[0]).hypot(third[1] - second[1]);
    let angle = (first[1] - second[1]).atan2(second[0] - first[0]);
    let x = first[0] + width / 2.0 * cos(angle) + height / 2.0 * sin(angle);
    let y = first[1] - width / 2.0 * sin(angle) + height / 2.0 * cos(angle);
    [x, y, width, height, angle.to_degrees()]
}

/// The corners of a box that was mirrored, in their order: the edge between the first two stays the one that is its width.
///
/// ```
/// use tarflume::transforms::annotations::mirrored_corners;
///
/// let mirrored = [[8.0, 3.0], [2.0, 3.0], [2.0, 5.0], [8.0, 5.0]];
/// assert_eq!(mirrored_corners(&mirrored), [[2.0, 3.0], [8.0, 3.0], [8.0, 5.0], [2.0, 5.0]]);
/// ```
pub fn mirrored_corners(quad: &RotatedBox) -> RotatedBox {
    let [first, second, third, fourth] = *quad;
    [second, first, fourth, third]
}
