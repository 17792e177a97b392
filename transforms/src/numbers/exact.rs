//! Logarithms, powers, sines, cosines and tangents that are the same on every machine.
//!
//! They use basic arithmetic, which IEEE 754 defines exactly, unlike the C library's functions, whose last digit differs
//! between systems and can decide a pixel. The coefficients of sine and cosine are those of fdlibm.

use std::f64::consts::{LN_2, SQRT_2};

/// 1, 1/3, 1/5 ...: the coefficients of the inverse hyperbolic tangent.
const ODD_PARTS: [f64; 12] = parts(1.0, 2.0);
/// 1, 1/2, 1/3 ...
const PARTS: [f64; 14] = parts(1.0, 1.0);

// Multiplying by a constant is faster than dividing by a number.
const fn parts<const COUNT: usize>(first: f64, step: f64) -> [f64; COUNT] {
    let mut parts = [0.0; COUNT];
    let mut at = 0;
    while at < COUNT {
        parts[at] = 1.0 / (first + step * at as f64);
        at += 1;
    }
    parts
}

/// Parts of pi / 2, of 33 bits each but the last: a product with a number below 2^20 is exact.
const HALF_PI: [f64; 4] = [
    1.570_796_326_734_125_6,
    6.077_100_506_303_966e-11,
    2.022_266_248_711_166_5e-21,
    8.478_427_660_368_9e-32,
];

/// Of x^3, x^5, ... in the sine.
const SINE: [f64; 6] = [
    -1.666_666_666_666_663_2e-1,
    8.333_333_333_322_49e-3,
    -1.984_126_982_985_795e-4,
    2.755_731_370_707_006_8e-6,
    -2.505_076_025_340_686_3e-8,
    1.589_690_995_211_55e-10,
];

/// Of x^4, x^6, ... in the cosine.
const COSINE: [f64; 6] = [
    4.166_666_666_666_66e-2,
    -1.388_888_888_887_411e-3,
    2.480_158_728_947_673e-5,
    -2.755_731_435_139_066_3e-7,
    2.087_572_321_298_175e-9,
    -1.135_964_755_778_819_5e-11,
];

/// The natural logarithm of `x`, to 1e-15 of its size; 0 for what has none.
pub(crate) fn ln(x: f64) -> f64 {
    if !x.is_normal() || x < 0.0 {
        return 0.0;
    }
    // x is a power of 2 times a part near 1: ln((1 + s) / (1 - s)) = 2 (s + s^3 / 3 + s^5 / 5 + ...).
    let bits = x.to_bits();
    let mut power = (bits >> 52) as i64 - 1023;
    let mut part = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if part > SQRT_2 {
        part /= 2.0;
        power += 1;
    }
    let s = (part - 1.0) / (part + 1.0);
    let square = s * s;
    let sum = ODD_PARTS.iter().rev().fold(0.0, |sum, part| sum * square + part);
    power as f64 * LN_2 + 2.0 * s * sum
}

/// e to the power of `x`, to 1e-13 of its size; 0 below -700.
pub(crate) fn exp(x: f64) -> f64 {
    if x < -700.0 {
        return 0.0;
    }
    let twos = (x.min(700.0) / LN_2).round_ties_even();
    let rest = x.min(700.0) - twos * LN_2;
    let sum = PARTS.iter().rev().fold(1.0, |sum, part| sum * (rest * part) + 1.0);
    sum * f64::from_bits(((twos as i64 + 1023) as u64) << 52)
}

/// The sine of an angle in radians, to 1e-15 for angles below 100,000.
pub(crate) fn sin(angle: f64) -> f64 {
    let Reduced { quarter, rest } = Reduced::of(angle);
    match quarter {
        0 => sine(rest),
        1 => cosine(rest),
        2 => -sine(rest),
        _ => -cosine(rest),
    }
}

/// The cosine of an angle in radians, to 1e-15 for angles below 100,000.
pub(crate) fn cos(angle: f64) -> f64 {
    let Reduced { quarter, rest } = Reduced::of(angle);
    match quarter {
        0 => cosine(rest),
        1 => -sine(rest),
        2 => -cosine(rest),
        _ => sine(rest),
    }
}

/// The tangent of an angle in radians.
pub(crate) fn tan(angle: f64) -> f64 {
    sin(angle) / cos(angle)
}

/// An angle as a multiple of pi / 2 and a rest of at most pi / 4.
struct Reduced {
    /// 0 to 3.
    quarter: i64,
    rest: f64,
}

impl Reduced {
    fn of(angle: f64) -> Reduced {
        let quarters = (angle * std::f64::consts::FRAC_2_PI).round_ties_even();
        let rest = HALF_PI.iter().fold(angle, |rest, part| rest - quarters * part);
        Reduced { quarter: (quarters as i64).rem_euclid(4), rest }
    }
}

fn sine(x: f64) -> f64 {
    let square = x * x;
    let sum = SINE.iter().rev().fold(0.0, |sum, coefficient| sum * square + coefficient);
    x + x * square * sum
}

fn cosine(x: f64) -> f64 {
    let square = x * x;
    let sum = COSINE.iter().rev().fold(0.0, |sum, coefficient| sum * square + coefficient);
    1.0 - (0.5 * square - square * square * sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_and_powers_are_those_of_the_standard_library() {
        for n in 1..4000 {
            let x = f64::from(n) * 0.017;
            assert!((ln(x) - x.ln()).abs() <= 1e-15 * (1.0 + x.ln().abs()), "ln {x}");
            for x in [x, -x, 10.0 * x, -10.0 * x] {
                assert!((exp(x) / x.exp() - 1.0).abs() < 1e-13, "exp {x}");
            }
        }
        assert!((ln(1e-300) - 1e-300f64.ln()).abs() < 1e-12);
        assert!(exp(1e9).is_finite());
        let edges = [exp(0.0), exp(-1e9), ln(1.0), ln(0.0), ln(-1.0)];
        assert_eq!(edges, [1.0, 0.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn the_values_are_those_of_the_standard_library() {
        for step in -20_000..=20_000 {
            let angle = f64::from(step) * 0.001_3;
            assert!((sin(angle) - angle.sin()).abs() <= 1e-15, "sin {angle}");
            assert!((cos(angle) - angle.cos()).abs() <= 1e-15, "cos {angle}");
            let expected = angle.tan();
            assert!((tan(angle) - expected).abs() <= 2e-15 * (1.0 + expected * expected));
        }
    }

    #[test]
    fn quarter_turns_are_those_of_the_standard_library() {
        for degrees in [-270.0_f64, -180.0, -90.0, 0.0, 90.0, 180.0, 270.0, 360.0, 36_000.0] {
            let angle = degrees.to_radians();
            assert!((sin(angle) - angle.sin()).abs() <= 1e-26, "sin {degrees}");
            assert!((cos(angle) - angle.cos()).abs() <= 1e-26, "cos {degrees}");
        }
    }
}
