//! The structure of a JPEG (ITU-T T.81, annex B): markers, segment lengths, dimensions, the end of
//! the image. Entropy-coded data is searched for markers that can't stand there, not decoded.

use super::fault::{Dimensions, Fault};
use crate::problem::ProblemKind;

const SOI: u8 = 0xd8;
const EOI: u8 = 0xd9;
const SOS: u8 = 0xda;
const DNL: u8 = 0xdc;

pub(super) fn check(bytes: &[u8]) -> Result<Dimensions, Fault> {
    let mut walk = Walk::start(bytes)?;
    let mut dimensions = None;
    let mut scans = 0;
    loop {
        let (marker, at) = walk.marker()?;
        match marker {
            EOI if scans == 0 => return Err(fault(at, "the image ends before its first scan")),
            EOI => break,
            SOI => return Err(fault(at, "a second image begins inside this one")),
            0x01 | 0xd0..=0xd7 => {
                return Err(fault(at, &format!("marker ff{marker:02x} outside a scan")));
            }
            _ => {}
        }
        let segment = walk.segment(at)?;
        if is_frame(marker) {
            if dimensions.is_some() {
                return Err(fault(at, "a second frame header"));
            }
            dimensions = Some(frame(segment, at)?);
        }
        if marker == SOS {
            if dimensions.is_none() {
                return Err(fault(at, "a scan begins before the frame header"));
            }
            scans += 1;
            walk.skip_scan()?;
        }
    }
    // Bytes behind the end of the image are common (cameras, previews) and harmless.
    match dimensions {
        Some((_, 0)) => Err(fault(0, "the image has no lines: its height is never given")),
        Some(dimensions) => Ok(dimensions),
        None => Err(fault(0, "there is no frame header")),
    }
}

pub(super) fn dimensions(bytes: &[u8]) -> Option<Dimensions> {
    let mut walk = Walk::start(bytes).ok()?;
    loop {
        let (marker, at) = walk.marker().ok()?;
        if matches!(marker, EOI | SOS | SOI) {
            return None;
        }
        let segment = walk.segment(at).ok()?;
        if is_frame(marker) {
            return frame(segment, at).ok().filter(|&(_, height)| height > 0);
        }
    }
}

/// SOF0 to SOF15, without DHT, JPG and DAC, which share their range.
fn is_frame(marker: u8) -> bool {
    matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc)
}

fn frame(segment: &[u8], at: usize) -> Result<Dimensions, Fault> {
    if segment.len() < 6 || segment.len() < 6 + 3 * usize::from(segment[5]) {
        return Err(fault(at, "the frame header is too short"));
    }
    let number = |i: usize| u32::from(u16::from_be_bytes([segment[i], segment[i + 1]]));
    let (height, width) = (number(1), number(3));
    if width == 0 || segment[5] == 0 {
        return Err(fault(at, "the frame header gives no columns or no components"));
    }
    Ok((width, height))
}

pub(super) fn fault(byte: usize, reason: &str) -> Fault {
    let reason = format!("bad JPEG: {reason}");
    Fault { kind: ProblemKind::BadJpeg, byte: byte as u64, reason }
}

