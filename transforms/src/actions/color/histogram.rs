//! Actions by the histogram of each channel: autocontrast, equalize.

use serde::{Deserialize, Serialize};
use tarflume_image::ImageSize;
use tarflume_types::Result;

use crate::actions::apply::Apply;
use crate::actions::record::{Change, Record};
use crate::frame::Frame;
use crate::kernels::color::histogram::{Counts, count, extremes};
use crate::kernels::color::pointwise::{look_up, look_up_channels};
use crate::kernels::color::table::Table;
use crate::kernels::sets::Set;

/// Stretches each channel to the range 0 to 255.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Autocontrast {}

impl Apply for Autocontrast {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let found = extremes(Set::best(), frame.pixels(), frame.channels());
        look_up_each(frame, |channel| stretched(found.least[channel], found.most[channel]));
        Ok(())
    }

    fn in_words(&self, _: ImageSize, _: usize, to: &mut Record) -> bool {
        to.set(Change::Autocontrast, []);
        true
    }
}

/// The steps are those of torchvision, each rounded to f32.
fn stretched(least: u8, most: u8) -> Table {
    if least >= most {
        return identity();
    }
    let scale = f32::from(most - least) * (1.0 / 255.0);
    std::array::from_fn(|byte| ((byte as f32 - f32::from(least)) / scale) as u8)
}

/// Makes the values of each channel equally frequent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Equalize {}

impl Apply for Equalize {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let counts = count(frame.pixels(), frame.channels());
        look_up_each(frame, |channel| equalized(&counts[channel]));
        Ok(())
    }

    fn in_words(&self, _: ImageSize, _: usize, to: &mut Record) -> bool {
        to.set(Change::Equalize, []);
        true
    }
}

/// Pillow's table, which torchvision has too: pixels of the largest value do not count for the size
/// of a step.
fn equalized(counts: &Counts) -> Table {
    let pixels: u32 = counts.iter().sum();
    let largest = counts.iter().rev().find(|&&count| count > 0).unwrap_or(&0);
    let step = (pixels - largest) / 255;
    if step == 0 {
        return identity();
    }
    let mut below = step / 2;
    counts.map(|count| {
        let value = (below / step).min(255) as u8;
        below += count;
        value
    })
}

fn identity() -> Table {
    std::array::from_fn(|byte| byte as u8)
}

/// Looks the bytes of each channel up in its own table.
fn look_up_each(frame: &mut Frame, table: impl Fn(usize) -> Table) {
    if frame.channels() == 1 {
        look_up(Set::best(), frame.pixels_mut(), &table(0));
    } else {
        look_up_channels(Set::best(), frame.pixels_mut(), &std::array::from_fn(table));
    }
}
