//! `AugMix`: the picture mixed with several chains of changes.

use serde::{Deserialize, Serialize};
use tarflume_types::{Error, Result};

use super::chain::Chain;
use super::limits::MOST;
use super::strengths::{Change, Ranges};
use crate::actions::{Action, MixBegin, MixEnd, MixNext};
use crate::limits::check_interpolation;
use crate::numbers::distributions::{beta, dirichlet};
use crate::operations::{Draw, Draws, Shape};
use crate::settings::{Fill, Interpolation};

/// Entries of each table of strengths.
const BINS: u32 = 10;

const RANGES: Ranges =
    Ranges { shear: 0.3, translate: |side| side / 3.0, rotate: 30.0, blend: 0.9, bits: [4.0, 0.0] };

/// Those of torchvision. The last four are left out unless `all_ops`.
const CHANGES: [Change; 13] = [
    Change::ShearX,
    Change::ShearY,
    Change::TranslateX,
    Change::TranslateY,
    Change::Rotate,
    Change::Posterize,
    Change::Solarize,
    Change::AutoContrast,
    Change::Equalize,
    Change::Brightness,
    Change::Color,
    Change::Contrast,
    Change::Sharpness,
];

/// Mixes the picture with chains of changes, each from the unchanged picture, by random weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AugMix {
    /// The strengths: so many entries of the tables of ten are drawn.
    pub severity: u32,
    /// Chains, 1 to 100.
    pub mixture_width: u32,
    /// Changes of each chain, at most 100; 0 and less are 1 to 3 at random.
    pub chain_depth: i32,
    /// Of the Dirichlet distribution of the chains' weights, and of the Beta distribution of the picture's.
    pub alpha: f64,
    /// Also changes brightness, color, contrast and sharpness.
    pub all_ops: bool,
    /// Of warps: nearest, bilinear or bicubic.
    pub interpolation: Interpolation,
    /// Outside the picture.
    pub fill: Fill,
}

impl Default for AugMix {
    fn default() -> AugMix {
        AugMix {
            severity: 3,
            mixture_width: 3,
            chain_depth: -1,
            alpha: 1.0,
            all_ops: true,
            interpolation: Interpolation::Bilinear,
            fill: Fill::default(),
        }
    }
}

impl Draw for AugMix {
    fn draw(&self, on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let mut random = draws.random();
        let mix = Mix::draw(&mut random, self.alpha, self.mixture_width);
        mix.begin(actions);
        let changes = if self.all_ops { &CHANGES[..] } else { &CHANGES[..9] };
        for at in 0..self.mixture_width {
            let AugMix { interpolation, fill, .. } = *self;
            let mut chain = Chain { size: on.size, interpolation, fill, actions };
            for _ in 0..depth(self.chain_depth, &mut random) {
                let change = changes[random.below(changes.len() as u64) as usize];
                let bin = random.below(u64::from(self.severity)) as u32;
                RANGES.draw(change, BINS, bin, &mut random, &mut chain);
            }
            mix.end_chain(at, actions);
        }
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        if !(1..=BINS).contains(&self.severity) {
            let text = format!("AugMix: severity is {}; it must be 1 to {BINS}", self.severity);
            return Err(Error::usage(text));
        }
        mixture("AugMix", self.mixture_width, self.chain_depth, self.alpha)?;
        check_interpolation("AugMix", self.interpolation)
    }
}

/// Checks the numbers of a mix.
pub(super) fn mixture(operation: &str, width: u32, depth: i32, alpha: f64) -> Result<()> {
    if !(1..=MOST).contains(&width) {
        let text = format!("{operation}: mixture_width is {width}; it must be 1 to {MOST}");
        return Err(Error::usage(text));
    }
    if depth > MOST as i32 {
        let text = format!("{operation}: chain_depth is {depth}; it must be at most {MOST}");
        return Err(Error::usage(text));
    }
    if !(alpha > 0.0 && alpha.is_finite()) {
        let text = format!("{operation}: alpha is {alpha}; it must be above 0");
        return Err(Error::usage(text));
    }
    Ok(())
}

/// The changes of one chain: 1 to 3 at random unless `depth` is above 0.
pub(super) fn depth(depth: i32, random: &mut tarflume_image::Random) -> u64 {
    u64::try_from(depth).ok().filter(|&depth| depth > 0).unwrap_or_else(|| 1 + random.below(3))
}

/// The weights of one mix, whose sum is 1.
pub(super) struct Mix {
    width: usize,
    /// Of the unchanged picture.
    picture: f64,
    chains: [f64; MOST as usize],
}

impl Mix {
    pub(super) fn draw(random: &mut tarflume_image::Random, alpha: f64, width: u32) -> Mix {
        let picture = beta(random, alpha);
        let width = width as usize;
        let mut mix = Mix { width, picture, chains: [0.0; MOST as usize] };
        dirichlet(random, alpha, &mut mix.chains[..width]);
        for weight in &mut mix.chains[..width] {
            *weight *= 1.0 - picture;
        }
        mix
    }

    /// Appends the beginning of the first chain.
    pub(super) fn begin(&self, actions: &mut Vec<Action>) {
        actions.push(MixBegin { weight: self.picture }.into());
    }

    /// Appends the end of chain `at`, and the beginning of the next if there is one.
    pub(super) fn end_chain(&self, at: u32, actions: &mut Vec<Action>) {
        let weight = self.chains[at as usize];
        actions.push(if at as usize + 1 == self.width {
            MixEnd { weight }.into()
        } else {
            MixNext { weight }.into()
        });
    }
}
