//! Finds JPEGs all pixels of which are equal.

use tarflume_jpeg::{Decoder, Header, Job};

/// Bytes that the last scan of such a JPEG has beside one byte for each of its blocks: its header, the end.
const BESIDE: usize = 1024;
/// The most pixels that are decoded to compare them.
const PIXELS: u64 = 1 << 24;

/// Returns true if a JPEG has several pixels and all are equal. Decodes only those whose scan is as short as that of such
/// a picture: a block without detail takes less than a byte.
pub fn is_constant_jpeg(bytes: &[u8], header: &Header) -> bool {
    let width = u64::from(header.width());
    let height = u64::from(header.height());
    let pixels = width * height;
    if pixels <= 1 || pixels > PIXELS {
        return false;
    }
    let blocks = width.div_ceil(8) * height.div_ceil(8) * u64::from(header.channels());
    let last = bytes.len().saturating_sub(blocks as usize + BESIDE);
    if !bytes[last..].windows(2).any(|marker| marker == [0xff, 0xda]) {
        return false;
    }
    let mut rgb = vec![0; pixels as usize * 3];
    if Decoder::new().decode(Job::new(bytes, header, &mut rgb)).is_err() {
        return false; // what is wrong with it is found elsewhere
    }
    let (pixels, _) = rgb.as_chunks::<3>();
    pixels.iter().all(|pixel| *pixel == pixels[0])
}

#[cfg(test)]
mod tests {
    use tarflume_fixtures::{PHOTOS, Photo, PhotoKind};

    use super::*;

    #[test]
    fn a_jpeg_of_one_color_is_constant_and_a_photograph_is_not() {
        let mut encoded = std::io::Cursor::new(Vec::new());
        let gray = image::RgbImage::from_pixel(320, 200, image::Rgb([90, 120, 30]));
        gray.write_to(&mut encoded, image::ImageFormat::Jpeg).unwrap();
        let flat = encoded.into_inner();
        assert!(is_constant_jpeg(&flat, &Header::parse(&flat).unwrap()));
        for photo in PHOTOS {
            let header = Header::parse(photo.jpeg).unwrap();
            assert!(!is_constant_jpeg(photo.jpeg, &header));
        }
        for kind in PhotoKind::ALL {
            let photo = Photo::new(64, 48, kind).encode(3).unwrap();
            assert!(!is_constant_jpeg(&photo, &Header::parse(&photo).unwrap()), "{kind:?}");
        }
    }
}
