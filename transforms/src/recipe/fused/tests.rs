//! Joined actions give the pixels of the actions one by one.

use tarflume_fixtures::SplitMix64;
use tarflume_image::{Pixels, Resizer};

use super::*;
use crate::actions::HorizontalFlip;
use crate::{Frame, apply};

fn crop(dice: &mut SplitMix64, size: ImageSize) -> Crop {
    let left = dice.below(size.width);
    let top = dice.below(size.height);
    let width = 1 + dice.below(size.width - left);
    let height = 1 + dice.below(size.height - top);
    Crop { top, left, height, width }
}

fn noise(dice: &mut SplitMix64, size: ImageSize, channels: usize) -> Pixels {
    let mut pixels = Pixels::default();
    pixels.set(size, channels).unwrap();
    pixels.bytes.fill_with(|| dice.next_u64() as u8);
    pixels
}

/// The pixels of the joined actions: as a decoder and its caller make them.
fn joined(pixels: &Pixels, placement: &Placement, interpolation: Interpolation) -> Vec<u8> {
    let ImageSize { width, height } = placement.size;
    let row = width as usize * pixels.channels;
    let mut out = vec![0; row * height as usize];
    let filter = interpolation.filter();
    Resizer::default().resize(pixels, placement, filter.into(), &mut out).unwrap();
    if placement.flip {
        let rows = out.chunks(row);
        out = rows.flat_map(|row| row.chunks(pixels.channels).rev().flatten().copied()).collect();
    }
    out
}

#[test]
fn one_resampling_has_the_pixels_of_the_steps() {
    let mut dice = SplitMix64::new(7);
    let mut frame = Frame::default();
    let mut bytes = 0;
    let mut other = 0;
    for n in 0..600 {
        let interpolation =
            [Interpolation::Bilinear, Interpolation::Bicubic, Interpolation::Lanczos][n % 3];
        let channels = [1, 3][n % 2];
        let from = ImageSize::new(1 + dice.below(120), 1 + dice.below(120));
        let to = ImageSize::new(1 + dice.below(60), 1 + dice.below(60));
        let first = crop(&mut dice, from);
        let second = crop(&mut dice, to);
        let resize = Resize { size: [to.height, to.width], interpolation };
        let all: [Action; 4] =
            [first.into(), resize.into(), second.into(), HorizontalFlip {}.into()];
        // Of the four, each subset.
        let kept = dice.below(16);
        let mut actions: Vec<Action> = (0..4)
            .filter(|at| kept >> at & 1 == 1)
            .map(|at: u32| all[at as usize].clone())
            .collect();
        if kept & 0b10 == 0 {
            // Its place depends on the resize.
            actions.retain(|action| *action != all[2]);
        }
        let pixels = noise(&mut dice, from, channels);
        let mut fused = Fused::new(from, interpolation);
        assert_eq!(fused.join(&actions), actions.len(), "{actions:?}");
        let placement = fused.placement();
        placement.check(from).unwrap();
        let found = joined(&pixels, &placement, interpolation);

        frame.begin(from, channels).unwrap().copy_from_slice(&pixels.bytes);
        apply(&actions, &mut frame).unwrap();
        assert_eq!(frame.size(), placement.size);
        let differences = found.iter().zip(frame.pixels()).map(|(a, b)| a.abs_diff(*b));
        let most = differences.clone().max().unwrap_or(0);
        // Weights of a part of the picture are computed from its own start.
        assert!(most <= u8::from(kept & 0b110 == 0b110), "{most} by {actions:?} on {from}");
        bytes += found.len();
        other += differences.filter(|&difference| difference > 0).count();
    }
    assert!(other * 1000 < bytes, "{other} of {bytes} bytes");
}

#[test]
fn what_a_placement_cannot_say_stays() {
    fn joined(actions: &[Action]) -> usize {
        Fused::new(ImageSize::new(20, 10), Interpolation::Bilinear).join(actions)
    }

    let interpolation = Interpolation::Bilinear;
    let resize: Action = Resize { size: [8, 8], interpolation }.into();
    let crop: Action = Crop { top: 0, left: 0, height: 8, width: 8 }.into();
    let flip: Action = HorizontalFlip {}.into();
    assert_eq!(joined(&[]), 0);
    assert_eq!(joined(&[resize.clone(), resize.clone()]), 1);
    assert_eq!(joined(&[flip.clone(), crop.clone()]), 1);
    assert_eq!(joined(&[flip.clone(), flip.clone(), crop.clone(), resize.clone(), flip]), 5);
    let outside: Action = Crop { top: 5, left: 0, height: 8, width: 8 }.into();
    assert_eq!(joined(&[outside]), 0);
    let bicubic = Resize { size: [8, 8], interpolation: Interpolation::Bicubic };
    assert_eq!(joined(&[crop, bicubic.into()]), 1);
}

#[test]
fn the_crop_of_a_resized_picture_reads_only_what_its_filter_reaches() {
    let mut fused = Fused::new(ImageSize::new(1000, 800), Interpolation::Bilinear);
    let interpolation = Interpolation::Bilinear;
    let actions = [
        Resize { size: [400, 500], interpolation }.into(),
        Crop { top: 100, left: 200, height: 10, width: 20 }.into(),
    ];
    assert_eq!(fused.join(&actions), 2);
    let Placement { cut, area, size, .. } = fused.placement();
    assert_eq!(area, Area { left: 400.0, top: 200.0, width: 40.0, height: 20.0 });
    assert_eq!(cut, Cut { left: 393, top: 193, size: ImageSize::new(54, 34) });
    assert_eq!(size, ImageSize::new(20, 10));
}
