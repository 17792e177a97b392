//! Netpbm: PBM, PGM and PPM, as text (`P1` to `P3`) and as bytes (`P4` to `P6`).
//!
//! Bits of PBM are black and white. Other samples are scaled to 255, those with a maximum above 255 to 65,535, and a
//! half is rounded to the even number, as Pillow does. The first picture of a file is decoded.

use std::ops::Range;

use tarflume_types::{Error, Result};

use super::faults::damaged;
use super::samples::channels::PixelKind;
use super::samples::pixel_decoder::PixelDecoder;
use crate::picture::geometry::ImageSize;
use crate::picture::pixels::Depth;

/// Samples of a picture at most: text has a byte and a blank for each.
const MOST: u64 = 1 << 40;

/// A picture whose header was read.
pub(super) struct PnmPicture<'a> {
    /// Everything after the header.
    data: &'a [u8],
    pub(super) size: ImageSize,
    channels: usize,
    /// The largest value of a sample; 1 for bits, of which 1 is black.
    most: u16,
    form: Form,
    /// The byte of the file at which the data begins.
    at: usize,
}

/// How samples are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Digits, of bits with or without blanks between them.
    Text { bits: bool },
    /// Bits, each line a whole number of bytes.
    Bits,
    /// Bytes, or two bytes with the highest first.
    Bytes,
}

impl<'a> PnmPicture<'a> {
    /// Reads the header.
    pub(super) fn open(bytes: &'a [u8]) -> Result<PnmPicture<'a>> {
        let mut words = Words { bytes, at: 2 };
        let width = words.header("width")?;
        let height = words.header("height")?;
        let kind = bytes[1];
        let most = if matches!(kind, b'1' | b'4') { 1 } else { words.header("largest sample")? };
        let most = u16::try_from(most).ok().filter(|&most| most > 0).ok_or_else(|| {
            damaged(format!("its largest sample is {most}; it must be from 1 to 65535"))
        })?;
        let form = match kind {
            b'1' => Form::Text { bits: true },
            b'2' | b'3' => Form::Text { bits: false },
            b'4' => Form::Bits,
            _ => Form::Bytes,
        };
        // One blank is between the header and bytes.
        let at = if matches!(form, Form::Text { .. }) { words.at } else { words.at + 1 };
        let data = bytes.get(at..).ok_or_else(|| truncated(bytes.len()))?;
        let channels = if matches!(kind, b'3' | b'6') { 3 } else { 1 };
        let size = ImageSize::new(width, height);
        let picture = PnmPicture { data, size, channels, most, form, at };
        // Nothing is allocated for samples that the file cannot have.
        if picture.least_bytes().is_none_or(|least| least > data.len() as u64) {
            return Err(truncated(bytes.len()));
        }
        Ok(picture)
    }

    fn samples(&self) -> Option<u64> {
        self.size.pixels().checked_mul(self.channels as u64).filter(|&samples| samples <= MOST)
    }

    /// Returns the bytes that the samples take at least.
    fn least_bytes(&self) -> Option<u64> {
        let samples = self.samples()?;
        match self.form {
            Form::Text { bits: true } => Some(samples),
            Form::Text { bits: false } => Some((2 * samples).saturating_sub(1)),
            Form::Bits => {
                u64::from(self.size.width.div_ceil(8)).checked_mul(self.size.height.into())
            }
            Form::Bytes => samples.checked_mul(if self.most > 255 { 2 } else { 1 }),
        }
    }

    fn depth(&self) -> Depth {
        if self.most > 255 { Depth::Word } else { Depth::Byte }
    }

    /// Gives the samples as they are stored, each with its position.
    fn read(&self, take: &mut impl FnMut(usize, u16) -> Result<()>) -> Result<()> {
        let samples = self.samples().ok_or_else(|| truncated(self.at))? as usize;
        match self.form {
            Form::Text { bits } => {
                let mut words = Words { bytes: self.data, at: 0 };
                for n in 0..samples {
                    let sample = if bits { words.bit() } else { words.sample(n == 0) };
                    let sample = sample.ok_or_else(|| self.no_sample(words.at))?;
                    take(n, sample)?;
                }
            }
            Form::Bits => {
                let width = self.size.width as usize;
                for n in 0..samples {
                    let byte = self.data[n / width * width.div_ceil(8) + n % width / 8];
                    take(n, u16::from(byte >> (7 - n % width % 8) & 1))?;
                }
            }
            Form::Bytes if self.most > 255 => {
                let (pairs, _) = self.data.as_chunks::<2>();
                for (n, &pair) in pairs[..samples].iter().enumerate() {
                    take(n, u16::from_be_bytes(pair))?;
                }
            }
            Form::Bytes => {
                for (n, &byte) in self.data[..samples].iter().enumerate() {
                    take(n, byte.into())?;
                }
            }
        }
        Ok(())
    }

    fn no_sample(&self, at: usize) -> Error {
        damaged(format!("a sample is missing at byte {}, or is no number", self.at + at))
    }

    fn check(&self, n: usize, sample: u16) -> Result<()> {
        if sample <= self.most {
            return Ok(());
        }
        Err(damaged(format!("sample {n} is {sample}, and the largest is {}", self.most)))
    }

    /// Gives the numbers that the picture stores, each with its position.
    ///
    /// # Errors
    /// Returns an error if the data is damaged.
    pub(super) fn read_numbers(&self, mut take: impl FnMut(usize, u16)) -> Result<()> {
        self.read(&mut |n, sample| {
            self.check(n, sample)?;
            take(n, sample);
            Ok(())
        })
    }

    /// Returns true for gray of more than 8 bits, false for other gray; `None` for colors.
    pub(super) fn is_wide_gray(&self) -> Option<bool> {
        (self.channels == 1).then_some(self.most > 255)
    }

    /// Returns a sample scaled to the range of its depth.
    fn scaled(&self, sample: u16) -> u16 {
        let out = if self.most > 255 { u16::MAX } else { 255 };
        match self.form {
            Form::Bits | Form::Text { bits: true } => 255 * (1 - sample),
            _ if self.most == out => sample,
            _ => {
                let part = f64::from(sample) / f64::from(self.most) * f64::from(out);
                part.round_ties_even() as u16
            }
        }
    }
}

impl PixelDecoder for PnmPicture<'_> {
    fn kind(&self) -> Result<PixelKind> {
        Ok(PixelKind { channels: self.channels, depth: self.depth() })
    }

