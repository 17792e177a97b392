//! Powers with the same digits on every system: those of the C library differ.

use crate::numbers::exact::{exp, ln};

/// Returns `base` to the power `exponent`, correct to 12 digits, for 0 <= `base` <= 1 and
/// `exponent` >= 0.
pub(crate) fn power(base: f64, exponent: f64) -> f64 {
    if exponent == 0.0 {
        1.0
    } else if base == 0.0 {
        0.0
    } else {
        exp(exponent * ln(base))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_the_library_to_12_digits() {
        for step in 0..=255 {
            let base = f64::from(step) / 255.0;
            for exponent in [0.0, 1e-6, 0.1, 0.45, 0.5, 1.0, 1.7, 2.2, 3.0, 10.0, 100.0] {
                let error = power(base, exponent) - base.powf(exponent);
                assert!(
                    error.abs() <= 1e-12 * base.powf(exponent),
                    "{base} to {exponent}: {error}"
                );
            }
        }
        assert_eq!(power(0.1, 1e9), 0.0);
        assert_eq!(power(1.0, 1e9), 1.0);
    }
}
