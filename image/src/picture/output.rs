//! Writes resized bytes as the elements of a row: turned, mirrored, expanded to the wanted channels, laid
//! out and normalized. Works line by line, so that a line stays in the cache for all steps.
//!
//! Plain loops over fixed-size chunks, which the compiler vectorizes.

pub(crate) mod wide;

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use tarflume_types::{DType, Element, Error, ErrorKind, Result, Row};

use crate::picture::geometry::ImageSize;
use crate::picture::orientation::Turn;
use tarflume_order::words;

/// The order of a row's elements.
///
/// ```
/// use tarflume::{DType, Decode, Image, Layout, Resize, RowShape};
///
/// let image = Image::new("jpg", Resize::exact(64)).layout(Layout::Chw);
/// assert_eq!(image.shape(), RowShape::Fixed(DType::U8, vec![3, 64, 64]));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Layout {
    /// Pixel by pixel: `[height, width, channels]`.
    #[default]
    Hwc,
    /// Channel by channel: `[channels, height, width]`.
    Chw,
}

words!(Layout, "layout", { Hwc => "hwc", Chw => "chw" });

/// Conversion of a sample to a number: `(byte / 255 - mean) / std`, or `(word / 65535 - mean) / std` of a picture of 16
/// bits, for each channel.
///
/// ```
/// use tarflume::{Image, Normalize, Resize};
///
/// let image = Image::new("jpg", Resize::exact(64)).to_f32(Normalize::imagenet());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Normalize {
    scale: [f32; 4],
    shift: [f32; 4],
    mean: [f64; 4],
    std: [f64; 4],
}

impl Normalize {
    /// Normalizes with the mean and standard deviation of red, green and blue on a scale of 0 to 1. A
    /// gray picture uses those of red. Opacity is scaled to 0 to 1.
    pub fn new(mean: [f32; 3], std: [f32; 3]) -> Normalize {
        let mut normalize =
            Normalize { scale: [1.0 / 255.0; 4], shift: [0.0; 4], mean: [0.0; 4], std: [1.0; 4] };
        for channel in 0..3 {
            let mean = f64::from(mean[channel]);
            let std = f64::from(std[channel]);
            normalize.mean[channel] = mean;
            normalize.std[channel] = std;
            normalize.scale[channel] = (1.0 / (255.0 * std)) as f32;
            normalize.shift[channel] = (-mean / std) as f32;
        }
        normalize
    }

    /// The ImageNet statistics that pre-trained models expect.
    pub fn imagenet() -> Normalize {
        Normalize::new([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    }

    /// Scales to 0 to 1.
    pub fn unit() -> Normalize {
        Normalize::new([0.0; 3], [1.0; 3])
    }

    /// Scales to -1 to 1.
    pub fn centered() -> Normalize {
        Normalize::new([0.5; 3], [0.5; 3])
    }

    /// Scale and shift of each of four channels: `byte * scale + shift`.
    pub fn factors(&self) -> ([f32; 4], [f32; 4]) {
        (self.scale, self.shift)
    }

    #[doc(hidden)]
    pub fn is_finite(&self) -> bool {
        self.scale.iter().chain(&self.shift).all(|x| x.is_finite())
    }

    /// Converts a value on a scale of 0 to 1.
    pub(crate) fn of_unit(&self, value: f64, channel: usize) -> f32 {
        ((value - self.mean[channel]) / self.std[channel]) as f32
    }

    fn value(&self, byte: u8, channel: usize) -> f32 {
        f32::from(byte) * self.scale[channel] + self.shift[channel]
    }
}

/// The element type of a row, and its normalization.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Elements {
    /// 8 bits.
    #[default]
    Bytes,
    /// 16 bits.
    Words,
    /// Single precision.
    Single(Normalize),
    /// IEEE half precision.
    Half(Normalize),
    /// bfloat16.
    Brain(Normalize),
}

impl Elements {
    /// The element type.
    pub fn dtype(&self) -> DType {
        match self {
            Elements::Bytes => DType::U8,
            Elements::Words => DType::U16,
            Elements::Single(_) => DType::F32,
            Elements::Half(_) => DType::F16,
            Elements::Brain(_) => DType::Bf16,
        }
    }
}

/// Writes bytes as elements: the channel with the given number, or whole pixels if `None`.
type Put<'a, T> = &'a dyn Fn(Option<usize>, &[u8], &mut [T]);

/// A resized picture and the form it is written in.
#[derive(Debug)]
pub struct Picture<'a> {
    /// The resized pixels, in the order of the file.
    pub bytes: &'a [u8],
    /// Channels of `bytes`: 1, 3 or 4.
    pub channels: usize,
    /// Size of the output.
    pub size: ImageSize,
    /// From the stored order to the output order.
    pub turn: Turn,
    /// Channels of the output: at least `channels`, except that opacity may be dropped.
    pub wanted: usize,
    /// The order of the axes.
    pub layout: Layout,
    /// The difference of two neighbors of 256 levels in 16 bits: 257, or 1 for numbers that are not scaled.
    pub word_step: u16,
}

