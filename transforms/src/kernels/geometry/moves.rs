//! Flips, quarter turns, crops and margins: pixels move, none changes.

use crate::frame::Source;
use crate::kernels::sets::{Set, wide};
use crate::settings::{Fill, PaddingMode};

/// The bytes of the pixels that one step of `reverse_rgb` moves.
const STEP: usize = 15;

/// A tile of a quarter turn: its rows and its columns stay in the cache.
const TILE: usize = 32;

/// Writes the rows with left and right exchanged.
pub(crate) fn mirror(set: Set, source: Source<'_>, out: &mut [u8]) {
    let stride = source.size.width as usize * source.channels;
    for (from, to) in source.bytes.chunks_exact(stride).zip(out.chunks_exact_mut(stride)) {
        reverse(set, source.channels, from, to);
    }
}

/// Writes the pixels of `from` in the opposite order.
pub(crate) fn reverse(set: Set, channels: usize, from: &[u8], to: &mut [u8]) {
    if channels == 3 {
        reverse_rgb(set, from, to);
    } else {
        reverse_gray(set, from, to);
    }
}

wide! {
    fn reverse_gray(from: &[u8], to: &mut [u8]) {
        for (from, to) in from.iter().rev().zip(to) {
            *to = *from;
        }
    }
}

wide! {
    /// Each step loads 16 bytes and stores them: five pixels, and a byte that the next step overwrites.
    fn reverse_rgb(from: &[u8], to: &mut [u8]) {
        // The last pixel has no byte after it.
        let mut done = from.len().min(3);
        let mut end = from.len() - done;
        to[..done].copy_from_slice(&from[end..]);
        while end > STEP {
            let Some(pixels) = from.get(end - STEP..=end) else { break };
            let Some(target) = to.get_mut(done..done + STEP + 1) else { break };
            let pixels = pixels.first_chunk().expect("16 bytes");
            target.copy_from_slice(&reversed(pixels));
            end -= STEP;
            done += STEP;
        }
        for (from, to) in from[..end].rchunks_exact(3).zip(to[done..].chunks_exact_mut(3)) {
            to.copy_from_slice(from);
        }
    }
}

/// Five pixels in the opposite order, and the byte after them.
#[inline(always)]
fn reversed(p: &[u8; 16]) -> [u8; 16] {
    [
        p[12], p[13], p[14], p[9], p[10], p[11], p[6], p[7], p[8], p[3], p[4], p[5], p[0], p[1],
        p[2], p[15],
    ]
}

/// Exchanges top and bottom in place.
pub(crate) fn exchange_rows(bytes: &mut [u8], stride: usize) {
    let rows = bytes.len() / stride.max(1);
    let middle = rows.div_ceil(2) * stride;
    let split = bytes.split_at_mut(middle);
    let lower = split.1.chunks_exact_mut(stride).rev();
    for (upper, lower) in split.0.chunks_exact_mut(stride).zip(lower) {
        upper.swap_with_slice(lower);
    }
}

/// Writes the picture turned counterclockwise by one quarter, or by three.
pub(crate) fn quarter(source: Source<'_>, turns: u8, out: &mut [u8]) {
    if source.channels == 3 {
        transposed::<3>(source, turns, out);
    } else {
        transposed::<1>(source, turns, out);
    }
}

fn transposed<const CHANNELS: usize>(source: Source<'_>, turns: u8, out: &mut [u8]) {
    let width = source.size.width as usize;
    let height = source.size.height as usize;
    let pixels = source.bytes.as_chunks::<CHANNELS>().0;
    let out = out.as_chunks_mut::<CHANNELS>().0;
    for top in (0..width).step_by(TILE) {
        for left in (0..height).step_by(TILE) {
            let columns = left..(left + TILE).min(height);
            for row in top..(top + TILE).min(width) {
                let line = &mut out[row * height..][columns.clone()];
                for (target, column) in line.iter_mut().zip(columns.clone()) {
                    *target = if turns == 1 {
                        pixels[column * width + width - 1 - row]
                    } else {
                        pixels[(height - 1 - column) * width + row]
                    };
                }
            }
        }
    }
}

