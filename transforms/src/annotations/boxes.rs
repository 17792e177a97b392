//! Boxes that move with the picture.

use tarflume_image::ImageSize;
use tarflume_types::Result;

use super::way::{Way, sides};
use crate::actions::Action;

/// Left, top, right, bottom.
type Edges = [f64; 4];

impl Action {
    /// Moves boxes of a picture that has the size `on` before the action: left, top, right, bottom.
    ///
    /// Where a box would be turned, it becomes the smallest box around its four corners. After crops, margins, and all that
    /// turns or bends, boxes are clamped to the picture; after a flip or a resize they are not. A box that is outside then
    /// has no area. [`KeepCenters`](crate::actions::KeepCenters) makes all numbers of the boxes that it leaves out 0.
    ///
    /// # Errors
    /// Returns a usage error if a matrix of the action has no inverse, and an error if memory is short.
    pub fn move_boxes(&self, on: ImageSize, boxes: &mut [[f64; 4]]) -> Result<()> {
        self.change_boxes(on, boxes, &mut [])
    }

    /// As [`Action::move_boxes`], and multiplies each number of `visible` by the part of its box that clamping leaves: by 0 for
    /// a box that is left out.
    ///
    /// # Errors
    /// As [`Action::move_boxes`].
    ///
    /// # Panics
    /// Panics if there are fewer numbers than boxes.
    pub fn move_seen_boxes(
        &self,
        on: ImageSize,
        boxes: &mut [[f64; 4]],
        visible: &mut [f64],
    ) -> Result<()> {
        self.change_boxes(on, boxes, &mut visible[..boxes.len()])
    }

    /// Moves boxes; `visible` has a number for each, or none.
    fn change_boxes(&self, on: ImageSize, boxes: &mut [Edges], visible: &mut [f64]) -> Result<()> {
        if boxes.is_empty() {
            return Ok(());
        }
        if let Action::KeepCenters(keep) = self {
            let objects = boxes.iter_mut().enumerate();
            for (at, edges) in objects.filter(|(_, edges)| !keep.keeps(**edges)) {
                *edges = [0.0; 4];
                visible.get_mut(at).into_iter().for_each(|part| *part = 0.0);
            }
            return Ok(());
        }
        match Way::of(self, on)? {
            Way::Rest => return Ok(()),
            Way::Crop([x, y]) => shift(boxes, [-x, -y]),
            Way::Pad(margin) => shift(boxes, margin),
            Way::Scale { from, to } => {
                for edges in boxes {
                    *edges = std::array::from_fn(|at| edges[at] * to[at % 2] / from[at % 2]);
                }
                return Ok(());
            }
            Way::Flip { axis, length } => {
                for edges in boxes {
                    let first = edges[axis];
                    edges[axis] = length - edges[axis + 2];
                    edges[axis + 2] = length - first;
                }
                return Ok(());
            }
            Way::Linear(factors) => surround(boxes, |corner| Way::linear(&factors, corner)),
            Way::Projection(factors) => surround(boxes, |corner| Way::projected(&factors, corner)),
            Way::Field(field) => surround(boxes, |corner| field.moved(corner, f64::ceil)),
        }
        clamp(boxes, sides(self.size(on)), visible);
        Ok(())
    }
}

fn shift(boxes: &mut [Edges], by: [f64; 2]) {
    for edges in boxes {
        *edges = std::array::from_fn(|at| edges[at] + by[at % 2]);
    }
}

/// Clamps boxes to a picture of this width and height.
fn clamp(boxes: &mut [Edges], canvas: [f64; 2], visible: &mut [f64]) {
    let mut visible = visible.iter_mut();
    for edges in boxes {
        let before = area(*edges);
        *edges = std::array::from_fn(|at| edges[at].clamp(0.0, canvas[at % 2]));
        let seen = visible.next();
        if let Some(seen) = seen.filter(|_| before > 0.0) {
            *seen *= area(*edges) / before;
        }
    }
}

/// The area of a box; 0 if an edge is beyond the opposite one.
fn area([left, top, right, bottom]: Edges) -> f64 {
    (right - left).max(0.0) * (bottom - top).max(0.0)
}

/// Makes each box the smallest one around its moved corners.
fn surround(boxes: &mut [Edges], moved: impl Fn([f64; 2]) -> [f64; 2]) {
    for edges in boxes {
        let [left, top, right, bottom] = *edges;
        let corners = [[left, top], [right, top], [right, bottom], [left, bottom]];
        let [first, others @ ..] = corners.map(&moved);
        *edges =
            others.into_iter().fold([first[0], first[1], first[0], first[1]], |all, [x, y]| {
                [least(all[0], x), least(all[1], y), most(all[2], x), most(all[3], y)]
            });
    }
}

/// The lesser number; not a number if one of them is not.
fn least(a: f64, b: f64) -> f64 {
    if a.is_nan() || a <= b { a } else { b }
}

/// The larger number; not a number if one of them is not.
fn most(a: f64, b: f64) -> f64 {
    if a.is_nan() || a >= b { a } else { b }
}
