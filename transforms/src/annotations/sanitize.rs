//! `Sanitize`: which objects are left out, because too little of them is in the picture.

use serde::{Deserialize, Serialize};
use tarflume_image::ImageSize;
use tarflume_types::{Error, Result};

use super::rotated::{RotatedBox, shown_area};

/// What an object needs to be kept. The defaults are those of torchvision's `SanitizeBoundingBoxes`, which has no
/// `min_visibility`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sanitize {
    /// The least width and the least height of its box in pixels.
    pub min_size: f64,
    /// The least area of its box in pixels.
    pub min_area: f64,
    /// The least part of its box that is still in the picture, 0 to 1.
    pub min_visibility: f64,
}

impl Default for Sanitize {
    fn default() -> Sanitize {
        Sanitize { min_size: 1.0, min_area: 1.0, min_visibility: 0.0 }
    }
}

impl Sanitize {
    /// Checks the numbers.
    ///
    /// # Errors
    /// Returns a usage error that states valid ones.
    pub fn validate(&self) -> Result<()> {
        for (name, value) in [("min_size", self.min_size), ("min_area", self.min_area)] {
            if !(0.0..=f64::MAX).contains(&value) {
                return Err(Error::usage(format!(
                    "{name} is {value}; it is a number of pixels, 0 or more"
                )));
            }
        }
        if (0.0..=1.0).contains(&self.min_visibility) {
            return Ok(());
        }
        let part = self.min_visibility;
        Err(Error::usage(format!(
            "min_visibility is {part}; it is a part of the box's area, 0 to 1"
        )))
    }

    /// Whether an object is kept, by its box in a picture of this size (left, top, right, bottom), and by the part of the box
    /// that is visible, as [`move_seen_boxes`](super::move_seen_boxes) has it.
    ///
    /// A box with a coordinate outside of the picture, or with one that is not a number, is left out, and so is one of which
    /// nothing is visible.
    ///
    /// ```
    /// use tarflume::transforms::annotations::Sanitize;
    ///
    /// let rule = Sanitize { min_visibility: 0.25, ..Sanitize::default() };
    /// assert!(rule.keeps([0.0, 0.0, 8.0, 8.0], 0.3, (64, 48).into()));
    /// assert!(!rule.keeps([0.0, 0.0, 8.0, 8.0], 0.2, (64, 48).into()));
    /// assert!(!rule.keeps([0.0, 0.0, 0.5, 8.0], 1.0, (64, 48).into()));
    /// ```
    pub fn keeps(
        &self,
        [left, top, right, bottom]: [f64; 4],
        visible: f64,
        size: ImageSize,
    ) -> bool {
        let [most_x, most_y] = [size.width, size.height].map(f64::from);
        let width = right - left;
        let height = bottom - top;
        let is_inside = [left, right].iter().all(|x| (0.0..=most_x).contains(x))
            && [top, bottom].iter().all(|y| (0.0..=most_y).contains(y));
        is_inside
            && width >= self.min_size
            && height >= self.min_size
            && width * height >= self.min_area
            && visible > 0.0
            && visible >= self.min_visibility
    }

    /// Whether an object is kept, by the corners of its box with an angle, which was clamped to a picture of this size, and by
    /// the part of the box that is visible, as [`move_seen_rotated_boxes`](super::move_seen_rotated_boxes) has it.
    ///
    /// `min_size` is the least of its two sides, `min_area` the least area of what the picture shows of it. Corners may be
    /// outside: torchvision leaves such boxes out. A box with a number that is not finite is left out.
    ///
    /// ```
    /// use tarflume::transforms::annotations::{Sanitize, corners};
    ///
    /// let rule = Sanitize { min_size: 2.0, ..Sanitize::default() };
    /// assert!(rule.keeps_rotated(&corners([1.0, 1.0, 9.0, 3.0, 30.0]), 0.7, (64, 48).into()));
    /// assert!(!rule.keeps_rotated(&corners([9.0, 9.0, 9.0, 1.5, 30.0]), 1.0, (64, 48).into()));
    /// ```
    pub fn keeps_rotated(&self, quad: &RotatedBox, visible: f64, size: ImageSize) -> bool {
        let lengths =
            [1, 3].map(|at: usize| (quad[at][0] - quad[0][0]).hypot(quad[at][1] - quad[0][1]));
        lengths.iter().all(|&length| length >= self.min_size)
            && shown_area(quad, size) >= self.min_area
            && visible > 0.0
            && visible >= self.min_visibility
    }
}

/// Marks the objects that are kept, by their boxes in a picture of this size, and by their visible parts: one of `visible` and
/// one of `keep` for each box. Returns the number of those that are kept.
pub fn sanitize(
    boxes: &[[f64; 4]],
    visible: &[f64],
    size: ImageSize,
    rule: &Sanitize,
    keep: &mut [bool],
) -> usize {
    let objects = boxes.iter().zip(visible);
    for (keep, (edges, visible)) in keep.iter_mut().zip(objects) {
        *keep = rule.keeps(*edges, *visible, size);
    }
    keep.iter().filter(|keep| **keep).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: ImageSize = ImageSize { width: 10, height: 8 };

    fn kept(rule: &Sanitize, edges: [f64; 4], visible: f64) -> bool {
        let mut keep = [false];
        let count = sanitize(&[edges], &[visible], SIZE, rule, &mut keep);
        assert_eq!(count, usize::from(keep[0]));
        keep[0]
    }

    #[test]
    fn boxes_that_are_too_small_outside_or_unseen_are_left_out() {
        let rule = Sanitize::default();
        assert!(kept(&rule, [0.0, 0.0, 10.0, 8.0], 1.0) && kept(&rule, [4.0, 3.0, 5.0, 4.0], 0.1));
        for edges in [
            [4.0, 3.0, 4.9, 8.0],
            [4.0, 3.0, 8.0, 3.9],
            [5.0, 3.0, 4.0, 8.0],
            [-0.1, 0.0, 5.0, 5.0],
            [0.0, 0.0, 10.1, 5.0],
            [0.0, 0.0, 5.0, 8.1],
            [f64::NAN, 0.0, 5.0, 5.0],
            [0.0, 0.0, f64::INFINITY, 5.0],
        ] {
            assert!(!kept(&rule, edges, 1.0), "{edges:?}");
        }
        assert!(!kept(&rule, [0.0, 0.0, 5.0, 5.0], 0.0));
        let large = Sanitize { min_area: 20.0, ..rule };
        assert!(
            !kept(&large, [0.0, 0.0, 4.0, 4.0], 1.0) && kept(&large, [0.0, 0.0, 5.0, 4.0], 1.0)
        );
        let any = Sanitize { min_size: 0.0, min_area: 0.0, min_visibility: 0.0 };
        assert!(kept(&any, [3.0, 3.0, 3.0, 3.0], 1.0) && !kept(&any, [3.0, 3.0, 3.0, 3.0], 0.0));
    }

    #[test]
    fn numbers_out_of_range_are_named() {
        fn text(rule: Sanitize) -> String {
            rule.validate().unwrap_err().text().to_owned()
        }

        let rule = Sanitize::default();
        rule.validate().unwrap();
        assert!(text(Sanitize { min_size: -1.0, ..rule }).contains("min_size is -1"));
        assert!(text(Sanitize { min_area: f64::NAN, ..rule }).contains("min_area is NaN"));
        assert!(text(Sanitize { min_visibility: 1.5, ..rule }).contains("min_visibility is 1.5"));
    }
}
