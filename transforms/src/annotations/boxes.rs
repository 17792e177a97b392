//! Boxes that move with the picture.

use tarflume_image::ImageSize;
use tarflume_types::Result;

use super::Way;
use super::way::sides;
use crate::actions::Action;

/// Left, top, right, bottom.
type Edges = [f64; 4];

impl Action {
    /// Moves boxes of a picture that has the size `on` before the action: left, top, right, bottom.
    ///
    /// Where a box would be turned, it becomes the smallest box around its four corners. After crops, margins, and all that
    /// turns or bends, boxes are clamped to the picture; after a flip or a resize they are not. A box that is outside then
    /// has no area.
    ///
    /// # Errors
    /// Returns a usage error if a matrix of the action has no inverse, and an error if memory is short.
    pub fn move_boxes(&self, on: ImageSize, boxes: &mut [[f64; 4]]) -> Result<()> {
        if boxes.is_empty() {
            return Ok(());
        }
        let canvas = sides(self.size(on));
        match Way::of(self, on)? {
            Way::Rest => {}
            Way::Crop([x, y]) => change(boxes, |[left, top, right, bottom]| {
                clamped([left - x, top - y, right - x, bottom - y], canvas)
            }),
            Way::Pad([x, y]) => change(boxes, |[left, top, right, bottom]| {
                clamped([left + x, top + y, right + x, bottom + y], canvas)
            }),
            Way::Scale([x, y]) => change(boxes, |[left, top, right, bottom]| {
                [left * x, top * y, right * x, bottom * y]
            }),
            Way::Flip { axis, length } => {
                for edges in boxes {
                    let first = edges[axis];
                    edges[axis] = length - edges[axis + 2];
                    edges[axis + 2] = length - first;
                }
            }
            Way::Linear(factors) => change(boxes, |edges| {
                clamped(around(edges, |corner| Way::linear(&factors, corner)), canvas)
            }),
            Way::Projection(factors) => change(boxes, |edges| {
                clamped(around(edges, |corner| Way::projected(&factors, corner)), canvas)
            }),
            Way::Field(field) => change(boxes, |edges| {
                clamped(around(edges, |corner| field.moved(corner, f64::ceil)), canvas)
            }),
        }
        Ok(())
    }
}

fn change(boxes: &mut [Edges], moved: impl Fn(Edges) -> Edges) {
    for edges in boxes {
        *edges = moved(*edges);
    }
}

/// The box within a picture of this width and height.
fn clamped(edges: Edges, canvas: [f64; 2]) -> Edges {
    std::array::from_fn(|at| edges[at].clamp(0.0, canvas[at % 2]))
}

/// The smallest box around the moved corners.
fn around(edges: Edges, moved: impl Fn([f64; 2]) -> [f64; 2]) -> Edges {
    let [left, top, right, bottom] = edges;
    let corners = [[left, top], [right, top], [right, bottom], [left, bottom]].map(moved);
    let [first, others @ ..] = corners;
    others.into_iter().fold([first[0], first[1], first[0], first[1]], |edges, [x, y]| {
        [least(edges[0], x), least(edges[1], y), most(edges[2], x), most(edges[3], y)]
    })
}

/// The lesser number; not a number if one of them is not.
fn least(a: f64, b: f64) -> f64 {
    if a.is_nan() || a <= b { a } else { b }
}

/// The larger number; not a number if one of them is not.
fn most(a: f64, b: f64) -> f64 {
    if a.is_nan() || a >= b { a } else { b }
}