impl Picture<'_> {
    /// Whether `bytes` are the row already.
    pub fn is_ready(&self) -> bool {
        let plain = self.layout == Layout::Hwc || self.wanted == 1;
        self.turn.is_none() && self.channels == self.wanted && plain
    }

    /// Writes the picture into the row. `line` is scratch memory.
    ///
    /// # Errors
    /// Returns an error if the row is too short or misaligned.
    pub fn write(&self, elements: Elements, row: &mut Row<'_>, line: &mut Vec<u8>) -> Result<()> {
        let length = self.size.pixels() as usize * self.wanted;
        match elements {
            Elements::Bytes => self.lines(first(row.elements()?, length)?, line, &|_, from, to| {
                to.copy_from_slice(from);
            }),
            Elements::Words => self.lines(first(row.elements()?, length)?, line, &|_, from, to| {
                for (to, &from) in to.iter_mut().zip(from) {
                    *to = u16::from(from) * self.word_step;
                }
            }),
            Elements::Single(n) => {
                self.lines(first(row.elements()?, length)?, line, &|plane, from, to| {
                    self.normalize(&n, plane, from, to);
                });
            }
            Elements::Half(n) => {
                self.lines(first::<f16>(row.elements()?, length)?, line, &|plane, from, to| {
                    self.halve(&n, plane, from, to);
                });
            }
            Elements::Brain(n) => {
                self.lines(first::<bf16>(row.elements()?, length)?, line, &|plane, from, to| {
                    self.halve(&n, plane, from, to);
                });
            }
        }
        row.set_used(length * elements.dtype().size());
        Ok(())
    }

    /// Converts bytes to f32: of channel `plane`, or of whole pixels if `None`.
    fn normalize(&self, by: &Normalize, plane: Option<usize>, from: &[u8], to: &mut [f32]) {
        if let Some(channel) = plane {
            let factors = [by.scale[channel], by.shift[channel]];
            tarflume_jpeg::bytes_to_floats(from, factors, to);
            return;
        }
        match self.wanted {
            1 => whole_pixels::<1>(by, from, to),
            3 => whole_pixels::<3>(by, from, to),
            _ => whole_pixels::<4>(by, from, to),
        }
    }

    /// Converts bytes to a 16-bit float type in blocks, with the CPU's conversion instructions if available.
    fn halve<T>(&self, by: &Normalize, plane: Option<usize>, from: &[u8], to: &mut [T])
    where
        [T]: HalfFloatSliceExt,
    {
        let mut values = [0.0f32; 192]; // a multiple of 1, 3 and 4: blocks hold whole pixels
        for (from, to) in from.chunks(192).zip(to.chunks_mut(192)) {
            let values = &mut values[..from.len()];
            self.normalize(by, plane, from, values);
            to.convert_from_f32_slice(values);
        }
    }

    /// Calls `put` for each line of the output: once with whole pixels, or once for each channel.
    fn lines<T: Element>(&self, out: &mut [T], line: &mut Vec<u8>, put: Put<'_, T>) {
        let width = self.size.width as usize;
        let height = self.size.height as usize;
        let plane = width * height;
        let across = width * self.wanted;
        if self.layout == Layout::Chw
            && self.wanted == 3
            && self.channels == 3
            && self.turn.is_none()
        {
            return colors(self.bytes, out, line, put);
        }
        line.resize(2 * across, 0);
        let (line, split) = line.split_at_mut(across);
        for y in 0..height {
            let pixels = self.line(y, line);
            if self.layout == Layout::Hwc || self.wanted == 1 {
                let channel = (self.wanted == 1).then_some(0);
                put(channel, pixels, &mut out[y * across..][..across]);
                continue;
            }
            apart(pixels, self.wanted, split);
            for channel in 0..self.wanted {
                let to = &mut out[channel * plane + y * width..][..width];
                put(Some(channel), &split[channel * width..][..width], to);
            }
        }
    }

    /// Line `y` of the output: a slice of the picture if it is usable as it is, else built in `line`.
    fn line<'a>(&'a self, y: usize, line: &'a mut [u8]) -> &'a [u8] {
        let width = self.size.width as usize;
        let height = self.size.height as usize;
        let y = if self.turn.upend { height - 1 - y } else { y };
        if self.turn.transpose {
            let column = PixelColumn { bytes: self.bytes, stride: height, at: y };
            match self.channels {
                1 => self.widen(column.pixels::<1>(width), line),
                3 => self.widen(column.pixels::<3>(width), line),
                _ => self.widen(column.pixels::<4>(width), line),
            }
            return line;
        }
        let stored = &self.bytes[y * width * self.channels..][..width * self.channels];
        if !self.turn.mirror && self.channels == self.wanted {
            return stored;
        }
        if !self.turn.mirror && (self.channels, self.wanted) == (1, 3) {
            tarflume_jpeg::gray_to_rgb(stored, line);
            return line;
        }
        match self.channels {
            1 => self.widen(stored.as_chunks::<1>().0.iter().copied(), line),
            3 => self.widen(stored.as_chunks::<3>().0.iter().copied(), line),
            _ => self.widen(stored.as_chunks::<4>().0.iter().copied(), line),
        }
        line
    }

    /// Writes pixels of `N` channels as pixels of `wanted` channels, mirrored or not.
    fn widen<const N: usize>(
        &self,
        pixels: impl DoubleEndedIterator<Item = [u8; N]> + ExactSizeIterator,
        line: &mut [u8],
    ) {
        match self.wanted {
            1 => place(pixels, line, self.turn.mirror, |p| [p[0]]),
            3 if N == 1 => place(pixels, line, self.turn.mirror, |p| [p[0]; 3]),
            // `% N` never wraps in the arms that run; it keeps the index valid for each `N` compiled.
            3 => place(pixels, line, self.turn.mirror, |p| [p[0], p[1 % N], p[2 % N]]),
            _ if N == 1 => {
                place(pixels, line, self.turn.mirror, |p| [p[0], p[0], p[0], 255]);
            }
            _ if N == 3 => {
                place(pixels, line, self.turn.mirror, |p| [p[0], p[1 % N], p[2 % N], 255]);
            }
            _ => place(pixels, line, self.turn.mirror, |p| [p[0], p[1 % N], p[2 % N], p[3 % N]]),
        }
    }
}

