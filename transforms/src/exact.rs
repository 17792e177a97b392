//! Functions of numbers that are the same on every machine.
//!
//! They use basic arithmetic, which IEEE 754 defines exactly, unlike the C library's functions, whose last digit differs
//! between systems.

/// e to the power of `x`, with a relative error below 1e-11; 0 below -700.
pub(crate) fn exp(x: f64) -> f64 {
    if x < -700.0 {
        return 0.0;
    }
    // exp(x) = exp(x / 2^n)^(2^n): a short Taylor series suffices for the small argument.
    let halvings = if x.abs() < 20.0 { 8 } else { 13 };
    let small = x / f64::from(1 << halvings);
    let mut sum = 1.0;
    for n in (1..=10).rev() {
        sum = 1.0 + sum * small / f64::from(n);
    }
    (0..halvings).fold(sum, |power, _| power * power)
}

/// The natural logarithm of `x`, with an absolute error below 1e-13; 0 for what has none.
pub(crate) fn ln(x: f64) -> f64 {
    if !x.is_normal() || x < 0.0 {
        return 0.0;
    }
    // x is a power of 2 times a part from 0.75 to 1.5, whose logarithm is a short series.
    let bits = x.to_bits();
    let mut power = (bits >> 52) as i64 - 1023;
    let mut part = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000);
    if part > 1.5 {
        part /= 2.0;
        power += 1;
    }
    let ratio = (part - 1.0) / (part + 1.0);
    let square = ratio * ratio;
    let mut sum = 0.0;
    for n in (0..=11).rev() {
        sum = sum * square + 1.0 / f64::from(2 * n + 1);
    }
    power as f64 * std::f64::consts::LN_2 + 2.0 * ratio * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_standard_library() {
        for n in -1400..=1400 {
            let x = f64::from(n) / 2.0;
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-11, "exp of {x}");
            let y = f64::from(n + 1401) / 37.0;
            assert!((ln(y) - y.ln()).abs() < 1e-13, "ln of {y}");
            assert!((exp(ln(y)) / y - 1.0).abs() < 1e-12, "{y}");
        }
        assert_eq!([exp(0.0), exp(-1e9), ln(1.0), ln(0.0), ln(-1.0)], [1.0, 0.0, 0.0, 0.0, 0.0]);
    }
}