/// A place in the file, between segments.
pub(super) struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn start(bytes: &'a [u8]) -> Result<Walk<'a>, Fault> {
        if bytes.len() < 2 || bytes[..2] != [0xff, SOI] {
            return Err(fault(0, "it does not begin with ffd8: it is no JPEG"));
        }
        Ok(Walk { bytes, at: 2 })
    }

    /// The byte at which it stands.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The marker here, any number of fill bytes before it, and its place.
    pub(super) fn marker(&mut self) -> Result<(u8, usize), Fault> {
        let at = self.at;
        let rest = &self.bytes[at..];
        let fill = rest.iter().take_while(|&&b| b == 0xff).count();
        match rest.get(fill) {
            None => Err(fault(
                self.bytes.len(),
                "the file ends before its end-of-image marker: it was cut",
            )),
            Some(&marker) if fill > 0 && marker != 0 => {
                self.at += fill + 1;
                Ok((marker, at + fill - 1))
            }
            Some(byte) => Err(fault(at, &format!("a marker should stand here, not {byte:02x}"))),
        }
    }

    /// The content of the segment whose marker stands at `marker_at`.
    pub(super) fn segment(&mut self, marker_at: usize) -> Result<&'a [u8], Fault> {
        let rest = &self.bytes[self.at..];
        let length = match rest {
            [high, low, ..] => usize::from(u16::from_be_bytes([*high, *low])),
            _ => return Err(fault(self.bytes.len(), "the file ends inside a segment: it was cut")),
        };
        if length < 2 {
            return Err(fault(marker_at, "a segment's length is below 2"));
        }
        let segment = rest
            .get(2..length)
            .ok_or_else(|| fault(self.bytes.len(), "the file ends inside a segment: it was cut"))?;
        self.at += length;
        Ok(segment)
    }

    /// Passes the entropy-coded data of a scan, up to the next marker that ends it.
    pub(super) fn skip_scan(&mut self) -> Result<(), Fault> {
        loop {
            let found = next_marker(&self.bytes[self.at..]);
            let Some(found) = found else {
                return Err(fault(
                    self.bytes.len(),
                    "the file ends inside a scan, without its end-of-image marker: it was cut",
                ));
            };
            let at = self.at + found;
            match self.bytes[at + 1] {
                0xff => self.at = at + 1, // a fill byte
                DNL => {
                    self.at = at + 2;
                    self.segment(at)?;
                }
                marker @ (0x01..=0xbf | SOI) => {
                    return Err(fault(
                        at,
                        &format!("marker ff{marker:02x} inside a scan: the data is damaged"),
                    ));
                }
                _ => {
                    self.at = at;
                    return Ok(());
                }
            }
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
    use super::*;

    /// A JPEG in structure only: enough for everything this file looks at.
    fn jpeg(scan: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2];
        bytes.extend([0xff, 0xc0, 0, 11, 8, 0, 20, 0, 30, 1, 1, 0x11, 0]);
        bytes.extend([0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0]);
        bytes.extend(scan);
        bytes.extend([0xff, 0xd9]);
        bytes
    }

    #[test]
    fn whole_images_pass_with_their_dimensions() {
        for scan in [&[1, 2, 3][..], &[0xff, 0, 0xff, 0xd3, 7], &[9; 1000], &[0xff, 0xff]] {
            assert_eq!(check(&jpeg(scan)), Ok((30, 20)));
            assert_eq!(dimensions(&jpeg(scan)), Some((30, 20)));
        }
        let mut trailing = jpeg(&[5; 300]);
        trailing.extend(b"a camera's own notes");
        assert_eq!(check(&trailing), Ok((30, 20)));
    }

    #[test]
    fn every_cut_is_noticed() {
        let whole = jpeg(&[7; 500]);
        for length in 0..whole.len() {
            assert!(check(&whole[..length]).is_err(), "cut to {length}");
        }
    }

    #[test]
    fn foreign_markers_in_a_scan_are_told_with_their_byte() {
        for place in [0, 1, 100, 127, 128, 129, 300, 498] {
            let mut scan = vec![3; 500];
            scan[place] = 0xff;
            scan[place + 1] = 0x42;
            let fault = check(&jpeg(&scan)).unwrap_err();
            assert_eq!(fault.byte as usize, 31 + place, "{fault:?}");
        }
    }

    #[test]
    fn other_lies_are_noticed() {
        assert!(check(b"not a jpeg").is_err());
        assert!(check(&[0xff, 0xd8, 0xff, 0xd9]).is_err(), "no scan");
        let mut no_lines = jpeg(&[1]);
        no_lines[14] = 0;
        assert!(check(&no_lines).unwrap_err().reason.contains("lines"));
    }
}