/// A column of a picture, read as a line.
#[derive(Clone, Copy)]
struct PixelColumn<'a> {
    bytes: &'a [u8],
    stride: usize,
    at: usize,
}

impl<'a> PixelColumn<'a> {
    fn pixels<const N: usize>(
        self,
        count: usize,
    ) -> impl DoubleEndedIterator<Item = [u8; N]> + ExactSizeIterator + 'a {
        let pixels = self.bytes.as_chunks::<N>().0;
        (0..count).map(move |n| pixels[n * self.stride + self.at])
    }
}

fn place<const N: usize, const M: usize>(
    pixels: impl DoubleEndedIterator<Item = [u8; N]> + ExactSizeIterator,
    line: &mut [u8],
    mirror: bool,
    of: impl Fn([u8; N]) -> [u8; M],
) {
    let to = line.as_chunks_mut::<M>().0;
    if mirror {
        to.iter_mut().zip(pixels.rev()).for_each(|(to, from)| *to = of(from));
    } else {
        to.iter_mut().zip(pixels).for_each(|(to, from)| *to = of(from));
    }
}

/// Pixels whose colors are taken apart at once: they stay in the cache.
const SOME: usize = 2048;

/// Calls `put` for each color of some pixels after others, whatever the width of the picture.
fn colors<T>(pixels: &[u8], out: &mut [T], split: &mut Vec<u8>, put: Put<'_, T>) {
    let plane = out.len() / 3;
    split.resize(3 * SOME, 0);
    for (part, pixels) in pixels[..3 * plane].chunks(3 * SOME).enumerate() {
        let count = pixels.len() / 3;
        apart(pixels, 3, split);
        for channel in 0..3 {
            let to = &mut out[channel * plane + part * SOME..][..count];
            put(Some(channel), &split[channel * count..][..count], to);
        }
    }
}

/// Splits interleaved pixels into one run of bytes for each channel.
fn apart(pixels: &[u8], channels: usize, split: &mut [u8]) {
    let width = pixels.len() / channels;
    if channels == 3 {
        let colors = split[..3 * width].split_at_mut(width);
        let others = colors.1.split_at_mut(width);
        return tarflume_jpeg::rgb_to_planes(pixels, colors.0, others.0, others.1);
    }
    for (channel, to) in split.chunks_exact_mut(width).enumerate() {
        for (to, pixel) in to.iter_mut().zip(pixels.as_chunks::<4>().0) {
            *to = pixel[channel];
        }
    }
}

fn whole_pixels<const N: usize>(by: &Normalize, from: &[u8], to: &mut [f32]) {
    for (to, from) in to.as_chunks_mut::<N>().0.iter_mut().zip(from.as_chunks::<N>().0) {
        for channel in 0..N {
            to[channel] = by.value(from[channel], channel);
        }
    }
}

fn first<T>(elements: &mut [T], length: usize) -> Result<&mut [T]> {
    let room = elements.len();
    elements.get_mut(..length).ok_or_else(|| {
        let text = format!("a picture of {length} elements does not fit a row of {room}");
        Error::new(ErrorKind::Decode, text)
    })
}

#[cfg(test)]
mod tests;
