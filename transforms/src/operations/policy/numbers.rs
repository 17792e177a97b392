//! Logarithms, powers, sines and cosines that are the same on every machine.
//!
//! They use basic arithmetic, which IEEE 754 defines exactly, unlike the C library's functions, whose last digit differs
//! between systems.

use std::f64::consts::{LN_2, PI, SQRT_2};

/// The natural logarithm of a normal `x` above 0, to 1e-15 of its size.
pub(super) fn ln(x: f64) -> f64 {
    // x is a power of 2 times a part near 1: ln((1 + s) / (1 - s)) = 2 (s + s^3 / 3 + s^5 / 5 + ...).
    let bits = x.to_bits();
    let mut power = (bits >> 52) as i64 - 1023;
    let mut part = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if part > SQRT_2 {
        part /= 2.0;
        power += 1;
    }
    let s = (part - 1.0) / (part + 1.0);
    let sum = (0..12).rev().fold(0.0, |sum, n| sum * s * s + 1.0 / f64::from(2 * n + 1));
    power as f64 * LN_2 + 2.0 * s * sum
}

/// e to the power of `x`, to 1e-13 of its size; 0 below -700.
pub(super) fn exp(x: f64) -> f64 {
    if x < -700.0 {
        return 0.0;
    }
    let twos = (x.min(700.0) / LN_2).round_ties_even();
    let rest = x.min(700.0) - twos * LN_2;
    let sum = (1..=14).rev().fold(1.0, |sum, n| 1.0 + sum * rest / f64::from(n));
    sum * f64::from_bits(((twos as i64 + 1023) as u64) << 52)
}

/// The sine of an angle in degrees.
pub(super) fn sin(degrees: f64) -> f64 {
    let quarters = (degrees / 90.0).round_ties_even();
    let rest = (degrees - 90.0 * quarters) * PI / 180.0;
    match (quarters as i64).rem_euclid(4) {
        0 => sine(rest),
        1 => cosine(rest),
        2 => -sine(rest),
        _ => -cosine(rest),
    }
}

/// The cosine of an angle in degrees.
pub(super) fn cos(degrees: f64) -> f64 {
    sin(degrees + 90.0)
}

/// The sine of at most pi / 4: the series of Taylor.
fn sine(x: f64) -> f64 {
    let terms = (1..=9).rev();
    x * terms.fold(1.0, |sum, n| 1.0 - sum * x * x / f64::from(2 * n * (2 * n + 1)))
}

/// The cosine of at most pi / 4.
fn cosine(x: f64) -> f64 {
    let terms = (1..=9).rev();
    terms.fold(1.0, |sum, n| 1.0 - sum * x * x / f64::from(2 * n * (2 * n - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_standard_library() {
        for n in 1..4000 {
            let x = f64::from(n) * 0.017;
            assert!((ln(x) - x.ln()).abs() <= 1e-15 * (1.0 + x.ln().abs()), "ln {x}");
            for x in [x, -x, 10.0 * x, -10.0 * x] {
                assert!((exp(x) / x.exp() - 1.0).abs() < 1e-13, "exp {x}");
                assert!((sin(x) - x.to_radians().sin()).abs() < 2e-15, "sin {x}");
                assert!((cos(x) - x.to_radians().cos()).abs() < 2e-15, "cos {x}");
            }
        }
        assert!((ln(1e-300) - 1e-300f64.ln()).abs() < 1e-12);
        assert_eq!([exp(-1e9), exp(0.0), ln(1.0), sin(0.0), cos(0.0)], [0.0, 1.0, 0.0, 0.0, 1.0]);
        assert_eq!([sin(90.0), cos(90.0), sin(180.0), cos(-180.0)], [1.0, 0.0, 0.0, -1.0]);
    }
}
