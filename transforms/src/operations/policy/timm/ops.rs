//! `Op`: one change of a policy of timm, with its probability and its strength.

use tarflume_image::{ImageSize, Random};

use crate::actions::{Action, Autocontrast, Equalize, GaussianBlur, Invert, SolarizeAdd};
use crate::numbers::distributions::normal;
use crate::operations::policy::chain::Chain;
use crate::settings::{Fill, Interpolation};

/// A level of 10 is the strength of the paper. Levels are 0 to 10, or to another limit.
pub(super) const LEVELS: f64 = 10.0;

/// What is changed, by timm's names. Those in "Increasing" change more with a higher level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    AutoContrast,
    Equalize,
    Invert,
    Rotate,
    Posterize,
    PosterizeIncreasing,
    PosterizeOriginal,
    Solarize,
    SolarizeIncreasing,
    SolarizeAdd,
    Color,
    ColorIncreasing,
    Contrast,
    ContrastIncreasing,
    Brightness,
    BrightnessIncreasing,
    Sharpness,
    SharpnessIncreasing,
    ShearX,
    ShearY,
    TranslateXRel,
    TranslateYRel,
    Desaturate,
    GaussianBlur,
    GaussianBlurRand,
}

/// How the level differs from one picture to the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Noise {
    /// Not at all.
    None,
    /// Normally, with this standard deviation.
    Normal(f64),
    /// Uniformly from 0.
    Uniform,
}

/// One change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Op {
    pub(super) kind: Kind,
    pub(super) probability: f64,
    pub(super) level: f64,
    pub(super) noise: Noise,
    /// The highest level.
    pub(super) most: f64,
}

/// What warps need beside a level.
#[derive(Debug, Clone, Copy)]
pub(super) struct Warping {
    pub(super) size: ImageSize,
    /// None is bilinear or bicubic at random.
    pub(super) interpolation: Option<Interpolation>,
    pub(super) fill: Fill,
    pub(super) translate_pct: f64,
}

impl Op {
    /// A change with a fixed level.
    pub(super) const fn new(kind: Kind, probability: f64, level: f64) -> Op {
        Op { kind, probability, level, noise: Noise::None, most: LEVELS }
    }

    fn draw_level(&self, random: &mut Random) -> f64 {
        let level = match self.noise {
            Noise::None => self.level,
            Noise::Normal(deviation) => self.level + deviation * normal(random),
            Noise::Uniform => self.level * random.unit(),
        };
        level.min(self.most).max(0.0)
    }

    /// Appends the change with its probability.
    pub(super) fn draw(&self, warping: &Warping, random: &mut Random, actions: &mut Vec<Action>) {
        if !random.chance(self.probability) {
            return;
        }
        let part = self.draw_level(random) / LEVELS;
        let Warping { size, fill, .. } = *warping;
        let mut chain = Chain { size, interpolation: Interpolation::Bilinear, fill, actions };
        match self.kind {
            Kind::AutoContrast => chain.push(Autocontrast {}),
            Kind::Equalize => chain.push(Equalize {}),
            Kind::Invert => chain.push(Invert {}),
            Kind::Rotate
            | Kind::ShearX
            | Kind::ShearY
            | Kind::TranslateXRel
            | Kind::TranslateYRel => self.warp(part, warping, random, &mut chain),
            Kind::Posterize => chain.posterize(bits(part)),
            Kind::PosterizeIncreasing => chain.posterize(4u8.saturating_sub(bits(part))),
            Kind::PosterizeOriginal => chain.posterize(bits(part) + 4),
            Kind::Solarize => chain.solarize(threshold(part)),
            Kind::SolarizeIncreasing => chain.solarize(256.0 - threshold(part)),
            Kind::SolarizeAdd => {
                let add = (part * 110.0).min(128.0) as u8;
                chain.push(SolarizeAdd { add, threshold: 128 });
            }
            Kind::Color => chain.saturation(factor(part)),
            Kind::ColorIncreasing => chain.saturation(away_from_one(part, random)),
            Kind::Contrast => chain.contrast(factor(part)),
            Kind::ContrastIncreasing => chain.contrast(away_from_one(part, random)),
            Kind::Brightness => chain.brightness(factor(part)),
            Kind::BrightnessIncreasing => chain.brightness(away_from_one(part, random)),
            Kind::Sharpness => chain.sharpness(factor(part)),
            Kind::SharpnessIncreasing => chain.sharpness(away_from_one(part, random)),
            Kind::Desaturate => chain.saturation((1.0 - between(0.5, 1.0, part)).clamp(0.0, 1.0)),
            Kind::GaussianBlur => chain.push(blur(between(0.1, 2.0, part), size)),
            Kind::GaussianBlurRand => {
                let most = 2.0 * between(0.0, 1.0, part);
                chain.push(blur(0.1 + (most - 0.1) * random.unit(), size));
            }
        }
    }

    fn warp(&self, part: f64, warping: &Warping, random: &mut Random, chain: &mut Chain<'_>) {
        let sign = sign(random);
        chain.interpolation = warping.interpolation.unwrap_or_else(|| {
            let second = random.chance(0.5);
            if second { Interpolation::Bicubic } else { Interpolation::Bilinear }
        });
        let moved = sign * part * warping.translate_pct;
        match self.kind {
            Kind::Rotate => chain.rotate(sign * part * 30.0),
            Kind::ShearX => chain.shear_x(sign * part * 0.3),
            Kind::ShearY => chain.shear_y(sign * part * 0.3),
            // A translation of Pillow says where a pixel comes from.
            Kind::TranslateXRel => chain.translate_x(-moved * f64::from(warping.size.width)),
            _ => chain.translate_y(-moved * f64::from(warping.size.height)),
        }
    }
}

fn sign(random: &mut Random) -> f64 {
    if random.chance(0.5) { -1.0 } else { 1.0 }
}

/// The factor of a blend: 0.1 to 1.9.
fn factor(part: f64) -> f64 {
    part * 1.8 + 0.1
}

/// The factor of a blend that changes more with the level: 1 at level 0, and down to 0.1 or up.
fn away_from_one(part: f64, random: &mut Random) -> f64 {
    (1.0 + sign(random) * (part * 0.9)).max(0.1)
}

/// A number from `low` to `high`, also for levels above 10.
fn between(low: f64, high: f64, part: f64) -> f64 {
    (low + (high - low) * part).clamp(low, high)
}

/// Bits of a posterization: 4 at level 10, at most 12 as 8 are no change and more than 4 leave nothing of 4.
fn bits(part: f64) -> u8 {
    (part * 4.0).min(12.0) as u8
}

/// 0 to 256. Nothing is as high as 256.
fn threshold(part: f64) -> f64 {
    (part * 256.0).trunc().min(256.0)
}

/// Three standard deviations on each side, but not more than the picture has.
fn blur(sigma: f64, size: ImageSize) -> GaussianBlur {
    let taps = [size.width, size.height].map(|side| {
        let reach = ((3.0 * sigma).ceil() as u32).min(side.saturating_sub(1));
        2 * reach + 1
    });
    GaussianBlur { kernel_size: taps, sigma: [sigma; 2] }
}
