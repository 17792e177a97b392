//! The actions of a mix: the sum of a picture and of changed copies of it, each with its weight.
//!
//! `MixBegin`, the changes of the first copy, `MixNext`, those of the second, and so on until `MixEnd`. Sums are in single
//! precision, in the order of the actions, and are rounded down: the bytes are those of torchvision's `AugMix`.

use serde::{Deserialize, Serialize};
use tarflume_image::{ImageSize, make_room};
use tarflume_types::{Error, Result};

use super::apply::Apply;
use crate::frame::{Frame, Mixture};
use crate::kernels::mix;
use crate::kernels::sets::Set;

/// Takes the buffers of the mix in progress out of the frame. They must be put back.
///
/// # Errors
/// Returns a usage error unless a mix of pictures of the frame's size is in progress.
fn begun(frame: &mut Frame) -> Result<Mixture> {
    let size = frame.size();
    match frame.room.mixture.begun {
        Some(begun) if begun == (size, frame.channels()) => {
            Ok(std::mem::take(&mut frame.room.mixture))
        }
        Some((begun, _)) => Err(Error::usage(format!(
            "a mix of pictures of {begun} has one of {size}; its changes must keep the size"
        ))),
        None => Err(Error::usage(
            "mix_next and mix_end need a mix_begin before them in the list of actions",
        )),
    }
}

/// Begins a mix with the picture, and the first changed copy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixBegin {
    /// Of the picture.
    pub weight: f64,
}

impl Apply for MixBegin {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let mut mixture = std::mem::take(&mut frame.room.mixture);
        let bytes = frame.pixels();
        make_room(&mut mixture.picture, bytes.len())?;
        make_room(&mut mixture.sum, bytes.len())?;
        mixture.picture.copy_from_slice(bytes);
        mix::begin(Set::best(), &mut mixture.sum, bytes, self.weight as f32);
        mixture.begun = Some((frame.size(), frame.channels()));
        frame.room.mixture = mixture;
        Ok(())
    }

    fn room(&self, from: ImageSize, channels: usize) -> u64 {
        // The picture, and a float for each of its values.
        from.pixels().saturating_mul(5 * channels as u64)
    }
}

/// Adds the changed copy to the mix, and begins another with the unchanged picture.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixNext {
    /// Of the changed copy.
    pub weight: f64,
}

impl Apply for MixNext {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let mut mixture = begun(frame)?;
        mix::add(Set::best(), &mut mixture.sum, frame.pixels(), self.weight as f32);
        frame.pixels_mut().copy_from_slice(&mixture.picture);
        frame.room.mixture = mixture;
        Ok(())
    }
}

/// Adds the last changed copy to the mix, which becomes the picture.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixEnd {
    /// Of the changed copy.
    pub weight: f64,
}

impl Apply for MixEnd {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let mut mixture = begun(frame)?;
        mix::end(Set::best(), frame.pixels_mut(), &mixture.sum, self.weight as f32);
        mixture.begun = None;
        frame.room.mixture = mixture;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