/// Writes the rectangle of `out`'s size whose first pixel is in row `top` and column `left`.
pub(crate) fn crop(source: Source<'_>, top: usize, left: usize, width: usize, out: &mut [u8]) {
    let stride = source.size.width as usize * source.channels;
    let length = width * source.channels;
    let rows = source.bytes.chunks_exact(stride).skip(top);
    for (from, to) in rows.zip(out.chunks_exact_mut(length)) {
        to.copy_from_slice(&from[left * source.channels..][..length]);
    }
}

/// Pixels outside the picture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Margin {
    /// Columns on the left.
    pub(crate) left: usize,
    /// Rows above.
    pub(crate) top: usize,
    /// Columns on the right.
    pub(crate) right: usize,
    /// What is there.
    pub(crate) mode: PaddingMode,
    /// Of the constant mode.
    pub(crate) fill: Fill,
}

/// Writes the picture with a margin. `out` has the pixels of the margin, too.
pub(crate) fn pad(source: Source<'_>, margin: &Margin, out: &mut [u8]) {
    if source.channels == 3 {
        pad_pixels(source, margin, margin.fill.0, out);
    } else {
        pad_pixels(source, margin, [margin.fill.0[0]], out);
    }
}

fn pad_pixels<const CHANNELS: usize>(
    source: Source<'_>,
    margin: &Margin,
    fill: [u8; CHANNELS],
    out: &mut [u8],
) {
    let width = source.size.width as usize;
    let height = source.size.height as usize;
    let pixels = source.bytes.as_chunks::<CHANNELS>().0;
    let line = margin.left + width + margin.right;
    let out = out.as_chunks_mut::<CHANNELS>().0;
    for (row, to) in out.chunks_exact_mut(line).enumerate() {
        let Some(from) = inside(row, margin.top, height, margin.mode) else {
            to.fill(fill);
            continue;
        };
        let from = &pixels[from * width..][..width];
        let outer = to.split_at_mut(margin.left);
        let inner = outer.1.split_at_mut(width);
        inner.0.copy_from_slice(from);
        let columns = (0..margin.left).chain(margin.left + width..line);
        for (target, column) in outer.0.iter_mut().chain(inner.1).zip(columns) {
            *target = inside(column, margin.left, width, margin.mode).map_or(fill, |at| from[at]);
        }
    }
}

/// The row or column of the picture that is shown at `at`, behind a margin of `before`. None is the fill.
///
/// Mirrored pictures repeat without end, although torchvision refuses more than one.
fn inside(at: usize, before: usize, length: usize, mode: PaddingMode) -> Option<usize> {
    if (before..before + length).contains(&at) {
        return Some(at - before);
    }
    let last = length as i64 - 1;
    let from = at as i64 - before as i64;
    let found = match mode {
        PaddingMode::Constant => return None,
        PaddingMode::Edge => from.clamp(0, last),
        PaddingMode::Reflect => mirrored(from, last),
        PaddingMode::Symmetric => {
            let round = from.rem_euclid(2 * last + 2);
            round.min(2 * last + 1 - round)
        }
    };
    Some(found as usize)
}

/// The place from 0 to `last` at which `at` is after reflections at both ends, which are not repeated.
pub(crate) fn mirrored(at: i64, last: i64) -> i64 {
    if (0..=last).contains(&at) {
        return at;
    }
    let round = at.rem_euclid((2 * last).max(1));
    round.min(2 * last - round)
}

#[cfg(test)]
mod tests {
    use tarflume_image::{ImageSize, Random};

    use super::*;

    const SIZES: [[u32; 2]; 8] =
        [[1, 1], [1, 300], [10_000, 1], [5, 3], [6, 4], [33, 40], [64, 65], [101, 7]];

    fn noise(length: usize) -> Vec<u8> {
        let mut random = Random::new(length as u64);
        (0..length).map(|_| random.bits() as u8).collect()
    }

