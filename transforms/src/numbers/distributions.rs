//! Random numbers with normal, Beta and Dirichlet distributions, the same on every machine.

use tarflume_image::Random;

use crate::numbers::exact::{exp, ln};

/// A number with the standard normal distribution, by the polar method.
pub(crate) fn normal(random: &mut Random) -> f64 {
    loop {
        let x = 2.0 * random.unit() - 1.0;
        let y = 2.0 * random.unit() - 1.0;
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * ln(square) / square).sqrt();
        }
    }
}

/// Replaces `shares` by numbers with a symmetric Dirichlet distribution: they are not negative, and their sum is 1.
pub(crate) fn dirichlet(random: &mut Random, alpha: f64, shares: &mut [f64]) {
    // As logarithms, because a small alpha makes numbers that are too small for a float.
    for share in shares.iter_mut() {
        *share = ln_gamma(random, alpha);
    }
    let most = shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for share in shares.iter_mut() {
        *share = exp(*share - most);
        sum += *share;
    }
    for share in shares.iter_mut() {
        *share /= sum;
    }
}

/// A number with the distribution Beta(alpha, alpha).
pub(crate) fn beta(random: &mut Random, alpha: f64) -> f64 {
    let mut shares = [0.0; 2];
    dirichlet(random, alpha, &mut shares);
    shares[0]
}

/// The logarithm of a number with the distribution Gamma(shape, 1), by the method of Marsaglia and Tsang: the cube of a
/// normal number, of which a few in a hundred are refused.
fn ln_gamma(random: &mut Random, shape: f64) -> f64 {
    if shape < 1.0 {
        let power = ln(above_zero(random)) / shape;
        return ln_gamma(random, shape + 1.0) + power;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(random);
        let root = 1.0 + c * x;
        if root <= 0.0 {
            continue;
        }
        let cube = root * root * root;
        let ln_cube = ln(cube);
        if ln(above_zero(random)) < 0.5 * x * x + d - d * cube + d * ln_cube {
            return ln(d) + ln_cube;
        }
    }
}

/// A number in 0 < x <= 1.
fn above_zero(random: &mut Random) -> f64 {
    1.0 - random.unit()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 50_000;

    #[test]
    fn normal_numbers_have_the_normal_moments() {
        let mut random = Random::new(1);
        let mut sums = [0.0f64; 4];
        for _ in 0..DRAWS {
            let x = normal(&mut random);
            for (power, sum) in sums.iter_mut().enumerate() {
                *sum += x.powi(power as i32 + 1);
            }
        }
        let means = sums.map(|sum| sum / f64::from(DRAWS));
        // Five standard deviations: those of x, x^2, x^3 and x^4 are 1, 1.4, 3.9 and 9.8.
        for (mean, [expected, deviation]) in
            means.iter().zip([[0.0, 1.0], [1.0, 1.4], [0.0, 3.9], [3.0, 9.8]])
        {
            assert!(
                (mean - expected).abs() < 5.0 * deviation / f64::from(DRAWS).sqrt(),
                "{means:?}"
            );
        }
    }

    #[test]
    fn shares_have_the_moments_of_the_dirichlet_distribution() {
        for alpha in [0.1, 0.5, 1.0, 3.0] {
            let mut random = Random::new(2);
            let mut sums = [[0.0f64; 4]; 2];
            for _ in 0..DRAWS {
                let mut shares = [0.0; 4];
                dirichlet(&mut random, alpha, &mut shares);
                assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                for (at, share) in shares.into_iter().enumerate() {
                    assert!((0.0..=1.0).contains(&share));
                    sums[0][at] += share;
                    sums[1][at] += (share - 0.25) * (share - 0.25);
                }
            }
            let variance = 0.25 * 0.75 / (4.0 * alpha + 1.0);
            let error = (variance / f64::from(DRAWS)).sqrt();
            let [means, squares] = sums.map(|sums| sums.map(|sum| sum / f64::from(DRAWS)));
            let mean = |mean: &f64| (mean - 0.25).abs() < 5.0 * error;
            assert!(means.iter().all(mean), "alpha {alpha}: means {means:?}");
            let near = |found: &f64| (found / variance - 1.0).abs() < 0.04;
            assert!(squares.iter().all(near), "alpha {alpha}: variances {squares:?}");
        }
    }

    #[test]
    fn tiny_and_large_alphas_give_numbers() {
        let mut random = Random::new(3);
        for _ in 0..1000 {
            assert!((0.0..=1.0).contains(&beta(&mut random, 1e-4)));
            assert!((beta(&mut random, 1e9) - 0.5).abs() < 0.001);
        }
    }

    #[test]
    fn draws_have_the_moments_of_the_beta_distribution() {
        for alpha in [0.05, 0.2, 0.4, 0.8, 1.0, 2.0, 32.0] {
            let mut random = Random::new(4);
            let mut sums = [0.0f64; 3];
            for _ in 0..DRAWS {
                let lam = beta(&mut random, alpha);
                assert!((0.0..=1.0).contains(&lam));
                let apart = lam - 0.5;
                sums[0] += apart;
                sums[1] += apart * apart;
                sums[2] += apart * apart * apart * apart;
            }
            let [first, second, fourth] = sums.map(|sum| sum / f64::from(DRAWS));
            let variance = 1.0 / (4.0 * (2.0 * alpha + 1.0));
            // The kurtosis of Beta(a, a) is 3 - 6 / (2 a + 3).
            let kurtosis = 3.0 - 6.0 / (2.0 * alpha + 3.0);
            let error = (variance / f64::from(DRAWS)).sqrt();
            assert!(first.abs() < 5.0 * error, "alpha {alpha}: mean {first}");
            assert!((second / variance - 1.0).abs() < 0.02, "alpha {alpha}: variance {second}");
            let found = fourth / (variance * variance);
            assert!((found / kurtosis - 1.0).abs() < 0.03, "alpha {alpha}: kurtosis {found}");
        }
    }

    #[test]
    fn draws_of_alpha_one_are_uniform() {
        let mut random = Random::new(5);
        let mut draws: Vec<f64> = (0..DRAWS).map(|_| beta(&mut random, 1.0)).collect();
        draws.sort_by(f64::total_cmp);
        let apart = draws.iter().enumerate().map(|(n, x)| (x - n as f64 / f64::from(DRAWS)).abs());
        let most = apart.fold(0.0, f64::max);
        assert!(most * (f64::from(DRAWS)).sqrt() < 1.63, "Kolmogorov and Smirnov at 1 %: {most}");
    }

    #[test]
    fn a_tiny_alpha_draws_both_ends() {
        let mut random = Random::new(6);
        let draws: Vec<f64> = (0..1000).map(|_| beta(&mut random, 1e-3)).collect();
        let low = draws.iter().filter(|&&lam| lam < 0.01).count();
        let high = draws.iter().filter(|&&lam| lam > 0.99).count();
        assert!(low > 400 && high > 400, "{low} and {high}");
    }

    #[test]
    fn draws_are_frozen() {
        let mut random = Random::new(42);
        let draws = [0.2, 0.8, 1.0].map(|alpha| beta(&mut random, alpha).to_bits());
        let frozen =
            [4_555_014_877_989_994_852, 4_603_923_294_788_166_378, 4_595_254_954_539_564_524];
        assert_eq!(draws, frozen);
    }
}
