//! Actions on the neighborhood of a pixel, and noise.

use serde::{Deserialize, Serialize};
use tarflume_image::{ImageSize, make_room};
use tarflume_types::Result;

use super::apply::Apply;
use crate::actions::record::{Change, MOST_RADIUS, Record, bits};
use crate::frame::{Frame, Room, Source};
use crate::kernels::filter::noise::{Key, add_noise, add_noise_wrapped};
use crate::kernels::filter::sharpen::sharpen_row;
use crate::kernels::filter::{blur, jpeg};
use crate::kernels::sets::Set;
use crate::numbers::exact::exp;

/// Blends with the smoothed picture. The pixels at the edge remain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdjustSharpness {
    /// 0 is smooth, 1 changes nothing, 2 is sharper.
    pub factor: f64,
}

impl Apply for AdjustSharpness {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let alpha = (1.0 - self.factor) as f32;
        let size = frame.size();
        if alpha == 0.0 || size.width <= 2 || size.height <= 2 {
            return Ok(());
        }
        let length = size.width as usize * frame.channels();
        make_room(&mut frame.room.words, 2 * length)?;
        frame.redraw(size, |source, out, room| sharpen(source, alpha, &mut room.words, out))
    }

    fn in_words(&self, on: ImageSize, _: usize, to: &mut Record) -> bool {
        let alpha = (1.0 - self.factor) as f32;
        if alpha != 0.0 && on.width > 2 && on.height > 2 {
            to.set(Change::Sharpness, bits([alpha]));
        }
        true
    }
}

fn sharpen(source: Source<'_>, alpha: f32, sums: &mut [u16], out: &mut [u8]) {
    let Source { bytes, size, channels } = source;
    let length = size.width as usize * channels;
    let last = bytes.len() - length;
    out[..length].copy_from_slice(&bytes[..length]);
    out[last..].copy_from_slice(&bytes[last..]);
    for at in (length..last).step_by(length) {
        let above = &bytes[at - length..at];
        let row = &bytes[at..at + length];
        let below = &bytes[at + length..at + 2 * length];
        let inner = channels..length - channels;
        let out = &mut out[at..at + length];
        sharpen_row(Set::best(), above, row, below, channels, alpha, sums, &mut out[inner.clone()]);
        out[..inner.start].copy_from_slice(&row[..inner.start]);
        out[inner.end..].copy_from_slice(&row[inner.end..]);
    }
}

/// Smooths with a Gaussian. What is outside the picture is its mirror image, as often as the kernel needs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GaussianBlur {
    /// Taps across and down, odd.
    pub kernel_size: [u32; 2],
    /// Standard deviation across and down in pixels.
    pub sigma: [f64; 2],
}

impl Apply for GaussianBlur {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let size = frame.size();
        let radii = self.radii();
        if size.pixels() == 0 || radii == [0, 0] {
            return Ok(());
        }
        let layout = Layout::new(size, frame.channels(), radii);
        make_room(&mut frame.room.floats, layout.floats())?;
        make_room(&mut frame.room.starts, layout.starts())?;
        frame.redraw(size, |source, out, room| self.blur(source, layout, room, out))
    }

    fn room(&self, from: ImageSize, channels: usize) -> u64 {
        let layout = Layout::new(from, channels, self.radii());
        4 * (layout.floats() + layout.starts()) as u64
    }

    fn in_words(&self, on: ImageSize, _: usize, to: &mut Record) -> bool {
        let radii = self.radii();
        if radii.iter().any(|&radius| radius > MOST_RADIUS) {
            return false;
        }
        if on.pixels() > 0 && radii != [0, 0] {
            let mut weights = [0.0; MOST_RADIUS + 1];
            to.set(Change::Blur, radii.map(|radius| radius as u32));
            for (radius, sigma) in radii.into_iter().zip(self.sigma) {
                let weights = &mut weights[..radius + 1];
                fill_weights(sigma, weights);
                to.extend(bits(weights.iter().copied()));
            }
        }
        true
    }
}

impl GaussianBlur {
    /// Taps on one side of the middle, across and down.
    fn radii(&self) -> [usize; 2] {
        [0, 1].map(|axis| radius(self.kernel_size[axis], self.sigma[axis]))
    }

    /// Sums the rows in the reach of each row of the result, and then its columns.
    fn blur(&self, source: Source<'_>, layout: Layout, room: &mut Room, out: &mut [u8]) {
        let Layout { length, margin, .. } = layout;
        let set = Set::best();
        let height = source.size.height as usize;
        let (ring, rest) = room.floats.split_at_mut(layout.ring * length);
        let (padded, rest) = rest.split_at_mut(length + 2 * margin);
        let (sums, rest) = rest.split_at_mut(length);
        let (across, down) = rest.split_at_mut(layout.radii[0] + 1);
        fill_weights(self.sigma[0], across);
        fill_weights(self.sigma[1], down);
        let (columns, rows) = room.starts.split_at_mut(2 * layout.radii[0] + 1);
        fill_starts(columns, |offset| (margin as i64 + offset * source.channels as i64) as usize);

        let mut read = 0;
        for y in 0..height {
            while read < height.min(y + layout.radii[1] + 1) {
                let row = &source.bytes[read * length..][..length];
                blur::widen(set, row, &mut ring[read % layout.ring * length..][..length]);
                read += 1;
            }
            fill_starts(rows, |offset| mirrored(y as i64 + offset, height) % layout.ring * length);
            blur::weighted_sum(set, ring, rows, down, &mut padded[margin..margin + length]);
            fill_margins(padded, margin, source.channels);
            blur::weighted_sum(set, padded, columns, across, sums);
            blur::round(set, sums, &mut out[y * length..][..length]);
        }
    }
}

