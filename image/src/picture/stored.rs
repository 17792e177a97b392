//! `StoredPicture`: what a sidecar knows of a JPEG, before any of its bytes is read.

use tarflume_jpeg::{Region, Scale};

use crate::picture::geometry::ImageSize;

/// A JPEG that is about to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredPicture {
    /// Its size as stored, before any turn.
    pub size: ImageSize,
    /// Its EXIF orientation, 1 to 8, if it has one.
    pub orientation: Option<u8>,
    /// The seed of the sample's random numbers.
    pub seed: u64,
    /// The number of the sample in the data set.
    pub ordinal: u64,
}

/// A part of a stored picture that is decoded, in pixels at a scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredRegion {
    /// The pixels.
    pub region: Region,
    /// The scale.
    pub scale: Scale,
}
