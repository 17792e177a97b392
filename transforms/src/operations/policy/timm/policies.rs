//! The changes of timm's policies, with their probabilities, levels and weights.

use super::ops::Kind::{
    self, AutoContrast, Brightness, BrightnessIncreasing, Color, ColorIncreasing, Contrast,
    ContrastIncreasing, Desaturate, Equalize, GaussianBlur, GaussianBlurRand, Invert, Posterize,
    PosterizeIncreasing, PosterizeOriginal, Rotate, Sharpness, SharpnessIncreasing, ShearX, ShearY,
    Solarize, SolarizeAdd, SolarizeIncreasing, TranslateXRel, TranslateYRel,
};
use super::ops::Op;

/// A change and the number of times that it is drawn for one of weight 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weighted {
    pub(super) kind: Kind,
    pub(super) weight: f64,
}

const fn op(kind: Kind, probability: f64, level: u32) -> Op {
    Op::new(kind, probability, level as f64)
}

const fn weighted(kind: Kind, weight: f64) -> Weighted {
    Weighted { kind, weight }
}

/// Of `rand`.
pub(super) const RAND: [Kind; 15] = [
    AutoContrast,
    Equalize,
    Invert,
    Rotate,
    Posterize,
    Solarize,
    SolarizeAdd,
    Color,
    Contrast,
    Brightness,
    Sharpness,
    ShearX,
    ShearY,
    TranslateXRel,
    TranslateYRel,
];

/// Of `rand` with `inc1`.
pub(super) const RAND_INCREASING: [Kind; 15] = [
    AutoContrast,
    Equalize,
    Invert,
    Rotate,
    PosterizeIncreasing,
    SolarizeIncreasing,
    SolarizeAdd,
    ColorIncreasing,
    ContrastIncreasing,
    BrightnessIncreasing,
    SharpnessIncreasing,
    ShearX,
    ShearY,
    TranslateXRel,
    TranslateYRel,
];

/// Of `rand` with `t3a`.
pub(super) const RAND_3A: [Kind; 3] = [SolarizeIncreasing, Desaturate, GaussianBlur];

/// Of `rand` with `t3aw`.
pub(super) const RAND_3A_WEIGHTED: [Weighted; 14] = [
    weighted(SolarizeIncreasing, 6.0),
    weighted(Desaturate, 6.0),
    weighted(GaussianBlur, 6.0),
    weighted(Rotate, 3.0),
    weighted(ShearX, 2.0),
    weighted(ShearY, 2.0),
    weighted(PosterizeIncreasing, 1.0),
    weighted(AutoContrast, 1.0),
    weighted(ColorIncreasing, 1.0),
    weighted(SharpnessIncreasing, 1.0),
    weighted(ContrastIncreasing, 1.0),
    weighted(BrightnessIncreasing, 1.0),
    weighted(Equalize, 1.0),
    weighted(Invert, 1.0),
];

/// Of `rand` with `tweights`.
pub(super) const RAND_WEIGHTED: [Weighted; 15] = [
    weighted(Rotate, 3.0),
    weighted(ShearX, 2.0),
    weighted(ShearY, 2.0),
    weighted(TranslateXRel, 1.0),
    weighted(TranslateYRel, 1.0),
    weighted(ColorIncreasing, 0.25),
    weighted(SharpnessIncreasing, 0.25),
    weighted(AutoContrast, 0.25),
    weighted(SolarizeIncreasing, 0.05),
    weighted(SolarizeAdd, 0.05),
    weighted(ContrastIncreasing, 0.05),
    weighted(BrightnessIncreasing, 0.05),
    weighted(Equalize, 0.05),
    weighted(PosterizeIncreasing, 0.05),
    weighted(Invert, 0.05),
];

/// Of `augmix`.
pub(super) const MIX: [Kind; 13] = [
    AutoContrast,
    ColorIncreasing,
    ContrastIncreasing,
    BrightnessIncreasing,
    SharpnessIncreasing,
    Equalize,
    Rotate,
    PosterizeIncreasing,
    SolarizeIncreasing,
    ShearX,
    ShearY,
    TranslateXRel,
    TranslateYRel,
];

/// Of `3a`, of which one is drawn: solarization from 128, gray, or a blur.
pub(super) const AUTO_3A: [Op; 3] =
    [op(Solarize, 1.0, 5), op(Desaturate, 1.0, 10), op(GaussianBlurRand, 1.0, 10)];

