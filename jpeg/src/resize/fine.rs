//! Which inputs count for each output of cubic and Lanczos filters, and the order of their weights.
//!
//! Pillow's `Resample.c` defines the inputs, and that weights are divided by their sum and rounded to 22 bits.

use super::filter::ResizeFilter;
use super::weights::Span;
use crate::simd::{
    DIGITS, Digits, Each, FINE_BITS, FOUR, LOW_BITS, MOST_ACROSS, Outputs, SOME, Simd, Taps, Units,
    cubic_of, lanczos_of, rounded, split,
};

/// With more rows, or more inputs together, weights and lines would no longer fit caches: they are computed otherwise.
const MOST_UNITS: usize = 64;
const MOST_INPUTS: usize = 1 << 14;

/// The weights of some outputs before and after rounding, kept for their memory.
#[derive(Debug, Default)]
pub(super) struct FineWeights {
    exact: Vec<Each<f64>>,
    weights: Vec<Each<i32>>,
    /// Those of one output.
    row: Vec<f64>,
}

/// With more weights of each output, those of [`SOME`] would not fit caches: outputs are computed one by one.
const MOST_PLACES: usize = 512;

/// An axis, with what follows from its sizes.
#[derive(Debug, Clone, Copy)]
struct Axis {
    span: Span,
    filter: ResizeFilter,
    scale: f64,
    support: f64,
    narrow: f64,
}

impl Axis {
    fn new(filter: ResizeFilter, span: Span) -> Axis {
        let scale = (span.to - span.from) / f64::from(span.outputs);
        let wide = scale.max(1.0);
        Axis { span, filter, scale, support: support(filter) * wide, narrow: 1.0 / wide }
    }

    fn center(&self, output: u32) -> f64 {
        self.span.from + (f64::from(output) + 0.5) * self.scale
    }

    /// Writes the inputs of each output.
    fn bounds(&self, taps: &mut Taps) {
        taps.starts.clear();
        taps.counts.clear();
        taps.weights.clear();
        taps.lows.clear();
        taps.bits = FINE_BITS;
        for output in 0..self.span.outputs {
            let center = self.center(output);
            let first = (center - self.support + 0.5).max(0.0) as u32;
            let end = ((center + self.support + 0.5) as u32).min(self.span.inputs);
            taps.starts.push(first);
            taps.counts.push(end - first);
        }
        let most = taps.counts.iter().copied().max().unwrap_or(1);
        taps.each = (most as usize).next_multiple_of(2);
    }
}

impl FineWeights {
    /// Computes the weights of each output.
    pub(super) fn set(&mut self, simd: &Simd, filter: ResizeFilter, span: Span, taps: &mut Taps) {
        let axis = Axis::new(filter, span);
        if axis.scale == 1.0 && span.from.fract() == 0.0 {
            return copy(span, taps);
        }
        axis.bounds(taps);
        let each = taps.each;
        let width = taps.starts.len();
        taps.weights.resize(width * each, 0);
        taps.lows.resize(width * each, 0);
        if each > MOST_PLACES {
            return self.one_by_one(&axis, taps);
        }
        for first in (0..width).step_by(SOME) {
            let order = Order { first, flip: false, places: each };
            self.some(simd, &axis, taps, order, |output| taps.starts[output]);
            for (lane, output) in (first..width.min(first + SOME)).enumerate() {
                let uppers = taps.weights[output * each..][..each].iter_mut();
                let both = uppers.zip(&mut taps.lows[output * each..][..each]);
                for ((upper, lower), weights) in both.zip(&self.weights) {
                    [*upper, *lower] = split(weights[lane]);
                }
            }
        }
    }

    /// The same without vectors.
    fn one_by_one(&mut self, axis: &Axis, taps: &mut Taps) {
        let uppers = taps.weights.chunks_exact_mut(taps.each);
        let both = uppers.zip(taps.lows.chunks_exact_mut(taps.each));
        let ends = taps.starts.iter().zip(&taps.counts);
        for ((output, (uppers, lowers)), (&first, &count)) in (0..).zip(both).zip(ends) {
            let center = axis.center(output);
            self.row.clear();
            for input in first..first + count {
                let x = (f64::from(input) - center + 0.5) * axis.narrow;
                let is_lanczos = axis.filter == ResizeFilter::Lanczos;
                self.row.push(if is_lanczos { lanczos_of(x) } else { cubic_of(x) });
            }
            let sum: f64 = self.row.iter().sum();
            for ((upper, lower), weight) in uppers.iter_mut().zip(lowers).zip(&self.row) {
                [*upper, *lower] = split(rounded(weight / sum));
            }
        }
    }

