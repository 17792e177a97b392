//! The structure of a JPEG (ITU-T T.81, annex B), before any decoder sees it: is it whole, how large
//! is the picture, how does it lie.
//!
//! No pixel is made here. Decoders paint over what is missing and say nothing of where; this walk
//! passes over the entropy-coded data at memory speed and names the byte.

use image::metadata::Orientation;

use super::geometry::Size;
use crate::error::{Error, ErrorKind, Result};

const SOI: u8 = 0xd8;
const EOI: u8 = 0xd9;
const SOS: u8 = 0xda;
const APP1: u8 = 0xe1;

/// What is known of a whole JPEG.
#[derive(Debug, Clone, Copy)]
pub(super) struct Structure {
    /// Stored size, before any turn.
    pub(super) size: Size,
    /// Colour components: 1, 3 or 4.
    pub(super) components: u8,
    /// Whether it is coded in several passes over the picture.
    pub(super) progressive: bool,
    /// How many scans it has.
    pub(super) scans: u32,
    /// Rows of pixels in a row of coded blocks.
    pub(super) band: u32,
    /// Where the two bytes of its height stand.
    pub(super) height_at: usize,
    /// How it lies, if it says so.
    pub(super) orientation: Option<Orientation>,
}

/// Walks over all segments and scans up to the end of the image. What stands behind it is common
/// (previews, notes of a camera) and not looked at.
///
/// # Errors
/// It was cut, or a marker stands where none can: the text names the byte.
pub(super) fn walk(bytes: &[u8]) -> Result<Structure> {
    if !bytes.starts_with(&[0xff, SOI]) {
        return Err(fault(0, "ffd8, the start of a JPEG, should stand here"));
    }
    let mut at = 2;
    let mut found: Option<Structure> = None;
    let mut orientation = None;
    loop {
        let (marker, marker_at) = marker(bytes, &mut at)?;
        match (marker, &mut found) {
            (EOI, Some(structure)) if structure.scans > 0 => {
                structure.orientation = orientation;
                return Ok(*structure);
            }
            (EOI, _) => return Err(fault(marker_at, "the image ends before its first scan")),
            (SOI | 0x01 | 0xd0..=0xd7, _) => {
                return Err(fault(marker_at, &format!("marker ff{marker:02x} can't stand here")));
            }
            _ => {}
        }
        let segment = segment(bytes, &mut at, marker_at)?;
        match (marker, &mut found) {
            (SOS, None) => return Err(fault(marker_at, "a scan begins before the frame header")),
            (SOS, Some(structure)) => {
                structure.scans += 1;
                at = scan_end(bytes, at)?;
            }
            (0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf, None) => {
                found = Some(frame(marker, segment, marker_at)?);
            }
            (0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf, Some(_)) => {
                return Err(fault(marker_at, "a second frame header"));
            }
            (APP1, _) if orientation.is_none() => {
                orientation =
                    segment.strip_prefix(b"Exif\0\0").and_then(Orientation::from_exif_chunk);
            }
            _ => {}
        }
    }
}

fn fault(at: usize, what: &str) -> Error {
    Error::new(ErrorKind::Decode, format!("bad JPEG at byte {at} of the part: {what}"))
}

fn cut(bytes: &[u8], inside: &str) -> Error {
    fault(bytes.len(), &format!("the data end inside {inside}: the file was cut"))
}

/// The marker at `at`, any number of fill bytes before it, and its place.
fn marker(bytes: &[u8], at: &mut usize) -> Result<(u8, usize)> {
    let rest = &bytes[*at..];
    let fill = rest.iter().take_while(|&&b| b == 0xff).count();
    match rest.get(fill) {
        None => Err(cut(bytes, "the image, before its end marker")),
        Some(&marker) if fill > 0 && marker != 0 => {
            *at += fill + 1;
            Ok((marker, *at - 2))
        }
        Some(byte) => Err(fault(*at, &format!("a marker should stand here, not {byte:02x}"))),
    }
}

/// The content of the segment at `at`, whose marker stands at `marker_at`.
fn segment<'a>(bytes: &'a [u8], at: &mut usize, marker_at: usize) -> Result<&'a [u8]> {
    let rest = &bytes[*at..];
    let [high, low, ..] = rest else { return Err(cut(bytes, "a segment")) };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    if length < 2 {
        return Err(fault(marker_at, "the segment's length is below 2"));
    }
    let segment = rest.get(2..length).ok_or_else(|| cut(bytes, "a segment"))?;
    *at += length;
    Ok(segment)
}

