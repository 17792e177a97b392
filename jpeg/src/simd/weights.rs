//! The weights of cubic and Lanczos filters: those of Pillow, in the same numbers.
//!
//! A lane is an output, so plain loops become vectors, and each sum has Pillow's order. Sines are polynomials, so that every
//! system has the same weights.

// Lanes of several arrays are indexed alike; iterators over all of them would hide that.
#![allow(clippy::needless_range_loop)]

use std::f64::consts::PI;

/// Outputs whose weights are computed at once: more than a compiler unrolls before it makes lanes.
pub(crate) const SOME: usize = 32;

/// A number for each output.
pub(crate) type Each<T> = [T; SOME];

/// Bits of a weight behind the point.
pub(crate) const FINE_BITS: u32 = 32 - 8 - 2;

/// What the weights of some outputs are computed of. All numbers count inputs.
#[derive(Debug, Clone)]
pub(crate) struct Outputs {
    /// The middle of each output.
    pub(crate) center: Each<f64>,
    /// The place of its first weight, a whole number.
    pub(crate) begin: Each<f64>,
    /// Its first input: places before it have the weight 0.
    pub(crate) first: Each<f64>,
    /// The end of its inputs; `first` if there is no such output.
    pub(crate) end: Each<f64>,
    /// The filter is so much wider than its outputs, inverted.
    pub(crate) narrow: f64,
}

/// Computes the weights of outputs: `(outputs, exact, weights)`. Both slices have an item for each place; `exact` is memory
/// with any content.
pub(crate) type FineWeights = fn(&Outputs, &mut [Each<f64>], &mut [Each<i32>]);

/// Writes weights as digits: `(weights, digits, beyond)`. For each digit, the highest first, and each four places, a byte for
/// each place. `beyond` is not 0 afterwards if a weight has more digits.
pub(crate) type InDigits = fn(&[Each<i32>], &mut [Each<i32>], &mut i32);

/// Cubic convolution with a = -0.5; see [`FineWeights`].
#[inline(always)]
pub(super) fn cubic<L>(
    _: L,
    outputs: &Outputs,
    exact: &mut [Each<f64>],
    weights: &mut [Each<i32>],
) {
    compute::<false>(outputs, exact, weights);
}

/// A sinc of three lobes; see [`FineWeights`].
#[inline(always)]
pub(super) fn lanczos<L>(
    _: L,
    outputs: &Outputs,
    exact: &mut [Each<f64>],
    weights: &mut [Each<i32>],
) {
    compute::<true>(outputs, exact, weights);
}

#[inline(always)]
fn compute<const LANCZOS: bool>(
    outputs: &Outputs,
    exact: &mut [Each<f64>],
    weights: &mut [Each<i32>],
) {
    let Outputs { center, begin, first, end, narrow } = outputs;
    let mut sums = [0.0; SOME];
    for (place, exact) in exact.iter_mut().enumerate() {
        let place = place as f64;
        for lane in 0..SOME {
            let input = begin[lane] + place;
            let x = (input - center[lane] + 0.5) * narrow;
            let weight = if LANCZOS { lanczos_of(x) } else { cubic_of(x) };
            let is_input = (input >= first[lane]) & (input < end[lane]);
            exact[lane] = if is_input { weight } else { 0.0 };
            sums[lane] += exact[lane];
        }
    }
    for (exact, weights) in exact.iter().zip(weights) {
        for lane in 0..SOME {
            weights[lane] = rounded(exact[lane] / sums[lane]);
        }
    }
}

/// Rounds to [`FINE_BITS`], halves away from zero.
#[inline(always)]
pub(crate) fn rounded(weight: f64) -> i32 {
    let scaled = weight * f64::from(1u32 << FINE_BITS);
    (scaled + if scaled < 0.0 { -0.5 } else { 0.5 }) as i32
}

#[inline(always)]
pub(crate) fn cubic_of(x: f64) -> f64 {
    const A: f64 = -0.5;
    let x = x.abs();
    let inner = ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0;
    let outer = (((x - 5.0) * x + 8.0) * x - 4.0) * A;
    let outer = if x < 2.0 { outer } else { 0.0 };
    if x < 1.0 { inner } else { outer }
}

/// `sinc(x) sinc(x / 3)`. With s the sine of a third of the angle, that of the whole is
/// `3 s - 4 s^3`.
#[inline(always)]
pub(crate) fn lanczos_of(x: f64) -> f64 {
    let x = x.abs();
    let s = sine(x / 3.0);
    let product = s * s * (3.0 - 4.0 * s * s) * 3.0 / (PI * PI * x * x);
    let product = if x < 3.0 { product } else { 0.0 };
    if x == 0.0 { 1.0 } else { product }
}