    fn bytes(&self) -> u64 {
        self.samples().unwrap_or(u64::MAX).saturating_mul(self.depth().bytes() as u64)
    }

    fn decode(self: Box<Self>, _memory: u64, target: &mut [u8]) -> Result<()> {
        let is_wide = self.most > 255;
        self.read(&mut |n, sample| {
            self.check(n, sample)?;
            let scaled = self.scaled(sample);
            if is_wide {
                target[2 * n..2 * n + 2].copy_from_slice(&scaled.to_ne_bytes());
            } else {
                target[n] = scaled as u8;
            }
            Ok(())
        })
    }
}

fn truncated(length: usize) -> Error {
    damaged(format!("the file ends at byte {length}, before the samples that its header states"))
}

/// Reads numbers between blanks and comments.
struct Words<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Words<'_> {
    /// Reads a number of the header.
    fn header(&mut self, what: &str) -> Result<u32> {
        self.blanks(true);
        let found = self.digits();
        let text = &self.bytes[found.clone()];
        let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        number.ok_or_else(|| damaged(format!("its header has no {what} at byte {}", found.start)))
    }

    /// Reads a sample; the first one may follow comments.
    fn sample(&mut self, is_first: bool) -> Option<u16> {
        self.blanks(is_first);
        let found = self.digits();
        std::str::from_utf8(&self.bytes[found]).ok()?.parse().ok()
    }

    /// Reads a bit.
    fn bit(&mut self) -> Option<u16> {
        self.blanks(true);
        let bit = self.bytes.get(self.at)?;
        self.at += 1;
        match bit {
            b'0' => Some(0),
            b'1' => Some(1),
            _ => None,
        }
    }

    /// Skips blanks, and comments to the ends of their lines.
    fn blanks(&mut self, comments: bool) {
        while let Some(&byte) = self.bytes.get(self.at) {
            if comments && byte == b'#' {
                let line = self.bytes[self.at..].iter().position(|&byte| byte == b'\n');
                self.at = line.map_or(self.bytes.len(), |line| self.at + line);
            } else if byte.is_ascii_whitespace() {
                self.at += 1;
            } else {
                return;
            }
        }
    }

    fn digits(&mut self) -> Range<usize> {
        let start = self.at.min(self.bytes.len());
        let count = self.bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at = start + count;
        start..self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> Result<Vec<u8>> {
        let picture = PnmPicture::open(bytes)?;
        let mut target = vec![9; picture.bytes() as usize];
        Box::new(picture).decode(0, &mut target)?;
        Ok(target)
    }

    #[test]
    fn bits_levels_and_colors_are_read_from_text_and_bytes() {
        assert_eq!(decoded(b"P1\n# x\n3 2\n101\n0 1 0").unwrap(), [0, 255, 0, 255, 0, 255]);
        assert_eq!(decoded(b"P4 3 2\n\xa0\x40").unwrap(), [0, 255, 0, 255, 0, 255]);
        assert_eq!(decoded(b"P2 3 1 255 0 7 255\n").unwrap(), [0, 7, 255]);
        assert_eq!(decoded(b"P5 3 1 255\n\0\x07\xff").unwrap(), [0, 7, 255]);
        assert_eq!(decoded(b"P5 3 1\n3\n\0\x01\x03").unwrap(), [0, 85, 255]);
        assert_eq!(decoded(b"P5 5 1 100\n\x01\x02\x031d").unwrap(), [3, 5, 8, 125, 255]);
        assert_eq!(decoded(b"P3 1 1 15 1 2 15").unwrap(), [17, 34, 255]);
        assert_eq!(decoded(b"P6\n1 1\n255\n\x01\x02\x03and more").unwrap(), [1, 2, 3]);
        let wide = [256u16.to_ne_bytes(), u16::MAX.to_ne_bytes()].concat();
        assert_eq!(decoded(b"P5 2 1 65535\n\x01\x00\xff\xff").unwrap(), wide);
        let scaled = [32768u16.to_ne_bytes(), u16::MAX.to_ne_bytes()].concat();
        assert_eq!(decoded(b"P2 2 1 1000 500 1000").unwrap(), scaled);
    }

    #[test]
    fn damaged_files_are_errors_and_allocate_nothing() {
        for wrong in [
            &b"P5"[..],
            b"P5 3",
            b"P5 3 1",
            b"P5 3 1 0\nabc",
            b"P5 3 1 65536\nabcdef",
            b"P5 3 1 255\nab",
            b"P5 3 1 100\nab\xff",
            b"P5 4294967296 1 255\nab",
            b"P6 4294967295 4294967295 255\nab",
            b"P2 3 1 255 1 2",
            b"P2 3 1 255 1 2 x",
            b"P2 3 1 255 1 2 256",
            b"P1 3 1 1 0 2",
            b"P4 9 1\n\xff",
        ] {
            assert!(decoded(wrong).is_err(), "{wrong:?}");
        }
    }
}
