//! `Decode`: converts the parts of a sample into one row of a batch.
//!
//! The trait and its argument types. Nothing here reads files, starts threads or knows of batches.

pub(crate) mod bytes;
pub(crate) mod costs;
pub(crate) mod from_fn;
pub(crate) mod hybrid;
mod jpeg;
pub(crate) mod json;
pub(crate) mod numbers;
pub(crate) mod pictures;
pub(crate) mod resident;
mod scratch;
pub(crate) mod texts;
pub(crate) mod values;

use std::any::Any;
use std::sync::Arc;

use tarflume_dataset::StoredValues;
use tarflume_formats::ClassTable;
use tarflume_image::convert::Finish;
use tarflume_image::row_header::Format;
use tarflume_image::{ImageSize, StoredPicture, StoredRegion, Transform};
use tarflume_jpeg::Scale;
use tarflume_transforms::{Interpolation, Recipe};
use tarflume_types::{Result, Row, RowShape};

use crate::decode::hybrid::balance::DeviceShare;
use crate::decode::hybrid::pictures::{ChangedPictures, PictureStorage, StoredChanges};
use crate::decode::hybrid::request::{DecodeRequest, DecodedBy, OffloadRequest};
use crate::decode::values::on_picture::OnPicture;
use crate::decode::values::pack_columns::PackColumns;
use crate::decode::values::picture_buckets::PictureBuckets;

pub(crate) use self::scratch::Memory;
pub use self::scratch::Scratch;
pub use self::values::on_picture::ObjectRows;
pub use self::values::sample::Sample;

/// Turns the parts of a sample into one row of a column.
///
/// One value serves all threads. A thread keeps what it needs between samples in its [`Scratch`].
///
/// `parts`, `shape` and `decode` are required. `room` bounds a variable row, `validate` checks parameters, `optional` accepts
/// a missing part, `group` and `prepare` see several samples, and `wants_entry_points` requests the entry points of JPEGs.
///
/// ```
/// use tarflume::{DType, Decode, Loader, Result, Row, RowShape, Sample, Scratch};
///
/// /// The length of a part in bytes.
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
///
/// # fn main() -> Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).column("length", Length("txt")).batch(4).build()?;
/// for batch in loader.epoch(0) {
///     let batch = batch?;
///     let lengths = batch.column("length")?.elements::<u64>()?; // "photo 0" has seven bytes
///     assert_eq!(lengths.iter().min(), Some(&7));
///     # break;
/// }
/// # Ok(())
/// # }
/// ```
pub trait Decode: Send + Sync + 'static {
    /// The extensions that it needs. A sample must have one part for each entry; of the alternatives in an entry the
    /// first that exists is taken. `["jpg;jpeg;png"]` needs one of three, `["jpg", "json"]` needs both.
    fn parts(&self) -> Vec<String>;

    /// What each row holds.
    fn shape(&self) -> RowShape;

    /// True if a part that a sample lacks is passed as no bytes under an empty extension. By default such a sample is
    /// bad.
    fn optional(&self) -> bool {
        false
    }

    /// Checks the parameters. Called once, before anything is read.
    ///
    /// # Errors
    /// A parameter is impossible; the text names what is possible.
    fn validate(&self) -> Result<()> {
        Ok(())
    }

    /// The most bytes of a variable row, from the length of each needed part in bytes. By default their sum.
    fn room(&self, lengths: &[u64]) -> u64 {
        lengths.iter().sum()
    }

    /// How many samples [`Decode::prepare`] gets at once.
    fn group(&self) -> usize {
        1
    }

    /// Called before [`Decode::decode`] with the next samples in order, up to [`Decode::group`] of them, and the same
    /// scratch. What is cheaper for several samples at once may be computed here and kept in the scratch. The rows must
    /// not depend on it. [`Decode::decode`] returns the error of a sample that can't be prepared.
    fn prepare(&self, samples: &[Sample<'_>], scratch: &mut Scratch) {
        let _ = (samples, scratch);
    }

    /// Writes the row. It may depend on the sample and on random numbers of [`Sample::seed`], and on nothing else: then
    /// threads, ranks and resumes do not change it.
    ///
    /// # Errors
    /// The part can't be decoded. The text says why; the caller adds path, byte and key. Errors of [`Scratch`] and of
    /// decoders that this one wraps are returned, or are the source of the error: the loader reads there whether the
    /// decoder is at fault, or an excerpt of the part.
    fn decode(&self, sample: &Sample<'_>, row: Row<'_>, scratch: &mut Scratch) -> Result<()>;

    /// True if [`Sample::entry_points`] shall have the entry points of JPEGs whose sidecar has them. A decoder that
    /// passes samples on to another decoder returns what that one returns.
    fn wants_entry_points(&self) -> bool {
        false
    }

    /// What decoders of this crate offer to devices and to the plan of reads. Other decoders cannot implement it.
    #[doc(hidden)]
    fn hooks(&self) -> Option<&dyn DecodeHooks> {
        None
    }
}

