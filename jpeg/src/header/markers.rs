//! A walk over markers and segments.

use crate::error::{Error, Result};

pub(crate) const SOI: u8 = 0xd8;
pub(crate) const EOI: u8 = 0xd9;
pub(crate) const SOS: u8 = 0xda;
pub(crate) const DQT: u8 = 0xdb;
pub(crate) const DHT: u8 = 0xc4;
pub(crate) const DRI: u8 = 0xdd;
pub(crate) const DAC: u8 = 0xcc;
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
        Ok(Walk { bytes, at: 2 })
    }

    /// Starts at a byte of the image between segments.
    pub(crate) fn from(bytes: &'a [u8], at: usize) -> Walk<'a> {
        Walk { bytes, at: at.min(bytes.len()) }
    }

    /// Returns the current byte.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Reads a marker with any number of fill bytes before it; returns it and the byte at which it
    /// begins.
    ///
    /// # Errors
    /// Returns an error if there are other bytes here, or none.
    pub(crate) fn marker(&mut self) -> Result<(u8, usize)> {
        let rest = &self.bytes[self.at..];
        let fill = rest.iter().take_while(|&&b| b == 0xff).count();
        match rest.get(fill) {
            None => {
                let text = "the file ends before its end-of-image marker: it was cut";
                Err(Error::damaged(self.bytes.len(), text))
            }
            Some(&marker) if fill > 0 && marker != 0 => {
                self.at += fill + 1;
                Ok((marker, self.at - 2))
            }
            Some(byte) => {
                let text = format!("a marker should be here, not {byte:02x}");
                Err(Error::damaged(self.at, text))
            }
        }
    }

    /// Returns the content of the segment here, whose marker is at `marker_at`.
    ///
    /// # Errors
    /// Returns an error if it is truncated, or declares a length below that of its length field.
    pub(crate) fn segment(&mut self, marker_at: usize) -> Result<&'a [u8]> {
        let cut = || {
            let text = "the file ends inside a segment: it was cut";
            Error::damaged(self.bytes.len(), text)
        };
        let rest = &self.bytes[self.at..];
        let &[high, low, ..] = rest else { return Err(cut()) };
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length < 2 {
            return Err(Error::damaged(marker_at, "a segment's length is below 2"));
        }
        let segment = rest.get(2..length).ok_or_else(cut)?;
        self.at += length;
        Ok(segment)
    }
}
