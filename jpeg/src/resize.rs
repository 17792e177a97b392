//! `Resizer`: resizes pixels with a triangle filter, from row to row of the output.
//!
//! Knows no JPEG. The output equals that of the crate `fast_image_resize`, byte by byte.

use crate::error::{Error, ErrorKind, Result};
use crate::simd::{Across, AcrossLine, Column, Simd, Table, Taps};

use self::weights::{Span, Weights};

mod weights;

/// Pixels to resize, and where the result goes.
#[derive(Debug)]
pub struct Resizing<'a> {
    /// Pixels row by row, 8 bits a channel, from the first pixel that may be used.
    pub bytes: &'a [u8],
    /// Bytes from row to row.
    pub stride: usize,
    /// Width and height of the pixels that may be used; each at most [`Resizer::MOST_SIDE`].
    pub size: (u32, u32),
    /// 1 or 3.
    pub channels: usize,
    /// The rectangle that becomes the output: left, top, width and height in pixels, with
    /// fractions.
    pub area: [f64; 4],
    /// Width and height of the output.
    pub out_size: (u32, u32),
    /// Whether the output is mirrored left to right.
    pub flip: bool,
    /// The output, row by row without gaps.
    pub output: &'a mut [u8],
}

/// Resizes pictures, antialiased, with a triangle filter ("bilinear"): first the columns, rounded
/// to 8 bits, then the rows. It reuses its memory, so each thread should keep one.
///
/// ```
/// use tarflume_jpeg::{Resizer, Resizing};
///
/// let pixels = [0, 100, 200, 100]; // 4 x 1, gray
/// let mut output = [0; 2];
/// Resizer::new().resize(Resizing {
///     bytes: &pixels,
///     stride: 4,
///     size: (4, 1),
///     channels: 1,
///     area: [0.0, 0.0, 4.0, 1.0],
///     out_size: (2, 1),
///     flip: true,
///     output: &mut output,
/// })?;
/// assert_eq!(output, [143, 71]);
/// # Ok::<(), tarflume_jpeg::Error>(())
/// ```
#[derive(Debug)]
pub struct Resizer {
    simd: &'static Simd,
    weights: Weights,
    down: Taps,
    across: Taps,
    table: Table,
    line: Vec<u8>,
}

impl Default for Resizer {
    fn default() -> Resizer {
        Resizer::with(Simd::best())
    }
}

impl Resizer {
    /// Maximum width and height of a picture. Sums of weights of more inputs would not fit.
    pub const MOST_SIDE: u32 = 1 << 20;

    /// Creates a resizer with the best kernels for this processor.
    pub fn new() -> Resizer {
        Resizer::default()
    }

    fn with(simd: &'static Simd) -> Resizer {
        let (down, across, table) = Default::default();
        Resizer { simd, weights: Weights::default(), down, across, table, line: Vec::new() }
    }

    /// Resizes one picture.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`] if a size is 0 or too large, the area is not within the pixels,
    /// there are not 1 or 3 channels, or a buffer is too small.
    pub fn resize(&mut self, job: Resizing<'_>) -> Result<()> {
        job.check()?;
        let [left, top, width, height] = job.area;
        let inputs = job.size;
        let outputs = job.out_size;
        let span = Span { inputs: inputs.1, from: top, to: top + height, outputs: outputs.1 };
        self.weights.set(span, &mut self.down);
        let span = Span { inputs: inputs.0, from: left, to: left + width, outputs: outputs.0 };
        self.weights.set(span, &mut self.across);
        self.run(job);
        Ok(())
    }

    fn run(&mut self, job: Resizing<'_>) {
        let Resizing { bytes, stride, channels, flip, output, .. } = job;
        let Resizer { simd, down, across, table, line, .. } = self;
        let first = across.starts[0];
        let last = across.starts.len() - 1;
        let used = (across.starts[last] + across.counts[last] - first) as usize * channels;
        let row_bytes = across.starts.len() * channels;
        let columns = &bytes[first as usize * channels..];
        let of = |y: usize| {
            let (start, rows, weights) = down.of(y);
            let weights = &weights[..rows.next_multiple_of(2)];
            Column { bytes: &columns[start * stride..], stride, rows, weights, bits: down.bits }
        };
        let rows = output.chunks_exact_mut(row_bytes).take(down.starts.len()).enumerate();
        if !flip && across.is_identity() {
            return rows.for_each(|(y, row)| (simd.down)(&of(y), row));
        }
        let needed = table.set(across, simd.groups, channels, flip);
        line.resize(needed.max(used), 0);
        let kernel: AcrossLine = if channels == 3 { simd.across_rgb } else { simd.across_gray };
        let across = Across { taps: across, table, flip };
        for (y, row) in rows {
            (simd.down)(&of(y), &mut line[..used]);
            kernel(&across, line, row);
        }
    }

    /// Frees buffers of more than `bytes` bytes, which a single huge picture may have caused.
    pub fn drop_large(&mut self, bytes: usize) {
        self.weights.drop_large(bytes);
        let taps = |taps: &Taps| taps.weights.capacity() * 2 > bytes;
        let tables = taps(&self.down) || taps(&self.across);
        if tables || self.table.weights.capacity() * 16 > bytes || self.line.capacity() > bytes {
            *self = Resizer::with(self.simd);
        }
    }
}

/// Returns true if some pixels from `start` on are among `all`.
fn within(start: f64, length: f64, all: u32) -> bool {
    start >= 0.0 && length > 0.0 && start < all.into() && start + length <= all.into()
}

impl Resizing<'_> {
    fn check(&self) -> Result<()> {
        let [left, top, width, height] = self.area;
        let sides = [self.size.0, self.size.1, self.out_size.0, self.out_size.1];
        let row = |width: u32| width as usize * self.channels;
        let needed = (self.size.1 as usize).saturating_sub(1).checked_mul(self.stride);
        let needed = needed.and_then(|n| n.checked_add(row(self.size.0)));
        let written = (self.out_size.1 as usize).checked_mul(row(self.out_size.0));
        let fits = sides.into_iter().all(|n| (1..=Resizer::MOST_SIDE).contains(&n))
            && (self.channels == 1 || self.channels == 3)
            && self.stride >= row(self.size.0)
            && needed.is_some_and(|n| n <= self.bytes.len())
            && written.is_some_and(|n| n <= self.output.len())
            && within(left, width, self.size.0)
            && within(top, height, self.size.1);
        if fits {
            return Ok(());
        }
        let text = format!(
            "{} channels of {:?} pixels, {} bytes a row and {} in all, cannot be resized: \
             {:?} of them to {:?} pixels in {} bytes",
            self.channels,
            self.size,
            self.stride,
            self.bytes.len(),
            self.area,
            self.out_size,
            self.output.len()
        );
        Err(Error::new(ErrorKind::Usage, text))
    }
}

#[cfg(test)]
mod tests;
