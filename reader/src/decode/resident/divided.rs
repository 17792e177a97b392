//! The work of a column, divided between host and device: descriptions of both parts. Data only.

use std::sync::Arc;

use tarflume_image::convert::Finish;
use tarflume_image::row_header::Format;
use tarflume_image::{ImageSize, Transform};
use tarflume_jpeg::Scale;

use crate::decode::hybrid::balance::DeviceShare;
use crate::decode::hybrid::request::DecodeRequest;
use crate::decode::hybrid::row::Sharing;
use crate::decode::resident::row::StoredChanges;
use crate::decode::{Decode, Sample};

/// The work of a column, divided between host and device; see [`DecodeHooks::for_device`].
pub struct ForDevice {
    /// The host's decoder. Rows are u8 `[height, width, channels]`, unless `drawn` is set.
    pub decode: Arc<dyn Decode>,
    /// The device's conversion.
    pub finish: Finish,
    /// Size and channels of the output, if rows of u8 begin with a `RowHeader` and the device resizes.
    pub drawn: Option<(ImageSize, usize)>,
    /// Size and channels of the output, if rows of u8 begin with a list of what the device does with their pixels.
    pub(crate) changed: Option<ChangedPictures>,
    /// The JPEGs that the device may decode, too.
    pub shared: Option<SharedJpegs>,
}

/// Pictures that a device changes.
pub(crate) struct ChangedPictures {
    pub(crate) size: ImageSize,
    /// 1 or 3.
    pub(crate) channels: usize,
    /// The share of the pictures that it changes, if the host may change the others.
    pub(crate) share: Option<Arc<Sharing>>,
}

/// The part of a column's JPEGs that a device's decoder may take over.
pub struct SharedJpegs {
    pub(crate) share: DeviceShare,
    /// Size of the output.
    pub(crate) size: ImageSize,
    /// 1 or 3.
    pub(crate) channels: usize,
    pub(crate) requests: Arc<dyn DecodeRequests>,
}

/// Computes what a column needs of each sample's JPEG.
pub(crate) trait DecodeRequests: Send + Sync {
    /// The request for a device decoder whose smallest scale is `least`. `None` if the part is not a JPEG, or
    /// is damaged, or needs something that only the host can do; the host then decodes it or reports the error.
    fn request(&self, sample: &Sample<'_>, least: Scale) -> Option<DecodeRequest>;
}

/// How pictures are stored in device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureStorage {
    /// Maximum size: a stored picture has at most `side * side` pixels, in its own aspect ratio.
    pub side: u32,
    /// Format of pictures with three channels.
    pub format: Format,
}

/// A column of pictures stored on a device; see [`DecodeHooks::for_resident`].
pub struct ForResident {
    /// Writes the stored rows: u8 rows that begin with a `RowHeader`, which has the picture's size.
    pub keep: Arc<dyn Decode>,
    /// Memory layout of a stored picture.
    pub format: Format,
    /// Selects the part that an epoch uses.
    pub transform: Arc<dyn Transform>,
    /// The stream of the sample's random numbers that `transform` uses.
    pub stream: u64,
    /// Size of an output picture.
    pub size: ImageSize,
    /// Channels of the output: 1, 3 or 4.
    pub channels: usize,
    /// The conversion of the output.
    pub finish: Finish,
    /// How the picture can be stored as a JPEG; `None` if it cannot.
    pub jpeg: Option<AsJpeg>,
    /// What the device does with the pixels behind the crop.
    pub(crate) changes: Option<StoredChanges>,
}

/// JPEGs that can be stored compressed.
pub struct AsJpeg {
    /// Requests for whole pictures.
    pub(crate) requests: Arc<dyn DecodeRequests>,
    /// As `Image::reducing_gap`.
    pub(crate) gap: Option<f64>,
}
