//! A walk over markers and segments.

use memchr::memchr;

use crate::error::{Error, Result};

pub(crate) const SOI: u8 = 0xd8;
pub(crate) const EOI: u8 = 0xd9;
pub(crate) const SOS: u8 = 0xda;
pub(crate) const DQT: u8 = 0xdb;
pub(crate) const DHT: u8 = 0xc4;
pub(crate) const DRI: u8 = 0xdd;
pub(crate) const DAC: u8 = 0xcc;
pub(crate) const DNL: u8 = 0xdc;
pub(crate) const COM: u8 = 0xfe;
/// Markers without content: one for private use, and the first and the last restart marker.
pub(crate) const TEM: u8 = 0x01;
pub(crate) const RST0: u8 = 0xd0;
pub(crate) const RST7: u8 = 0xd7;
pub(crate) const APP0: u8 = 0xe0;
pub(crate) const APP1: u8 = 0xe1;
pub(crate) const APP14: u8 = 0xee;

/// Returns true for SOF0 to SOF15, without DHT, JPG and DAC, which share their range.
pub(crate) fn is_frame(marker: u8) -> bool {
    matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc)
}

/// Returns true if a JPEG may contain a segment with this marker: tables, headers, application
/// data. The other markers are reserved or belong to other formats; libjpeg-turbo refuses them,
/// too.
pub(crate) fn is_segment(marker: u8) -> bool {
    is_frame(marker) || matches!(marker, DHT | DAC | SOS..=DRI | 0xe0..=0xef | 0xfe)
}

/// A position in the bytes, between segments.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The first byte that breaks a rule without a loss.
    irregular: Option<usize>,
    /// Number of bytes that belong to no segment.
    pub(crate) strays: usize,
    /// Whether the end of the file counts as the end of the image.
    pub(crate) open: bool,
}

impl<'a> Walk<'a> {
    /// Starts after the SOI marker.
    ///
    /// # Errors
    /// Returns an error if there is no SOI marker.
    pub(crate) fn start(bytes: &'a [u8]) -> Result<Walk<'a>> {
        if !bytes.starts_with(&[0xff, SOI]) {
            return Err(Error::damaged(0, "it does not begin with ffd8: it is not a JPEG"));
        }
        Ok(Walk::from(bytes, 2))
    }

    /// Starts at a byte of the image between segments.
    pub(crate) fn from(bytes: &'a [u8], at: usize) -> Walk<'a> {
        Walk { bytes, at: at.min(bytes.len()), irregular: None, strays: 0, open: false }
    }

    /// Continues at another byte between segments.
    pub(crate) fn go_to(&mut self, at: usize) {
        self.at = at.min(self.bytes.len());
    }

    /// Returns the current byte.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Returns the first byte that breaks a rule without a loss: a stray byte, a restart marker
    /// outside a scan, a segment of an impossible length, the missing end.
    pub(crate) fn irregular(&self) -> Option<usize> {
        self.irregular
    }

    fn note(&mut self, at: usize) {
        self.irregular = self.irregular.or(Some(at));
    }

    /// Reads a marker with any number of fill bytes before it; returns it and the byte at which it
    /// begins. Skips other bytes, and markers that have no content, as all decoders do.
    ///
    /// # Errors
    /// Returns an error if there is none.
    pub(crate) fn marker(&mut self) -> Result<(u8, usize)> {
        loop {
            let rest = &self.bytes[self.at..];
            let skipped = memchr(0xff, rest).unwrap_or(rest.len());
            let fill = rest[skipped..].iter().take_while(|&&b| b == 0xff).count();
            if skipped > 0 {
                self.note(self.at);
                self.strays += skipped;
            }
            match rest.get(skipped + fill) {
                None if self.open => {
                    self.note(self.bytes.len());
                    return Ok((EOI, self.bytes.len()));
                }
                None => {
                    let text = "the file ends before its end-of-image marker: it was cut";
                    return Err(Error::damaged(self.bytes.len(), text));
                }
                Some(0) => {
                    self.note(self.at);
                    self.strays += fill + 1;
                }
                Some(&(TEM | RST0..=RST7)) => self.note(self.at),
                Some(&marker) => {
                    self.at += skipped + fill + 1;
                    return Ok((marker, self.at - 2));
                }
            }
            self.at += skipped + fill + 1;
        }
    }

    /// Returns the content of the segment here, whose marker is at `marker_at`. Of metadata that
    /// declare an impossible length there is none.
    ///
    /// # Errors
    /// Returns an error if it is truncated, or declares a length below that of its length field.
    pub(crate) fn segment(&mut self, marker_at: usize) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let &[high, low, ..] = rest else { return Err(cut(self.bytes.len())) };
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length < 2 {
            let skippable =
                matches!(self.bytes.get(marker_at + 1), Some(&(DNL | 0xe0..=0xef | COM)));
            if !skippable {
                return Err(Error::damaged(marker_at, "a segment's length is below 2"));
            }
            self.note(marker_at);
            self.at += 2;
            return Ok(&[]);
        }
        let segment = rest.get(2..length).ok_or_else(|| cut(self.bytes.len()))?;
        self.at += length;
        Ok(segment)
    }

    /// Returns the content of a scan header whose marker is at `marker_at`. If the file ends in its
    /// last three bytes, which sequential pictures do not need, they are those of an end-of-image
    /// marker: a decoder that keeps damaged pictures needs the header.
    ///
    /// # Errors
    /// Returns an error if more of it lacks.
    pub(crate) fn scan_header(&mut self, marker_at: usize) -> Result<ScanHeader> {
        let mut header = ScanHeader { content: [0; 12], length: 0 };
        let rest = &self.bytes[self.at..];
        let declared: usize =
            rest.first_chunk().map_or(0, |&length| u16::from_be_bytes(length).into());
        let lacks = declared.saturating_sub(rest.len());
        let content = match lacks {
            1..=3 if rest.len() > 2 && declared <= 14 => {
                self.at = self.bytes.len();
                header.content[declared - 2 - lacks..].fill(0xff);
                if lacks > 1 {
                    header.content[declared - 1 - lacks] = EOI;
                }
                &rest[2..]
            }
            _ => self.segment(marker_at)?,
        };
        header.length = content.len() + lacks;
        let room = header.content.get_mut(..content.len());
        room.ok_or_else(|| Error::damaged(marker_at, "the scan header has the wrong length"))?
            .copy_from_slice(content);
        Ok(header)
    }
}

fn cut(length: usize) -> Error {
    let text = "the file ends inside a segment: it was cut";
    Error::damaged(length, text)
}

/// The content of a scan header.
#[derive(Debug)]
pub(crate) struct ScanHeader {
    content: [u8; 12],
    length: usize,
}

impl ScanHeader {
    pub(crate) fn content(&self) -> &[u8] {
        &self.content[..self.length.min(12)]
    }
}
