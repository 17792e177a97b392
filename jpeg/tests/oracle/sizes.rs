//! Every size from 1x1 to 70x70 of the commonest kind of JPEG, 4:2:0.

use tarflume_jpeg::{Colour, Scale};

use crate::beside::Beside;
use crate::picture::{Motif, Picture};
use crate::turbo::Recipe;

const MOST: usize = 70;

/// All widths with every fourth height from `first` on: full size for all of them, the smaller scales
/// and grey in turn.
fn sizes(first: usize) {
    let mut beside = Beside::new();
    for height in (first..=MOST).step_by(4) {
        for width in 1..=MOST {
            let motif = Motif::ALL[(width + height / 4) % 3];
            let picture = Picture::new(width, height, 3, motif, 420);
            let recipe = Recipe { quality: 80, ..Recipe::sampled((2, 2)) };
            let jpeg = beside.encode(&picture, &recipe);
            let what = (width, height, motif);
            beside.whole(&jpeg, Scale::Full, Colour::Rgb, &what);
            let (scale, colour) = match (width + height) % 5 {
                0 => (Scale::Full, Colour::Grey),
                1 => (Scale::Eighth, Colour::Rgb),
                2 => (Scale::Quarter, Colour::Rgb),
                3 => (Scale::Half, Colour::Rgb),
                _ => ([Scale::Half, Scale::Quarter, Scale::Eighth][width % 3], Colour::Grey),
            };
            beside.whole(&jpeg, scale, colour, &what);
        }
    }
    beside.verdict();
}

#[test]
fn every_size_of_420_heights_1_5_9() {
    sizes(1);
}

#[test]
fn every_size_of_420_heights_2_6_10() {
    sizes(2);
}

#[test]
fn every_size_of_420_heights_3_7_11() {
    sizes(3);
}

#[test]
fn every_size_of_420_heights_4_8_12() {
    sizes(4);
}
