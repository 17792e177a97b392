//! `Bytes`: resizes pixels of three bytes by fine weights on processors that multiply bytes by bytes.
//!
//! Computes no weights.

use super::fine::FineWeights;
use super::lines::Lines;
use super::weights::Span;
use super::{Resizing, rows_of};
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

/// Vectors are quicker where they are one line of the cache.
const CACHE_LINE: usize = 64;

impl Bytes {
    /// Resizes, or returns false with the output unchanged if the sizes or weights are not for these kernels.
    pub(super) fn resize(
        &mut self,
        simd: &Simd,
        fine: &mut FineWeights,
        job: &mut Resizing<'_>,
        [rows, columns]: [Span; 2],
        [down, across]: [&mut Taps; 2],
    ) -> bool {
        let Some(kernels) = simd.bytes.filter(|_| job.channels == 3) else { return false };
        let fit = fine.digits(simd, job.filter, columns, (Units::Aligned, job.flip), across, &mut self.across)
            && fine.digits(simd, job.filter, rows, (Units::Own, false), down, &mut self.down);
        let columns_first = job.is_columns_first();
        let shortest = if columns_first { across.reach(3) } else { across.starts.len() * 3 };
        if !fit || shortest < kernels.shortest {
            return false;
        }
        self.woven.resize(kernels.woven(&self.across) + CACHE_LINE, 0);
        if columns_first {
            self.columns_first(kernels, job, down, across);
        } else {
            self.rows_first(kernels, job, down, across);
        }
        true
    }

    fn columns_first(
        &mut self,
        kernels: ByteKernels,
        job: &mut Resizing<'_>,
        down: &Taps,
        across: &Taps,
    ) {
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

    fn rows_first(
        &mut self,
        kernels: ByteKernels,
        job: &mut Resizing<'_>,
        down: &Taps,
        across: &Taps,
    ) {
        let bytes = &job.bytes[across.starts[0] as usize * 3..];
        let used = across.reach(3);
        let row_bytes = across.starts.len() * 3;
        let woven = aligned(&mut self.woven);
        let mut resize = |number: usize, out: &mut [u8]| {
            let count = (out.len() / row_bytes).min(MOST_LINES);
            let bytes = &bytes[number * job.stride..];
            let lines = Read { bytes, stride: job.stride, count, length: used };
            (kernels.weave)(lines, woven);
            (kernels.across)(&self.across, woven, count, &mut out[..count * row_bytes]);
            count
        };
        self.lines.begin(down, row_bytes, MOST_LINES);
        for (y, row) in rows_of(job.output, down, across, 3).enumerate() {
            let count = down.counts[y] as usize;
            let kept = self.lines.fill(down.starts[y] as usize, count, &mut resize);
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
