//! `Decode`: converts the parts of a sample into one row of a batch.
//!
//! The trait and its argument types; the implementations are in the files below. Nothing here reads files, starts
//! threads or knows of batches.

pub mod blocks;
pub mod calls;
pub mod class;
pub mod fixed_crop;
pub mod formats;
pub mod hybrid;
pub mod image;
mod jpeg;
pub mod json;
mod json_scan;
mod json_value;
pub mod npy;
pub mod number;
mod open_picture;
mod picture_decoder;
pub mod random_crop;
pub mod raw;
pub(crate) mod resident;
mod scratch;
pub mod sequence;
pub mod text;

use std::fmt;
use std::sync::Arc;

use tarflume_jpeg::Scale;

use crate::column::{Row, RowShape};
use crate::decode::hybrid::balance::Share;
use crate::decode::hybrid::request::DecodeRequest;
use crate::error::Result;
use crate::picture::convert::Finish;
use crate::picture::geometry::{Size, Transform};
use crate::picture::row_header::Format;

pub use self::scratch::{Memory, Scratch};

/// Converts a sample into one row of one column.
///
/// One value serves all threads. State that a thread keeps between samples belongs in its [`Scratch`].
///
/// A custom implementation:
/// ```
/// use tarflume::Result;
/// use tarflume::column::{DType, Row, RowShape};
/// use tarflume::decode::{Decode, Sample, Scratch};
///
/// /// The length of the part in bytes.
/// struct Length(&'static str);
///
/// impl Decode for Length {
///     fn parts(&self) -> Vec<String> {
///         vec![self.0.into()]
///     }
///     fn shape(&self) -> RowShape {
///         RowShape::Fixed(DType::U64, vec![])
///     }
///     fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, _: &mut Scratch) -> Result<()> {
///         row.put(&(sample.part(0).len() as u64).to_ne_bytes())
///     }
/// }
/// ```
pub trait Decode: Send + Sync + 'static {
    /// The extensions that it needs. For each entry, a sample must have one of the alternatives, of which
    /// the first is used: `["jpg;jpeg;png"]` needs one of three, `["jpg", "json"]` needs both.
    fn parts(&self) -> Vec<String>;

    /// The shape of each row.
    fn shape(&self) -> RowShape;

    /// True if a missing part is passed as zero bytes under an empty extension. By default a sample that
    /// lacks a part is bad.
    fn optional(&self) -> bool {
        false
    }

    /// True if a row is the stored part, unchanged. Statistics then count its writing as copying, not decoding.
    fn copies(&self) -> bool {
        false
    }

    /// True if it uses the entry points of JPEGs. [`Sample::entry_points`] then returns them where the sidecar
    /// has them. Called once.
    fn wants_entry_points(&self) -> bool {
        false
    }

    /// True if [`Decode::room_of`] uses the pixel counts from the sidecar. Called once.
    fn wants_pixels(&self) -> bool {
        false
    }

    /// Checks the parameters. Called once, before anything is read.
    ///
    /// # Errors
    /// Returns an error if they are invalid. The message must state valid ones.
    fn validate(&self) -> Result<()> {
        Ok(())
    }

    /// The maximum bytes of a variable row, given the length of each needed part in bytes.
    fn room(&self, lengths: &[u64]) -> u64 {
        lengths.iter().sum()
    }

    /// As [`Decode::room`], given also the number of pixels of each needed part, where the sidecar has it.
    /// The default ignores them.
    fn room_of(&self, lengths: &[u64], pixels: &[Option<u64>]) -> u64 {
        let _ = pixels;
        self.room(lengths)
    }

    /// Divides the work between host and device: a decoder of u8 `[height, width, channels]` for the host,
    /// and the conversion on the device. The result is bit-identical to [`Decode::decode`]. `None` if nothing is
    /// gained.
    fn for_device(&self) -> Option<ForDevice> {
        None
    }

    /// Divides the work for a resident data set: what is stored on the device once, and what each epoch
    /// computes from it. `None`: rows of fixed length are stored as they are.
    ///
    /// # Errors
    /// Returns an error if the device cannot do it. The message must state what it can do.
    fn for_resident(&self, residing: Residing) -> Result<Option<ForResident>> {
        let _ = residing;
        Ok(None)
    }

    /// The preferred number of samples for one call of [`Decode::prepare`].
    fn group(&self) -> usize {
        1
    }

    /// Announces the samples of the next calls of [`Decode::decode`], in this order and with the same
    /// scratch, which may keep work done for several samples at once. The rows must not depend on it. A
    /// sample that cannot be prepared is reported by [`Decode::decode`].
    fn prepare(&self, samples: &[Sample<'_>], scratch: &mut Scratch) {
        let _ = (samples, scratch);
    }

    /// Writes the row. The row may depend only on the sample and on random numbers of [`Sample::seed`], so
    /// that threads, ranks and resumes do not change it.
    ///
    /// # Errors
    /// Returns an error if the part cannot be decoded. The message must state why; the caller adds path,
    /// byte and key.
    fn decode(&self, sample: &Sample<'_>, row: Row<'_>, scratch: &mut Scratch) -> Result<()>;
}

