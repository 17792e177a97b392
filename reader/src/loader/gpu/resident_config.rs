//! `Residency`: how a data set stays in a device's memory, and whether it fits. Words and arithmetic.

use std::fmt;

use crate::decode::Residing;
use crate::picture::row_header::Format;
use crate::size::Size;

/// How a data set stays in the memory of a device; see [`DeviceLoaderBuilder::resident`](crate::DeviceLoaderBuilder::resident).
///
/// ```
/// use tarflume::Residency;
///
/// // Pictures of 256 x 256 pixels at most, as planes of luma and chroma.
/// let residency = Residency::within("100GiB".parse()?).side(256).yuv420();
/// # Ok::<(), tarflume::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Residency {
    pub(crate) budget: Size,
    pub(crate) residing: Residing,
    pub(crate) compressed: bool,
}

impl Residency {
    /// The data set takes at most `budget` of the device's memory. Each picture has at most 256 x 256 pixels, in its own
    /// shape, as RGB.
    pub fn within(budget: Size) -> Residency {
        let residing = Residing { side: 256, format: Format::Pixels };
        Residency { budget, residing, compressed: false }
    }

    /// Pictures are made smaller until they have at most `side * side` pixels; what an epoch cuts out of
    /// them is cut out of that. They are never made larger.
    #[must_use]
    pub fn side(mut self, side: u32) -> Self {
        self.residing.side = side;
        self
    }

    /// Pictures stay as the JPEGs that they are, and the device's own decoder makes what each batch needs.
    /// Those that it does not take (progressive, turned by EXIF, of four components, longer than 256 KiB or
    /// of more than 1 MiB when decoded) stay decoded, as pixels within [`Residency::side`].
    ///
    /// Beside the budget the device has room for two batches of decoded pictures: 2 MiB for each row.
    #[must_use]
    pub fn compressed(mut self) -> Self {
        self.residing.format = Format::Pixels;
        self.compressed = true;
        self
    }

    /// Pictures of three channels stay as planes of luma and, at half the resolution, chroma: half the
    /// bytes, and what most JPEGs hold.
    #[must_use]
    pub fn yuv420(mut self) -> Self {
        self.residing.format = Format::Yuv420;
        self
    }
}

/// What a resident data set takes of a device's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResidentSize {
    /// Samples that stay.
    pub samples: u64,
    /// Bytes of each, without those that stay compressed.
    pub sample_bytes: u64,
    /// Bytes of all pictures that stay compressed, as the sidecars have them.
    pub jpeg_bytes: u64,
    /// The most bytes that were allowed.
    pub budget: u64,
    /// Bytes that were free on the device when the loader was built.
    pub free: u64,
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
            "{} samples of {} bytes{} are {}, of {} allowed and {} free",
            self.samples,
            self.sample_bytes,
            match self.jpeg_bytes {
                0 => String::new(),
                bytes => format!(" and {bytes} bytes of JPEGs"),
            },
            Size::new(self.bytes()).about(),
            Size::new(self.budget),
            Size::new(self.free).about()
        )
    }
}
