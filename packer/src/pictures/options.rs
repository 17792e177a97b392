//! `Preparation`: what is done to images; a part of the plan, because it determines bytes.

use std::fmt;

use serde::{Deserialize, Serialize};
use tarflume_formats::ObjectTable;
use tarflume_image::ImageSize;

/// Default of the quality of JPEGs that are encoded.
pub(super) const QUALITY: u8 = 90;

/// The limit of a side in pixels.
const LONGEST: u32 = 65_535;

/// The size to which larger images are reduced. Nothing is enlarged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ResizeTo {
    /// The shorter side, in pixels; the ratio of the sides is kept.
    Short(u32),
    /// The longer side, in pixels; the ratio of the sides is kept.
    Long(u32),
    /// Width and height in pixels; the ratio is not kept. A side that is shorter stays as it is.
    Exact(u32, u32),
}

impl ResizeTo {
    /// Parses `short:320`, `long:512` or `256x256`.
    ///
    /// # Errors
    /// Returns the forms that are known.
    pub fn parse(text: &str) -> Result<ResizeTo, String> {
        let parsed = match (text.split_once(':'), text.split_once('x')) {
            (Some(("short", pixels)), _) => side(pixels).map(ResizeTo::Short),
            (Some(("long", pixels)), _) => side(pixels).map(ResizeTo::Long),
            (None, Some((width, height))) => {
                side(width).zip(side(height)).map(|(width, height)| ResizeTo::Exact(width, height))
            }
            _ => None,
        };
        parsed.ok_or_else(|| {
            format!(
                "'{text}' is no size; give short:320, long:512 or 256x256, of 1 to 65535 pixels"
            )
        })
    }

    /// Returns the size of an upright image of this size after it is reduced.
    pub fn of(self, size: ImageSize) -> ImageSize {
        let ImageSize { width, height } = size;
        let (from, to) = match self {
            ResizeTo::Exact(w, h) => return ImageSize::new(width.min(w), height.min(h)),
            ResizeTo::Short(side) => (width.min(height), side),
            ResizeTo::Long(side) => (width.max(height), side),
        };
        if from <= to {
            return size;
        }
        let from = u64::from(from);
        let to = u64::from(to);
        ImageSize::new(scaled(width, to, from), scaled(height, to, from))
    }
}

/// Returns a side that is scaled by `to / from`, rounded to nearest.
fn scaled(side: u32, to: u64, from: u64) -> u32 {
    ((u64::from(side) * to * 2 + from) / (2 * from)).max(1) as u32
}

impl fmt::Display for ResizeTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResizeTo::Short(side) => write!(f, "short:{side}"),
            ResizeTo::Long(side) => write!(f, "long:{side}"),
            ResizeTo::Exact(width, height) => write!(f, "{width}x{height}"),
        }
    }
}

impl TryFrom<String> for ResizeTo {
    type Error = String;

    fn try_from(text: String) -> Result<ResizeTo, String> {
        ResizeTo::parse(&text)
    }
}

impl From<ResizeTo> for String {
    fn from(resize: ResizeTo) -> String {
        resize.to_string()
    }
}

/// Reads the pixels of a side; `None` if the text is not 1 to [`LONGEST`].
fn side(text: &str) -> Option<u32> {
    text.parse().ok().filter(|side| (1..=LONGEST).contains(side))
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_usual(quality: &u8) -> bool {
    *quality == QUALITY
}

fn usual() -> u8 {
    QUALITY
}

/// What is done to images. The default does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preparation {
    /// Larger images are reduced to this size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resize: Option<ResizeTo>,
    /// The quality of JPEGs that are encoded, 1 to 100; 90 by default.
    #[serde(default = "usual", skip_serializing_if = "is_usual")]
    pub quality: u8,
    /// JPEGs lose all metadata that change no pixel.
    #[serde(default, skip_serializing_if = "is_false")]
    pub strip_metadata: bool,
    /// Images are turned upright.
    #[serde(default, skip_serializing_if = "is_false")]
    pub orient: bool,
    /// JPEGs get optimal Huffman tables if that makes them smaller.
    #[serde(default, skip_serializing_if = "is_false")]
    pub optimize: bool,
    /// JPEGs of several scans become baseline.
    #[serde(default, skip_serializing_if = "is_false")]
    pub baseline: bool,
    /// PNG and WebP become JPEG.
    #[serde(default, skip_serializing_if = "is_false")]
    pub to_jpeg: bool,
    /// The sample's JSON gets the sizes before and after.
    #[serde(default, skip_serializing_if = "is_false")]
    pub keep_original_size: bool,
}

impl Default for Preparation {
    fn default() -> Preparation {
        Preparation {
            resize: None,
            quality: QUALITY,
            strip_metadata: false,
            orient: false,
            optimize: false,
            baseline: false,
            to_jpeg: false,
            keep_original_size: false,
        }
    }
}

impl Preparation {
    /// Returns true if no image changes and no size is noted.
    pub fn is_nothing(&self) -> bool {
        Preparation { quality: QUALITY, ..*self } == Preparation::default()
    }

    /// Returns true if coordinates of this form belong to other pixels after it.
    pub(crate) fn misplaces(&self, objects: &ObjectTable) -> bool {
        self.resize.is_some() && !objects.relative
    }

    /// Returns true if JPEGs are written again without a change of their pixels.
    pub(super) fn rewrites(&self) -> bool {
        self.optimize || self.baseline || self.strip_metadata
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed_and_shown() {
        for text in ["short:320", "long:512", "256x192", "1x65535"] {
            assert_eq!(ResizeTo::parse(text).unwrap().to_string(), text);
        }
        for text in
            ["", "320", "short:0", "short:", "long:65536", "axb", "3x", "wide:3", "short:3x4"]
        {
            assert!(ResizeTo::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn larger_images_are_reduced_and_smaller_ones_stay() {
        fn of(text: &str, size: ImageSize) -> (u32, u32) {
            let ImageSize { width, height } = ResizeTo::parse(text).unwrap().of(size);
            (width, height)
        }
        let size = ImageSize::new(640, 480);
        assert_eq!(of("short:320", size), (427, 320));
        assert_eq!(of("short:320", size.transposed()), (320, 427));
        assert_eq!(of("long:320", size), (320, 240));
        assert_eq!(of("256x128", size), (256, 128));
        assert_eq!(of("256x128", ImageSize::new(640, 100)), (256, 100), "a shorter side stays");
        assert_eq!(of("long:10", ImageSize::new(60_000, 1)), (10, 1), "no side is 0");
        for text in ["short:320", "long:640", "640x480"] {
            assert_eq!(of(text, ImageSize::new(640, 320)), (640, 320), "{text}");
        }
    }

    #[test]
    fn options_are_short_in_the_plan_and_unknown_ones_are_refused() {
        let resize = Some(ResizeTo::Short(320));
        let preparation = Preparation { resize, orient: true, ..Preparation::default() };
        let text = serde_json::to_string(&preparation).unwrap();
        assert_eq!(text, r#"{"resize":"short:320","orient":true}"#);
        assert_eq!(serde_json::from_str::<Preparation>(&text).unwrap(), preparation);
        assert!(serde_json::from_str::<Preparation>(r#"{"sharpen":true}"#).is_err());
        assert!(Preparation { quality: 3, ..Preparation::default() }.is_nothing());
        assert!(!preparation.is_nothing());
    }
}
