//! Checks the structure of JPEGs with the jpeg crate. [`super::Tray`] reads their Huffman codes.

use tarflume_image::ImageSize;
use tarflume_jpeg::{Error, Header, Scanner, whole};

use super::fault::{CheckLevel, Fault, MAX_PIXELS};
use super::sniff::other_than_jpeg;
use crate::problem::ProblemKind;

/// Checks markers, segments, tables, dimensions and the end of the image. A kind of JPEG whose
/// codes cannot be read is a fault if `level` requires reading them.
///
/// # Errors
/// Returns the first fault found.
pub(super) fn look(bytes: &[u8], level: CheckLevel) -> Result<Header, Fault> {
    if let Err(error) = whole(bytes)
        && !has_all_pixels(bytes)
    {
        return Err(match other_than_jpeg(bytes) {
            Some(reason) => Fault { kind: ProblemKind::BadJpeg, byte: 0, reason },
            None => fault(&error),
        });
    }
    let header = Header::parse(bytes).map_err(|e| fault(&e))?;
    match unread(&header) {
        Some(reason) if level == CheckLevel::Decode => {
            Err(Fault { kind: ProblemKind::BadJpeg, byte: 0, reason: reason.into() })
        }
        _ => Ok(header),
    }
}

/// Returns true if all codes of a JPEG are there, whatever its end looks like.
fn has_all_pixels(bytes: &[u8]) -> bool {
    let header = Header::parse(bytes).ok().filter(is_read);
    header.is_some_and(|header| Scanner::new().scan(bytes, &header, &mut Vec::new()).is_ok())
}

/// Returns why the codes of a JPEG are not read, or `None` if they are.
fn unread(header: &Header) -> Option<String> {
    if let Some(why) = header.unsupported()
        && let Some(way_on) = header.way_on()
    {
        return Some(format!("bad JPEG: {why}: this kind is not decoded; {way_on}"));
    }
    let width = header.width();
    let height = header.height();
    let many = u64::from(width) * u64::from(height) > MAX_PIXELS;
    (many && header.has_several_scans())
        .then(|| format!("{width} x {height} pixels are too many to be decoded here"))
}

/// Returns true if a [`super::Tray`] reads its codes.
pub(super) fn is_read(header: &Header) -> bool {
    unread(header).is_none()
}

pub(super) fn dimensions(bytes: &[u8]) -> Option<ImageSize> {
    Header::parse(bytes).ok().map(|header| size(&header))
}

pub(super) fn size(header: &Header) -> ImageSize {
    ImageSize::new(header.width(), header.height())
}

/// Converts an error of the jpeg crate to a fault.
pub(super) fn fault(error: &Error) -> Fault {
    let row = error.mcu_row().map(|row| format!(", in MCU row {row}")).unwrap_or_default();
    let reason = format!("bad JPEG: {}{row}", error.text());
    Fault { kind: ProblemKind::BadJpeg, byte: error.byte().unwrap_or(0), reason: reason.into() }
}

/// Converts what the jpeg crate finds irregular to the form of a fault.
pub(super) fn irregular(error: &Error) -> Fault {
    let Fault { kind, byte, .. } = fault(error);
    Fault { kind, byte, reason: error.text().to_string().into() }
}

#[cfg(test)]
mod tests {
    use tarflume_fixtures::{Photo, PhotoKind};

    use super::*;

    /// The bytes before the entropy-coded data of [`jpeg`].
    const BEFORE: usize = 144;

