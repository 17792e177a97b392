//! Resized masks: each pixel is one of the picture.

use tarflume_image::ImageSize;

use crate::frame::Source;

/// Writes a picture of size `to`, each pixel from its place times the ratio of the sides, rounded down. `columns` has a
/// number for each column of the result.
pub(crate) fn resize_mask(source: Source<'_>, to: ImageSize, columns: &mut [u32], out: &mut [u8]) {
    if source.channels == 3 {
        resize_pixels::<3>(source, to, columns, out);
    } else {
        resize_pixels::<1>(source, to, columns, out);
    }
}

fn resize_pixels<const CHANNELS: usize>(
    source: Source<'_>,
    to: ImageSize,
    columns: &mut [u32],
    out: &mut [u8],
) {
    let width = source.size.width as usize;
    for (column, at) in columns.iter_mut().zip(0..) {
        *column = place(at, source.size.width, to.width);
    }
    let pixels = source.bytes.as_chunks::<CHANNELS>().0;
    let rows = out.as_chunks_mut::<CHANNELS>().0.chunks_exact_mut(to.width as usize);
    for (row, at) in rows.zip(0..) {
        let line = &pixels[place(at, source.size.height, to.height) as usize * width..][..width];
        for (pixel, column) in row.iter_mut().zip(columns.iter()) {
            *pixel = line[*column as usize];
        }
    }
}

/// The place of `at`, by PyTorch's ratio in single precision.
fn place(at: u32, from: u32, to: u32) -> u32 {
    if from == to {
        return at;
    }
    if u64::from(to) == 2 * u64::from(from) {
        return at / 2;
    }
    let ratio = from as f32 / to as f32;
    ((at as f32 * ratio) as u32).min(from - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_inside_and_ascend() {
        for from in [1, 2, 3, 7, 100, 65_535] {
            for to in [1, 2, 3, 14, 99, 101, 65_535] {
                let places: Vec<u32> = (0..to).map(|at| place(at, from, to)).collect();
                assert_eq!(places[0], 0);
                assert!(places.is_sorted() && places[to as usize - 1] < from, "{from} to {to}");
            }
        }
    }
}
