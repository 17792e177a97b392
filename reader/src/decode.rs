//! `Decode`: from the parts of a sample to a given row of a batch.
//!
//! The trait and what it is handed. Implementations stand in the files below; a user's own takes ten
//! lines. Nothing here reads files, starts threads or knows of batches.

pub mod blocks;
pub mod calls;
pub mod class;
mod drawing;
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
mod opened;
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

/// Turns a sample into one row of one column.
///
/// One value serves all threads; what a thread wants to keep between samples goes into its
/// [`Scratch`].
///
/// One of your own:
/// ```
/// use tarflume::Result;
/// use tarflume::column::{DType, Row, RowShape};
/// use tarflume::decode::{Decode, Sample, Scratch};
///
/// /// How long the part is, in bytes.
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
    /// The extensions it needs. A sample must have the first of each entry's alternatives that is
    /// there: `["jpg;jpeg;png"]` needs one of three, `["jpg", "json"]` needs both.
    fn parts(&self) -> Vec<String>;

    /// What each row holds.
    fn shape(&self) -> RowShape;

    /// True if a part that a sample lacks is handed over as no bytes under an empty extension; by
    /// default such a sample is bad.
    fn optional(&self) -> bool {
        false
    }

    /// True if a row is the part as it is stored: statistics then call its writing copying, not decoding.
    fn copies(&self) -> bool {
        false
    }

    /// True if it wants the entry points of its JPEGs, which [`Sample::entry_points`] then has of those
    /// whose sidecar does; asked once.
    fn wants_entry_points(&self) -> bool {
        false
    }

    /// True if [`Decode::room_of`] gains by the pixels that the sidecar says; asked once.
    fn wants_pixels(&self) -> bool {
        false
    }

    /// Whether what it was built with makes sense; asked once, before anything is read.
    ///
    /// # Errors
    /// It does not: say what would.
    fn validate(&self) -> Result<()> {
        Ok(())
    }

    /// The most bytes a variable row may take, from the length of each needed part in bytes.
    fn room(&self, lengths: &[u64]) -> u64 {
        lengths.iter().sum()
    }

    /// The same where the sidecar says how many pixels the pictures in the needed parts have; by default
    /// [`Decode::room`].
    fn room_of(&self, lengths: &[u64], pixels: &[Option<u64>]) -> u64 {
        let _ = pixels;
        self.room(lengths)
    }

    /// What the host still has to do if a device does the rest: pictures as u8 `[height, width,
    /// channels]`, and what becomes of them there. To the bit what this one writes. `None`: nothing is
    /// gained.
    fn for_device(&self) -> Option<ForDevice> {
        None
    }

    /// What stays on a device, and what an epoch makes of it there, if the data set is resident. `None`:
    /// rows of one length stay as they are.
    ///
    /// # Errors
    /// It can't be done there: say what can.
    fn for_resident(&self, residing: Residing) -> Result<Option<ForResident>> {
        let _ = residing;
        Ok(None)
    }

    /// How many samples it would rather see at once; see [`Decode::prepare`].
    fn group(&self) -> usize {
        1
    }

    /// Samples whose rows are asked for next, in this order and with the same scratch: what is done
    /// for several at once may be kept there until then. The rows must not depend on it. An error, or
    /// a sample that can't be prepared, is told by [`Decode::decode`].
    fn prepare(&self, samples: &[Sample<'_>], scratch: &mut Scratch) {
        let _ = (samples, scratch);
    }

    /// Writes the row. What it writes may depend on the sample, random numbers of [`Sample::seed`] and
    /// nothing else, so that threads, ranks and resumes change nothing.
    ///
    /// # Errors
    /// The part can't be decoded: say why; path, byte and key are added by the caller.
    fn decode(&self, sample: &Sample<'_>, row: Row<'_>, scratch: &mut Scratch) -> Result<()>;
}

/// A column's work, shared by host and device; see [`Decode::for_device`].
pub struct ForDevice {
    /// The host's part: rows of u8 `[height, width, channels]`, unless `drawn` says otherwise.
    pub decode: Arc<dyn Decode>,
    /// The device's.
    pub finish: Finish,
    /// If rows of u8 begin with a `RowHeader` each, the size and the channels of the pictures that come out.
    pub drawn: Option<(Size, usize)>,
    /// What a device may decode of it, too.
    pub shared: Option<Shared>,
}

/// JPEGs of a column that a device's decoder may share in.
pub struct Shared {
    pub(crate) share: Share,
    /// Of what comes out.
    pub(crate) size: Size,
    /// 1 or 3.
    pub(crate) channels: usize,
    pub(crate) asks: Arc<dyn Asks>,
}

/// Says what is wanted of each sample's JPEG.
pub(crate) trait Asks: Send + Sync {
    /// What is wanted of it if the device's decoder makes pictures no smaller than `least`. `None`: it is no
    /// JPEG, or something is wanted that only the host does; what is wrong with it, the host says.
    fn ask(&self, sample: &Sample<'_>, least: Scale) -> Option<DecodeRequest>;
}

/// How pictures stay in a device's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Residing {
    /// A picture has at most `side * side` pixels there, in its own shape.
    pub side: u32,
    /// Those of three channels.
    pub format: Format,
}

/// A column of pictures that stay on a device; see [`Decode::for_resident`].
pub struct ForResident {
    /// Writes what stays: rows of u8 that begin with a `RowHeader`, which says how large the picture is.
    pub keep: Arc<dyn Decode>,
    /// How a kept picture's bytes lie.
    pub format: Format,
    /// Decides what an epoch takes of it.
    pub transform: Arc<dyn Transform>,
    /// Which of a sample's streams of random numbers decides.
    pub stream: u64,
    /// What comes out: the size of a picture, its channels and elements.
    pub size: Size,
    /// 1, 3 or 4.
    pub channels: usize,
    /// What becomes of it.
    pub finish: Finish,
    /// How it may stay as a JPEG; none if it can't.
    pub jpeg: Option<AsJpeg>,
}

/// JPEGs that may stay as they are.
pub struct AsJpeg {
    /// Of whole pictures.
    pub(crate) asks: Arc<dyn Asks>,
    pub(crate) gap: Option<f64>,
}

/// One decoder in several loaders, or one whose type was decided at run time.
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

/// A sample as a [`Decode`] sees it.
#[derive(Clone, Copy, Default)]
pub struct Sample<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// Its place in the data set.
    pub ordinal: u64,
    /// The seed of its random numbers: of (seed, pass, ordinal) and nothing else.
    pub seed: u64,
    /// The needed parts, in the order of [`Decode::parts`]: the extension found and its bytes.
    pub parts: &'a [(&'a str, &'a [u8])],
    /// The entry points of each of these; none at all where they are not wanted.
    pub entry_points: &'a [Option<&'a [u8]>],
}

impl<'a> Sample<'a> {
    /// The bytes of the `n`th needed part.
    pub fn part(&self, n: usize) -> &'a [u8] {
        self.parts[n].1
    }

    /// The entry points of the `n`th needed part: if [`Decode::wants_entry_points`], there is a sidecar
    /// and it has them. The bytes come from a file and may say anything.
    pub fn entry_points(&self, n: usize) -> Option<&'a [u8]> {
        self.entry_points.get(n).copied().flatten()
    }

    /// The extension under which the `n`th needed part was found.
    pub fn ext(&self, n: usize) -> &'a str {
        self.parts[n].0
    }
}

impl fmt::Debug for Sample<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sample({}, {})", self.ordinal, String::from_utf8_lossy(self.key))
    }
}
