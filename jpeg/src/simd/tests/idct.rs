//! Inverse DCTs, compared with the sums of cosines that define them, with libjpeg-turbo's bytes,
//! and set by set.

use super::blocks::{BlockKind, Numbers, SUM, block, quant, sum};
use crate::simd::{Blocks, Simd};

/// Number of blocks in the longest vector.
const SAME: usize = 4;

/// Returns the samples of one block by kernel `size`; several equal blocks are transformed, to fill
/// a vector.
fn one(set: &Simd, size: usize, block: &[i16; 64], last: u8, quant: &[u16; 64]) -> Vec<u8> {
    let side = 8 >> size;
    let mut coefficients = [*block; SAME];
    let mut out = vec![0; SAME * side * side];
    (set.idct[size])(&mut Blocks {
        coefficients: &mut coefficients,
        last: &[last; SAME],
        step: 1,
        count: SAME,
        quant,
        out: &mut out,
        stride: side,
        across: side * side,
    });
    assert_eq!(coefficients, [[0; 64]; SAME], "{}: coefficients are left", set.name);
    let (first, others) = out.split_at(side * side);
    assert!(others.chunks(side * side).all(|other| other == first), "{}: blocks differ", set.name);
    first.to_vec()
}

/// Rounds of a test; Miri takes a second for each.
fn few(rounds: usize) -> usize {
    if cfg!(miri) { rounds / 100 } else { rounds }
}

/// The definition (ITU-T T.81, A.3.3), in floating point.
fn cosines(block: &[i16; 64], quant: &[u16; 64]) -> [[f64; 8]; 8] {
    fn cosine(x: usize, u: usize) -> f64 {
        let half = if u == 0 { 0.5f64.sqrt() / 2.0 } else { 0.5 };
        half * ((2 * x + 1) as f64 * u as f64 * std::f64::consts::PI / 16.0).cos()
    }
    let table: [[f64; 8]; 8] = std::array::from_fn(|x| std::array::from_fn(|u| cosine(x, u)));
    let value = |i: usize| f64::from(block[i]) * f64::from(quant[i]);
    let rows: [[f64; 8]; 8] = std::array::from_fn(|y| {
        std::array::from_fn(|u| (0..8).map(|v| table[y][v] * value(8 * v + u)).sum())
    });
    let sample = |y: usize, x: usize| (0..8).map(|u| table[x][u] * rows[y][u]).sum::<f64>();
    std::array::from_fn(|y| std::array::from_fn(|x| sample(y, x) + 128.0))
}

#[test]
fn the_full_size_is_the_sum_of_cosines_rounded() {
    let mut numbers = Numbers::new(1);
    let mut wrong = 0;
    let mut all = 0;
    for _ in 0..few(2000) {
        let quant = quant(BlockKind::Sane, &mut numbers);
        let (block, last) = block(BlockKind::Sane, &mut numbers, &quant);
        let want = cosines(&block, &quant);
        for set in Simd::all() {
            let got = one(set, 0, &block, last, &quant);
            for (got, want) in got.into_iter().zip(want.as_flattened()) {
                let error = (f64::from(got) - want.clamp(0.0, 255.0)).abs();
                assert!(error < 1.0, "{}: {got} for {want}", set.name);
                wrong += usize::from(error > 0.5001);
                all += 1;
            }
        }
    }
    assert!(wrong * 100 < all, "{wrong} of {all} samples are not the nearest");
}

#[test]
fn smaller_sizes_are_near_the_means_of_smooth_blocks() {
    let mut numbers = Numbers::new(2);
    for _ in 0..few(1000) {
        let mut block = [0; 64];
        for (place, reach) in [(0, 800), (1, 100), (8, 100), (9, 30)] {
            block[place] = numbers.below(2 * reach + 1) as i16 - reach as i16;
        }
        let full = cosines(&block, &[1; 64]);
        for set in Simd::all() {
            for size in 1..4 {
                let side = 8 >> size;
                let got = one(set, size, &block, 63, &[1; 64]);
                for (i, got) in got.into_iter().enumerate() {
                    let y = (i / side) << size;
                    let x = (i % side) << size;
                    let samples =
                        (0..1 << (2 * size)).map(|i| full[y + (i >> size)][x + i % (1 << size)]);
                    let mean = samples.sum::<f64>() / f64::from(1 << (2 * size));
                    let error = f64::from(got) - mean.clamp(0.0, 255.0);
                    assert!(error.abs() < 3.0, "{} size {size}: {got} for {mean}", set.name);
                }
            }
        }
    }
}

/// Hashes of the results of libjpeg-turbo 2.1.5 for the same blocks on x86-64, by its AVX2 and its
/// SSE2 code, for 8x8, 4x4, 2x2 and 1x1.
const SANE: [u64; 4] =
    [0x5ade_a8fe_4919_927a, 0x5c52_9e7d_4eba_93dc, 0x0589_0464_4e5e_2733, 0xe9a5_ac9b_c2ef_6d6c];
