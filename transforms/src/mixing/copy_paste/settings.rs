//! `CopyPaste`: the settings.

use serde::{Deserialize, Serialize};
use tarflume_types::{Error, Result};

use crate::limits::probability;

/// Pastes a random subset of the objects of another row of the batch over a picture, at the places where they are.
///
/// A pixel is that of the other picture where the mask of a pasted object is 1. Masks of the row's own objects lose these
/// pixels. Nothing is resized or turned: what shall change sizes and places is part of the recipe of the column, which both
/// pictures have had. Each row gives objects to one row of its batch at most. So no sample is read or decoded twice, and a job
/// that resumes draws the same.
///
/// ```
/// use tarflume_transforms::copy_paste::CopyPaste;
///
/// let copy_paste = CopyPaste { p: 0.5, ..CopyPaste::default() };
/// assert_eq!(copy_paste.object_p, 0.5);
/// copy_paste.validate().unwrap();
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CopyPaste {
    /// The column of pictures, all of one size.
    pub image: String,
    /// The probability that objects are pasted over a row.
    pub p: f64,
    /// The probability of each object of the other row to be pasted. With 0.5 all subsets are equally likely.
    pub object_p: f64,
    /// An object that loses pixels is left out if fewer are left. It is left out without one in any case.
    pub min_area: f64,
    /// An object that loses pixels is left out if less than this share of them is left.
    pub min_visibility: f64,
}

impl Default for CopyPaste {
    fn default() -> CopyPaste {
        CopyPaste {
            image: "image".into(),
            p: 1.0,
            object_p: 0.5,
            min_area: 1.0,
            min_visibility: 0.0,
        }
    }
}

impl CopyPaste {
    /// Checks the settings.
    ///
    /// # Errors
    /// Returns a usage error that states valid ones.
    pub fn validate(&self) -> Result<()> {
        probability("CopyPaste", "p", self.p)?;
        probability("CopyPaste", "object_p", self.object_p)?;
        probability("CopyPaste", "min_visibility", self.min_visibility)?;
        if self.min_area >= 0.0 && self.min_area.is_finite() {
            return Ok(());
        }
        let area = self.min_area;
        Err(Error::usage(format!(
            "CopyPaste: min_area is {area}; it is a number of pixels, from 0 on"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_out_of_range_are_refused() {
        let wrong = [
            ("p", CopyPaste { p: 1.5, ..CopyPaste::default() }),
            ("object_p", CopyPaste { object_p: -0.5, ..CopyPaste::default() }),
            ("min_area", CopyPaste { min_area: f64::INFINITY, ..CopyPaste::default() }),
            ("min_visibility", CopyPaste { min_visibility: f64::NAN, ..CopyPaste::default() }),
        ];
        for (name, copy_paste) in wrong {
            let text = copy_paste.validate().unwrap_err().to_string();
            assert!(text.contains(&format!("CopyPaste: {name} is")), "{text}");
        }
    }
}
