//! Lines, compared with formulas for each sample, at all lengths, with nothing else touched.

use super::blocks::Numbers;
use crate::simd::Simd;

/// Lengths at which vectors of 16, 32 and 64 bytes begin, end and overlap. Miri takes a second for each.
const LENGTHS: std::ops::Range<usize> = if cfg!(miri) { 60..70 } else { 0..200 };

/// The length of a line of many vectors.
const LONG: usize = if cfg!(miri) { 200 } else { 1000 };

/// Runs a kernel on an `out` between other bytes, which must not change.
fn within(length: usize, kernel: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut out = vec![0x5a; length + 128];
    kernel(&mut out[64..64 + length]);
    assert!(out[..64].iter().chain(&out[64 + length..]).all(|&b| b == 0x5a), "written beside");
    out[64..64 + length].to_vec()
}

fn extremes(numbers: &mut Numbers, n: usize) -> Vec<u8> {
    match numbers.below(4) {
        0 => vec![0; n],
        1 => vec![255; n],
        2 => numbers.bytes(n).iter().map(|b| if b % 2 == 0 { 0 } else { 255 }).collect(),
        _ => numbers.bytes(n),
    }
}

#[test]
fn columns_are_doubled() {
    let mut numbers = Numbers::new(1);
    for n in LENGTHS.chain([LONG]) {
        let line = extremes(&mut numbers, n + 2);
        let at = |i: usize| u32::from(line[i]);
        let want: Vec<_> = (0..n)
            .flat_map(|i| {
                let even = (3 * at(i + 1) + at(i) + 1) / 4;
                let odd = (3 * at(i + 1) + at(i + 2) + 2) / 4;
                [even as u8, odd as u8]
            })
            .collect();
        for set in Simd::all() {
            let got = within(2 * n, |out| (set.h2v1)(&line, out));
            assert_eq!(got, want, "{}, {n} samples", set.name);
        }
    }
}

#[test]
fn columns_and_rows_are_doubled() {
    let mut numbers = Numbers::new(2);
    for n in LENGTHS.chain([LONG]) {
        let near = extremes(&mut numbers, n + 2);
        let far = extremes(&mut numbers, n + 2);
        let at = |i: usize| 3 * u32::from(near[i]) + u32::from(far[i]);
        let want: Vec<_> = (0..n)
            .flat_map(|i| {
                let even = (3 * at(i + 1) + at(i) + 8) / 16;
                let odd = (3 * at(i + 1) + at(i + 2) + 7) / 16;
                [even as u8, odd as u8]
            })
            .collect();
        for set in Simd::all() {
            let got = within(2 * n, |out| (set.h2v2)(&near, &far, out));
            assert_eq!(got, want, "{}, {n} samples", set.name);
        }
    }
}

#[test]
fn rows_are_doubled() {
    let mut numbers = Numbers::new(3);
    for n in LENGTHS.chain([LONG]) {
        let near = extremes(&mut numbers, n);
        let far = extremes(&mut numbers, n);
        for bias in [1, 2] {
            let sums =
                near.iter().zip(&far).map(|(&near, &far)| 3 * u32::from(near) + u32::from(far));
            let want: Vec<_> = sums.map(|sum| ((sum + bias) / 4) as u8).collect();
            for set in Simd::all() {
                let got = within(n, |out| (set.h1v2)(&near, &far, bias as u8, out));
                assert_eq!(got, want, "{}, {n} samples", set.name);
            }
        }
    }
}

fn color(y: u8, cb: u8, cr: u8) -> [u8; 3] {
    let y = i64::from(y);
    let cb = i64::from(cb) - 128;
    let cr = i64::from(cr) - 128;
    let red = y + (91881 * cr + 32768).div_euclid(65536);
    let green = y + (-22554 * cb - 46802 * cr + 32768).div_euclid(65536);
    let blue = y + (116_130 * cb + 32768).div_euclid(65536);
    [red, green, blue].map(|value| value.clamp(0, 255) as u8)
}

#[test]
#[cfg_attr(miri, ignore = "all pairs; the lines of every length take the same paths")]
fn every_pair_of_chroma_gives_its_color() {
    let cr: Vec<_> = (0..=255).collect();
    for cb in 0..=255 {
        for y in [0, 77, 128, 255] {
            let y = [y; 256];
            let cb = [cb; 256];
            let want: Vec<_> = (0..256).flat_map(|i| color(y[i], cb[i], cr[i])).collect();
            for set in Simd::all() {
                let mut got = vec![0; 3 * 256];
                (set.ycc_rgb)(&y, &cb, &cr, &mut got);
                assert!(got == want, "{}: y {}, cb {}", set.name, y[0], cb[0]);
            }
        }
    }
}

/// All 2^24 colors.
#[test]
#[ignore = "five seconds in a debug build"]
fn every_color_is_exact() {
    let cr: Vec<_> = (0..=255).collect();
    for (y, cb) in (0..=255).flat_map(|y| (0..=255).map(move |cb| (y, cb))) {
        let want: Vec<_> = (0..=255).flat_map(|cr| color(y, cb, cr)).collect();
        for set in Simd::all() {
            let mut got = vec![0; 3 * 256];
            (set.ycc_rgb)(&[y; 256], &[cb; 256], &cr, &mut got);
            assert!(got == want, "{}: y {y}, cb {cb}", set.name);
        }
    }
}

