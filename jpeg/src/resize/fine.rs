//! The weights of cubic and Lanczos filters along one axis: those of Pillow, in the same integers.
//!
//! Pillow's `Resample.c` defines which inputs count, and that weights are divided by their sum and rounded to 22 bits.
//! Sines are polynomials, so that every system has the same weights.

use std::f64::consts::PI;

use super::filter::ResizeFilter;
use super::weights::Span;
use crate::simd::{LOW_BITS, Taps, split};

/// Bits of a weight behind the point.
const BITS: u32 = 32 - 8 - 2;

/// The weights of one output before rounding, kept for their memory.
#[derive(Debug, Default)]
pub(super) struct FineWeights(Vec<f64>);

impl FineWeights {
    /// Computes the weights of each output.
    pub(super) fn set(&mut self, filter: ResizeFilter, span: Span, taps: &mut Taps) {
        taps.starts.clear();
        taps.counts.clear();
        taps.weights.clear();
        taps.lows.clear();
        taps.bits = BITS;
        let scale = (span.to - span.from) / f64::from(span.outputs);
        if scale == 1.0 && span.from.fract() == 0.0 {
            return copy(span, taps);
        }
        let wide = scale.max(1.0);
        let support = support(filter) * wide;
        let narrow = 1.0 / wide;
        let bounds = |output: u32| {
            let center = span.from + (f64::from(output) + 0.5) * scale;
            let first = (center - support + 0.5).max(0.0) as u32;
            (center, first, ((center + support + 0.5) as u32).min(span.inputs))
        };
        for output in 0..span.outputs {
            let (_, first, end) = bounds(output);
            taps.starts.push(first);
            taps.counts.push(end - first);
        }
        let most = taps.counts.iter().copied().max().unwrap_or(1);
        taps.each = (most as usize).next_multiple_of(2);
        taps.weights.resize(taps.counts.len() * taps.each, 0);
        taps.lows.resize(taps.counts.len() * taps.each, 0);
        let uppers = taps.weights.chunks_exact_mut(taps.each);
        let lowers = taps.lows.chunks_exact_mut(taps.each);
        for ((output, uppers), lowers) in (0..span.outputs).zip(uppers).zip(lowers) {
            let (center, first, end) = bounds(output);
            let places = (first..end).map(|x| (f64::from(x) - center + 0.5) * narrow);
            self.0.clear();
            match filter {
                ResizeFilter::Lanczos => self.0.extend(places.map(lanczos)),
                _ => self.0.extend(places.map(cubic)),
            }
            let sum: f64 = self.0.iter().sum();
            for ((upper, lower), weight) in uppers.iter_mut().zip(lowers).zip(&self.0) {
                [*upper, *lower] = split(rounded(weight / sum));
            }
        }
    }

    /// Frees memory above `bytes` bytes.
    pub(super) fn drop_large(&mut self, bytes: usize) {
        if self.0.capacity() * 8 > bytes {
            self.0 = Vec::new();
        }
    }
}

/// Every output is an input.
fn copy(span: Span, taps: &mut Taps) {
    let first = span.from as u32;
    taps.each = 2;
    for output in 0..span.outputs {
        taps.starts.push(first + output);
        taps.counts.push(1);
        taps.weights.extend([1 << (BITS - LOW_BITS), 0]);
        taps.lows.extend([0; 2]);
    }
}

/// How far a filter reaches to each side.
fn support(filter: ResizeFilter) -> f64 {
    match filter {
        ResizeFilter::Triangle => 1.0,
        ResizeFilter::Cubic => 2.0,
        ResizeFilter::Lanczos => 3.0,
    }
}

/// Rounds to [`BITS`], halves away from zero.
fn rounded(weight: f64) -> i32 {
    let scaled = weight * f64::from(1u32 << BITS);
    (scaled + if scaled < 0.0 { -0.5 } else { 0.5 }) as i32
}

/// Cubic convolution with a = -0.5.
fn cubic(x: f64) -> f64 {
    const A: f64 = -0.5;
    let x = x.abs();
    if x < 1.0 {
        ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        (((x - 5.0) * x + 8.0) * x - 4.0) * A
    } else {
        0.0
    }
}

/// `sinc(x) sinc(x / 3)`. With s the sine of a third of the angle, that of the whole is
/// `3 s - 4 s^3`.
fn lanczos(x: f64) -> f64 {
    let x = x.abs();
    if x >= 3.0 {
        return 0.0;
    }
    if x == 0.0 {
        return 1.0;
    }
    let s = sine(x / 3.0);
    s * s * (3.0 - 4.0 * s * s) * 3.0 / (PI * PI * x * x)
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
fn sine(turn: f64) -> f64 {
    let angle = PI * turn.min(1.0 - turn);
    let square = angle * angle;
    let sum = SINE.iter().fold(0.0, |sum, factor| sum * square + factor);
    angle + angle * square * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_one_at_zero_and_zero_at_whole_numbers() {
        for filter in [cubic, lanczos] {
            assert_eq!(filter(0.0), 1.0);
            for x in 1..5 {
                assert!(filter(x.into()).abs() < 1e-15, "{x}");
                assert!(filter((-x).into()).abs() < 1e-15, "{x}");
            }
        }
        assert_eq!(cubic(0.5), 0.5625);
        assert_eq!(cubic(-1.5), -0.0625);
        for n in 1..3000 {
            let x = f64::from(n) / 1000.0;
            let angle = PI * x;
            let expected = angle.sin() / angle * (angle / 3.0).sin() / (angle / 3.0);
            assert!((lanczos(x) - expected).abs() < 1e-15, "{x}");
            assert_eq!(lanczos(x).to_bits(), lanczos(-x).to_bits());
        }
    }

    #[test]
    fn weights_keep_their_sum_within_the_roundings() {
        let mut weights = FineWeights::default();
        let mut taps = Taps::default();
        for filter in [ResizeFilter::Cubic, ResizeFilter::Lanczos] {
            for (inputs, from, to, outputs) in [
                (500, 0.0, 500.0, 224),
                (1, 0.0, 1.0, 300),
                (9000, 0.5, 8999.25, 1),
                (7, 6.9, 7.0, 5),
            ] {
                weights.set(filter, Span { inputs, from, to, outputs }, &mut taps);
                for output in 0..outputs as usize {
                    let of = taps.of(output);
                    assert!(of.start + of.count <= inputs as usize && of.count > 0);
                    let both = of.weights.iter().zip(of.lows);
                    let sum = both.map(|(&up, &low)| (i64::from(up) << LOW_BITS) + i64::from(low));
                    let most = of.count as i64;
                    assert!((sum.sum::<i64>() - (1 << BITS)).abs() <= most, "{filter:?} {output}");
                }
            }
        }
    }
}
