//! `PictureKind`: format, coding and colors of a picture, from its first bytes.

use tarflume_base::Failure;
use tarflume_base::check::{Content, objects};
use tarflume_formats::index::Part;
use tarflume_jpeg::Header;

use super::shard_parts::ShardParts;
use tarflume_formats::IMAGE_EXTS;

/// Bytes that are read first, and then if the header is longer: APP segments can precede it.
const FIRST: u64 = 4096;
const MOST: u64 = 512 * 1024;

/// What a header says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PictureKind {
    /// JPEG, PNG, WebP, GIF, BMP, TIFF, Netpbm.
    pub(crate) format: &'static str,
    /// Of a JPEG: baseline, extended or progressive.
    pub(crate) coding: Option<&'static str>,
    /// Of a JPEG: gray, YCbCr, RGB, CMYK or YCCK.
    pub(crate) colors: Option<&'static str>,
    /// Width and height in pixels, of a JPEG.
    pub(crate) size: Option<(u32, u32)>,
    /// Whether its EXIF orientation exchanges width and height.
    pub(crate) is_turned: bool,
}

impl PictureKind {
    /// Returns the kind as pictures of all sizes have it.
    pub(crate) fn without_size(self) -> PictureKind {
        PictureKind { size: None, is_turned: false, ..self }
    }
}

/// The result of a look at a picture.
#[derive(Debug)]
pub(crate) enum Looked {
    Known(PictureKind),
    /// Its header cannot be read.
    Bad,
    /// Its bytes differ from their checksum.
    Damaged,
}

/// Returns true if the last component of an extension is that of a picture.
pub(crate) fn is_picture(ext: &[u8]) -> bool {
    matches!(Content::of(ext), Content::Jpeg | Content::Image)
}

/// Returns true for a picture of regions: `mask.png`, `seg.png`.
pub(crate) fn is_mask(ext: &[u8]) -> bool {
    is_picture(ext) && objects::is_mask(ext)
}

/// Looks at the header of a picture.
///
/// # Errors
/// Returns an error if the machine fails.
pub(crate) fn look(parts: &ShardParts<'_>, part: &Part<'_>) -> Result<Looked, Failure> {
    for most in [FIRST, MOST] {
        let bytes = match parts.read(part, most)? {
            Ok(bytes) => bytes,
            Err(_) => return Ok(Looked::Damaged),
        };
        match kind_of(&bytes) {
            Ok(kind) => return Ok(Looked::Known(kind)),
            Err(_) if part.length <= most => return Ok(Looked::Bad),
            Err(_) => {}
        }
    }
    Ok(Looked::Bad)
}

fn kind_of(bytes: &[u8]) -> Result<PictureKind, String> {
    if bytes.starts_with(&[0xff, 0xd8]) {
        let header = Header::parse(bytes).map_err(|e| e.text().to_string())?;
        let coding = if header.is_progressive() {
            "progressive"
        } else if header.is_baseline() {
            "baseline"
        } else {
            "extended"
        };
        let colors = match (header.channels(), header.is_luma_first()) {
            (1, _) => "gray",
            (4, true) => "YCCK",
            (4, false) => "CMYK",
            (_, true) => "YCbCr",
            (_, false) => "RGB",
        };
        let size = Some((header.width(), header.height()));
        let is_turned = header.orientation().is_some_and(|turn| (5..=8).contains(&turn));
        return Ok(PictureKind {
            format: "JPEG",
            coding: Some(coding),
            colors: Some(colors),
            size,
            is_turned,
        });
    }
    let format = match bytes {
        [0x89, b'P', b'N', b'G', ..] => "PNG",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "WebP",
        [b'G', b'I', b'F', b'8', ..] => "GIF",
        [b'B', b'M', ..] => "BMP",
        [b'P', b'1'..=b'6', next, ..] if next.is_ascii_whitespace() => "Netpbm",
        [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] => "TIFF",
        _ => {
            return Err(format!("its first bytes are those of none of {}", IMAGE_EXTS.join(", ")));
        }
    };
    Ok(PictureKind { format, coding: None, colors: None, size: None, is_turned: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarflume_fixtures::{Photo, PhotoKind};

    #[test]
    fn kinds_come_from_the_first_bytes() {
        for (kind, coding, colors) in [
            (PhotoKind::Yuv420, "baseline", "YCbCr"),
            (PhotoKind::Progressive, "progressive", "YCbCr"),
            (PhotoKind::Gray, "baseline", "gray"),
        ] {
            let found = kind_of(&Photo::new(40, 30, kind).encode(1).unwrap()).unwrap();
            assert_eq!((found.coding, found.colors), (Some(coding), Some(colors)), "{kind:?}");
            assert_eq!(found.size, Some((40, 30)));
        }
        let cmyk = kind_of(&Photo::new(40, 30, PhotoKind::Cmyk).encode(1).unwrap()).unwrap();
        assert!(cmyk.colors.is_some_and(|colors| ["CMYK", "YCCK"].contains(&colors)), "{cmyk:?}");
        assert_eq!(kind_of(b"\x89PNG\r\n").unwrap().format, "PNG");
        assert!(kind_of(b"plain text").is_err());
    }

    #[test]
    fn masks_are_pictures_with_a_word_for_regions() {
        assert!(
            is_mask(b"mask.png")
                && is_mask(b"image_seg.png")
                && is_mask(b"labels.tif")
                && is_mask(b"panoptic.png")
        );
        assert!(!is_mask(b"jpg") && !is_mask(b"mask.json") && !is_mask(b"segments.jpg"));
    }
}