    fn for_each_picture(test: impl Fn(Source<'_>)) {
        for [width, height] in SIZES {
            for channels in [1, 3] {
                let size = ImageSize::new(width, height);
                let bytes = noise(size.pixels() as usize * channels);
                test(Source { bytes: &bytes, size, channels });
            }
        }
    }

    /// The pixel in a row and a column.
    fn pixel<'a>(source: Source<'a>, row: usize, column: usize) -> &'a [u8] {
        let at = row * source.size.width as usize + column;
        &source.bytes[at * source.channels..][..source.channels]
    }

    /// A picture of a size, with each pixel from a row and a column of the source.
    fn drawn(
        source: Source<'_>,
        size: ImageSize,
        from: impl Fn(usize, usize) -> [usize; 2],
    ) -> Vec<u8> {
        let mut bytes = Vec::new();
        for row in 0..size.height as usize {
            for column in 0..size.width as usize {
                let [row, column] = from(row, column);
                bytes.extend_from_slice(pixel(source, row, column));
            }
        }
        bytes
    }

    #[test]
    fn flips_are_those_of_single_pixels_in_every_set() {
        for_each_picture(|source| {
            let [width, height] = [source.size.width as usize, source.size.height as usize];
            let flipped = drawn(source, source.size, |row, column| [row, width - 1 - column]);
            let turned =
                drawn(source, source.size, |row, column| [height - 1 - row, width - 1 - column]);
            for set in Set::all() {
                let mut out = vec![0; source.bytes.len()];
                mirror(set, source, &mut out);
                assert_eq!(out, flipped, "{set:?} {:?}", source.size);
                reverse(set, source.channels, source.bytes, &mut out);
                assert_eq!(out, turned, "{set:?} {:?}", source.size);
            }
            let mut bytes = source.bytes.to_vec();
            exchange_rows(&mut bytes, width * source.channels);
            let exchanged = drawn(source, source.size, |row, column| [height - 1 - row, column]);
            assert_eq!(bytes, exchanged);
        });
    }

    #[test]
    fn quarter_turns_are_those_of_single_pixels() {
        for_each_picture(|source| {
            let [width, height] = [source.size.width as usize, source.size.height as usize];
            let mut out = vec![0; source.bytes.len()];
            let to = source.size.transposed();
            quarter(source, 1, &mut out);
            assert_eq!(out, drawn(source, to, |row, column| [column, width - 1 - row]));
            quarter(source, 3, &mut out);
            assert_eq!(out, drawn(source, to, |row, column| [height - 1 - column, row]));
        });
    }

    #[test]
    fn margins_mirror_as_often_as_needed() {
        let bytes = [1, 2, 3];
        let source = Source { bytes: &bytes, size: ImageSize::new(3, 1), channels: 1 };
        for (mode, expected) in [
            (PaddingMode::Constant, [9, 9, 9, 9, 1, 2, 3, 9, 9]),
            (PaddingMode::Edge, [1, 1, 1, 1, 1, 2, 3, 3, 3]),
            (PaddingMode::Reflect, [1, 2, 3, 2, 1, 2, 3, 2, 1]),
            (PaddingMode::Symmetric, [3, 3, 2, 1, 1, 2, 3, 3, 2]),
        ] {
            let margin = Margin { left: 4, top: 1, right: 2, mode, fill: Fill::from(9) };
            let mut out = [0; 18];
            pad(source, &margin, &mut out);
            assert_eq!(out[9..], expected, "{mode:?}");
            let above = if mode == PaddingMode::Constant { [9; 9] } else { expected };
            assert_eq!(out[..9], above, "{mode:?}");
        }
    }

    #[test]
    fn a_crop_is_the_rectangle() {
        for_each_picture(|source| {
            let [width, height] = [source.size.width as usize, source.size.height as usize];
            let [top, left] = [height / 3, width / 2];
            let size = ImageSize::new((width - left) as u32, (height - top) as u32);
            let mut out = vec![0; size.pixels() as usize * source.channels];
            crop(source, top, left, width - left, &mut out);
            assert_eq!(out, drawn(source, size, |row, column| [row + top, column + left]));
        });
    }
}
