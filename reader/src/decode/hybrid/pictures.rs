//! Pictures that a device stores or changes: what becomes of them where. Data only.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use tarflume_image::ImageSize;
use tarflume_image::row_header::Format;
use tarflume_transforms::Recipe;
use tarflume_transforms::actions::RowScale;
use tarflume_types::{Error, Result};

use crate::decode::hybrid::balance::DeviceShare;
use crate::decode::hybrid::sharing::Sharing;

/// How pictures are stored in device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureStorage {
    /// Maximum size: a stored picture has at most `side * side` pixels, in its own aspect ratio.
    pub side: u32,
    /// Format of pictures with three channels.
    pub format: Format,
}

/// Pictures that a device changes.
pub(crate) struct ChangedPictures {
    pub(crate) size: ImageSize,
    /// 1 or 3.
    pub(crate) channels: usize,
    /// The share of the pictures that it changes, if the host may change the others.
    pub(crate) share: Option<Arc<Sharing>>,
}

/// What a device does with the pixels of a stored picture behind its crop.
pub(crate) struct StoredChanges {
    pub(crate) recipe: Arc<Recipe>,
    /// The scale of the values in which rectangles are erased; `None` if pixels are erased.
    pub(crate) values: Option<RowScale>,
}

/// Where the operations of a recipe behind its head run, if batches go to a device; see [`Image::transforms_on`](crate::Image::transforms_on).
///
/// ```
/// use tarflume::TransformsOn;
///
/// assert_eq!("device".parse::<TransformsOn>()?, TransformsOn::Device);
/// # Ok::<(), tarflume::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum TransformsOn {
    /// In the threads of the loader.
    #[default]
    Host,
    /// On the device, by kernels behind the copy of a batch.
    Device,
    /// On the device as far as batches wait for the host, and on the host as far as they wait for their consumer. On the
    /// host, if an operation has no kernel or pictures have several sizes. Pictures that are stored on a device
    /// ([`Residency`](crate::Residency)) are always changed there.
    Auto,
}

impl fmt::Display for TransformsOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TransformsOn::Host => "host",
            TransformsOn::Device => "device",
            TransformsOn::Auto => "auto",
        })
    }
}

impl FromStr for TransformsOn {
    type Err = Error;

    /// # Errors
    /// Returns an error for any other text.
    fn from_str(text: &str) -> Result<TransformsOn> {
        match text {
            "host" => Ok(TransformsOn::Host),
            "device" => Ok(TransformsOn::Device),
            "auto" => Ok(TransformsOn::Auto),
            _ => Err(Error::usage(format!(
                "'{text}' is no place for transforms; write 'host', 'device' or 'auto'"
            ))),
        }
    }
}

/// Rows of a list and pixels, for a device.
#[derive(Debug, Clone)]
pub(crate) struct ListedRows {
    /// The scale of the values in which a device erases rectangles; `None` if pixels are erased.
    pub(crate) values: Option<RowScale>,
    /// The share of the pictures whose pixels it changes, unless it changes all.
    pub(crate) share: Option<Arc<Sharing>>,
}

impl ListedRows {
    /// Whether the device changes the pixels of the sample of this seed.
    pub(crate) fn picks(&self, seed: u64) -> bool {
        let share = self.share.as_ref();
        share.is_none_or(|share| DeviceShare::fixed(share.per_mille()).picks(seed))
    }
}
