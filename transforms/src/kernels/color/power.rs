//! Powers with the same digits on every system: those of the C library differ.

/// 1, 1/3, 1/5 ...: the coefficients of the inverse hyperbolic tangent.
const ODD_PARTS: [f64; 9] = parts(1.0, 2.0);
/// 1, 1/2, 1/3 ...
const PARTS: [f64; 10] = parts(1.0, 1.0);

const fn parts<const COUNT: usize>(first: f64, step: f64) -> [f64; COUNT] {
    let mut parts = [0.0; COUNT];
    let mut at = 0;
    while at < COUNT {
        parts[at] = 1.0 / (first + step * at as f64);
        at += 1;
    }
    parts
}

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

/// The natural logarithm of a positive normal number.
fn ln(x: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff << 52;
    const ONE: u64 = 0x3ff << 52;
    let mut doublings = ((x.to_bits() & EXPONENT) >> 52) as i32 - 1023;
    let mut mantissa = f64::from_bits(x.to_bits() & !EXPONENT | ONE);
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa /= 2.0;
        doublings += 1;
    }
    // ln m = 2 artanh s: the odd powers of s, which is at most 0.172.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let series = ODD_PARTS.iter().rev().fold(0.0, |series, part| series * square + part);
    f64::from(doublings) * std::f64::consts::LN_2 + 2.0 * s * series
}

/// The exponential of a number that is not positive. 0 below -600.
fn exp(x: f64) -> f64 {
    if x < -600.0 {
        return 0.0;
    }
    let doublings = (x * std::f64::consts::LOG2_E - 0.5) as i32;
    let rest = x - f64::from(doublings) * std::f64::consts::LN_2;
    let series = PARTS.iter().rev().fold(1.0, |series, part| series * (rest * part) + 1.0);
    series * f64::from_bits(((doublings + 1023) as u64) << 52)
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
