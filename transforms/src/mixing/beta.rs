//! `Numbers`: the random numbers of one draw, with those of a symmetric Beta distribution.
//!
//! Basic operations and square roots only, which IEEE 754 defines exactly: every machine draws the same numbers.

use tarflume_order::{Key, below};

/// Random numbers of one key, in the order in which they are taken.
pub(super) struct Numbers {
    key: Key,
    taken: u64,
}

impl Numbers {
    pub(super) fn new(key: Key) -> Numbers {
        Numbers { key, taken: 0 }
    }

    fn bits(&mut self) -> u64 {
        self.taken += 1;
        self.key.draw(self.taken)
    }

    /// A number between 0 and 1, never one of them.
    pub(super) fn unit(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// A number below `n`.
    pub(super) fn below(&mut self, n: u32) -> u32 {
        below(self.bits(), u64::from(n)) as u32
    }

    /// A number with the distribution Beta(alpha, alpha), 0 to 1.
    pub(super) fn beta(&mut self, alpha: f64) -> f64 {
        // Of two numbers with a gamma distribution, the share of the first. As logarithms, because a small alpha makes
        // both too small for a float.
        let one = self.ln_gamma(alpha);
        let other = self.ln_gamma(alpha);
        1.0 / (1.0 + exp(other - one))
    }

    /// The logarithm of a number with the distribution Gamma(shape, 1). Marsaglia and Tsang: a cubed normal number, of
    /// which a few in a hundred are refused.
    fn ln_gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let boost = ln(self.unit()) / shape;
            return self.ln_gamma(shape + 1.0) + boost;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let root = 1.0 + c * x;
            let v = root * root * root;
            if v <= 0.0 {
                continue;
            }
            let ln_v = ln(v);
            if ln(self.unit()) < 0.5 * x * x + d - d * v + d * ln_v {
                return ln(d) + ln_v;
            }
        }
    }

    /// A number with the standard normal distribution, by the polar method.
    fn normal(&mut self) -> f64 {
        loop {
            let x = 2.0 * self.unit() - 1.0;
            let y = 2.0 * self.unit() - 1.0;
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * ln(square) / square).sqrt();
            }
        }
    }
}

/// The natural logarithm of a normal `x` > 0. Relative error below 1e-14 where the result is not near 0.
fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) as i64 - 1023) as f64;
    let mut fraction = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if fraction > std::f64::consts::SQRT_2 {
        fraction /= 2.0;
        exponent += 1.0;
    }
    // ln((1 + s) / (1 - s)) = 2 (s + s^3 / 3 + s^5 / 5 + ...); s is below 0.18.
    let s = (fraction - 1.0) / (fraction + 1.0);
    let mut sum = 0.0;
    for n in (1..=23).rev().step_by(2) {
        sum = sum * s * s + 1.0 / f64::from(n);
    }
    exponent * std::f64::consts::LN_2 + 2.0 * s * sum
}

/// e to the power of `x`; a finite number for every `x`.
fn exp(x: f64) -> f64 {
    let x = x.clamp(-700.0, 700.0);
    let twos = (x / std::f64::consts::LN_2) as i64;
    let rest = x - twos as f64 * std::f64::consts::LN_2;
    let mut sum = 1.0;
    for n in (1..=18).rev() {
        sum = 1.0 + sum * rest / f64::from(n);
    }
    sum * f64::from_bits(((twos + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u64 = 100_000;

    #[test]
    fn logarithms_and_powers_are_those_of_the_c_library() {
        for n in 1..2000 {
            let x = f64::from(n) * 0.013;
            assert!((ln(x) - x.ln()).abs() <= 1e-14 * (1.0 + x.ln().abs()), "ln {x}");
            for x in [x, -x, 25.0 * x, -25.0 * x] {
                assert!((exp(x) / x.exp() - 1.0).abs() < 1e-13, "exp {x}");
            }
        }
        assert!((ln(1e-300) - 1e-300f64.ln()).abs() < 1e-11);
        assert!(exp(1e9).is_finite() && exp(-1e9) > 0.0);
    }

    #[test]
    fn draws_have_the_moments_of_the_beta_distribution() {
        for alpha in [0.05, 0.2, 0.4, 0.8, 1.0, 2.0, 32.0] {
            let mut numbers = Numbers::new(Key::new(1, 2, b"test    "));
            let mut sums = [0.0f64; 3];
            for _ in 0..DRAWS {
                let lam = numbers.beta(alpha);
                assert!((0.0..=1.0).contains(&lam));
                let apart = lam - 0.5;
                sums[0] += apart;
                sums[1] += apart * apart;
                sums[2] += apart * apart * apart * apart;
            }
            let [first, second, fourth] = sums.map(|sum| sum / DRAWS as f64);
            let variance = 1.0 / (4.0 * (2.0 * alpha + 1.0));
            // The kurtosis of Beta(a, a) is 3 - 6 / (2 a + 3).
            let kurtosis = 3.0 - 6.0 / (2.0 * alpha + 3.0);
            let error = (variance / DRAWS as f64).sqrt();
            assert!(first.abs() < 5.0 * error, "alpha {alpha}: mean {first}");
            assert!((second / variance - 1.0).abs() < 0.02, "alpha {alpha}: variance {second}");
            let found = fourth / (variance * variance);
            assert!((found / kurtosis - 1.0).abs() < 0.03, "alpha {alpha}: kurtosis {found}");
        }
    }

    #[test]
    fn draws_of_alpha_one_are_uniform() {
        let mut numbers = Numbers::new(Key::new(3, 4, b"test    "));
        let mut draws: Vec<f64> = (0..DRAWS).map(|_| numbers.beta(1.0)).collect();
        draws.sort_by(f64::total_cmp);
        let apart = draws.iter().enumerate().map(|(n, x)| (x - n as f64 / DRAWS as f64).abs());
        let most = apart.fold(0.0, f64::max);
        assert!(most * (DRAWS as f64).sqrt() < 1.63, "Kolmogorov and Smirnov at 1 %: {most}");
    }

    #[test]
    fn a_tiny_alpha_draws_both_ends() {
        let mut numbers = Numbers::new(Key::new(5, 6, b"test    "));
        let draws: Vec<f64> = (0..1000).map(|_| numbers.beta(1e-3)).collect();
        let low = draws.iter().filter(|&&lam| lam < 0.01).count();
        let high = draws.iter().filter(|&&lam| lam > 0.99).count();
        assert!(low > 400 && high > 400, "{low} and {high}");
    }

    #[test]
    fn draws_are_frozen() {
        let mut numbers = Numbers::new(Key::new(42, 0, b"mixing  "));
        let draws = [0.2, 0.8, 1.0].map(|alpha| numbers.beta(alpha).to_bits());
        let frozen =
            [4_607_182_418_800_007_476, 4_601_508_036_097_312_031, 4_602_607_958_914_760_379];
        assert_eq!(draws, frozen);
    }
}
