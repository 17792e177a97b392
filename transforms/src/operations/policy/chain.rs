//! `Chain`: the changes of one policy, appended as actions.

use tarflume_image::ImageSize;

use crate::actions::geometry::motion::Rotation;
use crate::actions::{
    Action, AdjustBrightness, AdjustContrast, AdjustSaturation, AdjustSharpness, Affine, Posterize,
    Solarize,
};
use crate::settings::{Fill, Interpolation};

/// Appends changes to the actions of a sample. What changes no pixel is left out.
pub(super) struct Chain<'a> {
    /// Of the picture, which keeps it.
    pub(super) size: ImageSize,
    pub(super) interpolation: Interpolation,
    pub(super) fill: Fill,
    pub(super) actions: &'a mut Vec<Action>,
}

impl Chain<'_> {
    pub(super) fn push(&mut self, action: impl Into<Action>) {
        self.actions.push(action.into());
    }

    /// Each row of the result begins `level` pixels further to the right in the picture than the one above it. The
    /// uppermost edge stays in its place.
    pub(super) fn shear_x(&mut self, level: f64) {
        let shift = level * f64::from(self.size.height) * 0.5;
        self.warp([1.0, level, shift, 0.0, 1.0, 0.0]);
    }

    /// Each column of the result begins `level` pixels further down in the picture than the one before it.
    pub(super) fn shear_y(&mut self, level: f64) {
        let shift = level * f64::from(self.size.width) * 0.5;
        self.warp([1.0, 0.0, 0.0, level, 1.0, shift]);
    }

    /// Moves the picture to the right by so many pixels.
    pub(super) fn translate_x(&mut self, pixels: f64) {
        self.warp([1.0, 0.0, -pixels, 0.0, 1.0, 0.0]);
    }

    /// Moves the picture down by so many pixels.
    pub(super) fn translate_y(&mut self, pixels: f64) {
        self.warp([1.0, 0.0, 0.0, 0.0, 1.0, -pixels]);
    }

    /// Rotates counterclockwise around the center: by a quarter turn where it keeps the size, as torchvision does.
    pub(super) fn rotate(&mut self, degrees: f64) {
        let rotation = Rotation { angle: degrees, expand: false, center: None };
        let Chain { size, interpolation, fill, .. } = *self;
        self.actions.extend(rotation.action(size, interpolation, fill));
    }

    /// Torchvision's `affine` by its inverse matrix, whose origin is the center of the picture.
    fn warp(&mut self, matrix: [f64; 6]) {
        if matrix == [1.0, 0.0, 0.0, 0.0, 1.0, 0.0] {
            return;
        }
        let Chain { size, interpolation, fill, .. } = *self;
        self.push(Affine { matrix, size: [size.height, size.width], interpolation, fill });
    }

    pub(super) fn brightness(&mut self, factor: f64) {
        if factor != 1.0 {
            self.push(AdjustBrightness { factor });
        }
    }

    pub(super) fn contrast(&mut self, factor: f64) {
        if factor != 1.0 {
            self.push(AdjustContrast { factor });
        }
    }

    pub(super) fn saturation(&mut self, factor: f64) {
        if factor != 1.0 {
            self.push(AdjustSaturation { factor });
        }
    }

    pub(super) fn sharpness(&mut self, factor: f64) {
        if factor != 1.0 {
            self.push(AdjustSharpness { factor });
        }
    }

    pub(super) fn posterize(&mut self, bits: u8) {
        if bits < 8 {
            self.push(Posterize { bits });
        }
    }

    pub(super) fn solarize(&mut self, threshold: f64) {
        if threshold <= 255.0 {
            self.push(Solarize { threshold });
        }
    }
}