/// Of `v0`: pairs.
pub(super) const V0: [[Op; 2]; 25] = [
    [op(Equalize, 0.8, 1), op(ShearY, 0.8, 4)],
    [op(Color, 0.4, 9), op(Equalize, 0.6, 3)],
    [op(Color, 0.4, 1), op(Rotate, 0.6, 8)],
    [op(Solarize, 0.8, 3), op(Equalize, 0.4, 7)],
    [op(Solarize, 0.4, 2), op(Solarize, 0.6, 2)],
    [op(Color, 0.2, 0), op(Equalize, 0.8, 8)],
    [op(Equalize, 0.4, 8), op(SolarizeAdd, 0.8, 3)],
    [op(ShearX, 0.2, 9), op(Rotate, 0.6, 8)],
    [op(Color, 0.6, 1), op(Equalize, 1.0, 2)],
    [op(Invert, 0.4, 9), op(Rotate, 0.6, 0)],
    [op(Equalize, 1.0, 9), op(ShearY, 0.6, 3)],
    [op(Color, 0.4, 7), op(Equalize, 0.6, 0)],
    [op(Posterize, 0.4, 6), op(AutoContrast, 0.4, 7)],
    [op(Solarize, 0.6, 8), op(Color, 0.6, 9)],
    [op(Solarize, 0.2, 4), op(Rotate, 0.8, 9)],
    [op(Rotate, 1.0, 7), op(TranslateYRel, 0.8, 9)],
    [op(ShearX, 0.0, 0), op(Solarize, 0.8, 4)],
    [op(ShearY, 0.8, 0), op(Color, 0.6, 4)],
    [op(Color, 1.0, 0), op(Rotate, 0.6, 2)],
    [op(Equalize, 0.8, 4), op(Equalize, 0.0, 8)],
    [op(Equalize, 1.0, 4), op(AutoContrast, 0.6, 2)],
    [op(ShearY, 0.4, 7), op(SolarizeAdd, 0.6, 7)],
    [op(Posterize, 0.8, 2), op(Solarize, 0.6, 10)],
    [op(Solarize, 0.6, 8), op(Equalize, 0.6, 1)],
    [op(Color, 0.8, 6), op(Rotate, 0.4, 5)],
];

/// Of `original`: pairs.
pub(super) const ORIGINAL: [[Op; 2]; 25] = [
    [op(PosterizeOriginal, 0.4, 8), op(Rotate, 0.6, 9)],
    [op(Solarize, 0.6, 5), op(AutoContrast, 0.6, 5)],
    [op(Equalize, 0.8, 8), op(Equalize, 0.6, 3)],
    [op(PosterizeOriginal, 0.6, 7), op(PosterizeOriginal, 0.6, 6)],
    [op(Equalize, 0.4, 7), op(Solarize, 0.2, 4)],
    [op(Equalize, 0.4, 4), op(Rotate, 0.8, 8)],
    [op(Solarize, 0.6, 3), op(Equalize, 0.6, 7)],
    [op(PosterizeOriginal, 0.8, 5), op(Equalize, 1.0, 2)],
    [op(Rotate, 0.2, 3), op(Solarize, 0.6, 8)],
    [op(Equalize, 0.6, 8), op(PosterizeOriginal, 0.4, 6)],
    [op(Rotate, 0.8, 8), op(Color, 0.4, 0)],
    [op(Rotate, 0.4, 9), op(Equalize, 0.6, 2)],
    [op(Equalize, 0.0, 7), op(Equalize, 0.8, 8)],
    [op(Invert, 0.6, 4), op(Equalize, 1.0, 8)],
    [op(Color, 0.6, 4), op(Contrast, 1.0, 8)],
    [op(Rotate, 0.8, 8), op(Color, 1.0, 2)],
    [op(Color, 0.8, 8), op(Solarize, 0.8, 7)],
    [op(Sharpness, 0.4, 7), op(Invert, 0.6, 8)],
    [op(ShearX, 0.6, 5), op(Equalize, 1.0, 9)],
    [op(Color, 0.4, 0), op(Equalize, 0.6, 3)],
    [op(Equalize, 0.4, 7), op(Solarize, 0.2, 4)],
    [op(Solarize, 0.6, 5), op(AutoContrast, 0.6, 5)],
    [op(Invert, 0.6, 4), op(Equalize, 1.0, 8)],
    [op(Color, 0.6, 4), op(Contrast, 1.0, 8)],
    [op(Equalize, 0.8, 8), op(Equalize, 0.6, 3)],
];

/// The variants `originalr` and `v0r`: fewer bits are kept at a higher level.
pub(super) fn research(ops: &[[Op; 2]]) -> Vec<Op> {
    ops.iter().flatten().copied().map(with_increasing_posterization).collect()
}

fn with_increasing_posterization(op: Op) -> Op {
    match op.kind {
        Posterize | PosterizeOriginal => Op { kind: PosterizeIncreasing, ..op },
        _ => op,
    }
}
