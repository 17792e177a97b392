//! Actions that are a table of bytes and that only policies have.

use serde::{Deserialize, Serialize};
use tarflume_types::Result;

use super::apply::Apply;
use crate::frame::Frame;
use crate::kernels::color::pointwise;
use crate::kernels::color::table::Table;
use crate::kernels::sets::Set;

/// Adds to the values below a threshold, up to 255: timm's `solarize_add`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SolarizeAdd {
    /// What is added.
    pub add: u8,
    /// The lowest value that is kept.
    pub threshold: u8,
}

impl Apply for SolarizeAdd {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let table = self.table().expect("the action is a table");
        pointwise::look_up(Set::best(), frame.pixels_mut(), &table);
        Ok(())
    }

    fn table(&self) -> Option<Table> {
        Some(std::array::from_fn(|value| {
            let value = value as u8;
            if value < self.threshold { value.saturating_add(self.add) } else { value }
        }))
    }
}

#[cfg(test)]
mod tests {
    use tarflume_image::ImageSize;

    use super::*;

    #[test]
    fn values_from_the_threshold_on_are_kept() {
        let mut frame = Frame::default();
        let bytes = frame.begin(ImageSize::new(5, 1), 1).unwrap();
        bytes.copy_from_slice(&[0, 100, 127, 128, 255]);
        SolarizeAdd { add: 110, threshold: 128 }.apply(&mut frame).unwrap();
        assert_eq!(frame.pixels(), [110, 210, 237, 128, 255]);
        SolarizeAdd { add: 110, threshold: 255 }.apply(&mut frame).unwrap();
        assert_eq!(frame.pixels(), [220, 255, 255, 238, 255]);
    }
}
