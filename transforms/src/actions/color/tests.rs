//! Tests of the actions on color. Python tests compare them with torchvision's.

use tarflume_image::{ImageSize, Random};

use super::*;
use crate::actions::Action;
use crate::{Frame, apply};

fn after(actions: &[Action], channels: usize, pixels: &[u8]) -> Vec<u8> {
    let mut frame = Frame::default();
    let size = ImageSize::new((pixels.len() / channels) as u32, 1);
    frame.begin(size, channels).unwrap().copy_from_slice(pixels);
    apply(actions, &mut frame).unwrap();
    assert_eq!((frame.size(), frame.channels()), (size, channels));
    frame.pixels().to_vec()
}

fn all_bytes() -> Vec<u8> {
    (0..=255).collect()
}

#[test]
fn brightness_is_a_product_that_stops_at_white() {
    let half = after(&[AdjustBrightness { factor: 0.5 }.into()], 1, &all_bytes());
    assert!(half.iter().enumerate().all(|(byte, &value)| usize::from(value) == byte / 2));
    let twice = after(&[AdjustBrightness { factor: 2.0 }.into()], 1, &all_bytes());
    assert!(
        twice.iter().enumerate().all(|(byte, &value)| usize::from(value) == (2 * byte).min(255))
    );
    assert_eq!(after(&[AdjustBrightness { factor: 0.0 }.into()], 1, &all_bytes()), [0; 256]);
}

#[test]
fn factors_of_one_and_turns_of_none_change_nothing() {
    let pixels = noise(3 * 1000);
    for action in [
        AdjustBrightness { factor: 1.0 }.into(),
        AdjustContrast { factor: 1.0 }.into(),
        AdjustSaturation { factor: 1.0 }.into(),
        AdjustGamma { gamma: 1.0, gain: 1.0 }.into(),
        Posterize { bits: 8 }.into(),
        Solarize { threshold: 256.0 }.into(),
        PermuteChannels { permutation: [0, 1, 2] }.into(),
    ] {
        let action: Action = action;
        assert_eq!(after(std::slice::from_ref(&action), 3, &pixels), pixels, "{action:?}");
    }
    let turned = after(&[AdjustHue { factor: 0.0 }.into()], 3, &pixels);
    assert!(turned.iter().zip(&pixels).all(|(a, b)| a.abs_diff(*b) <= 1));
}

#[test]
fn posterize_solarize_and_invert_are_those_of_bits() {
    let pixels = all_bytes();
    for bits in 0..=9 {
        let mask = if bits >= 8 { 0xff } else { !(0xff_u8 >> bits) };
        let expected: Vec<u8> = pixels.iter().map(|byte| byte & mask).collect();
        assert_eq!(after(&[Posterize { bits }.into()], 1, &pixels), expected);
    }
    let solarized = after(&[Solarize { threshold: 127.5 }.into()], 1, &pixels);
    assert_eq!((solarized[127], solarized[128], solarized[255]), (127, 127, 0));
    let twice = after(&[Invert {}.into(), Invert {}.into()], 1, &pixels);
    assert_eq!(twice, pixels);
}

#[test]
fn contrast_of_none_is_the_mean() {
    let pixels = [0, 0, 0, 100, 100, 100];
    // Grays 0 and 99: the weights sum to 0.9999.
    assert_eq!(after(&[AdjustContrast { factor: 0.0 }.into()], 3, &pixels), [49; 6]);
    assert_eq!(after(&[AdjustContrast { factor: 0.0 }.into()], 1, &pixels), [50; 6]);
}

#[test]
fn colors_turn_and_lose_their_saturation() {
    let red = [255, 0, 0];
    assert_eq!(after(&[AdjustHue { factor: 1.0 / 3.0 }.into()], 3, &red), [0, 255, 0]);
    assert_eq!(after(&[AdjustHue { factor: -1.0 / 3.0 }.into()], 3, &red), [0, 0, 255]);
    assert_eq!(after(&[AdjustHue { factor: 0.5 }.into()], 3, &red), [0, 255, 255]);
    assert_eq!(after(&[AdjustSaturation { factor: 0.0 }.into()], 3, &red), [76; 3]);
    assert_eq!(after(&[RgbToGrayscale {}.into()], 3, &red), [76; 3]);
    let moved = after(&[PermuteChannels { permutation: [2, 0, 1] }.into()], 3, &[1, 2, 3, 4, 5, 6]);
    assert_eq!(moved, [3, 1, 2, 6, 4, 5]);
}

#[test]
fn gray_pictures_have_no_hue_and_no_saturation() {
    let pixels = noise(1001);
    for action in [
        AdjustHue { factor: 0.3 }.into(),
        AdjustSaturation { factor: 0.0 }.into(),
        RgbToGrayscale {}.into(),
        PermuteChannels { permutation: [2, 1, 0] }.into(),
    ] {
        let action: Action = action;
        assert_eq!(after(std::slice::from_ref(&action), 1, &pixels), pixels, "{action:?}");
    }
}

#[test]
fn histograms_are_those_of_each_channel() {
    let pixels = [10, 7, 0, 20, 7, 255, 15, 7, 100];
    let stretched = after(&[Autocontrast {}.into()], 3, &pixels);
    // torchvision's 20 is 254, too: its scale of ten steps is rounded up.
    assert_eq!(stretched, [0, 7, 0, 254, 7, 255, 127, 7, 100]);
    // Too few pixels for a step: nothing changes.
    assert_eq!(after(&[Equalize {}.into()], 3, &pixels), pixels);
    let dark: Vec<u8> = (0..4096).map(|at| (at % 32) as u8).collect();
    let equalized = after(&[Equalize {}.into()], 1, &dark);
    assert_eq!((equalized[0], equalized[31]), (0, 255));
    assert!(equalized[..32].is_sorted());
}

#[test]
fn tables_in_a_row_are_those_one_by_one() {
    let actions: [Action; 6] = [
        AdjustBrightness { factor: 1.4 }.into(),
        Invert {}.into(),
        AdjustGamma { gamma: 0.7, gain: 1.1 }.into(),
        AdjustSaturation { factor: 0.5 }.into(),
        Solarize { threshold: 100.0 }.into(),
        Posterize { bits: 5 }.into(),
    ];
    for channels in [1, 3] {
        let pixels = noise(channels * 1237);
        let mut alone = pixels.clone();
        for action in &actions {
            let mut frame = Frame::default();
            let size = ImageSize::new(1237, 1);
            frame.begin(size, channels).unwrap().copy_from_slice(&alone);
            action.apply(&mut frame).unwrap();
            alone = frame.pixels().to_vec();
        }
        assert_eq!(after(&actions, channels, &pixels), alone);
    }
}

#[test]
fn hostile_numbers_and_empty_pictures_are_no_panic() {
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 1e300] {
        let actions: [Action; 7] = [
            AdjustBrightness { factor: number }.into(),
            AdjustContrast { factor: number }.into(),
            AdjustGamma { gamma: number, gain: number }.into(),
            AdjustHue { factor: number }.into(),
            AdjustSaturation { factor: number }.into(),
            Solarize { threshold: number }.into(),
            PermuteChannels { permutation: [255, 3, 0] }.into(),
        ];
        for action in actions {
            after(std::slice::from_ref(&action), 3, &noise(3 * 71));
            after(&[action, Autocontrast {}.into(), Equalize {}.into()], 3, &[]);
        }
    }
}

fn noise(bytes: usize) -> Vec<u8> {
    let mut random = Random::new(3);
    (0..bytes).map(|_| random.bits() as u8).collect()
}
