//! Every size from 1x1 to 70x70 of the most common samplings.

use tarflume_jpeg::{Color, Scale};

use crate::harness::compare::Comparison;
use crate::harness::picture::{Motif, Picture};
use crate::harness::turbo::Recipe;

const MOST: usize = 70;

/// All widths with these heights: full size for all of them, the smaller scales and gray in turn.
fn sizes(recipe: &Recipe, heights: impl Iterator<Item = usize>) {
    let recipe = Recipe { quality: 80, ..recipe.clone() };
    let mut both = Comparison::new();
    for height in heights {
        for width in 1..=MOST {
            let motif = Motif::ALL[(width + height / 4) % 3];
            let picture = Picture::new(width, height, 3, motif, 420);
            let jpeg = both.encode(&picture, &recipe);
            let what = (recipe.luma, width, height, motif);
            both.whole(&jpeg, Scale::Full, Color::Rgb, &what);
            let (scale, color) = match (width + height) % 5 {
                0 => (Scale::Full, Color::Gray),
                1 => (Scale::Eighth, Color::Rgb),
                2 => (Scale::Quarter, Color::Rgb),
                3 => (Scale::Half, Color::Rgb),
                _ => ([Scale::Half, Scale::Quarter, Scale::Eighth][width % 3], Color::Gray),
            };
            both.whole(&jpeg, scale, color, &what);
        }
    }
    both.verdict();
}

#[test]
fn every_size_of_420_odd_heights() {
    sizes(&Recipe::sampled(2, 2), (1..=MOST).step_by(2));
}

#[test]
fn every_size_of_420_even_heights() {
    sizes(&Recipe::sampled(2, 2), (2..=MOST).step_by(2));
}

#[test]
fn every_size_of_422() {
    sizes(&Recipe::sampled(2, 1), 1..=MOST);
}

#[test]
fn every_size_of_440() {
    sizes(&Recipe::sampled(1, 2), 1..=MOST);
}

#[test]
fn every_size_of_444() {
    sizes(&Recipe::sampled(1, 1), 1..=MOST);
}

#[test]
fn every_size_of_411() {
    sizes(&Recipe::sampled(4, 1), 1..=MOST);
}