fn frame(marker: u8, segment: &[u8], at: usize) -> Result<Structure> {
    if !matches!(marker, 0xc0..=0xc2) {
        let what = format!(
            "coding ff{marker:02x} (lossless, hierarchical or arithmetic) is not decoded here"
        );
        return Err(fault(at, &what));
    }
    let components = segment.get(5).copied().unwrap_or(0);
    if segment.len() < 6 + 3 * usize::from(components) {
        return Err(fault(at, "the frame header is too short"));
    }
    let number = |i: usize| u32::from(u16::from_be_bytes([segment[i], segment[i + 1]]));
    let size = Size::new(number(3), number(1));
    if size.pixels() == 0 || !matches!(components, 1 | 3 | 4) {
        let what = format!("a picture of {size} pixels and {components} components is none");
        return Err(fault(at, &what));
    }
    let down = segment[6..].chunks_exact(3).map(|c| u32::from(c[1] & 15)).max();
    Ok(Structure {
        size,
        components,
        progressive: marker == 0xc2,
        scans: 0,
        band: 8 * down.unwrap_or(1).clamp(1, 4),
        // Behind the marker (2 bytes), the length (2) and the precision (1).
        height_at: at + 5,
        orientation: None,
    })
}

/// Where the entropy-coded data that begin at `at` end.
fn scan_end(bytes: &[u8], mut at: usize) -> Result<usize> {
    loop {
        let Some(found) = next_marker(&bytes[at..]) else {
            return Err(cut(bytes, "a scan, before the end of the image"));
        };
        at += found;
        match bytes[at + 1] {
            0xff => at += 1, // a fill byte
            marker @ (0x01..=0xbf | SOI) => {
                let what = format!("marker ff{marker:02x} inside a scan: the data are damaged");
                return Err(fault(at, &what));
            }
            _ => return Ok(at),
        }
    }
}

/// The first ff that is followed neither by 00 (a stuffed byte) nor by a restart marker.
///
/// The inner loop has no branches, so that it is compiled to vector instructions: nearly all bytes
/// of a photograph pass through here.
fn next_marker(bytes: &[u8]) -> Option<usize> {
    const CHUNK: usize = 128;
    let special = |a: u8, b: u8| (a == 0xff) & (b != 0) & (b & 0xf8 != 0xd0);
    let mut start = 0;
    while start + CHUNK < bytes.len() {
        let first = &bytes[start..start + CHUNK];
        let second = &bytes[start + 1..start + CHUNK + 1];
        let hits =
            first.iter().zip(second).fold(0u8, |hits, (&a, &b)| hits | u8::from(special(a, b)));
        if hits != 0 {
            break;
        }
        start += CHUNK;
    }
    bytes[start..].windows(2).position(|pair| special(pair[0], pair[1])).map(|i| start + i)
}

#[cfg(test)]
mod tests {
    use tarflume_fixtures::{PHOTOS, Photo, PhotoKind};

    use super::*;

    #[test]
    fn whole_photographs_are_understood() {
        for kind in PhotoKind::ALL {
            let bytes = Photo::new(97, 61, kind).encode(7).unwrap();
            let found = walk(&bytes).unwrap();
            assert_eq!(found.size, Size::new(97, 61));
            assert_eq!(found.progressive, kind == PhotoKind::Progressive);
            assert_eq!(bytes[found.height_at..found.height_at + 2], [0, 61]);
            let exif = found.orientation.map(Orientation::to_exif);
            let expected = if let PhotoKind::Exif(n) = kind { Some(n) } else { None };
            assert_eq!(exif, expected);
            let down =
                matches!(kind, PhotoKind::Yuv420 | PhotoKind::Progressive | PhotoKind::Exif(_));
            assert_eq!(found.band, if down { 16 } else { 8 }, "{kind:?}");
        }
        for photo in &PHOTOS {
            walk(photo.jpeg).unwrap();
        }
    }

    #[test]
    fn every_cut_is_told_and_what_follows_the_image_is_not_looked_at() {
        let mut bytes = Photo::tiny(PhotoKind::Exif(6)).encode(1).unwrap();
        for length in 0..bytes.len() {
            let error = walk(&bytes[..length]).unwrap_err();
            assert!(error.text().contains("byte"), "{error}");
        }
        bytes.extend(b"a camera's own notes");
        walk(&bytes).unwrap();
    }

    #[test]
    fn a_marker_inside_a_scan_is_told_with_its_byte() {
        let mut bytes = Photo::new(64, 64, PhotoKind::Grey).encode(1).unwrap();
        let place = bytes.len() - 100;
        bytes[place..place + 2].copy_from_slice(&[0xff, 0x42]);
        let text = walk(&bytes).unwrap_err().text().to_string();
        assert!(text.contains(&format!("byte {place} of the part: marker ff42")), "{text}");
    }
}
