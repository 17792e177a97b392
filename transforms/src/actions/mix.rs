//! The actions of a mix: the sum of a picture and of changed copies of it, each with its weight.
//!
//! `MixBegin`, the changes of the first copy, `MixNext`, those of the second, and so on until `MixEnd`. Sums are in single
//! precision, in the order of the actions, and are rounded down: the bytes are those of torchvision's `AugMix`.

use serde::{Deserialize, Serialize};
use tarflume_image::{ImageSize, make_room};
use tarflume_types::{Error, Result};

use super::Apply;
use crate::frame::Frame;
use crate::kernels::mix;
use crate::kernels::sets::Set;

/// The buffers of a mix, which all actions between its beginning and its end leave alone.
#[derive(Debug, Default)]
pub(crate) struct Mixture {
    /// The picture, for the size and the channels of the mix in progress.
    picture: Vec<u8>,
    sum: Vec<f32>,
    of: Option<Of>,
}

/// What the pictures of one mix have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Of {
    size: ImageSize,
    channels: usize,
}

impl Of {
    fn frame(frame: &Frame) -> Of {
        Of { size: frame.size(), channels: frame.channels() }
    }
}

impl Mixture {
    /// The bytes of memory that the buffers keep.
    pub(crate) fn kept(&self) -> usize {
        self.picture.capacity() + 4 * self.sum.capacity()
    }

    fn begin(&mut self, of: Of, picture: &[u8], weight: f32) -> Result<()> {
        self.of = None;
        make_room(&mut self.picture, picture.len())?;
        make_room(&mut self.sum, picture.len())?;
        self.picture.copy_from_slice(picture);
        mix::begin(Set::best(), &mut self.sum, picture, weight);
        self.of = Some(of);
        Ok(())
    }

    /// # Errors
    /// Returns a usage error unless a mix of pictures of this size is in progress.
    fn check(&self, of: Of) -> Result<()> {
        match self.of {
            Some(begun) if begun == of => Ok(()),
            Some(begun) => Err(Error::usage(format!(
                "a mix of pictures of {} has one of {}; its changes must keep the size",
                begun.size, of.size
            ))),
            None => Err(Error::usage(
                "mix_next and mix_end need a mix_begin before them in the list of actions",
            )),
        }
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
        let begun = mixture.begin(Of::frame(frame), frame.pixels(), self.weight as f32);
        frame.room.mixture = mixture;
        begun
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
        frame.room.mixture.check(Of::frame(frame))?;
        let mut mixture = std::mem::take(&mut frame.room.mixture);
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
        frame.room.mixture.check(Of::frame(frame))?;
        let mut mixture = std::mem::take(&mut frame.room.mixture);
        mix::end(Set::best(), frame.pixels_mut(), &mixture.sum, self.weight as f32);
        mixture.of = None;
        frame.room.mixture = mixture;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
