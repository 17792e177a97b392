//! Colors as luma and two differences, at half resolution, and back.

use crate::kernels::sets::wide;

wide! {
    /// Writes the luma, the blue and the red difference of a row of pixels.
    pub(super) fn to_ycc(pixels: &[u8], luma: &mut [u8], blues: &mut [u8], reds: &mut [u8]) {
        let out = luma.iter_mut().zip(blues).zip(reds);
        for (((luma, blue), red), pixel) in out.zip(pixels.chunks_exact(3)) {
            let [r, g, b] = [i32::from(pixel[0]), i32::from(pixel[1]), i32::from(pixel[2])];
            // Units of 2^-16. The differences are rounded down at a half, so that none becomes 256.
            *luma = ((19595 * r + 38470 * g + 7471 * b + 32768) >> 16) as u8;
            *blue = ((32768 * b - 11059 * r - 21709 * g + (128 << 16) + 32767) >> 16) as u8;
            *red = ((32768 * r - 27439 * g - 5329 * b + (128 << 16) + 32767) >> 16) as u8;
        }
    }
}

wide! {
    /// Writes the mean of each two columns of two rows. A quarter and three quarters are rounded; a half is rounded down
    /// in even columns and up in odd ones.
    pub(super) fn halve(upper: &[u8], lower: &[u8], out: &mut [u8]) {
        let columns = upper.chunks_exact(2).zip(lower.chunks_exact(2));
        for (at, (out, (upper, lower))) in out.iter_mut().zip(columns).enumerate() {
            let sum = u16::from(upper[0]) + u16::from(upper[1]);
            let sum = sum + u16::from(lower[0]) + u16::from(lower[1]);
            *out = ((sum + 1 + (at & 1) as u16) >> 2) as u8;
        }
    }
}

/// Where a row of pixels finds its colors in a plane.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chroma {
    /// The first byte of the row in which it is.
    near: usize,
    /// The first byte of the neighboring row, which has a quarter of the weight.
    far: usize,
    columns: usize,
}

impl Chroma {
    /// The place of row `y` in a plane of this many columns and rows.
    pub(super) fn of_row(y: usize, size: [usize; 2], stride: usize) -> Chroma {
        let [columns, rows] = size;
        let near = y / 2;
        let far =
            if y.is_multiple_of(2) { near.saturating_sub(1) } else { (near + 1).min(rows - 1) };
        Chroma { near: near * stride, far: far * stride, columns }
    }
}

wide! {
    /// Writes a row of twice the columns: with weights 3 and 1 of neighbors down and across. Planes of one or two columns
    /// are repeated instead, as libjpeg-turbo does.
    pub(super) fn upsample(plane: &[u8], place: Chroma, out: &mut [u8]) {
        let columns = place.columns;
        let near = &plane[place.near..][..columns];
        let far = &plane[place.far..][..columns];
        let out = &mut out[..2 * columns];
        if columns <= 2 {
            for (out, near) in out.chunks_exact_mut(2).zip(near) {
                out.fill(*near);
            }
            return;
        }
        let last = columns - 1;
        out[0] = ((column(near, far, 0) * 4 + 8) >> 4) as u8;
        out[2 * last + 1] = ((column(near, far, last) * 4 + 7) >> 4) as u8;
        for (at, out) in out[1..2 * last + 1].chunks_exact_mut(2).enumerate() {
            let left = column(near, far, at);
            let right = column(near, far, at + 1);
            out[0] = ((left * 3 + right + 7) >> 4) as u8;
            out[1] = ((right * 3 + left + 8) >> 4) as u8;
        }
    }
}

#[inline(always)]
fn column(near: &[u8], far: &[u8], at: usize) -> u16 {
    u16::from(near[at]) * 3 + u16::from(far[at])
}

wide! {
    /// Writes the pixels of a row.
    pub(super) fn to_rgb(luma: &[u8], blues: &[u8], reds: &[u8], pixels: &mut [u8]) {
        let colors = luma.iter().zip(blues).zip(reds);
        for (pixel, ((luma, blue), red)) in pixels.chunks_exact_mut(3).zip(colors) {
            let luma = i32::from(*luma);
            let blue = i32::from(*blue) - 128;
            let red = i32::from(*red) - 128;
            // Units of 2^-16.
            let r = luma + ((91881 * red + 32768) >> 16);
            let g = luma + ((32768 - 22554 * blue - 46802 * red) >> 16);
            let b = luma + ((116_130 * blue + 32768) >> 16);
            pixel[0] = r.clamp(0, 255) as u8;
            pixel[1] = g.clamp(0, 255) as u8;
            pixel[2] = b.clamp(0, 255) as u8;
        }
    }
}
