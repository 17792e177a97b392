//! The pairs of changes of `AutoAugment`, with their probabilities and strengths: those of its paper, as torchvision has
//! them (Cubuk, Zoph, Mane, Vasudevan, Le: "AutoAugment: Learning Augmentation Strategies from Data", 2019).

use super::strengths::Change::{
    self, AutoContrast, Brightness, Color, Contrast, Equalize, Invert, Posterize, Rotate,
    Sharpness, ShearX, ShearY, Solarize, TranslateX, TranslateY,
};

/// One change of a pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step {
    pub(super) change: Change,
    pub(super) probability: f64,
    /// Of ten strengths, from 0; 0 also for changes that have none.
    pub(super) bin: u32,
}

const fn step(change: Change, probability: f64, bin: u32) -> Step {
    Step { change, probability, bin }
}

/// Learned for ImageNet.
pub(super) const IMAGENET: [[Step; 2]; 25] = [
    [step(Posterize, 0.4, 8), step(Rotate, 0.6, 9)],
    [step(Solarize, 0.6, 5), step(AutoContrast, 0.6, 0)],
    [step(Equalize, 0.8, 0), step(Equalize, 0.6, 0)],
    [step(Posterize, 0.6, 7), step(Posterize, 0.6, 6)],
    [step(Equalize, 0.4, 0), step(Solarize, 0.2, 4)],
    [step(Equalize, 0.4, 0), step(Rotate, 0.8, 8)],
    [step(Solarize, 0.6, 3), step(Equalize, 0.6, 0)],
    [step(Posterize, 0.8, 5), step(Equalize, 1.0, 0)],
    [step(Rotate, 0.2, 3), step(Solarize, 0.6, 8)],
    [step(Equalize, 0.6, 0), step(Posterize, 0.4, 6)],
    [step(Rotate, 0.8, 8), step(Color, 0.4, 0)],
    [step(Rotate, 0.4, 9), step(Equalize, 0.6, 0)],
    [step(Equalize, 0.0, 0), step(Equalize, 0.8, 0)],
    [step(Invert, 0.6, 0), step(Equalize, 1.0, 0)],
    [step(Color, 0.6, 4), step(Contrast, 1.0, 8)],
    [step(Rotate, 0.8, 8), step(Color, 1.0, 2)],
    [step(Color, 0.8, 8), step(Solarize, 0.8, 7)],
    [step(Sharpness, 0.4, 7), step(Invert, 0.6, 0)],
    [step(ShearX, 0.6, 5), step(Equalize, 1.0, 0)],
    [step(Color, 0.4, 0), step(Equalize, 0.6, 0)],
    [step(Equalize, 0.4, 0), step(Solarize, 0.2, 4)],
    [step(Solarize, 0.6, 5), step(AutoContrast, 0.6, 0)],
    [step(Invert, 0.6, 0), step(Equalize, 1.0, 0)],
    [step(Color, 0.6, 4), step(Contrast, 1.0, 8)],
    [step(Equalize, 0.8, 0), step(Equalize, 0.6, 0)],
];

/// Learned for CIFAR-10.
pub(super) const CIFAR10: [[Step; 2]; 25] = [
    [step(Invert, 0.1, 0), step(Contrast, 0.2, 6)],
    [step(Rotate, 0.7, 2), step(TranslateX, 0.3, 9)],
    [step(Sharpness, 0.8, 1), step(Sharpness, 0.9, 3)],
    [step(ShearY, 0.5, 8), step(TranslateY, 0.7, 9)],
    [step(AutoContrast, 0.5, 0), step(Equalize, 0.9, 0)],
    [step(ShearY, 0.2, 7), step(Posterize, 0.3, 7)],
    [step(Color, 0.4, 3), step(Brightness, 0.6, 7)],
    [step(Sharpness, 0.3, 9), step(Brightness, 0.7, 9)],
    [step(Equalize, 0.6, 0), step(Equalize, 0.5, 0)],
    [step(Contrast, 0.6, 7), step(Sharpness, 0.6, 5)],
    [step(Color, 0.7, 7), step(TranslateX, 0.5, 8)],
    [step(Equalize, 0.3, 0), step(AutoContrast, 0.4, 0)],
    [step(TranslateY, 0.4, 3), step(Sharpness, 0.2, 6)],
    [step(Brightness, 0.9, 6), step(Color, 0.2, 8)],
    [step(Solarize, 0.5, 2), step(Invert, 0.0, 0)],
    [step(Equalize, 0.2, 0), step(AutoContrast, 0.6, 0)],
    [step(Equalize, 0.2, 0), step(Equalize, 0.6, 0)],
    [step(Color, 0.9, 9), step(Equalize, 0.6, 0)],
    [step(AutoContrast, 0.8, 0), step(Solarize, 0.2, 8)],
    [step(Brightness, 0.1, 3), step(Color, 0.7, 0)],
    [step(Solarize, 0.4, 5), step(AutoContrast, 0.9, 0)],
    [step(TranslateY, 0.9, 9), step(TranslateY, 0.7, 9)],
    [step(AutoContrast, 0.9, 0), step(Solarize, 0.8, 3)],
    [step(Equalize, 0.8, 0), step(Invert, 0.1, 0)],
    [step(TranslateY, 0.7, 9), step(AutoContrast, 0.9, 0)],
];

/// Learned for Street View House Numbers.
pub(super) const SVHN: [[Step; 2]; 25] = [
    [step(ShearX, 0.9, 4), step(Invert, 0.2, 0)],
    [step(ShearY, 0.9, 8), step(Invert, 0.7, 0)],
    [step(Equalize, 0.6, 0), step(Solarize, 0.6, 6)],
    [step(Invert, 0.9, 0), step(Equalize, 0.6, 0)],
    [step(Equalize, 0.6, 0), step(Rotate, 0.9, 3)],
    [step(ShearX, 0.9, 4), step(AutoContrast, 0.8, 0)],
    [step(ShearY, 0.9, 8), step(Invert, 0.4, 0)],
    [step(ShearY, 0.9, 5), step(Solarize, 0.2, 6)],
    [step(Invert, 0.9, 0), step(AutoContrast, 0.8, 0)],
    [step(Equalize, 0.6, 0), step(Rotate, 0.9, 3)],
    [step(ShearX, 0.9, 4), step(Solarize, 0.3, 3)],
    [step(ShearY, 0.8, 8), step(Invert, 0.7, 0)],
    [step(Equalize, 0.9, 0), step(TranslateY, 0.6, 6)],
    [step(Invert, 0.9, 0), step(Equalize, 0.6, 0)],
    [step(Contrast, 0.3, 3), step(Rotate, 0.8, 4)],
    [step(Invert, 0.8, 0), step(TranslateY, 0.0, 2)],
    [step(ShearY, 0.7, 6), step(Solarize, 0.4, 8)],
    [step(Invert, 0.6, 0), step(Rotate, 0.8, 4)],
    [step(ShearY, 0.3, 7), step(TranslateX, 0.9, 3)],
    [step(ShearX, 0.1, 6), step(Invert, 0.6, 0)],
    [step(Solarize, 0.7, 2), step(TranslateY, 0.6, 7)],
    [step(ShearY, 0.8, 4), step(Invert, 0.8, 0)],
    [step(ShearX, 0.7, 9), step(TranslateY, 0.8, 3)],
    [step(ShearY, 0.8, 5), step(AutoContrast, 0.7, 0)],
    [step(ShearX, 0.7, 2), step(Invert, 0.1, 0)],
];
