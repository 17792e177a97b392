//! Each loop of this folder gives the same bytes with each instruction set.

use tarflume_image::Random;

use crate::kernels::filter::noise::{Key, add_noise, add_noise_wrapped, normals};
use crate::kernels::filter::{blur, sharpen};
use crate::kernels::sets::Set;

fn bytes(length: usize) -> Vec<u8> {
    let mut random = Random::new(length as u64);
    (0..length).map(|_| random.bits() as u8).collect()
}

fn same<T: PartialEq>(what: &str, result: impl Fn(Set) -> Vec<T>) {
    let expected = result(Set::Portable);
    for set in Set::all() {
        assert!(result(set) == expected, "{what} with {set:?}");
    }
}

const LENGTHS: [usize; 7] = [1, 3, 7, 32, 45, 300, 10_000];

#[test]
fn sets_sharpen_alike() {
    for length in LENGTHS {
        for channels in [1, 3] {
            let whole = bytes(3 * (length + 2 * channels));
            let rows: Vec<&[u8]> = whole.chunks_exact(length + 2 * channels).collect();
            for alpha in [-1.0, 0.3, 1.0, -1e30] {
                same("sharpen", |set| {
                    let mut sums = vec![0; 2 * (length + 2 * channels)];
                    let mut out = vec![0; length];
                    let [above, row, below] = [rows[0], rows[1], rows[2]];
                    sharpen::sharpen_row(
                        set, above, row, below, channels, alpha, &mut sums, &mut out,
                    );
                    out
                });
            }
        }
    }
}

#[test]
fn sets_sum_alike() {
    for length in LENGTHS {
        let bytes = bytes(length + 40);
        same("blur", |set| {
            let mut floats = vec![0.0; length + 40];
            let mut sums = vec![0.0; length];
            let mut out = vec![0; length];
            blur::widen(set, &bytes, &mut floats);
            let starts = [7, 3, 11, 0, 40];
            blur::weighted_sum(set, &floats, &starts, &[0.4, 0.2, 0.1], &mut sums);
            blur::round(set, &sums, &mut out);
            out
        });
    }
}

#[test]
fn sums_are_rounded_to_even() {
    let values = [0.0, 0.5, 1.5, 2.5, 2.500_001, 254.5, 255.0, 255.000_03];
    let mut out = [9; 8];
    blur::round(Set::best(), &values, &mut out);
    assert_eq!(out, [0, 0, 2, 2, 3, 254, 255, 255]);
}

#[test]
fn sets_draw_the_same_noise() {
    for length in LENGTHS {
        let key = Key::new(length as u64);
        same("normals", |set| {
            let mut out = vec![0.0; length];
            normals(set, key, 5, &mut out);
            out.iter().map(|value| value.to_bits()).collect()
        });
        same("noise", |set| {
            let mut out = bytes(length);
            add_noise(set, key, 3.0, 70.0, &mut out);
            add_noise_wrapped(set, key, -3.0, 1e30, &mut out);
            out
        });
    }
}

/// The share of a standard normal distribution below `x`, by its series.
fn share_below(x: f64) -> f64 {
    let mut term = x;
    let mut sum = x;
    for n in 1..200 {
        term *= x * x / f64::from(2 * n + 1);
        sum += term;
    }
    0.5 + sum * (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt()
}

#[test]
fn numbers_are_standard_normal() {
    const COUNT: usize = 1 << 20;
    let mut values = vec![0.0; COUNT];
    normals(Set::best(), Key::new(1), 0, &mut values);
    let moment = |power: i32| {
        values.iter().map(|value| f64::from(*value).powi(power)).sum::<f64>() / COUNT as f64
    };
    // Five standard errors of each moment.
    for (power, expected, error) in
        [(1, 0.0, 1.0), (2, 1.0, 1.42), (3, 0.0, 3.88), (4, 3.0, 9.8), (6, 15.0, 101.0)]
    {
        let off = (moment(power) - expected).abs();
        assert!(off < 5.0 * error / (COUNT as f64).sqrt(), "moment {power} is off by {off}");
    }
    let neighbors = values.windows(2).map(|pair| f64::from(pair[0] * pair[1])).sum::<f64>();
    assert!(neighbors.abs() < 5.0 * (COUNT as f64).sqrt(), "{neighbors}");
    values.sort_by(f32::total_cmp);
    let most = values.iter().enumerate().step_by(509).map(|(at, value)| {
        (share_below(f64::from(*value)) - (at as f64 + 0.5) / COUNT as f64).abs()
    });
    let most = most.fold(0.0, f64::max);
    // The Kolmogorov-Smirnov statistic of one in a million.
    assert!(most < 2.7 / (COUNT as f64).sqrt(), "{most}");
    assert!((4.4..6.3).contains(&values[COUNT - 1]), "{}", values[COUNT - 1]);
}
