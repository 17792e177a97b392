//! Is a part's content whole? One module a kind of content, one result for all.
//!
//! Pure: bytes in, finding out. Until the project has a JPEG decoder of its own, libraries decode.

mod entropy;
mod fault;
mod image;
mod jpeg;
mod json;

pub use self::fault::{CheckLevel, Dimensions, Fault};

/// What an extension says about content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// A JPEG.
    Jpeg,
    /// PNG, WebP, GIF, BMP or TIFF.
    Image,
    /// JSON.
    Json,
    /// Anything else: not looked at.
    Other,
}

/// Extensions that count as an image where `image` is required.
pub const IMAGE_EXTS: [&str; 8] = ["jpg", "jpeg", "png", "webp", "gif", "bmp", "tif", "tiff"];

impl Content {
    /// What an extension promises, by its last component: `seg.png` is a PNG.
    pub fn of(ext: &[u8]) -> Content {
        let last = ext.rsplit(|&b| b == b'.').next().unwrap_or(ext).to_ascii_lowercase();
        match last.as_slice() {
            b"jpg" | b"jpeg" => Content::Jpeg,
            b"png" | b"webp" | b"gif" | b"bmp" | b"tif" | b"tiff" => Content::Image,
            b"json" => Content::Json,
            _ => Content::Other,
        }
    }

    /// True for images.
    pub fn is_image(self) -> bool {
        matches!(self, Content::Jpeg | Content::Image)
    }

    /// Looks at `bytes` and gives the dimensions if they are an image's.
    ///
    /// # Errors
    /// The first fault found.
    pub fn check(self, bytes: &[u8], level: CheckLevel) -> Result<Option<Dimensions>, Fault> {
        match (self, level) {
            (Content::Other, _) => Ok(None),
            (Content::Json, CheckLevel::None) => Ok(None),
            (Content::Json, _) => json::check(bytes).map(|()| None),
            (Content::Jpeg | Content::Image, CheckLevel::None) => Ok(self.dimensions(bytes)),
            (Content::Jpeg, _) => {
                let dimensions = jpeg::check(bytes)?;
                if level == CheckLevel::Decode {
                    entropy::check(bytes)?;
                    image::decode_jpeg(bytes, dimensions)?;
                }
                Ok(Some(dimensions))
            }
            (Content::Image, CheckLevel::Structure) => image::header(bytes).map(Some),
            (Content::Image, CheckLevel::Decode) => image::decode(bytes).map(Some),
        }
    }

    /// The dimensions of an image, if its header can be read; nothing else is checked.
    pub fn dimensions(self, bytes: &[u8]) -> Option<Dimensions> {
        match self {
            Content::Jpeg => jpeg::dimensions(bytes),
            Content::Image => image::header(bytes).ok(),
            _ => None,
        }
    }
}