    /// Computes the weights of each output in digits. `taps` has the inputs of each output afterwards, and no weights. Returns
    /// false if the sizes or the weights are not for that form.
    pub(super) fn digits(
        &mut self,
        simd: &Simd,
        filter: ResizeFilter,
        span: Span,
        units: Units,
        taps: &mut Taps,
        digits: &mut Digits,
    ) -> bool {
        let flip = units == Units::Aligned { flip: true };
        let axis = Axis::new(filter, span);
        axis.bounds(taps);
        let first = taps.starts[0];
        let inputs = taps.reach(1);
        let aligned = units != Units::Own;
        let mut most = 1;
        for (&start, &count) in taps.starts.iter().zip(&taps.counts) {
            let before = if aligned { (start - first) as usize % FOUR } else { 0 };
            most = most.max(before + count as usize);
        }
        digits.bits = taps.bits;
        digits.units = most.div_ceil(FOUR);
        digits.all = inputs.div_ceil(FOUR).max(digits.units);
        let most = if aligned { MOST_ACROSS } else { MOST_UNITS };
        if digits.units > most || inputs > MOST_INPUTS {
            return false;
        }
        let width = taps.starts.len();
        let four = FOUR as u32;
        // No unit is behind the inputs.
        let last = (digits.all - digits.units) as u32;
        digits.starts.clear();
        digits.starts.extend(taps.starts.iter().map(|start| ((start - first) / four).min(last)));
        let each = DIGITS * digits.units;
        digits.weights.resize(width.div_ceil(SOME) * each, [0; SOME]);
        let mut beyond = 0;
        for (part, out) in digits.weights.chunks_exact_mut(each).enumerate() {
            let order = Order { first: part * SOME, flip, places: FOUR * digits.units };
            let starts = &digits.starts;
            self.some(simd, &axis, taps, order, |output| {
                if aligned { first + four * starts[output] } else { taps.starts[output] }
            });
            (simd.in_digits)(&self.weights, out, &mut beyond);
        }
        if aligned {
            if flip {
                digits.starts.reverse();
            }
            digits.starts.resize(width.next_multiple_of(FOUR), 0);
        }
        beyond == 0
    }

    /// Computes the weights of some outputs; those of each begin with that of the input `begin`.
    fn some(
        &mut self,
        simd: &Simd,
        axis: &Axis,
        taps: &Taps,
        order: Order,
        begin: impl Fn(usize) -> u32,
    ) {
        let Order { first, flip, places } = order;
        let none = [0.0; SOME];
        let mut outputs =
            Outputs { center: none, begin: none, first: none, end: none, narrow: axis.narrow };
        let width = taps.starts.len();
        for lane in 0..SOME.min(width - first) {
            let output = if flip { width - 1 - first - lane } else { first + lane };
            outputs.center[lane] = axis.center(output as u32);
            outputs.begin[lane] = begin(output).into();
            outputs.first[lane] = taps.starts[output].into();
            outputs.end[lane] = (taps.starts[output] + taps.counts[output]).into();
        }
        self.exact.resize(places, [0.0; SOME]);
        self.weights.resize(places, [0; SOME]);
        let kernel = if axis.filter == ResizeFilter::Lanczos { simd.lanczos } else { simd.cubic };
        kernel(&outputs, &mut self.exact, &mut self.weights);
    }

    /// Frees memory above `bytes` bytes.
    pub(super) fn drop_large(&mut self, bytes: usize) {
        if (self.exact.capacity() * SOME).max(self.row.capacity()) * 8 > bytes {
            *self = FineWeights::default();
        }
    }
}

/// Some outputs.
#[derive(Debug, Clone, Copy)]
struct Order {
    /// The first one.
    first: usize,
    /// Whether the first output of all comes last.
    flip: bool,
    /// Weights of each.
    places: usize,
}

/// Every output is an input.
fn copy(span: Span, taps: &mut Taps) {
    let first = span.from as u32;
    taps.starts.clear();
    taps.counts.clear();
    taps.weights.clear();
    taps.lows.clear();
    taps.bits = FINE_BITS;
    taps.each = 2;
    for output in 0..span.outputs {
        taps.starts.push(first + output);
        taps.counts.push(1);
        taps.weights.extend([1 << (FINE_BITS - LOW_BITS), 0]);
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

#[cfg(test)]
mod tests {
    use super::*;

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
                weights.set(Simd::best(), filter, Span { inputs, from, to, outputs }, &mut taps);
                for output in 0..outputs as usize {
                    let of = taps.of(output);
                    assert!(of.start + of.count <= inputs as usize && of.count > 0);
                    let both = of.weights.iter().zip(of.lows);
                    let sum = both.map(|(&up, &low)| (i64::from(up) << LOW_BITS) + i64::from(low));
                    let most = of.count as i64;
                    assert!(
                        (sum.sum::<i64>() - (1 << FINE_BITS)).abs() <= most,
                        "{filter:?} {output}"
                    );
                }
            }
        }
    }
}
