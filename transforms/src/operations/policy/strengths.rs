//! `Change`: the changes of torchvision's policies. `Ranges`: how strong they are.

use tarflume_image::{ImageSize, Random};

use super::chain::Chain;
use crate::actions::{Autocontrast, Equalize, Invert};

/// One change of a policy, without its strength. The order is torchvision's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Identity,
    ShearX,
    ShearY,
    TranslateX,
    TranslateY,
    Rotate,
    Brightness,
    Color,
    Contrast,
    Sharpness,
    Posterize,
    Solarize,
    AutoContrast,
    Equalize,
    Invert,
}

impl Change {
    /// Those of `RandAugment` and `TrivialAugmentWide`.
    pub(super) const WITH_IDENTITY: [Change; 14] = [
        Change::Identity,
        Change::ShearX,
        Change::ShearY,
        Change::TranslateX,
        Change::TranslateY,
        Change::Rotate,
        Change::Brightness,
        Change::Color,
        Change::Contrast,
        Change::Sharpness,
        Change::Posterize,
        Change::Solarize,
        Change::AutoContrast,
        Change::Equalize,
    ];

    /// Half of the strengths are negative.
    fn is_signed(self) -> bool {
        use Change::{
            Brightness, Color, Contrast, Rotate, Sharpness, ShearX, ShearY, TranslateX, TranslateY,
        };
        matches!(
            self,
            ShearX
                | ShearY
                | TranslateX
                | TranslateY
                | Rotate
                | Brightness
                | Color
                | Contrast
                | Sharpness
        )
    }
}

/// The strongest change of each kind. The weakest is 0, no change.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ranges {
    /// Pixels for each pixel.
    pub(super) shear: f64,
    /// Pixels, for a picture with a side of so many pixels.
    pub(super) translate: fn(f64) -> f64,
    /// Degrees.
    pub(super) rotate: f64,
    /// Of brightness, color, contrast and sharpness: the difference to the factor 1.
    pub(super) blend: f64,
    /// Bits of the weakest and of the strongest posterization.
    pub(super) bits: [f32; 2],
}

/// Of `RandAugment` and `AutoAugment`.
pub(super) const PLAIN: Ranges = Ranges {
    shear: 0.3,
    translate: |side| 150.0 / 331.0 * side,
    rotate: 30.0,
    blend: 0.9,
    bits: [8.0, 4.0],
};

impl Ranges {
    /// Entry `bin` of torchvision's table of `bins` strengths; 0 for a change that has none.
    fn strength(&self, change: Change, bins: u32, bin: u32, size: ImageSize) -> f64 {
        match change {
            Change::ShearX | Change::ShearY => linear(0.0, self.shear, bins, bin),
            Change::TranslateX => linear(0.0, (self.translate)(f64::from(size.width)), bins, bin),
            Change::TranslateY => linear(0.0, (self.translate)(f64::from(size.height)), bins, bin),
            Change::Rotate => linear(0.0, self.rotate, bins, bin),
            Change::Brightness | Change::Color | Change::Contrast | Change::Sharpness => {
                linear(0.0, self.blend, bins, bin)
            }
            Change::Posterize => {
                let [weakest, strongest] = self.bits;
                let step = f64::from(bins - 1) / f64::from(weakest - strongest);
                f64::from((weakest - bin as f32 / step as f32).round_ties_even())
            }
            Change::Solarize => linear(1.0, 0.0, bins, bin),
            Change::Identity | Change::AutoContrast | Change::Equalize | Change::Invert => 0.0,
        }
    }

    /// Appends the change with the strength of a bin, and a random sign if it has one.
    pub(super) fn draw(
        &self,
        change: Change,
        bins: u32,
        bin: u32,
        random: &mut Random,
        chain: &mut Chain<'_>,
    ) {
        let mut strength = self.strength(change, bins, bin, chain.size);
        if change.is_signed() && random.chance(0.5) {
            strength = -strength;
        }
        match change {
            Change::Identity => (),
            Change::ShearX => chain.shear_x(strength),
            Change::ShearY => chain.shear_y(strength),
            Change::TranslateX => chain.translate_x(strength.trunc()),
            Change::TranslateY => chain.translate_y(strength.trunc()),
            Change::Rotate => chain.rotate(strength),
            Change::Brightness => chain.brightness(1.0 + strength),
            Change::Color => chain.saturation(1.0 + strength),
            Change::Contrast => chain.contrast(1.0 + strength),
            Change::Sharpness => chain.sharpness(1.0 + strength),
            Change::Posterize => chain.posterize(strength as u8),
            Change::Solarize => chain.solarize(255.0 * strength),
            Change::AutoContrast => chain.push(Autocontrast {}),
            Change::Equalize => chain.push(Equalize {}),
            Change::Invert => chain.push(Invert {}),
        }
    }
}

/// Entry `at` of `torch.linspace(start, end, count)`: single precision, from the nearer end. Its
/// vectorized loops round otherwise: the 16th of 31 translations of at most 32 pixels is 16 here and 15.999999 there.
fn linear(start: f64, end: f64, count: u32, at: u32) -> f64 {
    let start = start as f32;
    let end = end as f32;
    let step = (end - start) / (count - 1) as f32;
    let value = if at < count / 2 {
        start + step * at as f32
    } else {
        end - step * (count - at - 1) as f32
    };
    f64::from(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_begin_with_no_change_and_end_with_the_strongest() {
        let size = ImageSize::new(331, 662);
        for change in Change::WITH_IDENTITY {
            let first = PLAIN.strength(change, 31, 0, size);
            let last = PLAIN.strength(change, 31, 30, size);
            let expected = match change {
                Change::ShearX | Change::ShearY => [0.0, f64::from(0.3f32)],
                Change::TranslateX => [0.0, 150.0],
                Change::TranslateY => [0.0, 300.0],
                Change::Rotate => [0.0, 30.0],
                Change::Posterize => [8.0, 4.0],
                Change::Solarize => [1.0, 0.0],
                Change::Identity | Change::AutoContrast | Change::Equalize => [0.0, 0.0],
                _ => [0.0, f64::from(0.9f32)],
            };
            assert_eq!([first, last], expected, "{change:?}");
        }
    }

    #[test]
    fn bits_are_rounded_to_even() {
        let size = ImageSize::new(1, 1);
        let bits: Vec<f64> =
            (0..9).map(|bin| PLAIN.strength(Change::Posterize, 9, bin, size)).collect();
        assert_eq!(bits, [8.0, 8.0, 7.0, 6.0, 6.0, 6.0, 5.0, 4.0, 4.0]);
    }
}
