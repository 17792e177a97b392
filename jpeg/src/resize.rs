//! `Resizer`: resizes pixels, from row to row of the output.
//!
//! Knows no JPEG. The output of [`ResizeFilter::Triangle`] equals that of the crate `fast_image_resize`,
//! that of the other filters Pillow's, byte by byte.

use crate::error::{Error, ErrorKind, Result};
use crate::simd::{Across, AcrossLine, Column, Inputs, LINES, Simd, Table, Taps};

use self::bytes::{Axes, Bytes, Part};
pub use self::filter::ResizeFilter;
use self::fine::FineWeights;
use self::lines::Lines;
use self::weights::{Span, Weights};

mod bytes;
mod filter;
mod fine;
mod lines;
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
    /// The filter.
    pub filter: ResizeFilter,
    /// Whether rows and columns of the output will be exchanged. The axes are then processed in the
    /// other order, which gives what resizing the exchanged picture gives. Of no effect on
    /// [`ResizeFilter::Triangle`].
    pub transposed: bool,
    /// Whether the output is mirrored left to right.
    pub flip: bool,
    /// The output, row by row without gaps.
    pub output: &'a mut [u8],
}

/// Resizes pictures, antialiased. It reuses its memory, so each thread should keep one.
///
/// ```
/// use tarflume_jpeg::{ResizeFilter, Resizer, Resizing};
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
///     filter: ResizeFilter::Triangle,
///     transposed: false,
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
    fine: FineWeights,
    down: Taps,
    across: Taps,
    table: Table,
    line: Vec<u8>,
    lines: Lines,
    bytes: Bytes,
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
        Resizer {
            simd,
            weights: Weights::default(),
            fine: FineWeights::default(),
            down: Taps::default(),
            across: Taps::default(),
            table: Table::default(),
            line: Vec::new(),
            lines: Lines::default(),
            bytes: Bytes::default(),
        }
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
        let rows = Span { inputs: inputs.1, from: top, to: top + height, outputs: outputs.1 };
        let columns = Span { inputs: inputs.0, from: left, to: left + width, outputs: outputs.0 };
        if job.filter == ResizeFilter::Triangle {
            self.weights.set(rows, &mut self.down);
            self.weights.set(columns, &mut self.across);
        } else {
            let Resizer { simd, fine, down, across, bytes, .. } = self;
            let part = Part {
                bytes: job.bytes,
                stride: job.stride,
                filter: job.filter,
                columns_first: job.is_columns_first(),
                flip: job.flip,
                output: &mut *job.output,
            };
            let axes = Axes { rows, columns, down, across };
            if job.channels == 3 && bytes.resize(simd, fine, part, axes) {
                return Ok(());
            }
            fine.set(simd, job.filter, rows, down);
            fine.set(simd, job.filter, columns, across);
        }
        if job.filter == ResizeFilter::Triangle || job.is_columns_first() {
            self.columns_first(job);
        } else {
            self.rows_first(job);
        }
        Ok(())
    }

    fn columns_first(&mut self, job: Resizing<'_>) {
        let Resizing { bytes, stride, channels, flip, output, .. } = job;
        let Resizer { simd, down, across, table, line, .. } = self;
        let used = across.reach(channels);
        let columns = &bytes[across.starts[0] as usize * channels..];
        let of = |y: usize| column(down.of(y), columns, stride, down.bits);
        let row_bytes = across.starts.len() * channels;
        let rows = output.chunks_exact_mut(row_bytes).take(down.starts.len()).enumerate();
        if !flip && across.is_identity() {
            return rows.for_each(|(y, row)| (simd.down)(&of(y), row));
        }
        let needed = table.set(across, simd.groups, channels, flip);
        line.resize(needed.max(used), 0);
        let kernel = across_line(simd, channels);
        let across = Across { taps: across, table, flip, lines: 1, stride: 0 };
        for (y, row) in rows {
            (simd.down)(&of(y), &mut line[..used]);
            kernel(&across, line, row);
        }
    }

    fn rows_first(&mut self, job: Resizing<'_>) {
        let Resizing { bytes, stride, channels, flip, output, .. } = job;
        let Resizer { simd, down, across, table, line, lines, .. } = self;
        let used = across.reach(channels);
        let row_bytes = across.starts.len() * channels;
        let columns = &bytes[across.starts[0] as usize * channels..];
        let rows = output.chunks_exact_mut(row_bytes).take(down.starts.len()).enumerate();
        if !flip && across.is_identity() {
            return rows.for_each(|(y, row)| {
                (simd.down)(&column(down.of(y), columns, stride, down.bits), row);
            });
        }
        let needed = table.set(across, simd.groups, channels, flip).max(used);
        let kernel = across_line(simd, channels);
        let one = Across { taps: across, table, flip, lines: 1, stride };
        let all = Across { lines: LINES, ..one };
        let mut resize = |number: usize, out: &mut [u8]| {
            let from = &columns[number * stride..];
            let last = from.len().saturating_sub(stride * (LINES - 1));
            if last >= needed && out.len() >= LINES * row_bytes {
                kernel(&all, from, out);
                return LINES;
            }
            if from.len() >= needed {
                kernel(&one, from, out);
                return 1;
            }
            line.resize(needed, 0);
            line[..used].copy_from_slice(&from[..used]);
            kernel(&one, line, out);
            1
        };
        if down.is_identity() {
            let first = down.starts[0] as usize;
            return rows.for_each(|(y, row)| {
                resize(first + y, row);
            });
        }
        lines.begin(down, row_bytes, LINES);
        for (y, row) in rows {
            let mut inputs = down.of(y);
            let kept = lines.fill(inputs.start, inputs.count, &mut resize);
            inputs.start = 0;
            (simd.down)(&column(inputs, kept, row_bytes, down.bits), row);
        }
    }

    /// Frees buffers of more than `bytes` bytes, which a single huge picture may have caused.
    pub fn drop_large(&mut self, bytes: usize) {
        self.weights.drop_large(bytes);
        self.fine.drop_large(bytes);
        self.lines.drop_large(bytes);
        self.bytes.drop_large(bytes);
        let tables = is_large(&self.down, bytes) || is_large(&self.across, bytes);
        if tables || self.table.weights.capacity() * 16 > bytes || self.line.capacity() > bytes {
            *self = Resizer::with(self.simd);
        }
    }
}

