//! The corners of boxes with an angle, and the numbers of their rows.

use tarflume_annotations::boxes::RotatedFormat;
use tarflume_transforms::annotations::{
    RotatedBox, corners, corners_from_first, fitted, from_corners,
};

/// The most numbers of a box.
pub(crate) const MOST: usize = 8;

/// The corners of a box of a file, in pixels. Four corners become those of a rectangle.
pub(crate) fn corners_of(format: RotatedFormat, numbers: [f64; MOST]) -> RotatedBox {
    match format {
        RotatedFormat::Xyxyxyxy => fitted(&quad(numbers)),
        RotatedFormat::Xywhr | RotatedFormat::Cxcywhr => angled(format, numbers),
    }
}

/// The corners of a box of a row, in pixels.
pub(crate) fn corners_of_row(format: RotatedFormat, numbers: [f64; MOST]) -> RotatedBox {
    match format {
        RotatedFormat::Xyxyxyxy => quad(numbers),
        RotatedFormat::Xywhr | RotatedFormat::Cxcywhr => angled(format, numbers),
    }
}

fn quad(numbers: [f64; MOST]) -> RotatedBox {
    [0, 2, 4, 6].map(|at| [numbers[at], numbers[at + 1]])
}

fn angled(format: RotatedFormat, numbers: [f64; MOST]) -> RotatedBox {
    let [x, y, width, height, degrees, ..] = numbers;
    let of = [x, y, width, height, degrees];
    if format == RotatedFormat::Xywhr { corners_from_first(of) } else { corners(of) }
}

/// The numbers of a row; those behind the last number of the format are 0.
pub(crate) fn numbers_of(format: RotatedFormat, quad: &RotatedBox) -> [f64; MOST] {
    let mut numbers = [0.0; MOST];
    if format == RotatedFormat::Xyxyxyxy {
        numbers.copy_from_slice(quad.as_flattened());
        return numbers;
    }
    let angled = from_corners(quad);
    numbers[..angled.len()].copy_from_slice(&angled);
    if format == RotatedFormat::Xywhr {
        numbers[..2].copy_from_slice(&quad[0]);
    }
    numbers
}

/// The numbers with lengths and places multiplied by a factor for each axis. An angle stays: it is that of the picture in
/// pixels.
pub(crate) fn scaled(format: RotatedFormat, mut numbers: [f64; MOST], by: [f64; 2]) -> [f64; MOST] {
    let lengths = if format == RotatedFormat::Xyxyxyxy { MOST } else { 4 };
    for (at, number) in numbers[..lengths].iter_mut().enumerate() {
        *number *= by[at % 2];
    }
    numbers
}
