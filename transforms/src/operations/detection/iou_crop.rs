//! `RandomIoUCrop`: a crop that is chosen by the boxes of the picture.

use serde::{Deserialize, Serialize};
use tarflume_image::{ImageSize, Random};
use tarflume_types::{Error, Result};

use crate::actions::{Action, Crop, KeepCenters};
use crate::operations::{Draw, Draws, Shape, range};

/// Lists of options that are drawn for one picture before it stays whole.
const MOST_ROUNDS: u32 = 100;

/// The most trials of an option.
const MOST_TRIALS: u32 = 1000;

/// A crop that has the center of a box, and as much in common with that box as a random option asks for: the area of both
/// together divided by that of either. Objects whose center is outside are left out.
///
/// It needs the boxes of the picture: [`Recipe::draw_with`](crate::Recipe::draw_with).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomIoUCrop {
    /// The least part of each side.
    pub min_scale: f64,
    /// The largest part of each side, 1 at most.
    pub max_scale: f64,
    /// The least width over height.
    pub min_aspect_ratio: f64,
    /// The most width over height.
    pub max_aspect_ratio: f64,
    /// The options, each as likely as the others. From 1 on, the picture stays whole.
    pub sampler_options: Vec<f64>,
    /// Crops that are tried for an option before another is drawn.
    pub trials: u32,
}

impl Default for RandomIoUCrop {
    fn default() -> RandomIoUCrop {
        RandomIoUCrop {
            min_scale: 0.3,
            max_scale: 1.0,
            min_aspect_ratio: 0.5,
            max_aspect_ratio: 2.0,
            sampler_options: vec![0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0],
            trials: 40,
        }
    }
}

impl RandomIoUCrop {
    /// The crop of a picture of this size; none if it stays whole.
    ///
    /// A picture in which no box has its center stays whole. So does one for which no option was met in a hundred rounds
    /// where none leaves it whole; torchvision would try without end.
    fn crop(&self, on: ImageSize, boxes: &[[f64; 4]], random: &mut Random) -> Option<KeepCenters> {
        let whole = KeepCenters { top: 0, left: 0, height: on.height, width: on.width };
        if !boxes.iter().any(|edges| whole.keeps(*edges)) {
            return None;
        }
        let ends = self.sampler_options.iter().any(|option| *option >= 1.0);
        let mut rounds = 0;
        while ends || rounds < MOST_ROUNDS {
            rounds += 1;
            let option = random.below(self.sampler_options.len() as u64) as usize;
            let least = self.sampler_options[option];
            if least >= 1.0 {
                return None;
            }
            let found = (0..self.trials).find_map(|_| self.trial(on, random, least, boxes));
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// One crop, if it is valid.
    fn trial(
        &self,
        on: ImageSize,
        random: &mut Random,
        least: f64,
        boxes: &[[f64; 4]],
    ) -> Option<KeepCenters> {
        let [width, height] = [on.width, on.height]
            .map(|side| (f64::from(side) * random.between(self.min_scale, self.max_scale)) as u32);
        let ratio = f64::from(width) / f64::from(height);
        if width == 0 || !(self.min_aspect_ratio..=self.max_aspect_ratio).contains(&ratio) {
            return None;
        }
        let [left, top] = [on.width - width, on.height - height]
            .map(|rest| (f64::from(rest) * random.unit()) as u32);
        let crop = KeepCenters { top, left, height, width };
        let is_met = boxes.iter().any(|edges| crop.keeps(*edges) && shared(*edges, crop) >= least);
        is_met.then_some(crop)
    }
}

/// The area that a box and a crop have in common, divided by that of either.
fn shared(edges: [f64; 4], crop: KeepCenters) -> f64 {
    fn area([left, top, right, bottom]: [f64; 4]) -> f64 {
        (right - left) * (bottom - top)
    }

    let KeepCenters { top, left, height, width } = crop;
    let of_crop = [left, top, left + width, top + height].map(f64::from);
    let common = [
        edges[0].max(of_crop[0]),
        edges[1].max(of_crop[1]),
        edges[2].min(of_crop[2]),
        edges[3].min(of_crop[3]),
    ];
    let common = (common[2] - common[0]).max(0.0) * (common[3] - common[1]).max(0.0);
    common / (area(edges) + area(of_crop) - common)
}

impl Draw for RandomIoUCrop {
    fn draw(&self, on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let found =
            draws.with_boxes(actions, |boxes| self.crop(on.size, boxes, &mut draws.random()))?;
        let Some(found) = found.ok_or_else(without_boxes)? else { return Ok(()) };
        let KeepCenters { top, left, height, width } = found;
        actions.push(found.into());
        actions.push(Crop { top, left, height, width }.into());
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        let name = "RandomIoUCrop";
        range(name, "min_scale to max_scale", [self.min_scale, self.max_scale], [0.0, 1.0])?;
        let ratios = [self.min_aspect_ratio, self.max_aspect_ratio];
        range(name, "min_aspect_ratio to max_aspect_ratio", ratios, [0.0, f64::MAX])?;
        let options = &self.sampler_options;
        if options.is_empty() || !options.iter().all(|option| (0.0..=f64::MAX).contains(option)) {
            return Err(Error::usage(format!(
                "{name}: sampler_options is {options:?}; pass at least one number from 0 on, such as 0.5 for boxes that share \
                 half of the area, and 1 for the whole picture"
            )));
        }
        if !(1..=MOST_TRIALS).contains(&self.trials) {
            let trials = self.trials;
            return Err(Error::usage(format!(
                "{name}: trials is {trials}; use 1 to {MOST_TRIALS}"
            )));
        }
        Ok(())
    }

    fn fixed_size(&self, _: Option<ImageSize>) -> Option<ImageSize> {
        None
    }
}

/// The error of a draw without boxes.
fn without_boxes() -> Error {
    Error::usage(
        "RandomIoUCrop chooses a crop by the boxes of the picture, and no boxes are bound to it: add a column of boxes for this \
         picture, or leave RandomIoUCrop out",
    )
}
