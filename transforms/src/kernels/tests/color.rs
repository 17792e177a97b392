//! The kernels of color give the same bytes on every set of instructions.

use tarflume_image::Random;

use crate::kernels::color::table::Table;
use crate::kernels::color::{blend, gray, histogram, hue, planes, pointwise};
use crate::kernels::sets::Set;

/// Pixels of three channels: 1 x 1, around the lengths of blocks and registers, 1 x 10,000.
const PIXELS: [usize; 12] = [0, 1, 2, 5, 21, 22, 43, 85, 255, 257, 601, 10_000];

/// Noise, then few values, so that comparisons see equal channels.
fn pictures() -> impl Iterator<Item = Vec<u8>> {
    let mut random = Random::new(7);
    PIXELS.into_iter().flat_map(move |pixels| {
        let noise: Vec<u8> = (0..3 * pixels).map(|_| random.bits() as u8).collect();
        let few = noise.iter().map(|byte| byte / 86 * 100).collect();
        [noise, few]
    })
}

/// Each set changes the pixels as the portable one does.
fn same(change: impl Fn(Set, &mut [u8])) {
    for picture in pictures() {
        let mut expected = picture.clone();
        change(Set::Portable, &mut expected);
        for set in Set::all() {
            let mut pixels = picture.clone();
            change(set, &mut pixels);
            assert!(pixels == expected, "{set:?}, {} bytes", pixels.len());
        }
    }
}

#[test]
fn tables_are_looked_up() {
    let mut random = Random::new(1);
    let tables: [Table; 3] = std::array::from_fn(|_| std::array::from_fn(|_| random.bits() as u8));
    for picture in pictures() {
        let one: Vec<u8> = picture.iter().map(|&byte| tables[0][usize::from(byte)]).collect();
        let each: Vec<u8> = picture
            .iter()
            .enumerate()
            .map(|(at, &byte)| tables[at % 3][usize::from(byte)])
            .collect();
        for set in Set::all() {
            let mut pixels = picture.clone();
            pointwise::look_up(set, &mut pixels, &tables[0]);
            assert!(pixels == one, "{set:?}, {} bytes", pixels.len());
            let mut pixels = picture.clone();
            pointwise::look_up_channels(set, &mut pixels, &tables);
            assert!(pixels == each, "{set:?}, {} bytes", pixels.len());
        }
    }
}

#[test]
fn colors_are_the_same_on_every_set() {
    let mut random = Random::new(2);
    for factor in (0..20).map(|_| random.between(0.0, 3.0)).chain([0.0, 0.3, 0.7, 1.0, 1.1, 40.0]) {
        same(|set, pixels| blend::blend_with_gray(set, pixels, blend::Ratio::new(factor)));
        same(|set, pixels| hue::turn_hue(set, pixels, (factor / 3.0 - 0.5) as f32));
    }
    same(gray::make_gray);
    same(|set, pixels| planes::permute(set, pixels, [2, 0, 1]));
}

#[test]
fn sums_and_extremes_are_those_of_a_plain_loop() {
    for picture in pictures() {
        let bytes: u64 = picture.iter().map(|&byte| u64::from(byte)).sum();
        let grays: u64 = picture
            .chunks_exact(3)
            .map(|rgb| {
                (2989 * u64::from(rgb[0]) + 5870 * u64::from(rgb[1]) + 1140 * u64::from(rgb[2]))
                    / 10_000
            })
            .sum();
        for set in Set::all() {
            assert_eq!(gray::sum_of_bytes(set, &picture), bytes);
            assert_eq!(gray::sum_of_grays(set, &picture), grays);
            for channels in [1, 3] {
                let found = histogram::extremes(set, &picture, channels);
                for channel in 0..channels {
                    let values = picture.iter().skip(channel).step_by(channels);
                    assert_eq!(found.least[channel], values.clone().copied().min().unwrap_or(255));
                    assert_eq!(found.most[channel], values.copied().max().unwrap_or(0));
                }
            }
        }
    }
}

#[test]
fn every_byte_is_counted_in_its_channel() {
    for picture in pictures() {
        for channels in [1, 3] {
            let counts = histogram::count(&picture, channels);
            for (channel, found) in counts.iter().enumerate().take(channels) {
                let mut expected = [0; 256];
                for &byte in picture.iter().skip(channel).step_by(channels) {
                    expected[usize::from(byte)] += 1;
                }
                assert_eq!(*found, expected);
            }
        }
    }
}
