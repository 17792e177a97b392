//! `Residency`: the options of a resident data set; `ResidentSize`: the memory that it takes. Types and arithmetic.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use tarflume_image::row_header::Format;
use tarflume_types::Size;

use crate::decode::hybrid::pictures::PictureStorage;
use tarflume_transforms::text_form::{Named, text_in_serde};
use tarflume_types::{Error, Result};

text_in_serde!(Residency);

/// How a data set stays in the memory of a device; see [`DeviceLoaderBuilder::resident`](crate::DeviceLoaderBuilder::resident).
///
/// ```
/// use tarflume::Residency;
///
/// // Pictures of 256 x 256 pixels at most, as planes of luma and chroma.
/// let residency = Residency::within("100GiB".parse()?).side(256).yuv420();
/// assert_eq!(residency.to_string(), "100GiB, side 256, yuv420");
/// assert_eq!("100GiB, yuv420".parse::<Residency>()?, residency);
/// # Ok::<(), tarflume::Error>(())
/// ```
///
/// Serde has this text, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Residency {
    pub(crate) budget: Size,
    pub(crate) storage: PictureStorage,
    pub(crate) compressed: bool,
}

impl Residency {
    /// The data set takes at most `budget` of the device's memory. Each picture has at most 256 x 256 pixels, in its own
    /// shape, as RGB.
    pub fn within(budget: Size) -> Residency {
        let storage = PictureStorage { side: 256, format: Format::Pixels };
        Residency { budget, storage, compressed: false }
    }

    /// Pictures are scaled down until they have at most `side * side` pixels, and never up. An epoch crops the scaled
    /// pictures.
    #[must_use]
    pub fn side(mut self, side: u32) -> Self {
        self.storage.side = side;
        self
    }

    /// Pictures are kept as JPEGs, and the device's own decoder decodes those of each batch. JPEGs that it does not support
    /// (progressive, turned by EXIF, of four components, longer than 256 KiB or of more than 1 MiB when decoded) are kept as
    /// pixels within [`Residency::side`].
    ///
    /// Beside the budget the device has room for two batches of decoded pictures: 2 MiB for each row.
    #[must_use]
    pub fn compressed(mut self) -> Self {
        self.storage.format = Format::Pixels;
        self.compressed = true;
        self
    }

    /// Pictures of three channels are kept as planes of luma and, at half the resolution, chroma: half the bytes of RGB, and
    /// the format of most JPEGs.
    #[must_use]
    pub fn yuv420(mut self) -> Self {
        self.storage.format = Format::Yuv420;
        self
    }
}

impl fmt::Display for Residency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, side {}", self.budget, self.storage.side)?;
        if self.compressed {
            f.write_str(", compressed")?;
        }
        match self.storage.format {
            Format::Yuv420 => f.write_str(", yuv420"),
            _ => Ok(()),
        }
    }
}

impl FromStr for Residency {
    type Err = Error;

    /// Reads the budget, and what is not as in [`Residency::within`]: `40GiB`, `40GiB, side 160, yuv420`,
    /// `40GiB, compressed`.
    ///
    /// # Errors
    /// Returns an error for any other text.
    fn from_str(text: &str) -> Result<Residency> {
        parsed(text).ok_or_else(|| {
            Error::usage(format!(
                "'{text}' is no way to keep a data set in device memory; write '40GiB', '40GiB, side 256, yuv420' or \
                 '40GiB, compressed'"
            ))
        })
    }
}

fn parsed(text: &str) -> Option<Residency> {
    let (budget, mut named) = Named::split(text);
    let mut residency = Residency::within(budget.parse().ok()?);
    if let Some(side) = named.take("side") {
        residency = residency.side(side.parse().ok()?);
    }
    if named.take_word("compressed") {
        residency = residency.compressed();
    }
    if named.take_word("yuv420") {
        residency = residency.yuv420();
    }
    named.is_empty().then_some(residency)
}

/// The device memory that a resident data set takes.
///
/// ```no_run
/// use tarflume::{Device, Loader, RandomResizedCrop, Residency};
///
/// # fn main() -> tarflume::Result<()> {
/// let loader = Loader::builder("shards/")
///     .image("jpg", RandomResizedCrop::new(224))
///     .device(Device::cuda(0)?)
///     .resident(Residency::within("40GiB".parse()?))
///     .build()?;
/// if let Some(size) = loader.resident() {
///     println!("{} samples take {} bytes of {} that are free", size.samples, size.bytes(), size.free);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ResidentSize {
    /// Resident samples.
    pub samples: u64,
    /// Bytes of each, without the columns that are kept as JPEGs.
    pub sample_bytes: u64,
    /// Bytes of all pictures that are kept as JPEGs, from the sidecars.
    pub jpeg_bytes: u64,
    /// The budget in bytes.
    pub budget: u64,
    /// Bytes that were free on the device when the loader was built.
    pub free: u64,
    /// Bytes of the device's memory.
    pub total: u64,
}

impl ResidentSize {
    /// Bytes of all samples.
    pub fn bytes(&self) -> u64 {
        self.samples.saturating_mul(self.sample_bytes).saturating_add(self.jpeg_bytes)
    }
}

impl fmt::Display for ResidentSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} samples of {} bytes{} are {}, of {} allowed and {} free of the device's {}",
            self.samples,
            self.sample_bytes,
            match self.jpeg_bytes {
                0 => String::new(),
                bytes => format!(" and {bytes} bytes of JPEGs"),
            },
            Size::new(self.bytes()).about(),
            Size::new(self.budget),
            Size::new(self.free).about(),
            Size::new(self.total).about()
        )
    }
}
