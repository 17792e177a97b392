//! Filters of whole pictures.

use tarflume_image::{ImageSize, Random};

use super::*;
use crate::actions::Action;

/// A picture of noise.
fn noisy(width: u32, height: u32, channels: usize) -> Frame {
    let mut random = Random::new(u64::from(width) << 32 | u64::from(height));
    let mut frame = Frame::default();
    let pixels = frame.begin(ImageSize::new(width, height), channels).unwrap();
    pixels.fill_with(|| random.bits() as u8);
    frame
}

fn after(action: impl Into<Action>, frame: &mut Frame) -> Vec<u8> {
    let before = frame.pixels().to_vec();
    action.into().apply(frame).unwrap();
    let after = frame.pixels().to_vec();
    frame.begin(frame.size(), frame.channels()).unwrap().copy_from_slice(&before);
    after
}

const SIZES: [[u32; 2]; 8] =
    [[1, 1], [1, 300], [300, 1], [2, 2], [3, 3], [5, 4], [37, 23], [64, 48]];

#[test]
fn hostile_sizes_and_arguments_change_no_size() {
    for [width, height] in SIZES {
        for channels in [1, 3] {
            let mut frame = noisy(width, height, channels);
            let length = frame.pixels().len();
            for taps in [0, 1, 2, 23, 301] {
                for sigma in [0.0, 1e-300, 0.1, 3.0, 1e9] {
                    let blur = GaussianBlur { kernel_size: [taps, 23], sigma: [sigma, 1.0] };
                    assert_eq!(after(blur, &mut frame).len(), length);
                }
            }
            for quality in [0, 1, 50, 100, 255] {
                assert_eq!(after(Jpeg { quality }, &mut frame).len(), length);
            }
            for factor in [-1e30, 0.0, 0.5, 2.0, f64::MAX] {
                assert_eq!(after(AdjustSharpness { factor }, &mut frame).len(), length);
            }
            for sigma in [0.0, 0.1, 1e30] {
                let noise = GaussianNoise { mean: 0.0, sigma, clip: true, seed: 3 };
                assert_eq!(after(noise, &mut frame).len(), length);
            }
        }
    }
}

#[test]
fn sharpness_agrees_with_the_definition() {
    let mut frame = noisy(7, 6, 3);
    let before = frame.pixels().to_vec();
    assert_eq!(after(AdjustSharpness { factor: 1.0 }, &mut frame), before);
    let result = after(AdjustSharpness { factor: 0.0 }, &mut frame);
    for y in 0..6usize {
        for at in 0..21 {
            let inside = (1..5).contains(&y) && (3..18).contains(&at);
            let value =
                |dy: usize, dx: usize| f64::from(before[(y + dy - 1) * 21 + at + 3 * dx - 3]);
            let expected = if inside {
                let all: f64 = (0..9).map(|n| value(n / 3, n % 3)).sum();
                ((all + 4.0 * value(1, 1)) / 13.0).round() as u8
            } else {
                before[y * 21 + at]
            };
            assert_eq!(result[y * 21 + at], expected, "row {y}, value {at}");
        }
    }
}

#[test]
fn a_blur_agrees_with_the_definition() {
    for [width, height] in SIZES {
        let mut frame = noisy(width, height, 3);
        let before = frame.pixels().to_vec();
        let [wide, high] = [width as i64, height as i64];
        let result = after(GaussianBlur { kernel_size: [5, 3], sigma: [1.3, 0.8] }, &mut frame);
        let mut worst = 0.0f64;
        for (at, byte) in result.iter().enumerate() {
            let [x, y] = [(at as i64 / 3) % wide, at as i64 / 3 / wide];
            let mut sum = 0.0;
            let mut total = 0.0;
            for dy in -1..=1 {
                for dx in -2..=2 {
                    let [across, down] = [dx as f64 / 1.3, dy as f64 / 0.8];
                    let weight = (-0.5 * (across * across + down * down)).exp();
                    let pixel = mirrored(y + dy, high as usize) * width as usize
                        + mirrored(x + dx, wide as usize);
                    sum += weight * f64::from(before[pixel * 3 + at % 3]);
                    total += weight;
                }
            }
            worst = worst.max((sum / total - f64::from(*byte)).abs());
        }
        assert!(worst < 0.5001, "{width} x {height}: {worst}");
    }
}

#[test]
fn a_mirror_repeats_no_edge() {
    let seen: Vec<usize> = (-5..9).map(|at| mirrored(at, 4)).collect();
    assert_eq!(seen, [1, 2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1, 2]);
    assert!((-9..9).all(|at| mirrored(at, 1) == 0));
}

#[test]
fn a_blur_keeps_an_even_picture() {
    let mut frame = Frame::default();
    frame.begin(ImageSize::new(19, 11), 3).unwrap().fill(201);
    let blur = GaussianBlur { kernel_size: [23, 23], sigma: [2.0, 2.0] };
    assert!(after(blur, &mut frame).iter().all(|byte| *byte == 201));
}

#[test]
fn noise_is_added_as_stated() {
    let mut frame = Frame::default();
    frame.begin(ImageSize::new(400, 400), 1).unwrap().fill(100);
    let still = GaussianNoise { mean: 0.1, sigma: 0.0, clip: true, seed: 1 };
    assert!(after(still, &mut frame).iter().all(|byte| *byte == 125));
    let noisy = after(GaussianNoise { sigma: 0.1, mean: 0.0, ..still }, &mut frame);
    let values: Vec<f64> = noisy.iter().map(|byte| f64::from(*byte) - 100.0).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let square = values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64;
    assert!(mean.abs() < 0.3, "{mean}");
    assert!((square.sqrt() - 25.2).abs() < 0.4, "{square}");
    // 100 less 200 is -100: limited, or without its upper bits.
    let low = GaussianNoise { mean: -200.0 / 255.0, ..still };
    assert!(after(low, &mut frame).iter().all(|byte| *byte == 0));
    assert!(
        after(GaussianNoise { clip: false, ..low }, &mut frame).iter().all(|byte| *byte == 156)
    );
}

#[test]
fn noise_is_frozen() {
    let mut frame = Frame::default();
    frame.begin(ImageSize::new(8, 1), 1).unwrap().fill(100);
    let noise = GaussianNoise { mean: 0.0, sigma: 0.2, clip: true, seed: 7 };
    assert_eq!(after(noise, &mut frame), FROZEN);
    assert_ne!(after(GaussianNoise { seed: 8, ..noise }, &mut frame), FROZEN);
}

const FROZEN: [u8; 8] = [30, 177, 104, 99, 56, 30, 149, 61];