/// The work of a column, divided between host and device; see [`Decode::for_device`].
pub struct ForDevice {
    /// The host's decoder. Rows are u8 `[height, width, channels]`, unless `drawn` is set.
    pub decode: Arc<dyn Decode>,
    /// The device's conversion.
    pub finish: Finish,
    /// Size and channels of the output, if rows of u8 begin with a `RowHeader` and the device resizes.
    pub drawn: Option<(Size, usize)>,
    /// The JPEGs that the device may decode, too.
    pub shared: Option<Shared>,
}

/// The part of a column's JPEGs that a device's decoder may take over.
pub struct Shared {
    pub(crate) share: Share,
    /// Size of the output.
    pub(crate) size: Size,
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
pub struct Residing {
    /// Maximum size: a stored picture has at most `side * side` pixels, in its own aspect ratio.
    pub side: u32,
    /// Format of pictures with three channels.
    pub format: Format,
}

/// A column of pictures stored on a device; see [`Decode::for_resident`].
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
    pub size: Size,
    /// Channels of the output: 1, 3 or 4.
    pub channels: usize,
    /// The conversion of the output.
    pub finish: Finish,
    /// How the picture can be stored as a JPEG; `None` if it cannot.
    pub jpeg: Option<AsJpeg>,
}

/// JPEGs that can be stored compressed.
pub struct AsJpeg {
    /// Requests for whole pictures.
    pub(crate) requests: Arc<dyn DecodeRequests>,
    /// As `Image::reducing_gap`.
    pub(crate) gap: Option<f64>,
}

/// A decoder shared by several loaders, or one whose type is chosen at run time.
impl<D: Decode + ?Sized> Decode for Arc<D> {
    fn parts(&self) -> Vec<String> {
        (**self).parts()
    }

    fn shape(&self) -> RowShape {
        (**self).shape()
    }

    fn optional(&self) -> bool {
        (**self).optional()
    }

    fn copies(&self) -> bool {
        (**self).copies()
    }

    fn wants_entry_points(&self) -> bool {
        (**self).wants_entry_points()
    }

    fn validate(&self) -> Result<()> {
        (**self).validate()
    }

    fn room(&self, lengths: &[u64]) -> u64 {
        (**self).room(lengths)
    }

    fn wants_pixels(&self) -> bool {
        (**self).wants_pixels()
    }

    fn room_of(&self, lengths: &[u64], pixels: &[Option<u64>]) -> u64 {
        (**self).room_of(lengths, pixels)
    }

    fn for_device(&self) -> Option<ForDevice> {
        (**self).for_device()
    }

    fn for_resident(&self, residing: Residing) -> Result<Option<ForResident>> {
        (**self).for_resident(residing)
    }

    fn group(&self) -> usize {
        (**self).group()
    }

    fn prepare(&self, samples: &[Sample<'_>], scratch: &mut Scratch) {
        (**self).prepare(samples, scratch);
    }

    fn decode(&self, sample: &Sample<'_>, row: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        (**self).decode(sample, row, scratch)
    }
}

/// A sample, as passed to a [`Decode`].
#[derive(Clone, Copy, Default)]
pub struct Sample<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The ordinal in the data set.
    pub ordinal: u64,
    /// The seed of its random numbers, which depends only on the loader's seed, the pass and the ordinal.
    pub seed: u64,
    /// The needed parts, in the order of [`Decode::parts`]: the extension and the bytes.
    pub parts: &'a [(&'a str, &'a [u8])],
    /// The entry points of each part; empty if they are not requested.
    pub entry_points: &'a [Option<&'a [u8]>],
}

impl<'a> Sample<'a> {
    /// The bytes of the `n`th needed part.
    pub fn part(&self, n: usize) -> &'a [u8] {
        self.parts[n].1
    }

    /// The entry points of the `n`th needed part, if [`Decode::wants_entry_points`] is true and the sidecar has
    /// them. The bytes are read from a file and are not validated.
    pub fn entry_points(&self, n: usize) -> Option<&'a [u8]> {
        self.entry_points.get(n).copied().flatten()
    }

    /// The extension of the `n`th needed part.
    pub fn ext(&self, n: usize) -> &'a str {
        self.parts[n].0
    }
}

impl fmt::Debug for Sample<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sample({}, {})", self.ordinal, String::from_utf8_lossy(self.key))
    }
}
