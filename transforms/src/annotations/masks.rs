//! Masks that move with the picture.

use crate::actions::{Action, Affine, Elastic, Pad, Perspective, ResizeMask};
use crate::settings::{Fill, Interpolation};

impl Action {
    /// The same action on a mask, a picture of one channel: with the nearest pixel, and with `fill` where the picture was
    /// not. None if the action moves no pixel: colors, noise, compression and erased rectangles leave a mask as it is.
    ///
    /// A resize becomes a [`ResizeMask`], which has torchvision's pixels of a `Mask`.
    ///
    /// ```
    /// use tarflume::transforms::Interpolation;
    /// use tarflume::transforms::actions::{Action, Invert, Resize, ResizeMask};
    ///
    /// let resize = Action::from(Resize { size: [4, 6], interpolation: Interpolation::Bicubic });
    /// assert_eq!(resize.on_mask(255), Some(ResizeMask { size: [4, 6] }.into()));
    /// assert_eq!(Action::from(Invert {}).on_mask(255), None);
    /// ```
    pub fn on_mask(&self, fill: u8) -> Option<Action> {
        let fill = Fill::from(fill);
        let interpolation = Interpolation::Nearest;
        Some(match self {
            Action::Crop(_)
            | Action::HorizontalFlip(_)
            | Action::VerticalFlip(_)
            | Action::QuarterTurn(_)
            | Action::ResizeMask(_) => self.clone(),
            Action::Pad(pad) => Pad { fill, ..*pad }.into(),
            Action::Resize(resize) => ResizeMask { size: resize.size }.into(),
            Action::Affine(affine) => Affine { interpolation, fill, ..*affine }.into(),
            Action::Perspective(perspective) => {
                Perspective { interpolation, fill, ..*perspective }.into()
            }
            Action::Elastic(elastic) => Elastic { interpolation, fill, ..*elastic }.into(),
            _ => return None,
        })
    }

    /// Whether the action moves pixels.
    pub(super) fn moves(&self) -> bool {
        self.on_mask(0).is_some()
    }

    /// Whether the action mirrors the picture.
    pub(super) fn mirrors(&self) -> bool {
        match self {
            Action::HorizontalFlip(_) | Action::VerticalFlip(_) => true,
            Action::Affine(Affine { matrix: [a, b, _, c, d, _], .. }) => a * d - b * c < 0.0,
            Action::Perspective(Perspective { coefficients, .. }) => {
                let [a, b, c, d, e, f, g, h] = coefficients;
                a * (e - f * h) - b * (d - f * g) + c * (d * h - e * g) < 0.0
            }
            _ => false,
        }
    }
}
