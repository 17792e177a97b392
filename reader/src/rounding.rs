//! Floats of 64 bits -> floats of 16 bits, with one rounding.
//!
//! The crate `half` goes through 32 bits where the processor has an instruction for that, and rounds twice; elsewhere it
//! leaves out the lower half of the mantissa. Pure; the same on every platform.

use half::{bf16, f16};

/// Returns the nearest float of IEEE binary16; of two that are equally near the one with an even mantissa.
pub fn nearest_f16(value: f64) -> f16 {
    f16::from_f32(odd(value))
}

/// Returns the nearest bfloat16; of two that are equally near the one with an even mantissa.
pub fn nearest_bf16(value: f64) -> bf16 {
    bf16::from_f32(odd(value))
}

/// Rounds toward zero to 32 bits, and sets the last bit of a number that was not equal.
///
/// A float with at least two bits less is then rounded as if from 64 bits: what was left out can neither reach a number
/// halfway between two of its numbers nor move away from one (rounding to odd).
fn odd(value: f64) -> f32 {
    let near = value as f32;
    if f64::from(near) == value || value.is_nan() {
        return near;
    }
    let is_beyond = f64::from(near.abs()) > value.abs();
    f32::from_bits((near.to_bits() - u32::from(is_beyond)) | 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The nearest of all floats of 16 bits by their exact values in ascending order, found by bisection.
    fn oracle(value: f64, all: &[(f64, u16)], largest: f64) -> u16 {
        let above = all.partition_point(|(known, _)| *known < value);
        let Some(&(high, high_bits)) = all.get(above) else {
            // Beyond the largest: infinite from halfway to the next one, which would be even.
            return if value >= largest { all[all.len() - 1].1 + 1 } else { all[all.len() - 1].1 };
        };
        if above == 0 || high == value {
            return high_bits;
        }
        let (low, low_bits) = all[above - 1];
        match (value - low).partial_cmp(&(high - value)) {
            Some(std::cmp::Ordering::Less) => low_bits,
            Some(std::cmp::Ordering::Greater) => high_bits,
            _ => [low_bits, high_bits][usize::from(low_bits % 2)],
        }
    }

    fn check(exact: fn(u16) -> f64, nearest: fn(f64) -> u16, infinite: u16) {
        let all: Vec<(f64, u16)> = (0..infinite).map(|bits| (exact(bits), bits)).collect();
        let largest = all[all.len() - 1].0;
        let step = largest - all[all.len() - 2].0;
        let mut values = vec![largest + step / 2.0, (largest + step / 2.0).next_down(), 1e300];
        for pair in all.windows(2) {
            let middle = pair[0].0 / 2.0 + pair[1].0 / 2.0;
            values.extend([pair[0].0, middle, middle.next_up(), middle.next_down()]);
        }
        for value in values {
            let wanted = oracle(value, &all, largest + step / 2.0);
            assert_eq!(nearest(value), wanted, "{value:e}");
            assert_eq!(nearest(-value), wanted | 0x8000, "-{value:e}");
        }
    }

    #[test]
    fn every_number_and_the_neighbors_of_every_middle_go_to_the_nearest() {
        check(|bits| f16::from_bits(bits).to_f64(), |v| nearest_f16(v).to_bits(), 0x7c00);
        check(|bits| bf16::from_bits(bits).to_f64(), |v| nearest_bf16(v).to_bits(), 0x7f80);
    }

    #[test]
    fn infinite_numbers_and_nan_stay() {
        assert_eq!(nearest_f16(f64::NEG_INFINITY), f16::NEG_INFINITY);
        assert_eq!(nearest_bf16(f64::INFINITY), bf16::INFINITY);
        assert!(nearest_f16(f64::NAN).is_nan() && nearest_bf16(f64::NAN).is_nan());
        assert_eq!(nearest_f16(5e-324).to_bits(), 0);
        assert_eq!(nearest_f16(-0.0).to_bits(), 0x8000);
    }
}
