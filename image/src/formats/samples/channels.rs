//! Converts decoded pixels to the wanted channels in place, to 8 bits or in their own depth.

use bytemuck::Pod;

use crate::picture::pixels::{Channels, Depth, luma, luma_of_words};

/// How a decoder stores a pixel.
#[derive(Debug, Clone, Copy)]
pub(in crate::formats) struct PixelKind {
    pub(in crate::formats) channels: usize,
    pub(in crate::formats) depth: Depth,
}

impl PixelKind {
    /// Bytes of a pixel.
    pub(in crate::formats) fn bytes(self) -> usize {
        self.channels * self.depth.bytes()
    }

    /// The channels that pixels of this kind have when `wanted` are decoded.
    pub(in crate::formats) fn decoded(self, wanted: Channels) -> usize {
        match (wanted, self.channels) {
            _ if wanted.is_one() => 1,
            (_, 1) | (Channels::Rgb, 2) => 1,
            (Channels::Rgba, 2 | 4) => 4,
            _ => 3,
        }
    }

    /// Reads one pixel as four bytes: red, green, blue, opacity.
    fn read(self, pixel: &[u8]) -> [u8; 4] {
        let first = self.channel(pixel, 0);
        match self.channels {
            1 => [first, first, first, 255],
            2 => [first, first, first, self.channel(pixel, 1)],
            3 => [first, self.channel(pixel, 1), self.channel(pixel, 2), 255],
            _ => [first, self.channel(pixel, 1), self.channel(pixel, 2), self.channel(pixel, 3)],
        }
    }

    /// Reads channel `n` of a pixel as a byte.
    #[inline]
    fn channel(self, pixel: &[u8], n: usize) -> u8 {
        match self.depth {
            Depth::Byte => pixel[n],
            Depth::Word => {
                let word = u16::from_ne_bytes([pixel[2 * n], pixel[2 * n + 1]]);
                // 65535 / 255 = 257, rounded to nearest.
                ((u32::from(word) + 128) / 257) as u8
            }
            Depth::Float => {
                let at = 4 * n;
                let bytes = [pixel[at], pixel[at + 1], pixel[at + 2], pixel[at + 3]];
                (f32::from_ne_bytes(bytes).clamp(0.0, 1.0) * 255.0).round_ties_even() as u8
            }
        }
    }
}

/// Converts `count` pixels of `kind` into pixels of `channels` bytes, in place.
pub(in crate::formats) fn narrow(bytes: &mut [u8], count: usize, kind: PixelKind, channels: usize) {
    let stored = kind.bytes();
    if kind.depth == Depth::Byte && kind.channels == channels {
        return;
    }
    each_pixel(count, channels > stored, |at| {
        let pixel = kind.read(&bytes[at * stored..][..stored]);
        put(&mut bytes[at * channels..][..channels], pixel, kind.channels < 3, luma);
    });
}

/// A sample of more than 8 bits.
pub(in crate::formats) trait WideSample: Pod + Default {
    /// Full opacity.
    const OPAQUE: Self;

    fn luma(red: Self, green: Self, blue: Self) -> Self;
}

impl WideSample for u16 {
    const OPAQUE: u16 = u16::MAX;

    fn luma(red: u16, green: u16, blue: u16) -> u16 {
        luma_of_words(red, green, blue)
    }
}

impl WideSample for f32 {
    const OPAQUE: f32 = 1.0;

    fn luma(red: f32, green: f32, blue: f32) -> f32 {
        0.299 * red + 0.587 * green + 0.114 * blue
    }
}

/// Converts `count` pixels of `stored` samples into pixels of `channels` samples, in place.
pub(in crate::formats) fn rearrange<T: WideSample>(
    samples: &mut [T],
    count: usize,
    stored: usize,
    channels: usize,
) {
    if stored == channels {
        return;
    }
    each_pixel(count, channels > stored, |at| {
        let pixel = match samples[at * stored..][..stored] {
            [gray] => [gray, gray, gray, T::OPAQUE],
            [gray, opacity] => [gray, gray, gray, opacity],
            [red, green, blue] => [red, green, blue, T::OPAQUE],
            ref all => [all[0], all[1], all[2], all[3]],
        };
        put(&mut samples[at * channels..][..channels], pixel, stored < 3, T::luma);
    });
}

/// Calls `convert` with the number of each pixel, in the direction in which none is overwritten before it is read.
fn each_pixel(count: usize, grows: bool, convert: impl FnMut(usize)) {
    if grows {
        (0..count).rev().for_each(convert);
    } else {
        (0..count).for_each(convert);
    }
}

/// Writes red, green, blue and opacity as one, three or four channels.
fn put<T: Copy>(to: &mut [T], pixel: [T; 4], is_gray: bool, luma: impl Fn(T, T, T) -> T) {
    let [red, green, blue, _] = pixel;
    match to.len() {
        1 if is_gray => to[0] = red,
        1 => to[0] = luma(red, green, blue),
        3 => to.copy_from_slice(&[red, green, blue]),
        _ => to.copy_from_slice(&pixel),
    }
}
