//! `PictureFormat`: which format a file has, and whether this program decodes it.

use tarflume_types::{Error, ErrorKind, left_out};

/// A format of pictures other than JPEG.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PictureFormat {
    Bmp,
    Gif,
    Png,
    Pnm,
    Tiff,
    WebP,
}

impl PictureFormat {
    /// Detects the format from the first bytes of a file.
    pub(super) fn of(bytes: &[u8]) -> Option<PictureFormat> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(PictureFormat::Png),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(PictureFormat::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => {
                Some(PictureFormat::WebP)
            }
            [b'M', b'M', 0, b'*', ..] | [b'I', b'I', b'*', 0, ..] => Some(PictureFormat::Tiff),
            [b'B', b'M', ..] => Some(PictureFormat::Bmp),
            [b'P', b'1'..=b'6', next, ..] if next.is_ascii_whitespace() || *next == b'#' => {
                Some(PictureFormat::Pnm)
            }
            _ => None,
        }
    }

    /// True if this program was compiled with the feature of the format.
    pub(super) fn is_compiled(self) -> bool {
        match self {
            PictureFormat::Bmp => cfg!(feature = "bmp"),
            PictureFormat::Gif => cfg!(feature = "gif"),
            PictureFormat::Png => cfg!(feature = "png"),
            PictureFormat::Pnm => true,
            PictureFormat::Tiff => cfg!(feature = "tiff"),
            PictureFormat::WebP => cfg!(feature = "webp"),
        }
    }

    /// The error of a picture in a program without the feature of its format.
    pub(super) fn left_out(self) -> Error {
        let name = match self {
            PictureFormat::Bmp => "BMP",
            PictureFormat::Gif => "GIF",
            PictureFormat::Png => "PNG",
            PictureFormat::Pnm => "Netpbm",
            PictureFormat::Tiff => "TIFF",
            PictureFormat::WebP => "WebP",
        };
        left_out(
            ErrorKind::Unsupported,
            &format!("the decoder for {name}"),
            &name.to_ascii_lowercase(),
        )
    }
}

#[cfg(test)]
mod tests {
    use image::ImageFormat;

    use super::*;

    #[test]
    fn netpbm_is_a_letter_a_digit_and_a_blank() {
        for bytes in [&b"P6\n3 2"[..], b"P1#", b"P5 "] {
            assert_eq!(PictureFormat::of(bytes), Some(PictureFormat::Pnm));
        }
        assert!(
            [&b"P7\n"[..], b"P6", b"PK\x03"].iter().all(|bytes| PictureFormat::of(bytes).is_none())
        );
    }

    #[test]
    fn formats_are_recognized_as_the_image_crate_does_and_a_missing_one_names_its_feature() {
        let formats = [
            (PictureFormat::Bmp, ImageFormat::Bmp, "bmp"),
            (PictureFormat::Gif, ImageFormat::Gif, "gif"),
            (PictureFormat::Png, ImageFormat::Png, "png"),
            (PictureFormat::Tiff, ImageFormat::Tiff, "tiff"),
            (PictureFormat::WebP, ImageFormat::WebP, "webp"),
        ];
        for (format, theirs, feature) in formats {
            let mut bytes = std::io::Cursor::new(Vec::new());
            image::DynamicImage::new_rgb8(3, 2).write_to(&mut bytes, theirs).unwrap();
            let bytes = bytes.into_inner();
            assert_eq!(PictureFormat::of(&bytes), Some(format));
            // Each shorter beginning, too: neither program may see a format where the other sees none.
            for length in 0..16 {
                let found = image::guess_format(&bytes[..length]).is_ok();
                assert_eq!(
                    PictureFormat::of(&bytes[..length]).is_some(),
                    found,
                    "{feature} {length}"
                );
            }
            let error = format.left_out();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            let line = format!("features = [\"{feature}\"] }}");
            assert!(error.text().ends_with(&line), "{error}");
            assert!(format.is_compiled(), "tests have the default features");
        }
    }
}
