//! Boxes with an angle, which move with the picture.

mod clamp;
mod corners;

use std::f64::consts::FRAC_PI_2;

use tarflume_image::ImageSize;
use tarflume_types::Result;

use super::way::{Way, sides};
use crate::actions::Action;
use crate::numbers::exact::{cos, sin};

use self::clamp::clamped;

pub use self::corners::{RotatedBox, corners, from_corners};

impl Action {
    /// Moves boxes with an angle of a picture that has the size `on` before the action.
    ///
    /// A box that is sheared or bent becomes the rectangle that keeps its longer diagonal. A box that is partly outside of the
    /// picture is made smaller without another angle, as torchvision's clamping mode `soft` does. After a flip, it is not.
    ///
    /// # Errors
    /// Returns a usage error if a matrix of the action has no inverse, and an error if memory is short.
    pub fn move_rotated_boxes(&self, on: ImageSize, boxes: &mut [RotatedBox]) -> Result<()> {
        if boxes.is_empty() {
            return Ok(());
        }
        if let Action::KeepCenters(keep) = self {
            for quad in boxes {
                let center = [0, 1].map(|at| (quad[0][at] + quad[2][at]) / 2.0);
                if !keep.has(center) {
                    *quad = RotatedBox::default();
                }
            }
            return Ok(());
        }
        let canvas = sides(self.size(on));
        match Way::of(self, on)? {
            Way::Rest => {}
            Way::Crop([x, y]) => {
                change(boxes, |[a, b]| [a - x, b - y]);
                boxes.iter_mut().for_each(|quad| *quad = clamped(&rectangle(quad), canvas));
            }
            Way::Pad([x, y]) => {
                change(boxes, |[a, b]| [a + x, b + y]);
                boxes.iter_mut().for_each(|quad| *quad = clamped(quad, canvas));
            }
            Way::Scale { from, to } if from == to => {}
            Way::Scale { from, to } => {
                change(boxes, |[x, y]| [x * to[0] / from[0], y * to[1] / from[1]]);
                boxes.iter_mut().for_each(|quad| *quad = clamped(&rectangle(quad), canvas));
            }
            Way::Flip { axis, length } => {
                for quad in boxes {
                    quad.iter_mut().for_each(|corner| corner[axis] = length - corner[axis]);
                    let [first, second, third, fourth] = *quad;
                    *quad = [second, first, fourth, third];
                }
            }
            Way::Linear(factors) => {
                change(boxes, |corner| Way::linear(&factors, corner));
                boxes.iter_mut().for_each(|quad| *quad = clamped(&rectangle(quad), canvas));
            }
            Way::Projection(factors) => {
                change(boxes, |corner| Way::projected(&factors, corner));
                boxes.iter_mut().for_each(|quad| *quad = clamped(&rectangle(quad), canvas));
            }
            Way::Field(field) => {
                for quad in boxes {
                    let [x, y, width, height, angle] = from_corners(quad);
                    let [x, y] = field.moved([x, y], f64::ceil);
                    *quad = clamped(&corners([x, y, width, height, angle]), canvas);
                }
            }
        }
        Ok(())
    }
}

fn change(boxes: &mut [RotatedBox], moved: impl Fn([f64; 2]) -> [f64; 2]) {
    for corner in boxes.as_flattened_mut() {
        *corner = moved(*corner);
    }
}

/// Torchvision's rectangle of a parallelogram: the two corners of the longer diagonal stay.
fn rectangle(quad: &RotatedBox) -> RotatedBox {
    let [first, second, third, fourth] = *quad;
    let middle = [0, 1].map(|at| (first[at] + third[at]) / 2.0);
    let across = [second[0] - first[0], first[1] - second[1]];
    let down = [fourth[0] - first[0], first[1] - fourth[1]];
    let lengths = [across, down].map(|[x, y]| (x * x + y * y).sqrt());
    let angles = [across, down].map(|[x, y]| y.atan2(x));
    let between = angles[0] - angles[1];
    let sign = if between > FRAC_PI_2 { -1.0 } else { 1.0 };
    let shared = cos(between) * sign;
    let [long, high] = lengths;
    let width = if long < high { long * sin(between) } else { long + high * shared };
    let height = if long > high { high * sin(between) } else { high + long * shared };
    let angle = if high > long { angles[1] + FRAC_PI_2 } else { angles[0] };
    let right = [width / 2.0 * cos(angle), -width / 2.0 * sin(angle)];
    let below = [height / 2.0 * sin(angle), height / 2.0 * cos(angle)];
    [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]].map(|[to_right, to_below]| {
        [0, 1].map(|at| middle[at] + to_right * right[at] + to_below * below[at])
    })
}