/// What a decoder of this crate offers beside [`Decode`]. Each method has a default: nothing is offered. No other crate
/// can name this trait, so it can change in any release.
pub trait DecodeHooks {
    /// True if a row is the part as it is stored: statistics then call its writing copying, not decoding.
    fn copies(&self) -> bool {
        false
    }

    /// The part whose bytes are the rows, if the data set may describe their type and shape.
    fn undescribed(&self) -> Option<&str> {
        None
    }

    /// The extension and the JSON pointer of the one value that a row is made from, if sidecars may have it as a typed
    /// column.
    fn value_place(&self) -> Option<(&str, Option<&str>)> {
        None
    }

    /// The decoder that reads that value from the sidecars, with the same rows. `None`: the column's type may give others.
    fn with_values(&self, values: StoredValues) -> Option<Arc<dyn Decode>> {
        let _ = values;
        None
    }

    /// The decoder that numbers the names of classes as the table of the data set does. `None`: rows are no numbers of
    /// such names.
    fn with_classes(&self, classes: &ClassTable) -> Option<Arc<dyn Decode>> {
        let _ = classes;
        None
    }

    /// The decoder whose pictures have the sizes of buckets. `None`: rows do not depend on buckets.
    fn in_buckets(&self, of: &PictureBuckets) -> Option<Arc<dyn Decode>> {
        let _ = of;
        None
    }

    /// The decoder whose rows follow each other in packs. `None`: rows stay apart.
    fn in_packs(&self, of: PackColumns) -> Option<Arc<dyn Decode>> {
        let _ = of;
        None
    }

    /// True if a picture, or what lies on it, waits for the size of a bucket.
    fn lacks_bucket(&self) -> bool {
        false
    }

    /// The recipe of a column of pictures, if it has one.
    fn recipe(&self) -> Option<ColumnRecipe<'_>> {
        None
    }

    /// The names of the operations whose times a column measures, by their number.
    fn operations(&self) -> Vec<String> {
        self.recipe().map_or_else(Vec::new, |of| of.recipe.labels())
    }

    /// Which of the parts is a mask of the picture, whose size it has.
    fn mask_part(&self) -> Option<usize> {
        None
    }

    /// True if a recipe draws with boxes, and the column has none.
    fn lacks_boxes(&self) -> bool {
        false
    }

    /// What a row has of each object, if a row has any number of objects.
    fn objects(&self) -> Option<ObjectRows> {
        None
    }

    /// What the rows have of the picture of another column, if they lie on one.
    fn on_picture(&self) -> Option<OnPicture> {
        None
    }

    /// If rows are made from values in the sidecars: the extension of the part that they were copied from.
    fn copied_from(&self) -> Option<&str> {
        None
    }

    /// True if [`DecodeHooks::room_of`] gives a better bound than [`Decode::room`].
    fn wants_pixels(&self) -> bool {
        false
    }

    /// The most bytes of a variable row, from the length of each needed part and from the pixels of the picture in it, as far
    /// as sidecars have them. `None`: [`Decode::room`] is the bound.
    fn room_of(&self, lengths: &[u64], pixels: &[Option<u64>]) -> Option<u64> {
        let _ = (lengths, pixels);
        None
    }

    /// The region that a row is decoded from, if a row needs no other pixel of the JPEG and [`Sample::excerpts`] are
    /// used. `None`: the whole part is needed.
    fn region(&self, picture: &StoredPicture) -> Option<StoredRegion> {
        let _ = picture;
        None
    }

    /// True if [`DecodeHooks::region`] can return a region.
    fn takes_excerpts(&self) -> bool {
        false
    }

    /// Which of several parts [`DecodeHooks::region`] and entry points concern: the decoder needs the others whole. `None`:
    /// a decoder of several parts takes no excerpts.
    fn picture_part(&self) -> Option<usize> {
        None
    }

    /// The decoder as an `Image`, if it is one.
    fn as_image(&self) -> Option<&dyn Any> {
        None
    }

    /// The size of the pictures whose rows begin with a list of what a device does with their pixels. The mix of a row is
    /// written into its list.
    fn listed(&self) -> Option<ImageSize> {
        None
    }

    /// What the host still does if a device does the rest: pictures as u8 `[height, width, channels]`, and their
    /// conversion there, with the same bits as [`Decode::decode`]. `None`: the device saves nothing.
    fn for_device(&self) -> Option<ForDevice> {
        None
    }

    /// What stays on a device, and what an epoch makes of it there, if the data set is resident. `None`: rows of one
    /// length stay as they are.
    ///
    /// # Errors
    /// The device can't do it; the text names what it can do.
    fn for_resident(&self, storage: PictureStorage) -> Result<Option<ForResident>> {
        let _ = storage;
        Ok(None)
    }
}

