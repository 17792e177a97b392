//! Checks the content of parts: one module per type of content, one result type.
//!
//! Pure: takes bytes, returns a finding.

mod constant;
mod fault;
mod image;
mod jpeg;
mod json;
pub mod objects;
mod part;
pub mod sniff;
mod tray;

use tarflume_foreign::parts::PartKind;
use tarflume_formats::TarReader;
use tarflume_formats::json::JsonRules;
use tarflume_jpeg::Header;

pub use tarflume_image::ImageSize;

pub use self::constant::is_constant_jpeg;
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
    /// A part whose structure level decode checks.
    Part(PartKind),
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
    /// True for a decoded picture of several pixels which are all equal.
    pub is_constant: bool,
    /// Why the part was not looked into, although its extension has a check: a variant that the check does not know.
    pub unread: Option<&'static str>,
}

impl CheckedPart {
    fn of(dimensions: Option<ImageSize>) -> CheckedPart {
        CheckedPart { dimensions, codes: None, is_constant: false, unread: None }
    }

    fn jpeg(header: Header) -> CheckedPart {
        let dimensions = Some(jpeg::size(&header));
        CheckedPart {
            codes: jpeg::is_read(&header).then_some(header),
            ..CheckedPart::of(dimensions)
        }
    }
}

impl Content {
    /// Returns the content type of an extension, by its last component: `seg.png` is a PNG.
    pub fn of(ext: &[u8]) -> Content {
        let last = ext.rsplit(|&b| b == b'.').next().unwrap_or(ext);
        let mut lower = [0; 11]; // no known extension is longer
        let Some(lower) = lower.get_mut(..last.len()) else { return Content::Other };
        lower.copy_from_slice(last);
        lower.make_ascii_lowercase();
        match &*lower {
            b"jpg" | b"jpeg" | b"jfif" | b"jpe" | b"mpo" => Content::Jpeg,
            b"png" | b"webp" | b"gif" | b"bmp" | b"tif" | b"tiff" | b"ppm" | b"pgm" | b"pbm"
            | b"pnm" => Content::Image,
            b"json" => Content::Json,
            lower => PartKind::of(lower).map_or(Content::Other, Content::Part),
        }
    }

    /// Returns true for images.
    #[inline]
    pub fn is_image(self) -> bool {
        matches!(self, Content::Jpeg | Content::Image)
    }

    /// Returns true if a check at `level` reads the part.
    pub fn is_read_at(self, level: CheckLevel) -> bool {
        match self {
            Content::Other => false,
            Content::Part(_) => level == CheckLevel::Decode,
            Content::Jpeg | Content::Image | Content::Json => level != CheckLevel::None,
        }
    }

    /// Returns true if a part of so many bytes is read whole while it is packed: for its check at `level`, or for the
    /// objects in JSON and pictures. A longer part of another kind is packed in pieces, and not checked.
    pub fn is_looked_at(self, level: CheckLevel, objects: bool, bytes: u64) -> bool {
        match self {
            Content::Part(_) => self.is_read_at(level) && bytes <= TarReader::MAX_WHOLE,
            _ => self.is_read_at(level) || (objects && self != Content::Other),
        }
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
            (Content::Image, _) => return image::decode(bytes, level),
            (Content::Part(kind), CheckLevel::Decode) => return part::check(kind, bytes, rules),
            (Content::Part(_), _) => None,
        };
        Ok(CheckedPart::of(dimensions))
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
                Ok(CheckedPart::of(Some(image::header(bytes)?)))
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
