//! Compression and its loss.

use tarflume_image::Random;

use super::*;

fn picture(size: ImageSize, channels: usize) -> Vec<u8> {
    let mut random = Random::new(size.pixels());
    let length = size.pixels() as usize * channels;
    (0..length).map(|at| (at * 5 / channels) as u8 / 2 + (random.bits() % 64) as u8).collect()
}

#[test]
fn all_sets_write_the_same_bytes() {
    for [width, height] in [[1, 1], [2, 3], [3, 2], [5, 17], [1, 10_000], [61, 40]] {
        let size = ImageSize::new(width, height);
        for channels in [1, 3] {
            let mut bytes = vec![7; room(size, channels)];
            let mut expected = picture(size, channels);
            compress(Set::Portable, &mut expected, size, channels, 35, &mut bytes);
            for set in Set::all() {
                let mut pixels = picture(size, channels);
                compress(set, &mut pixels, size, channels, 35, &mut bytes);
                assert!(pixels == expected, "{set:?}, {width} x {height} x {channels}");
            }
        }
    }
}

#[test]
fn the_best_quality_is_near_and_the_worst_is_even() {
    let size = ImageSize::new(40, 24);
    let before = picture(size, 1);
    let mut bytes = vec![0; room(size, 1)];
    let mut best = before.clone();
    compress(Set::best(), &mut best, size, 1, 100, &mut bytes);
    assert!(best.iter().zip(&before).all(|(after, before)| after.abs_diff(*before) <= 2));
    let mut worst = before.clone();
    compress(Set::best(), &mut worst, size, 1, 1, &mut bytes);
    assert!(worst != before);
    for quality in 0..=255 {
        let mut gray = vec![119; 40 * 24];
        compress(Set::best(), &mut gray, size, 1, quality, &mut bytes);
        assert!(gray.iter().all(|byte| *byte == gray[0]), "quality {quality}");
    }
}

#[test]
fn extreme_pictures_overflow_nothing() {
    for pattern in 0..64u32 {
        let size = ImageSize::new(16, 16);
        let mut random = Random::new(u64::from(pattern));
        let mut pixels: Vec<u8> = (0..16 * 16 * 3)
            .map(|_| if random.chance(f64::from(pattern) / 64.0) { 255 } else { 0 })
            .collect();
        let mut bytes = vec![0; room(size, 3)];
        let quality = [1, 10, 50, 100][pattern as usize % 4];
        compress(Set::Portable, &mut pixels, size, 3, quality, &mut bytes);
    }
}