/// The hooks of any decoder, or their defaults.
#[doc(hidden)]
impl dyn Decode {
    pub(crate) fn copies(&self) -> bool {
        self.hooks().is_some_and(DecodeHooks::copies)
    }

    pub(crate) fn for_device(&self) -> Option<ForDevice> {
        self.hooks().and_then(DecodeHooks::for_device)
    }

    pub(crate) fn for_resident(&self, storage: PictureStorage) -> Result<Option<ForResident>> {
        self.hooks().map_or(Ok(None), |hooks| hooks.for_resident(storage))
    }

    /// See [`DecodeHooks::wants_pixels`].
    pub fn wants_pixels(&self) -> bool {
        self.hooks().is_some_and(DecodeHooks::wants_pixels)
    }

    /// See [`DecodeHooks::objects`].
    pub fn objects(&self) -> Option<ObjectRows> {
        self.hooks().and_then(DecodeHooks::objects)
    }

    /// See [`DecodeHooks::lacks_bucket`].
    pub fn lacks_bucket(&self) -> bool {
        self.hooks().is_some_and(DecodeHooks::lacks_bucket)
    }

    /// See [`DecodeHooks::room_of`].
    pub fn room_of(&self, lengths: &[u64], pixels: &[Option<u64>]) -> u64 {
        let better = self.hooks().and_then(|hooks| hooks.room_of(lengths, pixels));
        better.unwrap_or_else(|| self.room(lengths))
    }
}

/// The recipe of a column; see [`DecodeHooks::recipe`].
pub struct ColumnRecipe<'a> {
    pub(crate) recipe: &'a Recipe,
    /// Of the pictures that it changes.
    pub(crate) channels: usize,
    /// The interpolation of the resize that is part of decoding, if the column has another than the recipe.
    pub(crate) interpolation: Option<Interpolation>,
    /// A column of what the draws of each row depend on.
    pub(crate) draws: Arc<dyn Decode>,
}

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

/// The part of a column's JPEGs that a device's decoder may take over.
pub struct SharedJpegs {
    pub(crate) share: DeviceShare,
    /// Size of the output.
    pub(crate) size: ImageSize,
    /// 1 or 3.
    pub(crate) channels: usize,
    pub(crate) decoder: DecodedBy,
    pub(crate) requests: Arc<dyn DecodeRequests>,
}

/// Computes what a column needs of each sample's JPEG.
pub(crate) trait DecodeRequests: Send + Sync {
    /// The request for a device decoder whose smallest scale is `least`. `None` if the part is not a JPEG, or
    /// is damaged, or needs something that only the host can do; the host then decodes it or reports the error.
    fn request(&self, sample: &Sample<'_>, least: Scale) -> Option<DecodeRequest>;

    /// The request for our kernels, in the same cases, and if the JPEG has entry points that are of its bytes. Their pixels
    /// then become the bytes that the host makes.
    fn offload(&self, sample: &Sample<'_>) -> Option<OffloadRequest>;
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
