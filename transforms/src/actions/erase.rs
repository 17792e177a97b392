//! `Erase`: overwrites a rectangle of a picture, or of the row that was made from it.

use half::{bf16, f16};
use serde::{Deserialize, Serialize};
use tarflume_image::{ImageSize, make_room};
use tarflume_types::Result;

use super::apply::Apply;
use crate::actions::record::{Change, Record, bits};
use crate::frame::Frame;
use crate::kernels::filter::noise::{Key, normals};
use crate::kernels::sets::Set;

/// What an erased rectangle has.
///
/// Noise is standard normal in a row that is normalized. Pixels, and a row that is not normalized, get the noise times 63.75
/// plus 127.5: what a mean of 0.5 and a standard deviation of 0.25 make standard normal.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum EraseValue {
    /// The same numbers in each pixel: of the normalized row if it is normalized, else 0 to 255.
    Constant([f64; 3]),
    /// Standard normal noise from this seed, the same for all pixels (timm's `rand`).
    Pixel(u64),
    /// Standard normal noise from this seed for each pixel (torchvision's `random`, timm's `pixel`).
    Noise(u64),
}

/// Overwrites a rectangle. What is outside the picture is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Erase {
    /// The first row.
    pub top: u32,
    /// The first column.
    pub left: u32,
    /// Rows.
    pub height: u32,
    /// Columns.
    pub width: u32,
    /// What is written.
    pub value: EraseValue,
}

/// An element of a row.
pub trait Element: Copy {
    /// The nearest element.
    fn nearest(value: f32) -> Self;
}

impl Element for f32 {
    fn nearest(value: f32) -> f32 {
        value
    }
}

impl Element for f16 {
    fn nearest(value: f32) -> f16 {
        f16::from_f32(value)
    }
}

impl Element for bf16 {
    fn nearest(value: f32) -> bf16 {
        bf16::from_f32(value)
    }
}

impl Element for u8 {
    fn nearest(value: f32) -> u8 {
        // A sum this large has no fraction: it is rounded as every sum is, and its last byte is the integer. That is quicker
        // than a conversion.
        (value.clamp(0.0, 255.0) + 12_582_912.0).to_bits() as u8
    }
}

/// How elements of a picture follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowLayout {
    /// Width and height.
    pub size: ImageSize,
    /// 1 or 3.
    pub channels: usize,
    /// Whether a channel follows the other (CHW) instead of a pixel the other (HWC).
    pub channels_first: bool,
}

/// The scale of what is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowScale {
    /// Values that a mean was subtracted from and that were divided by a standard deviation.
    Normalized = 0,
    /// 0 to 1: noise and constants of 0 to 255 are divided by 255.
    One = 1,
    /// 0 to 255.
    Byte = 2,
}

impl Erase {
    /// Overwrites the rectangle in a row of elements: all those of a picture. `noise` is a buffer whose content is any.
    ///
    /// The same pixel gets the same numbers in both layouts.
    ///
    /// # Errors
    /// Returns an error if memory is short.
    pub fn on_values<T: Element>(
        &self,
        values: &mut [T],
        layout: RowLayout,
        scale: RowScale,
        noise: &mut Vec<f32>,
    ) -> Result<()> {
        let RowLayout { size, channels, channels_first } = layout;
        let all = size.width as usize * size.height as usize;
        let width = self.width.min(size.width.saturating_sub(self.left)) as usize;
        let left = self.left as usize;
        let rows = self.top..self.top.saturating_add(self.height).min(size.height);
        // Numbers are drawn for the rectangle as it was before the picture cut it.
        let numbers = (self.width as usize).wrapping_mul(channels);
        if width == 0 || channels == 0 {
            return Ok(());
        }
        make_room(noise, width * channels)?;
        for (row, y) in rows.enumerate() {
            if row == 0 || matches!(self.value, EraseValue::Noise(_)) {
                self.fill(row.wrapping_mul(numbers), channels, scale, noise);
            }
            let start = y as usize * size.width as usize + left;
            if channels_first {
                for channel in 0..channels {
                    let numbers = noise[channel..].iter().step_by(channels);
                    overwrite(&mut values[channel * all + start..][..width], numbers);
                }
            } else {
                overwrite(&mut values[start * channels..][..width * channels], noise.iter());
            }
        }
        Ok(())
    }

    /// Writes what a device needs to erase the rectangle of a picture of size `on`.
    pub(crate) fn in_words_of(&self, on: ImageSize, scale: RowScale, to: &mut Record) {
        let height = self.height.min(on.height.saturating_sub(self.top));
        let width = self.width.min(on.width.saturating_sub(self.left));
        to.set(Change::Erase, [self.top, self.left, height, width]);
        match self.value {
            EraseValue::Noise(seed) => {
                to.extend([1]);
                to.extend(Key::new(seed).words());
                to.extend([scale as u32, 0, 0, 0]);
            }
            EraseValue::Constant(_) | EraseValue::Pixel(_) => {
                let mut color = [0.0; 3];
                self.fill(0, 3, scale, &mut color);
                to.extend([0; 4]);
                to.extend(bits(color));
            }
        }
        // Noise is drawn for the rectangle as it was before the picture cut it.
        to.extend([self.width]);
    }

    /// Writes one row of the rectangle, pixel after pixel.
    fn fill(&self, first: usize, channels: usize, scale: RowScale, out: &mut [f32]) {
        let unit = if scale == RowScale::One { 1.0 / 255.0 } else { 1.0 };
        match self.value {
            EraseValue::Constant(values) => {
                for pixel in out.chunks_exact_mut(channels) {
                    for (out, value) in pixel.iter_mut().zip(values) {
                        *out = value as f32 * unit;
                    }
                }
            }
            EraseValue::Pixel(seed) => {
                let mut color = [0.0; 3];
                normals(Set::best(), Key::new(seed), 0, &mut color);
                scale.of_noise(&mut color);
                for pixel in out.chunks_exact_mut(channels) {
                    pixel.copy_from_slice(&color[..channels]);
                }
            }
            EraseValue::Noise(seed) => {
                normals(Set::best(), Key::new(seed), first as u32, out);
                scale.of_noise(out);
            }
        }
    }
}

fn overwrite<'a, T: Element>(out: &mut [T], numbers: impl Iterator<Item = &'a f32>) {
    for (out, number) in out.iter_mut().zip(numbers) {
        *out = T::nearest(*number);
    }
}

impl RowScale {
    /// Changes standard normal numbers to this scale.
    fn of_noise(self, values: &mut [f32]) {
        let (deviation, mean) = match self {
            RowScale::Normalized => return,
            RowScale::One => (0.25, 0.5),
            RowScale::Byte => (63.75, 127.5),
        };
        for value in values {
            *value = *value * deviation + mean;
        }
    }
}

impl Apply for Erase {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let layout =
            RowLayout { size: frame.size(), channels: frame.channels(), channels_first: false };
        let mut noise = std::mem::take(&mut frame.room.floats);
        let erased = self.on_values(frame.pixels_mut(), layout, RowScale::Byte, &mut noise);
        frame.room.floats = noise;
        erased
    }

    fn in_words(&self, on: ImageSize, _: usize, to: &mut Record) -> bool {
        self.in_words_of(on, RowScale::Byte, to);
        true
    }
}

#[cfg(test)]
mod tests;
