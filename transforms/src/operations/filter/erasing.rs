//! `RandomErasing`, as torchvision and timm define it.

use serde::{Deserialize, Serialize};
use tarflume_image::{ImageSize, Random};
use tarflume_order::words;
use tarflume_types::{Error, Result};

use crate::actions::{Action, Erase, EraseValue};
use crate::numbers::exact::{exp, ln};
use crate::operations::{Draw, Draws, Shape, probability};

/// Erases one rectangle or several with a probability.
///
/// The algorithm is torchvision's. Up to ten times, it draws the area uniformly in `scale` and the logarithm of height over
/// width uniformly in `ratio`. The first rectangle that is smaller than the picture in both directions gets a uniform
/// position. If none is, nothing is erased.
///
/// timm's has other names and defaults, several rectangles, and a random color:
///
/// | timm | here |
/// |---|---|
/// | `probability` | `p` |
/// | `min_area`, `max_area` (0.02, 1/3) | `scale` |
/// | `min_aspect`, `max_aspect` (0.3, 1/0.3) | `ratio` |
/// | `mode`: `const`, `rand`, `pixel` | `value`: 0, `"random_color"`, `"random"` |
/// | `min_count`, `max_count` | `count` |
///
/// Values are those of the normalized row if the column normalizes: torchvision and timm erase after it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomErasing {
    /// The probability.
    pub p: f64,
    /// The range of the erased fraction of the picture's area. Several rectangles share it.
    pub scale: [f64; 2],
    /// The range of a rectangle's height over its width.
    pub ratio: [f64; 2],
    /// What is written.
    pub value: ErasingValue,
    /// The fewest and the most rectangles; each number between is equally likely. torchvision erases one.
    pub count: [u32; 2],
}

/// What [`RandomErasing`] writes: a number, a number for each channel, or a word of [`ErasingNoise`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "the value of RandomErasing is a number, three numbers, \"random\" or \"random_color\""
)]
pub enum ErasingValue {
    /// This number in all channels.
    Number(f64),
    /// A number for each channel. A gray picture uses the first.
    Each([f64; 3]),
    /// Random numbers.
    Noise(ErasingNoise),
}

/// Standard normal numbers in an erased rectangle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErasingNoise {
    /// Others for each pixel: torchvision's `random`, timm's `pixel`.
    Random,
    /// The same for all pixels of a rectangle: timm's `rand`.
    RandomColor,
}

words!(ErasingNoise, "value", {
    Random => "random",
    RandomColor => "random_color",
});

/// The most rectangles of one picture.
const MOST_RECTANGLES: u32 = 1000;

impl Default for RandomErasing {
    fn default() -> RandomErasing {
        RandomErasing {
            p: 0.5,
            scale: [0.02, 0.33],
            ratio: [0.3, 3.3],
            value: ErasingValue::Number(0.0),
            count: [1, 1],
        }
    }
}

impl RandomErasing {
    /// A rectangle with a `share` of the area that is drawn.
    fn rectangle(&self, on: ImageSize, share: f64, random: &mut Random) -> Option<Erase> {
        let logs = self.ratio.map(ln);
        for _ in 0..10 {
            let area = on.pixels() as f64 * random.between(self.scale[0], self.scale[1]) * share;
            let ratio = exp(random.between(logs[0], logs[1]));
            let height = (area * ratio).sqrt().round_ties_even();
            let width = (area / ratio).sqrt().round_ties_even();
            if height < f64::from(on.height) && width < f64::from(on.width) {
                let height = height as u32;
                let width = width as u32;
                let top = random.below(u64::from(on.height - height) + 1) as u32;
                let left = random.below(u64::from(on.width - width) + 1) as u32;
                let value = self.value.drawn(random);
                return Some(Erase { top, left, height, width, value });
            }
        }
        None
    }
}

impl ErasingValue {
    fn drawn(self, random: &mut Random) -> EraseValue {
        match self {
            ErasingValue::Number(value) => EraseValue::Constant([value; 3]),
            ErasingValue::Each(values) => EraseValue::Constant(values),
            ErasingValue::Noise(ErasingNoise::Random) => EraseValue::Noise(random.bits()),
            ErasingValue::Noise(ErasingNoise::RandomColor) => EraseValue::Pixel(random.bits()),
        }
    }

    fn numbers(self) -> [f64; 3] {
        match self {
            ErasingValue::Number(value) => [value; 3],
            ErasingValue::Each(values) => values,
            ErasingValue::Noise(_) => [0.0; 3],
        }
    }
}

impl Draw for RandomErasing {
    fn draw(&self, on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let mut random = draws.random();
        if !random.chance(self.p) {
            return Ok(());
        }
        let [fewest, most] = self.count;
        let count = fewest + random.below(u64::from(most.saturating_sub(fewest)) + 1) as u32;
        for _ in 0..count {
            let erase = self.rectangle(on.size, 1.0 / f64::from(count), &mut random);
            // The rounded sides of a very small rectangle may be 0.
            let erase = erase.filter(|erase| erase.width > 0 && erase.height > 0);
            actions.extend(erase.map(Action::from));
        }
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        let RandomErasing { scale: [least, largest], ratio: [flat, tall], count, .. } = *self;
        probability("RandomErasing", "p", self.p)?;
        if !(0.0 <= least && least <= largest && largest <= 1.0) {
            return Err(Error::usage(format!(
                "RandomErasing: scale is [{least}, {largest}]; pass a range within 0 to 1, the lower first"
            )));
        }
        if !(0.0 < flat && flat <= tall && tall.is_finite()) {
            return Err(Error::usage(format!(
                "RandomErasing: ratio is [{flat}, {tall}]; pass a range of numbers above 0, the lower first"
            )));
        }
        if !self.value.numbers().iter().all(|value| value.is_finite()) {
            return Err(Error::usage("RandomErasing: value is no number; pass finite numbers"));
        }
        let [fewest, most] = count;
        if 1 <= fewest && fewest <= most && most <= MOST_RECTANGLES {
            return Ok(());
        }
        Err(Error::usage(format!(
            "RandomErasing: count is [{fewest}, {most}]; pass a range within 1 to {MOST_RECTANGLES}, the \
             lower first"
        )))
    }
}

#[cfg(test)]
mod tests;
