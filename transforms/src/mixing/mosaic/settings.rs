//! `Mosaic`: the settings.

use serde::{Deserialize, Serialize};
use tarflume_types::{Error, Result};

use crate::limits::{probability, range};

/// Makes one picture of four: parts of the row itself, upper left, and of three other rows of its batch.
///
/// The four pictures meet at a random point. Each is shifted, neither resized nor turned: what shall change its size is part of
/// the recipe of the column. A row is in four pictures of its batch, in one of them at the upper left. So no sample is read
/// or decoded twice, and a job that resumes draws the same.
///
/// ```
/// use tarflume_transforms::mosaic::Mosaic;
///
/// let mosaic = Mosaic { p: 0.5, ..Mosaic::default() };
/// assert_eq!(mosaic.center_range, [0.3, 0.7]);
/// mosaic.validate().unwrap();
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mosaic {
    /// The column of pictures, all of one size.
    pub image: String,
    /// The probability that a row becomes a mosaic.
    pub p: f64,
    /// Where the four pictures meet, as the least and the largest part of the width and of the height.
    pub center_range: [f64; 2],
    /// Boxes whose visible part has a shorter side in pixels are left out.
    pub min_size: f64,
    /// Boxes of whose area less is visible are left out.
    pub min_visibility: f64,
}

impl Default for Mosaic {
    fn default() -> Mosaic {
        Mosaic {
            image: "image".into(),
            p: 1.0,
            center_range: [0.3, 0.7],
            min_size: 1.0,
            min_visibility: 0.1,
        }
    }
}

impl Mosaic {
    /// Checks the settings.
    ///
    /// # Errors
    /// Returns a usage error that states valid ones.
    pub fn validate(&self) -> Result<()> {
        probability("Mosaic", "p", self.p)?;
        probability("Mosaic", "min_visibility", self.min_visibility)?;
        range("Mosaic", "center_range", self.center_range, [0.0, 1.0])?;
        if self.min_size >= 0.0 && self.min_size.is_finite() {
            return Ok(());
        }
        let size = self.min_size;
        Err(Error::usage(format!(
            "Mosaic: min_size is {size}; it is a number of pixels, from 0 on"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_out_of_range_are_refused() {
        let wrong = [
            Mosaic { p: 1.5, ..Mosaic::default() },
            Mosaic { center_range: [0.7, 0.3], ..Mosaic::default() },
            Mosaic { center_range: [-0.1, 0.3], ..Mosaic::default() },
            Mosaic { min_size: f64::NAN, ..Mosaic::default() },
            Mosaic { min_visibility: -1.0, ..Mosaic::default() },
        ];
        for mosaic in wrong {
            assert!(mosaic.validate().unwrap_err().to_string().contains("Mosaic"), "{mosaic:?}");
        }
    }
}
