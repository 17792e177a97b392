//! The pictures of the test JPEGs: drawn from a seed, with content that is hard for decoders.
//!
//! Reads no files and no clock.

use std::fmt;

use tarflume_fixtures::SplitMix64;

/// Rows of pixels without gaps; 1 (gray), 3 (RGB) or 4 (CMYK) channels.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Picture {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) channels: usize,
    pub(crate) bytes: Vec<u8>,
}

/// Prints its size alone: bytes are useless in a message.
impl fmt::Debug for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.width, self.height, self.channels)
    }
}

/// The content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Motif {
    /// Slopes and hard edges under a little noise, as photographs have them.
    Scene,
    /// Independent values: long codes, every coefficient, sums beyond 0 to 255 before saturation.
    Noise,
    /// Only 0 and 255, in tiles of one to three pixels: the largest possible coefficients.
    Tiles,
    /// One color: blocks that end at once.
    Flat,
}

impl Motif {
    pub(crate) const ALL: [Motif; 4] = [Motif::Scene, Motif::Noise, Motif::Tiles, Motif::Flat];
}

impl Picture {
    /// Draws the same picture for the same arguments.
    pub(crate) fn new(
        width: usize,
        height: usize,
        channels: usize,
        motif: Motif,
        seed: u64,
    ) -> Self {
        let mut rng = SplitMix64::nth(seed, (width * 1000 + height) as u64);
        let mut bytes = vec![0; width * height * channels];
        match motif {
            Motif::Scene => scene(&mut bytes, width, channels, &mut rng),
            Motif::Noise => bytes.fill_with(|| rng.next_u64() as u8),
            Motif::Tiles => tiles(&mut bytes, width, channels, &mut rng),
            Motif::Flat => {
                let color = rng.next_u64().to_le_bytes();
                bytes.iter_mut().enumerate().for_each(|(i, b)| *b = color[i % channels]);
            }
        }
        Picture { width, height, channels, bytes }
    }

    /// Returns the window of this picture whose first pixel is (`left`, `top`).
    pub(crate) fn crop(&self, left: usize, top: usize, width: usize, height: usize) -> Picture {
        let stride = self.width * self.channels;
        let mut bytes = Vec::with_capacity(width * height * self.channels);
        for y in top..top + height {
            let from = y * stride + left * self.channels;
            bytes.extend_from_slice(&self.bytes[from..from + width * self.channels]);
        }
        Picture { width, height, channels: self.channels, bytes }
    }

    /// Returns the first difference to another picture, and the largest; `None` if they are equal.
    /// For messages.
    pub(crate) fn difference(&self, other: &Picture) -> Option<String> {
        fn size(p: &Picture) -> (usize, usize, usize) {
            (p.width, p.height, p.channels)
        }
        if size(self) != size(other) {
            return Some(format!("{:?} instead of {:?}", size(self), size(other)));
        }
        let both = || self.bytes.iter().zip(&other.bytes);
        let first = both().position(|(a, b)| a != b)?;
        let pixel = first / self.channels;
        let channel = first % self.channels;
        Some(format!(
            "x {} y {} channel {channel}: {} instead of {}; {} of {} bytes differ, by at most {}",
            pixel % self.width,
            pixel / self.width,
            self.bytes[first],
            other.bytes[first],
            both().filter(|(a, b)| a != b).count(),
            self.bytes.len(),
            both().map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0),
        ))
    }
}

/// A separate slope in each channel, a few hard edges, noise of 0 to 15.
fn scene(bytes: &mut [u8], width: usize, channels: usize, rng: &mut SplitMix64) {
    let slopes: Vec<(i32, i32, i32)> = (0..channels)
        .map(|_| {
            let mut step = || rng.between(0, 12) as i32 - 6;
            (step(), step(), step() * 20 + 128)
        })
        .collect();
    let edge_x = 1 + rng.below(width as u32) as i32;
    let edge_y = 1 + rng.below(40) as i32;
    for (i, byte) in bytes.iter_mut().enumerate() {
        let pixel = i / channels;
        let channel = i % channels;
        let x = (pixel % width) as i32;
        let y = (pixel / width) as i32;
        let (across, down, start) = slopes[channel];
        let edge = (x / edge_x + y / edge_y + channel as i32) % 3 * 60;
        let noise = (rng.next_u64() & 15) as i32;
        *byte = (start + across * x / 3 + down * y / 3 + edge + noise).rem_euclid(256) as u8;
    }
}

/// 0 or 255 by tile; each channel has tiles of another size.
fn tiles(bytes: &mut [u8], width: usize, channels: usize, rng: &mut SplitMix64) {
    let start = rng.below(3) as usize;
    for (i, byte) in bytes.iter_mut().enumerate() {
        let pixel = i / channels;
        let channel = i % channels;
        let size = 1 + (start + channel) % 3;
        let odd = (pixel % width / size + pixel / width / size) % 2 == 1;
        *byte = if odd { 255 } else { 0 };
    }
}
