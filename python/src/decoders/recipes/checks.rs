//! Checks of pictures and actions that a user wrote.

use pyo3::prelude::*;
use tarflume::ImageSize;
use tarflume::transforms::Shape;
use tarflume::transforms::actions::Action;

use crate::arguments::numbers::Number;
use crate::faults::errors::usage;

/// The most pixels of a picture that actions make.
const MOST_PIXELS: u64 = 1 << 30;

/// The shape of a picture for which actions are drawn.
pub(super) fn shape(
    py: Python<'_>,
    height: Number<u32>,
    width: Number<u32>,
    channels: Number<u32>,
) -> PyResult<Shape> {
    let Number(channels) = channels;
    if !matches!(channels, 1 | 3) {
        return Err(usage(py, format!("channels is {channels}; a picture has 1 or 3")));
    }
    let size = ImageSize::new(width.0, height.0);
    if size.pixels() == 0 {
        return Err(usage(py, format!("a picture of {size} has no pixel; sides are 1 or more")));
    }
    Ok(Shape { size, channels: channels as usize })
}

/// Checks that crops are inside the picture, and that the results have a size that memory may hold.
pub(super) fn check(py: Python<'_>, actions: &[Action], mut size: ImageSize) -> PyResult<()> {
    for action in actions {
        if let Action::Crop(crop) = action {
            let bottom = u64::from(crop.top) + u64::from(crop.height);
            let right = u64::from(crop.left) + u64::from(crop.width);
            if bottom > u64::from(size.height) || right > u64::from(size.width) {
                return Err(usage(py, format!("{action:?} is not inside a picture of {size}")));
            }
        }
        size = action.size(size);
        if !(1..=MOST_PIXELS).contains(&size.pixels()) {
            let text =
                format!("{action:?} makes a picture of {size}; it has 1 to {MOST_PIXELS} pixels");
            return Err(usage(py, text));
        }
    }
    Ok(())
}
