//! Points that move with the picture.

use tarflume_image::ImageSize;
use tarflume_types::Result;

use super::way::Way;
use crate::actions::Action;

impl Action {
    /// Moves points of a picture that has the size `on` before the action: x, y. They may be outside of the picture, before
    /// and after.
    ///
    /// A flip exchanges the centers of pixels: x becomes `width - 1 - x`. All other actions take x as a distance from the left
    /// edge, as torchvision does with `KeyPoints`.
    ///
    /// # Errors
    /// Returns a usage error if a matrix of the action has no inverse, and an error if memory is short.
    pub fn move_points(&self, on: ImageSize, points: &mut [[f64; 2]]) -> Result<()> {
        if points.is_empty() {
            return Ok(());
        }
        match Way::of(self, on)? {
            Way::Rest => {}
            Way::Crop(first) => change(points, |[x, y]| [x - first[0], y - first[1]]),
            Way::Pad(margin) => change(points, |[x, y]| [x + margin[0], y + margin[1]]),
            Way::Scale { from, to } => {
                change(points, |[x, y]| [x * to[0] / from[0], y * to[1] / from[1]]);
            }
            Way::Flip { axis, length } => {
                points.iter_mut().for_each(|point| point[axis] = length - 1.0 - point[axis]);
            }
            Way::Linear(factors) => change(points, |point| Way::linear(&factors, point)),
            Way::Projection(factors) => change(points, |point| Way::projected(&factors, point)),
            Way::Field(field) => change(points, |point| field.moved(point, f64::trunc)),
        }
        Ok(())
    }
}

fn change(points: &mut [[f64; 2]], moved: impl Fn([f64; 2]) -> [f64; 2]) {
    for point in points {
        *point = moved(*point);
    }
}
