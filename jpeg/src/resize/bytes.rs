//! `Bytes`: resizes pixels of three bytes by fine weights on processors that multiply bytes by bytes.
//!
//! Computes no weights.

use super::filter::ResizeFilter;
use super::fine::FineWeights;
use super::lines::Lines;
use super::weights::Span;
use crate::simd::{ByteKernels, Digits, Lines as Read, MOST_LINES, Simd, Taps, Units};

/// The weights of both axes in digits, and the memory between the passes.
#[derive(Debug, Default)]
pub(super) struct Bytes {
    across: Digits,
    down: Digits,
    /// A line of vectors for [`MOST_LINES`] lines.
    woven: Vec<u8>,
    /// Lines between the passes if the columns are first.
    line: Vec<u8>,
    /// The same if the rows are first.
    lines: Lines,
}

/// A picture with pixels of three bytes, as [`super::Resizing`] has it.
#[derive(Debug)]
pub(super) struct Part<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) stride: usize,
    pub(super) filter: ResizeFilter,
    pub(super) columns_first: bool,
    pub(super) flip: bool,
    pub(super) output: &'a mut [u8],
}

/// Both axes, and where their inputs are written.
#[derive(Debug)]
pub(super) struct Axes<'a> {
    pub(super) rows: Span,
    pub(super) columns: Span,
    pub(super) down: &'a mut Taps,
    pub(super) across: &'a mut Taps,
}

/// Vectors are quicker where they are one line of the cache.
const CACHE_LINE: usize = 64;

impl Bytes {
    /// Resizes, or returns false with the output unchanged if the sizes or weights are not for these kernels.
    pub(super) fn resize(
        &mut self,
        simd: &Simd,
        fine: &mut FineWeights,
        job: Part<'_>,
        axes: Axes<'_>,
    ) -> bool {
        let Some(kernels) = simd.bytes else { return false };
        let Axes { rows, columns, down, across } = axes;
        let units = Units::Aligned { flip: job.flip };
        let fit = fine.digits(simd, job.filter, columns, units, across, &mut self.across)
            && fine.digits(simd, job.filter, rows, Units::Own, down, &mut self.down);
        let shortest = if job.columns_first { across.reach(3) } else { across.starts.len() * 3 };
        if !fit || shortest < kernels.shortest {
            return false;
        }
        self.woven.resize(kernels.woven(&self.across) + CACHE_LINE, 0);
        if job.columns_first {
            self.columns_first(kernels, job, down, across);
        } else {
            self.rows_first(kernels, job, down, across);
        }
        true
    }

    fn columns_first(&mut self, kernels: ByteKernels, job: Part<'_>, down: &Taps, across: &Taps) {
        let bytes = &job.bytes[across.starts[0] as usize * 3..];
        let used = across.reach(3);
        let row_bytes = across.starts.len() * 3;
        self.line.resize(MOST_LINES * used, 0);
        let woven = aligned(&mut self.woven);
        let output = &mut job.output[..down.starts.len() * row_bytes];
        for (part, output) in output.chunks_mut(MOST_LINES * row_bytes).enumerate() {
            let count = output.len() / row_bytes;
            for (line, out) in self.line.chunks_exact_mut(used).take(count).enumerate() {
                let y = part * MOST_LINES + line;
                (kernels.down)(rows(bytes, job.stride, down, y, used), &self.down, y, out);
            }
            let lines = Read { bytes: &self.line, stride: used, count, length: used };
            (kernels.weave)(lines, woven);
            (kernels.across)(&self.across, woven, count, output);
        }
    }

    fn rows_first(&mut self, kernels: ByteKernels, job: Part<'_>, down: &Taps, across: &Taps) {
        let bytes = &job.bytes[across.starts[0] as usize * 3..];
        let used = across.reach(3);
        let row_bytes = across.starts.len() * 3;
        let woven = aligned(&mut self.woven);
        self.lines.begin(down, row_bytes, MOST_LINES);
        for (y, row) in job.output.chunks_exact_mut(row_bytes).take(down.starts.len()).enumerate() {
            let count = down.counts[y] as usize;
            let start = down.starts[y] as usize;
            let kept = self.lines.fill(start, count, |number, out| {
                let count = (out.len() / row_bytes).min(MOST_LINES);
                let bytes = &bytes[number * job.stride..];
                (kernels.weave)(Read { bytes, stride: job.stride, count, length: used }, woven);
                (kernels.across)(&self.across, woven, count, &mut out[..count * row_bytes]);
                count
            });
            let rows = Read { bytes: kept, stride: row_bytes, count, length: row_bytes };
            (kernels.down)(rows, &self.down, y, row);
        }
    }

    /// Returns true if a buffer has more than `bytes` bytes.
    fn is_large(&self, bytes: usize) -> bool {
        let tables = self.across.bytes().max(self.down.bytes());
        tables.max(self.woven.capacity()).max(self.line.capacity()) > bytes
    }

    /// Frees memory above `bytes` bytes.
    pub(super) fn drop_large(&mut self, bytes: usize) {
        self.lines.drop_large(bytes);
        if self.is_large(bytes) {
            *self = Bytes::default();
        }
    }
}

/// The rows of the picture that become row `y`.
fn rows<'a>(bytes: &'a [u8], stride: usize, down: &Taps, y: usize, length: usize) -> Read<'a> {
    let bytes = &bytes[down.starts[y] as usize * stride..];
    Read { bytes, stride, count: down.counts[y] as usize, length }
}

/// The memory from the first line of the cache on.
fn aligned(woven: &mut [u8]) -> &mut [u8] {
    let skip = woven.as_ptr().align_offset(CACHE_LINE).min(CACHE_LINE);
    &mut woven[skip..]
}
