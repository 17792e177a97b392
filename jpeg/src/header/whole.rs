//! Checks that a JPEG is whole by walking over all segments and scans up to the end of the image.
//!
//! Decodes no code: skips entropy-coded data at memory speed, and names the byte of an error.

use memchr::memchr_iter;

use super::markers::{EOI, SOI, SOS, Walk, is_frame, is_segment};
use crate::error::{Error, Result};

/// Walks over all segments and scans of a JPEG of any kind and returns the byte after the end of
/// the image. Reads no Huffman code. Bytes after the end are common (previews, camera data) and
/// ignored, and so are stray bytes between segments, unless so many follow the scans that they may
/// be blocks.
///
/// # Errors
/// Returns [`crate::ErrorKind::Damaged`] with the byte if it is not a JPEG, is truncated, or has an
/// invalid marker.
pub fn whole(bytes: &[u8]) -> Result<usize> {
    let mut walk = Walk::start(bytes)?;
    let mut frames = 0;
    let mut scans = 0;
    let mut before = 0; // stray bytes before the first scan, which cannot be blocks
    loop {
        let (marker, at) = walk.marker()?;
        if scans > 0 && walk.strays - before > STRAYS {
            return Err(strays(walk.strays - before, at));
        }
        match marker {
            EOI if scans > 0 => return Ok(walk.at()),
            EOI => return Err(Error::damaged(at, "the image ends before its first scan")),
            other if !is_segment(other) => {
                return Err(Error::damaged(
                    at,
                    format!("marker ff{marker:02x} is not allowed here"),
                ));
            }
            _ => {}
        }
        walk.segment(at)?;
        if is_frame(marker) {
            frames += 1;
            if frames > 1 {
                return Err(Error::damaged(at, "a second frame header"));
            }
        }
        if marker == SOS {
            if frames == 0 {
                return Err(Error::damaged(at, "a scan begins before the frame header"));
            }
            if scans == 0 {
                before = walk.strays;
            }
            scans += 1;
            walk.go_to(scan_end(bytes, walk.at())?);
        }
    }
}

/// Limit on the bytes of a file that belong to nothing, after its first scan, if its blocks may be
/// unread: more of them could be blocks.
pub(crate) const STRAYS: usize = 8;

/// Walks from the end of the only scan to the end of the image. Returns the first byte that breaks a
/// rule without a loss.
///
/// # Errors
/// Returns an error if the file is truncated or has an invalid segment there.
pub(crate) fn finish(bytes: &[u8], scan_end: usize) -> Result<Option<usize>> {
    let mut walk = Walk::from(bytes, scan_end);
    loop {
        let (marker, at) = walk.marker()?;
        if walk.strays > STRAYS {
            return Err(strays(walk.strays, at));
        }
        match marker {
            EOI => return Ok(walk.irregular()),
            SOS => return Err(Error::damaged(at, "a second scan of the same components")),
            frame if is_frame(frame) => return Err(Error::damaged(at, "a second frame header")),
            other if !is_segment(other) => {
                let text = format!("marker ff{marker:02x} is where the image should end");
                return Err(Error::damaged(at, text));
            }
            _ => walk.segment(at)?,
        };
    }
}

/// Returns the error for bytes that may be blocks, before the marker at `at`.
pub(super) fn strays(count: usize, at: usize) -> Error {
    let text = format!("{count} bytes before this marker belong to nothing: the data are damaged");
    Error::damaged(at, text)
}

/// Returns the end of the entropy-coded data that begin at `start`.
pub(crate) fn scan_end(bytes: &[u8], start: usize) -> Result<usize> {
    for found in memchr_iter(0xff, &bytes[start..]) {
        let at = start + found;
        match bytes.get(at + 1) {
            Some(0 | 0xff | 0xd0..=0xd7) => {}
            Some(marker @ (0x01..=0xbf | &SOI)) => {
                let text = format!("marker ff{marker:02x} inside a scan: the data are damaged");
                return Err(Error::damaged(at, text));
            }
            Some(_) => return Ok(at),
            None => break,
        }
    }
    let text = "the file ends inside a scan, before its end-of-image marker: it was cut";
    Err(Error::damaged(bytes.len(), text))
}

#[cfg(test)]
mod tests {
    use tarflume_fixtures::{Photo, PhotoKind};

    use super::super::markers::COM;
    use super::*;

    /// Inserts stray bytes before each of the first `gaps` scans but the first.
    fn with_strays(jpeg: &[u8], gaps: usize, each: usize) -> Vec<u8> {
        let scans: Vec<usize> = jpeg
            .windows(2)
            .enumerate()
            .filter(|(_, w)| *w == [0xff, SOS])
            .map(|(at, _)| at)
            .collect();
        assert!(scans.len() > gaps);
        let mut bytes = jpeg.to_vec();
        for &scan in scans[1..=gaps].iter().rev() {
            // Behind an empty comment: bytes behind codes are taken for codes.
            let strays = std::iter::repeat_n(0x55, each);
            bytes.splice(scan..scan, [0xff, COM, 0, 2].into_iter().chain(strays));
        }
        bytes
    }

    #[test]
    fn stray_bytes_count_over_the_whole_file() {
        let jpeg = Photo::new(320, 240, PhotoKind::Progressive).encode(7).unwrap();
        assert!(whole(&with_strays(&jpeg, 1, STRAYS)).is_ok());
        assert!(whole(&with_strays(&jpeg, 2, STRAYS / 2)).is_ok());
        let error = whole(&with_strays(&jpeg, 3, STRAYS / 2)).unwrap_err();
        assert!(error.text().contains("12 bytes before this marker"), "{error}");
    }
}