const ABSURD: [u64; 4] =
    [0x05f0_1f53_8811_5e65, 0xab0a_fe35_dcd7_0c6d, 0xc8a1_53e7_2b39_ca54, 0x0c10_1d15_1343_79a6];

#[test]
#[cfg_attr(miri, ignore = "the hashes are of 16,000 blocks")]
fn all_bytes_are_those_of_libjpeg_turbo() {
    for (kind, want) in [(BlockKind::Sane, SANE), (BlockKind::Absurd, ABSURD)] {
        for set in Simd::all() {
            let mut numbers = Numbers::new(3);
            let mut sums = [SUM; 4];
            for _ in 0..2000 {
                let quant = quant(kind, &mut numbers);
                for _ in 0..4 {
                    let (block, last) = block(kind, &mut numbers, &quant);
                    for (size, before) in sums.iter_mut().enumerate() {
                        *before = sum(*before, &one(set, size, &block, last, &quant));
                    }
                }
            }
            assert_eq!(sums, want, "{}", set.name);
        }
    }
}

/// Runs of blocks of all lengths, with other blocks between, as rows of planes.
#[test]
fn runs_give_the_same_bytes_in_every_set_and_touch_nothing_else() {
    let mut numbers = Numbers::new(4);
    for round in 0..few(600) {
        let kind = if round % 4 == 0 { BlockKind::Absurd } else { BlockKind::Sane };
        let count = numbers.below(10) as usize;
        let step = 1 + numbers.below(6) as usize;
        let size = numbers.below(4) as usize;
        let side = 8 >> size;
        let across = side * (1 + numbers.below(2) as usize);
        let stride = across * count + numbers.below(9) as usize;
        let quant = quant(kind, &mut numbers);
        let (coefficients, last): (Vec<_>, Vec<_>) =
            (0..count * step).map(|_| block(kind, &mut numbers, &quant)).unzip();
        // Up to the last selected sample; and to the end of the last row.
        let exact = (side - 1) * stride + count.saturating_sub(1) * across + side;
        let length = if round % 2 == 0 { exact } else { side * stride };
        let run = |set: &Simd| {
            let mut coefficients = coefficients.clone();
            let mut out = vec![7; length];
            (set.idct[size])(&mut Blocks {
                coefficients: &mut coefficients,
                last: &last,
                step,
                count,
                quant: &quant,
                out: &mut out,
                stride,
                across,
            });
            (coefficients, out)
        };
        let want = run(Simd::all()[0]);
        for (i, (left, before)) in want.0.iter().zip(&coefficients).enumerate() {
            assert_eq!(left, if i % step == 0 { &[0; 64] } else { before });
        }
        for set in Simd::all() {
            assert!(run(set) == want, "{}: {count} blocks, {step} apart, size {size}", set.name);
        }
    }
}

/// Every slice slightly too short: each set must notice. For distances beyond all planes, nothing
/// else may be written (an address sanitizer would detect it); sums of them may wrap.
#[test]
fn short_buffers_are_detected() {
    const COUNT: usize = 5;
    for (set, size) in Simd::all().into_iter().flat_map(|set| (0..4).map(move |size| (set, size))) {
        let side = 8 >> size;
        let passes = |blocks: usize, known: usize, samples: usize, stride, across| {
            let run = || {
                (set.idct[size])(&mut Blocks {
                    coefficients: &mut vec![[1; 64]; blocks],
                    last: &vec![63; known],
                    step: 1,
                    count: COUNT,
                    quant: &[1; 64],
                    out: &mut vec![0; samples],
                    stride,
                    across,
                });
            };
            std::panic::catch_unwind(run).is_ok()
        };
        let stride = COUNT * side;
        let needed = COUNT * side * side;
        assert!(passes(COUNT, COUNT, needed, stride, side), "{}", set.name);
        assert!(!passes(COUNT - 1, COUNT, needed, stride, side), "{}", set.name);
        assert!(!passes(COUNT, COUNT, needed - 1, stride, side), "{}", set.name);
        assert!(!passes(COUNT, COUNT, needed, stride + 1, side) || side == 1, "{}", set.name);
        assert!(!passes(COUNT, COUNT, needed, stride, side + 1), "{}", set.name);
        // The portable set does not use `last`, nor does any set for the mean alone.
        let uses_last = size < 3 && set.name != "portable";
        assert!(!uses_last || !passes(COUNT, COUNT - 1, needed, stride, side), "{}", set.name);
        for huge in [usize::MAX, usize::MAX / 2 + 1, usize::MAX / 4 + 1, usize::MAX / 6] {
            passes(COUNT, COUNT, needed, huge, side);
            passes(COUNT, COUNT, needed, stride, huge);
            passes(COUNT, COUNT, needed, huge, huge);
        }
    }
}
