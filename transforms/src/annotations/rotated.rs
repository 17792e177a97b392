//! Boxes with an angle, which move with the picture.

mod clamp;
mod corners;
mod fit;
mod shown;

use std::f64::consts::FRAC_PI_2;

use tarflume_image::{ImageSize, Placement};
use tarflume_types::Result;

use super::way::{Way, sides};
use crate::actions::Action;
use crate::numbers::exact::{cos, sin};

use self::clamp::clamped;
use self::shown::part_inside;

pub use self::clamp::clamp_rotated_box;
pub use self::corners::{RotatedBox, corners, corners_from_first, from_corners, mirrored_corners};
pub use self::fit::fitted;
pub use self::shown::{around, shown_area, shown_around, shown_part};

/// Moves boxes as an action does that makes a picture of the sides `to` of one of the sides `from`: width and height.
struct Step {
    way: Way,
    from: [f64; 2],
    to: [f64; 2],
}

impl Action {
    /// Moves boxes with an angle of a picture that has the size `on` before the action.
    ///
    /// A box that is sheared or bent becomes the rectangle that keeps its longer diagonal. A box that is partly outside of the
    /// picture is made smaller without another angle, as torchvision's clamping mode `soft` does. After a flip, it is not.
    ///
    /// # Errors
    /// Returns a usage error if a matrix of the action has no inverse, and an error if memory is short.
    pub fn move_rotated_boxes(&self, on: ImageSize, boxes: &mut [RotatedBox]) -> Result<()> {
        self.change_rotated_boxes(on, boxes, &mut [])
    }

    /// As [`Action::move_rotated_boxes`], and multiplies each number of `visible` by the part of what the picture showed of its
    /// box that it still shows: by 0 for a box that is left out.
    ///
    /// # Errors
    /// As [`Action::move_rotated_boxes`].
    ///
    /// # Panics
    /// Panics if there are fewer numbers than boxes.
    pub fn move_seen_rotated_boxes(
        &self,
        on: ImageSize,
        boxes: &mut [RotatedBox],
        visible: &mut [f64],
    ) -> Result<()> {
        self.change_rotated_boxes(on, boxes, &mut visible[..boxes.len()])
    }

    /// Moves boxes; `visible` has a number for each, or none.
    fn change_rotated_boxes(
        &self,
        on: ImageSize,
        boxes: &mut [RotatedBox],
        visible: &mut [f64],
    ) -> Result<()> {
        if boxes.is_empty() {
            return Ok(());
        }
        if let Action::KeepCenters(keep) = self {
            for (at, quad) in boxes.iter_mut().enumerate() {
                let center = [0, 1].map(|at| (quad[0][at] + quad[2][at]) / 2.0);
                if !keep.has(center) {
                    *quad = RotatedBox::default();
                    visible.get_mut(at).into_iter().for_each(|part| *part = 0.0);
                }
            }
            return Ok(());
        }
        let step = Step { way: Way::of(self, on)?, from: sides(on), to: sides(self.size(on)) };
        step.take(boxes, visible);
        Ok(())
    }
}

/// Moves boxes with an angle as a placement makes its result of a picture of size `on`: as a crop, a resize and a flip do. Each
/// number of `visible` is multiplied as by [`move_seen_rotated_boxes`](super::move_seen_rotated_boxes).
///
/// # Panics
/// Panics if there are fewer numbers than boxes.
pub fn place_rotated_boxes(
    by: &Placement,
    on: ImageSize,
    boxes: &mut [RotatedBox],
    visible: &mut [f64],
) {
    let visible = &mut visible[..boxes.len()];
    let area = [by.area.width, by.area.height];
    let to = sides(by.size);
    let crop = Step { way: Way::Crop([by.area.left, by.area.top]), from: sides(on), to: area };
    crop.take(boxes, visible);
    Step { way: Way::Scale { from: area, to }, from: area, to }.take(boxes, visible);
    if by.flip {
        let way = Way::Flip { axis: 0, length: to[0] };
        Step { way, from: to, to }.take(boxes, visible);
    }
}

impl Step {
    /// Moves boxes; `visible` has a number for each, or none.
    fn take(&self, boxes: &mut [RotatedBox], visible: &mut [f64]) {
        match &self.way {
            Way::Rest => return,
            Way::Scale { from, to } if from == to => return,
            Way::Flip { axis, length } => {
                boxes.iter_mut().for_each(|quad| flip(quad, *axis, *length));
                return;
            }
            _ => {}
        }
        for (at, quad) in boxes.iter_mut().enumerate() {
            let moved = self.moved(quad);
            if let Some(seen) = visible.get_mut(at).filter(|_| self.cuts()) {
                *seen *= self.left_of(quad, &moved);
            }
            *quad = clamped(&moved, self.to);
        }
    }

    /// Whether the picture may show less than before. A box that is scaled becomes another rectangle, of which as much is seen.
    fn cuts(&self) -> bool {
        !matches!(self.way, Way::Scale { .. } | Way::Pad(_))
    }

    /// Where a box is before it is clamped.
    fn moved(&self, quad: &RotatedBox) -> RotatedBox {
        match &self.way {
            Way::Rest | Way::Flip { .. } => *quad,
            Way::Crop([x, y]) => rectangle(&quad.map(|[a, b]| [a - x, b - y])),
            Way::Pad([x, y]) => quad.map(|[a, b]| [a + x, b + y]),
            Way::Scale { from, to } => {
                rectangle(&quad.map(|[x, y]| [x * to[0] / from[0], y * to[1] / from[1]]))
            }
            Way::Linear(factors) => rectangle(&quad.map(|corner| Way::linear(factors, corner))),
            Way::Projection(factors) => {
                rectangle(&quad.map(|corner| Way::projected(factors, corner)))
            }
            Way::Field(field) => {
                let [x, y, width, height, angle] = from_corners(quad);
                let [x, y] = field.moved([x, y], f64::ceil);
                corners([x, y, width, height, angle])
            }
        }
    }

    /// The part of what the picture showed of a box that it shows after the box has moved.
    fn left_of(&self, before: &RotatedBox, after: &RotatedBox) -> f64 {
        let had = part_inside(before, self.from);
        if had > 0.0 { (part_inside(after, self.to) / had).min(1.0) } else { 0.0 }
    }
}

fn flip(quad: &mut RotatedBox, axis: usize, length: f64) {
    quad.iter_mut().for_each(|corner| corner[axis] = length - corner[axis]);
    *quad = mirrored_corners(quad);
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

#[cfg(test)]
mod tests;