    /// Returns a JPEG of one component whose tables have one code each: enough for everything but
    /// its codes.
    fn jpeg(scan: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2];
        bytes.extend([0xff, 0xdb, 0, 67, 0]);
        bytes.extend([16; 64]);
        for kind in [0x00, 0x10] {
            bytes.extend([0xff, 0xc4, 0, 20, kind, 1]);
            bytes.extend([0; 16]);
        }
        bytes.extend([0xff, 0xc0, 0, 11, 8, 0, 20, 0, 30, 1, 1, 0x11, 0]);
        bytes.extend([0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0]);
        assert_eq!(bytes.len(), BEFORE);
        bytes.extend(scan);
        bytes.extend([0xff, 0xd9]);
        bytes
    }

    fn structure(bytes: &[u8]) -> Result<ImageSize, Fault> {
        look(bytes, CheckLevel::Structure).map(|header| size(&header))
    }

    #[test]
    fn whole_images_pass_with_their_dimensions() {
        for scan in [&[1, 2, 3][..], &[0xff, 0, 0xff, 0xd3, 7], &[9; 1000], &[0xff, 0xff]] {
            assert_eq!(structure(&jpeg(scan)), Ok(ImageSize::new(30, 20)));
            assert_eq!(dimensions(&jpeg(scan)), Some(ImageSize::new(30, 20)));
        }
        let mut trailing = jpeg(&[5; 300]);
        trailing.extend(b"a camera's own notes");
        assert_eq!(structure(&trailing), Ok(ImageSize::new(30, 20)));
    }

    #[test]
    fn every_cut_is_noticed() {
        let whole = jpeg(&[7; 500]);
        for length in 0..whole.len() {
            assert!(structure(&whole[..length]).is_err(), "cut to {length}");
        }
    }

    #[test]
    fn a_missing_end_and_stray_bytes_are_accepted_if_all_codes_are_there() {
        for kind in PhotoKind::ALL {
            let bytes = Photo::new(97, 61, kind).encode(7).unwrap();
            let end = bytes.len() - 2;
            assert_eq!(structure(&bytes[..end]), Ok(ImageSize::new(97, 61)), "{kind:?}");
            assert!(structure(&bytes[..end - 5]).is_err(), "{kind:?}");
            let stray =
                [&bytes[..2], &[1, 2, 3], &bytes[2..end], &[0xff, 0xd0, 0xff, 0xd9]].concat();
            assert_eq!(structure(&stray), Ok(ImageSize::new(97, 61)), "{kind:?}");
        }
        // A segment inside the data: what follows it may be blocks.
        let bytes = Photo::new(97, 61, PhotoKind::Yuv420).encode(7).unwrap();
        let middle = bytes.len() - 100;
        let inside = [&bytes[..middle], &[0xff, 0xfe, 0, 2], &bytes[middle..]].concat();
        assert!(structure(&inside).is_err());
    }

    #[test]
    fn foreign_markers_in_a_scan_are_errors_with_their_byte() {
        for place in [0, 1, 100, 127, 128, 129, 300, 498] {
            let mut scan = vec![3; 500];
            scan[place] = 0xff;
            scan[place + 1] = 0x42;
            let fault = structure(&jpeg(&scan)).unwrap_err();
            assert_eq!(fault.byte as usize, BEFORE + place, "{fault:?}");
        }
    }

    #[test]
    fn other_damaged_headers_are_faults() {
        assert!(structure(b"not a jpeg").is_err());
        assert!(structure(&[0xff, 0xd8, 0xff, 0xd9]).is_err(), "no scan");
        let mut no_lines = jpeg(&[1]);
        no_lines[BEFORE - 10 - 8 + 1] = 0;
        assert!(structure(&no_lines).unwrap_err().reason.text().contains("height"));
    }

    #[test]
    fn unsupported_kinds_of_jpeg_are_faults() {
        for kind in PhotoKind::ALL {
            let bytes = Photo::new(97, 61, kind).encode(7).unwrap();
            assert!(is_read(&look(&bytes, CheckLevel::Decode).unwrap()), "{kind:?}");
        }
        let mut arithmetic = jpeg(&[1, 2, 3]);
        arithmetic[BEFORE - 10 - 12] = 0xc9;
        assert!(structure(&arithmetic).is_ok());
        let found = look(&arithmetic, CheckLevel::Decode).unwrap_err();
        assert!(found.reason.text().contains("coded arithmetically"), "{found:?}");
    }

    #[test]
    fn more_pixels_than_memory_may_hold_are_not_read() {
        let mut bytes = Photo::new(64, 64, PhotoKind::Progressive).encode(7).unwrap();
        let frame = bytes.windows(2).position(|pair| pair == [0xff, 0xc2]).unwrap();
        bytes[frame + 5..frame + 9].fill(0xff);
        assert_eq!(structure(&bytes), Ok(ImageSize::new(65_535, 65_535)));
        let found = look(&bytes, CheckLevel::Decode).unwrap_err();
        assert!(found.reason.text().contains("too many"), "{found:?}");
        assert!(!is_read(&look(&bytes, CheckLevel::Structure).unwrap()));
    }
}