/// The coefficients of a sine, of the angle's power 21, 19, ... 3.
const SINE: [f64; 10] = [
    1.0 / 51_090_942_171_709_440_000.0,
    -1.0 / 121_645_100_408_832_000.0,
    1.0 / 355_687_428_096_000.0,
    -1.0 / 1_307_674_368_000.0,
    1.0 / 6_227_020_800.0,
    -1.0 / 39_916_800.0,
    1.0 / 362_880.0,
    -1.0 / 5_040.0,
    1.0 / 120.0,
    -1.0 / 6.0,
];

/// The sine of `turn` times pi, of 0 to 1: its Taylor series, exact to the last digits.
#[inline(always)]
fn sine(turn: f64) -> f64 {
    let angle = PI * if turn < 1.0 - turn { turn } else { 1.0 - turn };
    let square = angle * angle;
    let mut sum = 0.0;
    for factor in SINE {
        sum = sum * square + factor;
    }
    angle + angle * square * sum
}

/// Half of each digit's range: added to a weight, it carries where a digit is negative.
const HALVES: i32 = 0x0080_8080;

/// See [`InDigits`].
#[inline(always)]
pub(super) fn in_digits<L>(
    _: L,
    weights: &[Each<i32>],
    digits: &mut [Each<i32>],
    beyond: &mut i32,
) {
    let units = weights.len() / 4;
    let mut all = [0; SOME];
    for unit in 0..units {
        let four: &[Each<i32>; 4] = weights[4 * unit..].first_chunk().expect("units have four");
        for lane in 0..SOME {
            let a = four[0][lane] + HALVES;
            let b = four[1][lane] + HALVES;
            let c = four[2][lane] + HALVES;
            let d = four[3][lane] + HALVES;
            all[lane] |= (a | b | c | d) >> 24;
            let [a, b, c, d] = [a ^ HALVES, b ^ HALVES, c ^ HALVES, d ^ HALVES];
            digits[unit][lane] =
                a >> 16 & 0xff | b >> 8 & 0xff00 | c & 0x00ff_0000 | d << 8 & !0x00ff_ffff;
            digits[units + unit][lane] =
                a >> 8 & 0xff | b & 0xff00 | c << 8 & 0x00ff_0000 | d << 16 & !0x00ff_ffff;
            digits[2 * units + unit][lane] =
                a & 0xff | b << 8 & 0xff00 | c << 16 & 0x00ff_0000 | d << 24;
        }
    }
    for lane in 0..SOME {
        *beyond |= all[lane];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_one_at_zero_and_zero_at_whole_numbers() {
        for filter in [cubic_of, lanczos_of] {
            assert_eq!(filter(0.0), 1.0);
            for x in 1..5 {
                assert!(filter(x.into()).abs() < 1e-15, "{x}");
                assert!(filter((-x).into()).abs() < 1e-15, "{x}");
            }
        }
        assert_eq!(cubic_of(0.5), 0.5625);
        assert_eq!(cubic_of(-1.5), -0.0625);
        for n in 1..3000 {
            let x = f64::from(n) / 1000.0;
            let angle = PI * x;
            let expected = angle.sin() / angle * (angle / 3.0).sin() / (angle / 3.0);
            assert!((lanczos_of(x) - expected).abs() < 1e-15, "{x}");
            assert_eq!(lanczos_of(x).to_bits(), lanczos_of(-x).to_bits());
        }
    }

    /// Ends of digits, and numbers all over.
    fn weight(place: usize, lane: usize) -> i32 {
        let odd = [0, 1, -1, 127, 128, -128, -129, 32_767, 32_768, -32_896, -32_897, 1 << 22];
        match odd.get(lane) {
            Some(&weight) => weight - place as i32,
            None => (lane * 77_777 + place * 3_333_333) as i32 % 8_000_000 - 600_000,
        }
    }

    fn byte(digits: &[Each<i32>], number: usize, place: usize, lane: usize) -> i32 {
        let of = digits[2 * number + place / 4][lane].to_le_bytes();
        i32::from(of[place % 4].cast_signed())
    }

    #[test]
    fn digits_add_up_to_the_weights() {
        let weights: Vec<Each<i32>> =
            (0..8).map(|place| std::array::from_fn(|lane| weight(place, lane))).collect();
        let mut digits = vec![[0; SOME]; 6];
        let mut beyond = 0;
        in_digits((), &weights, &mut digits, &mut beyond);
        assert_eq!(beyond, 0);
        for place in 0..8 {
            for lane in 0..SOME {
                let high = byte(&digits, 0, place, lane) * 65_536;
                let sum =
                    high + byte(&digits, 1, place, lane) * 256 + byte(&digits, 2, place, lane);
                assert_eq!(sum, weights[place][lane], "{place} {lane}");
            }
        }
        for far in [8_355_712, -8_421_505] {
            let mut weights = [[0; SOME]; 4];
            weights[2][5] = far;
            let mut beyond = 0;
            in_digits((), &weights, &mut digits, &mut beyond);
            assert_ne!(beyond, 0, "{far}");
        }
    }
}