#[test]
fn color_lines_of_every_length() {
    let mut numbers = Numbers::new(4);
    for n in LENGTHS.chain([LONG]) {
        let [y, cb, cr] = std::array::from_fn(|_| extremes(&mut numbers, n));
        let want: Vec<_> = (0..n).flat_map(|i| color(y[i], cb[i], cr[i])).collect();
        let gray: Vec<_> = y.iter().flat_map(|&y| [y; 3]).collect();
        for set in Simd::all() {
            let got = within(3 * n, |out| (set.ycc_rgb)(&y, &cb, &cr, out));
            assert_eq!(got, want, "{}, {n} samples", set.name);
            let got = within(3 * n, |out| (set.gray_rgb)(&y, out));
            assert_eq!(got, gray, "{}, {n} samples", set.name);
        }
    }
}

fn color_of(rgb: &[u8], color: usize) -> Vec<u8> {
    rgb.iter().skip(color).step_by(3).copied().collect()
}

#[test]
fn colors_are_taken_apart() {
    for n in 0..200 {
        let rgb: Vec<u8> = (0..3 * n).map(|at| (at * 7 + at / 85) as u8).collect();
        for set in Simd::all() {
            // One byte more than the pixels.
            let mut planes = [vec![1; n], vec![1; n + 1], vec![1; n + 1]];
            let [red, green, blue] = &mut planes;
            (set.rgb_planes)(&rgb, red, green, blue);
            assert_eq!(red, &color_of(&rgb, 0), "{}, {n} pixels", set.name);
            assert_eq!(green, &[color_of(&rgb, 1), vec![1]].concat(), "{}, {n} pixels", set.name);
            assert_eq!(blue, &[color_of(&rgb, 2), vec![1]].concat(), "{}, {n} pixels", set.name);
        }
    }
}

#[test]
fn bytes_become_the_same_floats() {
    let bytes: Vec<u8> = (0..=255).chain(0..77).collect();
    for by in [[1.0 / 255.0, 0.0], [0.017_124_754, -2.117_904], [0.3, 1e-7]] {
        let want: Vec<f32> = bytes.iter().map(|&byte| f32::from(byte) * by[0] + by[1]).collect();
        for set in Simd::all() {
            for n in 0..bytes.len() {
                let mut got = vec![7.0; n + 1];
                (set.floats)(&bytes[..n], by, &mut got);
                assert_eq!(got[..n], want[..n], "{}, {n} bytes", set.name);
                assert_eq!(got[n], 7.0, "{}, {n} bytes", set.name);
            }
        }
    }
}

#[test]
fn the_first_line_has_the_count() {
    let long = [9; 300];
    for set in Simd::all() {
        let mut out = [1; 900];
        (set.ycc_rgb)(&long[..50], &long, &long, &mut out);
        (set.h2v2)(&long[..52], &long, &mut out);
        (set.h2v1)(&long[..52], &mut out);
        (set.h1v2)(&long[..50], &long, 1, &mut out);
        (set.gray_rgb)(&long[..50], &mut out);
        assert!(out[150..].iter().all(|&b| b == 1), "{}", set.name);
        (set.h2v1)(&[], &mut []);
        (set.h2v2)(&[1], &[1], &mut []);
    }
}

/// Each line is one sample too short for some vector.
#[test]
fn short_lines_are_noticed() {
    let long = [9u8; 300];
    for set in Simd::all() {
        let attempt = |kernel: &dyn Fn(&mut [u8])| {
            let mut out = [0; 900];
            let failed =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| kernel(&mut out)));
            assert!(failed.is_err(), "{}", set.name);
        };
        for n in [1, 16, 31, 32, 33, 100] {
            attempt(&|out| (set.h2v1)(&long[..n + 2], &mut out[..2 * n - 1]));
            attempt(&|out| (set.h2v2)(&long[..n + 2], &long[..n + 1], out));
            attempt(&|out| (set.h2v2)(&long[..n + 2], &long, &mut out[..2 * n - 1]));
            attempt(&|out| (set.h1v2)(&long[..n], &long[..n - 1], 1, out));
            attempt(&|out| (set.h1v2)(&long[..n], &long, 1, &mut out[..n - 1]));
            attempt(&|out| (set.ycc_rgb)(&long[..n], &long[..n - 1], &long, out));
            attempt(&|out| (set.ycc_rgb)(&long[..n], &long, &long[..n - 1], out));
            attempt(&|out| (set.ycc_rgb)(&long[..n], &long, &long, &mut out[..3 * n - 1]));
            attempt(&|out| (set.gray_rgb)(&long[..n], &mut out[..3 * n - 1]));
            attempt(&|out| {
                (set.rgb_planes)(&long[..3 * n - 1], &mut out[..n], &mut [0; 300], &mut [0; 300])
            });
            attempt(&|out| {
                (set.rgb_planes)(&long, &mut out[..n], &mut vec![0; n - 1], &mut [0; 300])
            });
            attempt(&|out| {
                (set.rgb_planes)(&long, &mut out[..n], &mut [0; 300], &mut vec![0; n - 1])
            });
        }
    }
}
