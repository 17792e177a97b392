//! Upsampling and color conversion of whole lines of any length, in plain Rust.
//!
//! Upsampling is the triangle filter of libjpeg's "fancy upsampling" (jdsample.c): a new sample is
//! 3/4 of the nearer old one and 1/4 of the farther one. Where two results are equally near,
//! rounding alternates between up and down. Color is that of JFIF (ITU-R BT.601, full range) with
//! factors of 16 bits (jdcolor.c, `ycc_rgb_convert`).

/// See [`crate::simd::run::Simd::h2v1`].
pub(in crate::simd) fn h2v1(line: &[u8], out: &mut [u8]) {
    let n = line.len().saturating_sub(2);
    for (old, new) in line.windows(3).zip(out[..2 * n].as_chunks_mut::<2>().0) {
        let [left, middle, right] = [old[0], old[1], old[2]].map(u16::from);
        *new = [((3 * middle + left + 1) >> 2) as u8, ((3 * middle + right + 2) >> 2) as u8];
    }
}

/// See [`crate::simd::run::Simd::h2v2`].
pub(in crate::simd) fn h2v2(near: &[u8], far: &[u8], out: &mut [u8]) {
    let n = near.len().saturating_sub(2);
    let old = near.windows(3).zip(far[..near.len()].windows(3));
    for ((near, far), new) in old.zip(out[..2 * n].as_chunks_mut::<2>().0) {
        let [left, middle, right] =
            std::array::from_fn(|i| 3 * u16::from(near[i]) + u16::from(far[i]));
        *new = [((3 * middle + left + 8) >> 4) as u8, ((3 * middle + right + 7) >> 4) as u8];
    }
}

/// See [`crate::simd::run::Simd::h1v2`].
pub(in crate::simd) fn h1v2(near: &[u8], far: &[u8], bias: u8, out: &mut [u8]) {
    let n = near.len();
    for ((near, far), new) in near.iter().zip(&far[..n]).zip(&mut out[..n]) {
        *new = ((3 * u16::from(*near) + u16::from(*far) + u16::from(bias)) >> 2) as u8;
    }
}

/// See [`crate::simd::run::Simd::ycc_rgb`].
pub(in crate::simd) fn ycc_rgb(y: &[u8], cb: &[u8], cr: &[u8], out: &mut [u8]) {
    let n = y.len();
    let colors = y.iter().zip(&cb[..n]).zip(&cr[..n]);
    for (((y, cb), cr), new) in colors.zip(out[..3 * n].as_chunks_mut::<3>().0) {
        let y = i32::from(*y);
        let cb = i32::from(*cb) - 128;
        let cr = i32::from(*cr) - 128;
        let red = y + ((91881 * cr + 32768) >> 16);
        let green = y + ((-22554 * cb - 46802 * cr + 32768) >> 16);
        let blue = y + ((116_130 * cb + 32768) >> 16);
        *new = [red, green, blue].map(|value| value.clamp(0, 255) as u8);
    }
}

/// See [`crate::simd::run::Simd::rgb_planes`].
pub(in crate::simd) fn rgb_planes(rgb: &[u8], red: &mut [u8], green: &mut [u8], blue: &mut [u8]) {
    let n = red.len();
    let colors = red.iter_mut().zip(&mut green[..n]).zip(&mut blue[..n]);
    for (pixel, ((red, green), blue)) in rgb[..3 * n].as_chunks::<3>().0.iter().zip(colors) {
        *red = pixel[0];
        *green = pixel[1];
        *blue = pixel[2];
    }
}

/// See [`crate::simd::run::Simd::gray_rgb`].
pub(in crate::simd) fn gray_rgb(gray: &[u8], out: &mut [u8]) {
    for (gray, new) in gray.iter().zip(out[..3 * gray.len()].as_chunks_mut::<3>().0) {
        *new = [*gray; 3];
    }
}

/// See [`crate::simd::run::Simd::floats`].
#[inline(always)]
pub(in crate::simd) fn floats(bytes: &[u8], by: [f32; 2], out: &mut [f32]) {
    let [factor, summand] = by;
    for (out, &byte) in out.iter_mut().zip(bytes) {
        *out = f32::from(byte) * factor + summand;
    }
}
