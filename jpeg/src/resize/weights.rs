//! The weights of the triangle filter along one axis, bit by bit those of `fast_image_resize`.
//!
//! Pure arithmetic on sizes; touches no pixel.

use crate::simd::Taps;

/// A range of inputs that becomes outputs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// Number of inputs; none outside is used.
    pub(super) inputs: u32,
    /// The range, in inputs; fractions are allowed.
    pub(super) from: f64,
    pub(super) to: f64,
    /// Number of outputs, at least 1.
    pub(super) outputs: u32,
}

/// Sums have 8 bits more than weights, and two more for their range.
const MOST_BITS: u32 = 32 - 8 - 2;

/// The greatest f64 below a half: adding it and truncating rounds halves away from zero.
const NEARLY_HALF: f64 = 0.499_999_999_999_999_94;

/// The weights of an axis before rounding, kept for their memory.
#[derive(Debug, Default)]
pub(super) struct Weights(Vec<f64>);

impl Weights {
    /// Computes the weights of each output. The filter is a triangle as wide as two outputs, but at
    /// least two inputs. Its weights have as many bits as the greatest one allows.
    pub(super) fn set(&mut self, span: Span, taps: &mut Taps) {
        let scale = (span.to - span.from) / f64::from(span.outputs);
        let radius = scale.max(1.0);
        let narrow = 1.0 / radius;
        self.0.clear();
        taps.starts.clear();
        taps.counts.clear();
        taps.lows.clear();
        let mut greatest = 0.0f64;
        let mut most = 1;
        for output in 0..span.outputs {
            let center = span.from + (f64::from(output) + 0.5) * scale;
            // Both are at least 0, so truncating rounds down.
            let mut first = (center - radius).max(0.0) as u32;
            let end = (center + radius).min(f64::from(span.inputs));
            let end = end as u32 + u32::from(f64::from(end as u32) < end);
            let weight = |x: u32| 1.0 - ((f64::from(x) - (center - 0.5)) * narrow).abs();
            while first + 1 < end && weight(first) <= 0.0 {
                first += 1;
            }
            let at = self.0.len();
            let mut sum = 0.0;
            for x in first..end {
                let weight = weight(x);
                if weight <= 0.0 {
                    break;
                }
                self.0.push(weight);
                sum += weight;
            }
            for weight in &mut self.0[at..] {
                *weight /= sum;
                greatest = greatest.max(*weight);
            }
            let count = self.0.len() - at;
            most = most.max(count);
            taps.starts.push(first);
            taps.counts.push(count as u32);
        }
        taps.each = most.next_multiple_of(2);
        taps.bits = bits(greatest);
        self.round(taps);
    }

    fn round(&self, taps: &mut Taps) {
        let unit = f64::from(1u32 << taps.bits);
        let mut exact = self.0.as_slice();
        taps.weights.clear();
        taps.weights.resize(taps.counts.len() * taps.each, 0);
        for (weights, &count) in taps.weights.chunks_exact_mut(taps.each).zip(&taps.counts) {
            let (these, rest) = exact.split_at(count as usize);
            for (weight, exact) in weights.iter_mut().zip(these) {
                *weight = (exact * unit + NEARLY_HALF) as i32 as i16;
            }
            exact = rest;
        }
    }

    /// Frees memory above `bytes` bytes.
    pub(super) fn drop_large(&mut self, bytes: usize) {
        if self.0.capacity() * 8 > bytes {
            self.0 = Vec::new();
        }
    }
}

/// The first number of bits with one more of which the weight would not fit 15.
fn bits(greatest: f64) -> u32 {
    let fits =
        |bits: &u32| greatest * f64::from(2u32 << bits) + NEARLY_HALF < f64::from(1u32 << 15);
    (0..MOST_BITS - 1).find(|bits| !fits(bits)).unwrap_or(MOST_BITS - 1)
}
