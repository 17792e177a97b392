//! Limits on the arguments of operations.

use tarflume_types::{Error, Result};

use crate::settings::Interpolation;

/// The most pixels of a side of a result, or of a margin.
pub(crate) const MOST_SIDE: u32 = 65_535;

/// Checks the height and the width of a result.
pub(crate) fn check_size(operation: &str, argument: &str, size: [u32; 2]) -> Result<()> {
    if size.iter().all(|side| (1..=MOST_SIDE).contains(side)) {
        return Ok(());
    }
    let [height, width] = size;
    Err(Error::usage(format!(
        "{operation}: {argument} is {height} x {width} (height x width); a side has 1 to {MOST_SIDE} pixels"
    )))
}

/// Checks a range of numbers above 0.
pub(crate) fn check_range_above_zero(
    operation: &str,
    argument: &str,
    range: [f64; 2],
) -> Result<()> {
    let [low, high] = range;
    if 0.0 < low && low <= high && high.is_finite() {
        return Ok(());
    }
    Err(Error::usage(format!(
        "{operation}: {argument} is {low} to {high}; it is two numbers above 0, the lower first"
    )))
}

/// Checks a range of numbers.
pub(crate) fn check_range(operation: &str, argument: &str, range: [f64; 2]) -> Result<()> {
    let [low, high] = range;
    if low <= high && low.abs() <= 1e6 && high.abs() <= 1e6 {
        return Ok(());
    }
    Err(Error::usage(format!(
        "{operation}: {argument} is {low} to {high}; it is two numbers of at most a million, the lower first"
    )))
}

/// Checks the interpolation of a warp.
pub(crate) fn check_interpolation(operation: &str, interpolation: Interpolation) -> Result<()> {
    match interpolation {
        Interpolation::Nearest | Interpolation::Bilinear | Interpolation::Bicubic => Ok(()),
        Interpolation::Lanczos => Err(Error::usage(format!(
            "{operation}: interpolation is {interpolation}; a warp has nearest, bilinear or bicubic"
        ))),
    }
}

/// Checks a probability of an operation.
pub(crate) fn probability(operation: &str, argument: &str, value: f64) -> Result<()> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(Error::usage(format!("{operation}: {argument} is {value}; a probability is 0 to 1")))
}

/// Checks a range of an operation: two increasing numbers, both within `limits`.
pub(crate) fn range(
    operation: &str,
    argument: &str,
    value: [f64; 2],
    limits: [f64; 2],
) -> Result<()> {
    if limits[0] <= value[0] && value[0] <= value[1] && value[1] <= limits[1] {
        return Ok(());
    }
    Err(Error::usage(format!(
        "{operation}: {argument} is {value:?}; valid are two increasing numbers within {limits:?}"
    )))
}
