//! Writes resized samples of more than 8 bits as the elements of a row. Such pictures are rare, so this is one plain loop.

use half::{bf16, f16};
use tarflume_types::{Element, Error, ErrorKind, Result, Row};

use crate::picture::geometry::ImageSize;
use crate::picture::orientation::Turn;
use crate::picture::output::{Elements, Layout};

/// A sample of 16 bits, or a float from black (0) to white (1) and beyond.
pub trait WideValue: Copy {
    /// The value on a scale of 0 to 1.
    fn unit(self) -> f64;

    /// The value as 16 bits.
    fn word(self) -> u16;
}

impl WideValue for u16 {
    fn unit(self) -> f64 {
        f64::from(self) / 65535.0
    }

    fn word(self) -> u16 {
        self
    }
}

impl WideValue for f32 {
    fn unit(self) -> f64 {
        self.into()
    }

    fn word(self) -> u16 {
        (self.clamp(0.0, 1.0) * 65535.0).round_ties_even() as u16
    }
}

/// A resized picture and the form it is written in.
#[derive(Debug)]
pub struct WidePicture<'a, T> {
    /// The resized samples, in the order of the file.
    pub samples: &'a [T],
    /// Channels of `samples`: 1, 3 or 4.
    pub channels: usize,
    /// Size of the output.
    pub size: ImageSize,
    /// From the stored order to the output order.
    pub turn: Turn,
    /// Channels of the output, at least `channels`.
    pub wanted: usize,
    /// The order of the axes.
    pub layout: Layout,
}

impl<T: WideValue> WidePicture<'_, T> {
    /// Writes the picture into the row.
    ///
    /// # Errors
    /// Returns an error if the row is too short or misaligned.
    pub fn write(&self, elements: Elements, row: &mut Row<'_>) -> Result<()> {
        match elements {
            // A column of bytes has its pictures decoded to bytes.
            Elements::Bytes => return Err(Error::usage("samples of 16 bits do not become bytes")),
            Elements::Words => self.fill(row.elements()?, u16::MAX, |value, _| value.word())?,
            Elements::Single(n) => {
                self.fill(row.elements()?, 1.0, |value, channel| n.of_unit(value.unit(), channel))?;
            }
            Elements::Half(n) => self.fill(row.elements()?, f16::ONE, |value, channel| {
                f16::from_f32(n.of_unit(value.unit(), channel))
            })?,
            Elements::Brain(n) => self.fill(row.elements()?, bf16::ONE, |value, channel| {
                bf16::from_f32(n.of_unit(value.unit(), channel))
            })?,
        }
        row.set_used(self.length() * elements.dtype().size());
        Ok(())
    }

    /// Elements of the output.
    fn length(&self) -> usize {
        self.size.pixels() as usize * self.wanted
    }

    /// Writes the elements that `of` computes from a sample and its channel; `opaque` for opacity that the picture lacks.
    fn fill<E: Element>(&self, out: &mut [E], opaque: E, of: impl Fn(T, usize) -> E) -> Result<()> {
        let length = self.length();
        let room = out.len();
        let out = out.get_mut(..length).ok_or_else(|| {
            let text = format!("a picture of {length} elements does not fit a row of {room}");
            Error::new(ErrorKind::Decode, text)
        })?;
        let width = self.size.width as usize;
        let height = self.size.height as usize;
        for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
            let pixel = &self.samples[self.stored(x, y) * self.channels..][..self.channels];
            for channel in 0..self.wanted {
                let at = match self.layout {
                    Layout::Hwc => (y * width + x) * self.wanted + channel,
                    Layout::Chw => (channel * height + y) * width + x,
                };
                out[at] = match *pixel {
                    _ if channel == 3 && self.channels < 4 => opaque,
                    [gray] => of(gray, channel),
                    _ => of(pixel[channel], channel),
                };
            }
        }
        Ok(())
    }

    /// The number of the stored pixel at a place of the output.
    fn stored(&self, x: usize, y: usize) -> usize {
        let width = self.size.width as usize;
        let height = self.size.height as usize;
        let x = if self.turn.mirror { width - 1 - x } else { x };
        let y = if self.turn.upend { height - 1 - y } else { y };
        if self.turn.transpose { x * height + y } else { y * width + x }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::output::{Normalize, Picture};

    #[test]
    fn samples_lie_where_those_of_a_picture_of_bytes_lie() {
        let size = ImageSize::new(3, 2);
        for (exif, channels, wanted) in
            (1..=8).flat_map(|n| [(n, 1, 1), (n, 1, 4), (n, 3, 4), (n, 4, 4)])
        {
            for layout in [Layout::Hwc, Layout::Chw] {
                let turn = Turn::of_exif(exif);
                let bytes: Vec<u8> = (0..6 * channels as u8).map(|n| n * 9).collect();
                let words: Vec<u16> = bytes.iter().map(|&byte| u16::from(byte) * 257).collect();
                let length = 6 * wanted;
                let mut narrow = vec![0; length];
                let mut wide = vec![0u16; length];
                let of_bytes =
                    Picture { bytes: &bytes, channels, size, turn, wanted, layout, word_step: 257 };
                let mut row = Row::fixed(&mut narrow);
                of_bytes.write(Elements::Bytes, &mut row, &mut Vec::new()).unwrap();
                let of_words =
                    WidePicture { samples: &words[..], channels, size, turn, wanted, layout };
                let mut row = Row::fixed(bytemuck::cast_slice_mut(&mut wide));
                of_words.write(Elements::Words, &mut row).unwrap();
                assert!(
                    narrow.iter().zip(&wide).all(|(&n, &w)| u16::from(n) * 257 == w),
                    "EXIF {exif}"
                );
            }
        }
    }

    #[test]
    fn numbers_of_16_bits_are_exact_quotients() {
        let words: Vec<u16> = (0..=u16::MAX).collect();
        let mut numbers = vec![0.0f32; words.len()];
        let picture = WidePicture {
            samples: &words[..],
            channels: 1,
            size: ImageSize::new(256, 256),
            turn: Turn::default(),
            wanted: 1,
            layout: Layout::Hwc,
        };
        let mut row = Row::fixed(bytemuck::cast_slice_mut(&mut numbers));
        picture.write(Elements::Single(Normalize::unit()), &mut row).unwrap();
        assert!(
            words.iter().zip(&numbers).all(|(&word, &found)| found == f32::from(word) / 65535.0)
        );
    }
}
