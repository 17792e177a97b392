//! Boxes of a sample, with and without an angle: read, turned and moved.

use tarflume_annotations::boxes::AnyBoxFormat;
use tarflume_annotations::fault::Fault;
use tarflume_annotations::field::Field;
use tarflume_annotations::read::{self, BoxForm, Part, RotatedForm};
use tarflume_annotations::turn;
use tarflume_image::ImageSize;
use tarflume_transforms::annotations::{
    RotatedBox, around, clamp_rotated_box, mirrored_corners, shown_around, shown_part,
};

use super::fields::Boxes;
use super::kept::Lists;
use crate::decode::pictures::image::Geometry;
use crate::decode::values::rotated::corners_of;

impl Boxes {
    /// Whether boxes are moved with an angle.
    pub(super) fn is_rotated(&self) -> bool {
        self.format.is_rotated() || self.out.is_rotated()
    }

    /// Appends the boxes of a sample. Returns their number.
    pub(super) fn read(&self, field: &Field, part: Part<'_>, to: &mut Lists) -> Result<u64, Fault> {
        let relative = self.relative;
        let count = match self.format {
            AnyBoxFormat::Plain(format) => {
                read::boxes(field, part, BoxForm { format, relative }, &mut to.boxes)?
            }
            AnyBoxFormat::Rotated(format) => {
                let form = RotatedForm { format, relative };
                let count = read::rotated_boxes(field, part, form, &mut to.numbers)?;
                to.quads.extend(to.numbers.iter().map(|&numbers| corners_of(format, numbers)));
                count
            }
        };
        if self.is_rotated() && !self.format.is_rotated() {
            to.quads.extend(to.boxes.iter().map(level));
        }
        Ok(count)
    }
}

/// The corners of a box without an angle.
fn level(&[left, top, right, bottom]: &[f64; 4]) -> RotatedBox {
    [[left, top], [right, top], [right, bottom], [left, bottom]]
}

impl Lists {
    /// Turns boxes of the stored picture.
    pub(super) fn turn_boxes(&mut self, geometry: &Geometry) {
        let Geometry { turn, stored, .. } = *geometry;
        for corners in &mut self.boxes {
            *corners = turn::corners(*corners, turn, stored);
        }
        let mirrors = turn.transpose ^ turn.mirror ^ turn.upend;
        for quad in &mut self.quads {
            *quad = quad.map(|corner| turn::place(corner, turn, stored));
            if mirrors {
                *quad = mirrored_corners(quad);
            }
        }
    }

    /// Makes the boxes around boxes with an angle, with which recipes draw.
    pub(super) fn surround(&mut self) {
        if !self.quads.is_empty() {
            self.boxes.clear();
            self.boxes.extend(self.quads.iter().map(around));
        }
    }

    /// Sets the parts of boxes with an angle that a picture shows before it is moved.
    pub(super) fn see(&self, on: ImageSize, visible: &mut [f64]) {
        for (visible, quad) in visible.iter_mut().zip(&self.quads) {
            *visible = shown_part(quad, on);
        }
    }

    /// Clamps boxes with an angle to a picture, and makes the boxes around what it shows of them.
    pub(super) fn finish_rotated(&mut self, size: ImageSize) {
        self.boxes.clear();
        for quad in &mut self.quads {
            if shown_part(quad, size) < 1.0 {
                *quad = clamp_rotated_box(quad, size);
            }
            self.boxes.push(shown_around(quad, size));
        }
    }
}
