//! Checks the content of parts: one module per type of content, one result type.
//!
//! Pure: takes bytes, returns a finding.

mod fault;
mod image;
mod jpeg;
mod json;
pub mod objects;
pub mod sniff;
mod tray;

use tarflume_formats::json::JsonRules;
use tarflume_jpeg::Header;

pub use tarflume_image::ImageSize;

pub use self::fault::CheckLevel;
pub use self::fault::Fault;
pub use self::tray::{LARGE, ReadJpeg, Tray, strips_of};

/// The type of content that an extension implies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// A JPEG.
    Jpeg,
    /// PNG, WebP, GIF, BMP, TIFF or Netpbm.
    Image,
    /// JSON.
    Json,
    /// Anything else; not checked.
    Other,
}

/// The result of a check of one part.
#[derive(Debug)]
pub struct CheckedPart {
    /// Width and height, if it is an image.
    pub dimensions: Option<ImageSize>,
    /// The header of a JPEG whose Huffman codes a [`Tray`] can read; `check` has not read them.
    pub codes: Option<Header>,
}

impl CheckedPart {
    fn jpeg(header: Header) -> CheckedPart {
        let dimensions = Some(jpeg::size(&header));
        CheckedPart { dimensions, codes: jpeg::is_read(&header).then_some(header) }
    }
}

impl Content {
    /// Returns the content type of an extension, by its last component: `seg.png` is a PNG.
    pub fn of(ext: &[u8]) -> Content {
        let last = ext.rsplit(|&b| b == b'.').next().unwrap_or(ext);
        let mut lower = [0; 4]; // no known extension is longer
        let Some(lower) = lower.get_mut(..last.len()) else { return Content::Other };
        lower.copy_from_slice(last);
        lower.make_ascii_lowercase();
        match &*lower {
            b"jpg" | b"jpeg" | b"jfif" | b"jpe" | b"mpo" => Content::Jpeg,
            b"png" | b"webp" | b"gif" | b"bmp" | b"tif" | b"tiff" | b"ppm" | b"pgm" | b"pbm"
            | b"pnm" => Content::Image,
            b"json" => Content::Json,
            _ => Content::Other,
        }
    }

    /// Returns true for images.
    #[inline]
    pub fn is_image(self) -> bool {
        matches!(self, Content::Jpeg | Content::Image)
    }

    /// Checks `bytes` at `level`, JSON by `rules`, except for the Huffman codes of JPEGs, which a `Tray` reads.
    ///
    /// # Errors
    /// Returns the first fault found.
    pub fn check(
        self,
        bytes: &[u8],
        level: CheckLevel,
        rules: JsonRules,
    ) -> Result<CheckedPart, Fault> {
        let dimensions = match (self, level) {
            (Content::Other, _) | (Content::Json, CheckLevel::None) => None,
            (Content::Json, _) => json::check(bytes, rules).map(|()| None)?,
            (Content::Jpeg | Content::Image, CheckLevel::None) => self.dimensions(bytes),
            (Content::Jpeg, _) => return jpeg::look(bytes, level).map(CheckedPart::jpeg),
            // The content decides the format, as in the reader.
            (Content::Image, _) if is_jpeg(bytes) => {
                return jpeg::look(bytes, level).map(CheckedPart::jpeg);
            }
            (Content::Image, _) => image::decode(bytes, level).map(Some)?,
        };
        Ok(CheckedPart { dimensions, codes: None })
    }

    /// Checks bytes that were decoded when they were packed first, as a checksum confirms: level
    /// structure does not decode them again.
    ///
    /// # Errors
    /// Returns the first fault found.
    pub fn check_again(
        self,
        bytes: &[u8],
        level: CheckLevel,
        rules: JsonRules,
    ) -> Result<CheckedPart, Fault> {
        match (self, level) {
            (Content::Image, CheckLevel::Structure) if !is_jpeg(bytes) => {
                Ok(CheckedPart { dimensions: Some(image::header(bytes)?), codes: None })
            }
            _ => self.check(bytes, level, rules),
        }
    }

    /// Returns the dimensions of an image if its header can be parsed; checks nothing else.
    pub fn dimensions(self, bytes: &[u8]) -> Option<ImageSize> {
        match self {
            Content::Jpeg => jpeg::dimensions(bytes),
            Content::Image if is_jpeg(bytes) => jpeg::dimensions(bytes),
            Content::Image => image::header(bytes).ok(),
            _ => None,
        }
    }
}

/// Returns true if bytes begin as those of a JPEG do.
#[inline]
pub fn is_jpeg(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xff, 0xd8])
}