fn is_large(taps: &Taps, bytes: usize) -> bool {
    taps.weights.capacity().max(taps.lows.capacity()) * 2 > bytes
}

/// Returns the rows of an output. `bytes` begin with the row from which inputs are counted.
fn column<'a>(inputs: Inputs<'a>, bytes: &'a [u8], stride: usize, bits: u32) -> Column<'a> {
    let Inputs { start, count: rows, weights, lows } = inputs;
    let each = rows.next_multiple_of(2);
    Column {
        bytes: &bytes[start * stride..],
        stride,
        rows,
        weights: &weights[..each],
        lows: lows.get(..each).unwrap_or_default(),
        bits,
    }
}

fn across_line(simd: &Simd, channels: usize) -> AcrossLine {
    if channels == 3 { simd.across_rgb } else { simd.across_gray }
}

/// Returns true if some pixels from `start` on are among `all`.
fn within(start: f64, length: f64, all: u32) -> bool {
    start >= 0.0 && length > 0.0 && start < all.into() && start + length <= all.into()
}

/// Whether Pillow 13 processes the columns of a picture first: where the height loses more than twice what the width
/// loses. `size`, `area` and `out` have the width and the height of the pixels that may be used, of the rectangle that
/// becomes the output, and of the output.
pub fn columns_first(size: [u32; 2], area: [f64; 2], out: [u32; 2]) -> bool {
    let [across, down] = [0, 1].map(|axis| lost(size[axis], area[axis], out[axis]));
    is_second_first(down, across)
}

/// How many pixels an axis of the picture loses, of which the output is a part.
fn lost(inputs: u32, length: f64, outputs: u32) -> f64 {
    // The length of the whole picture at the new scale.
    let whole = f64::from(inputs) * f64::from(outputs) / length;
    f64::from(inputs) - whole.round()
}

fn is_second_first(second: f64, first: f64) -> bool {
    second > 0.0 && second > 2.0 * first
}

impl Resizing<'_> {
    /// Whether the columns are processed first, as in the picture with rows and columns exchanged if that is done
    /// afterwards.
    fn is_columns_first(&self) -> bool {
        let [_, _, width, height] = self.area;
        let down = lost(self.size.1, height, self.out_size.1);
        let across = lost(self.size.0, width, self.out_size.0);
        if self.transposed { !is_second_first(across, down) } else { is_second_first(down, across) }
    }

    fn check(&self) -> Result<()> {
        let [left, top, width, height] = self.area;
        let sides = [self.size.0, self.size.1, self.out_size.0, self.out_size.1];
        let needed = (self.size.1 as usize).saturating_sub(1).checked_mul(self.stride);
        let needed = needed.and_then(|n| n.checked_add(self.row_bytes(self.size.0)));
        let written = (self.out_size.1 as usize).checked_mul(self.row_bytes(self.out_size.0));
        let fits = sides.into_iter().all(|n| (1..=Resizer::MOST_SIDE).contains(&n))
            && (self.channels == 1 || self.channels == 3)
            && self.stride >= self.row_bytes(self.size.0)
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

    fn row_bytes(&self, width: u32) -> usize {
        width as usize * self.channels
    }
}

#[cfg(test)]
mod tests;