/// The parts of the memory of a blur.
#[derive(Debug, Clone, Copy)]
struct Layout {
    /// Taps on one side of the middle, across and down.
    radii: [usize; 2],
    /// Values of a row.
    length: usize,
    /// Values before and after a row whose columns are summed.
    margin: usize,
    /// Rows of the picture that are kept as numbers.
    ring: usize,
}

impl Layout {
    fn new(size: ImageSize, channels: usize, radii: [usize; 2]) -> Layout {
        Layout {
            radii,
            length: size.width as usize * channels,
            margin: radii[0] * channels,
            ring: (2 * radii[1] + 1).min(size.height as usize),
        }
    }

    fn floats(self) -> usize {
        let Layout { radii, length, margin, ring } = self;
        ring * length + length + 2 * margin + length + radii[0] + 1 + radii[1] + 1
    }

    /// Where the taps of a sum start, across and down.
    fn starts(self) -> usize {
        2 * self.radii[0] + 1 + 2 * self.radii[1] + 1
    }
}

/// The pixel that a mirror shows at `at`; the pixel at the edge is not repeated.
fn mirrored(at: i64, length: usize) -> usize {
    let period = (2 * (length as i64 - 1)).max(1);
    let at = at.rem_euclid(period);
    at.min(period - at).min(length as i64 - 1) as usize
}

/// Writes where the middle tap starts, and where the two at each distance from it do.
fn fill_starts(starts: &mut [u32], place: impl Fn(i64) -> usize) {
    starts[0] = place(0) as u32;
    for (distance, pair) in (1..).zip(starts[1..].chunks_exact_mut(2)) {
        pair[0] = place(-distance) as u32;
        pair[1] = place(distance) as u32;
    }
}

/// Mirrors the row between the margins.
fn fill_margins(padded: &mut [f32], margin: usize, channels: usize) {
    let end = padded.len() - margin;
    let columns = (end - margin) / channels;
    for at in 0..margin / channels {
        let left = margin + mirrored(-1 - at as i64, columns) * channels;
        let right = margin + mirrored((columns + at) as i64, columns) * channels;
        padded.copy_within(left..left + channels, margin - (at + 1) * channels);
        padded.copy_within(right..right + channels, end + at * channels);
    }
}

/// Taps on one side of the middle without those that are too light to matter: beyond 4.5 standard deviations are 7 of a
/// million parts of a Gaussian, by which no value changes by more than 0.002.
fn radius(taps: u32, sigma: f64) -> usize {
    let reach = (sigma * 4.5).ceil();
    if reach < f64::from(taps / 2) { reach as usize } else { taps as usize / 2 }
}

/// Writes the weights of the middle tap and of those on one side, which with those on the other side add up to 1.
fn fill_weights(sigma: f64, weights: &mut [f32]) {
    let outer: f64 = (1..weights.len()).map(|distance| weight(distance, sigma)).sum();
    for (distance, out) in weights.iter_mut().enumerate() {
        *out = (weight(distance, sigma) / (1.0 + 2.0 * outer)) as f32;
    }
}

fn weight(distance: usize, sigma: f64) -> f64 {
    if distance == 0 {
        return 1.0;
    }
    let deviations = distance as f64 / sigma;
    exp(-0.5 * deviations * deviations)
}

/// Adds normal noise to each value. What is added has no fraction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GaussianNoise {
    /// The mean, on a scale of 0 to 1.
    pub mean: f64,
    /// The standard deviation, on a scale of 0 to 1.
    pub sigma: f64,
    /// Whether results are limited to 0 to 255. If not, their last 8 bits are used, as torchvision does.
    pub clip: bool,
    /// Of the noise.
    pub seed: u64,
}

impl Apply for GaussianNoise {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let mean = (self.mean * 255.0) as f32;
        let sigma = (self.sigma * 255.0) as f32;
        let key = Key::new(self.seed);
        if self.clip {
            add_noise(Set::best(), key, mean, sigma, frame.pixels_mut());
        } else {
            add_noise_wrapped(Set::best(), key, mean, sigma, frame.pixels_mut());
        }
        Ok(())
    }

    fn in_words(&self, _: ImageSize, _: usize, to: &mut Record) -> bool {
        to.set(Change::Noise, Key::new(self.seed).words());
        to.extend(bits([self.mean, self.sigma].map(|part| (part * 255.0) as f32)));
        to.extend([u32::from(self.clip)]);
        true
    }
}

/// Compresses as JPEG and decompresses: the pixels of libjpeg-turbo with its defaults (colors at half resolution).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jpeg {
    /// 1 to 100.
    pub quality: u8,
}

impl Apply for Jpeg {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let size = frame.size();
        let channels = frame.channels();
        let mut room = std::mem::take(&mut frame.room.bytes);
        let made = make_room(&mut room, jpeg::room(size, channels));
        if made.is_ok() {
            let pixels = frame.pixels_mut();
            jpeg::compress(Set::best(), pixels, size, channels, self.quality, &mut room);
        }
        frame.room.bytes = room;
        made
    }

    fn room(&self, from: ImageSize, channels: usize) -> u64 {
        jpeg::room(from, channels) as u64
    }
}

#[cfg(test)]
mod tests;
