//! Where the boundary of a polygon crosses the columns of pixels: by the rules of COCO's masks.
//!
//! Corners are on a grid of fifths of a pixel. A boundary is the points of that grid next to its edges. It crosses column `x`
//! where it goes from grid column `5x + 2` to `5x + 3` or back. The pixels of a column are inside behind an odd number of
//! crossings, from the top.

use std::ops::Range;

use tarflume_image::ImageSize;

/// Grid points for each pixel.
const SCALE: f64 = 5.0;
/// Coordinates on the grid beyond this number are cut to it: no picture is as large.
const MOST: f64 = 1e12;

/// A point of the grid.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Corner {
    x: i64,
    y: i64,
}

/// An edge of the polygon, from the corner with the smaller coordinate along its longer side.
#[derive(Debug, Clone, Copy)]
struct Edge {
    start: Corner,
    /// Steps of one along the longer side.
    steps: i64,
    /// What the other coordinate gains in a step.
    slope: f64,
    /// Whether the longer side is the width.
    is_wide: bool,
}

/// Calls `each` with the number of the first pixel behind each crossing, counted column by column from the upper left: once
/// for each crossing, in any order.
pub(super) fn crossings(numbers: &[f64], on: ImageSize, mut each: impl FnMut(u64)) {
    let (points, _) = numbers.as_chunks::<2>();
    let Some(&last) = points.last() else { return };
    let mut from = corner(last);
    for &point in points {
        let to = corner(point);
        edge(from, to).cross(on, &mut each);
        from = to;
    }
}

/// The grid point of a corner: rounded toward zero after a half is added.
fn corner([x, y]: [f64; 2]) -> Corner {
    Corner { x: on_grid(x), y: on_grid(y) }
}

fn on_grid(coordinate: f64) -> i64 {
    (SCALE * coordinate + 0.5).clamp(-MOST, MOST) as i64
}

fn edge(from: Corner, to: Corner) -> Edge {
    let width = (to.x - from.x).abs();
    let height = (to.y - from.y).abs();
    let is_wide = width >= height;
    let backward = if is_wide { from.x > to.x } else { from.y > to.y };
    let [start, end] = if backward { [to, from] } else { [from, to] };
    let steps = if is_wide { width } else { height };
    let gain = if is_wide { end.y - start.y } else { end.x - start.x };
    let slope = if steps == 0 { 0.0 } else { gain as f64 / steps as f64 };
    Edge { start, steps, slope, is_wide }
}

impl Edge {
    /// The shorter side's coordinate after `step` steps.
    fn across(&self, step: i64) -> i64 {
        let start = if self.is_wide { self.start.y } else { self.start.x };
        (start as f64 + self.slope * step as f64 + 0.5) as i64
    }

    fn cross(&self, on: ImageSize, each: &mut impl FnMut(u64)) {
        let reach = if self.is_wide {
            [self.start.x, self.start.x + self.steps]
        } else {
            let end = self.across(self.steps);
            [self.across(0).min(end), self.across(0).max(end)]
        };
        let [low, high] = reach;
        for column in columns(low, high, on.width) {
            let y = self.height_at(5 * column + 2);
            each(column as u64 * u64::from(on.height) + row(y, on.height));
        }
    }

    /// The smaller grid row of the two points at grid columns `x` and `x + 1`, next to each other on the edge.
    fn height_at(&self, x: i64) -> i64 {
        if self.is_wide {
            let step = x - self.start.x;
            return self.across(step).min(self.across(step + 1));
        }
        // Columns never fall back, so the one step between the two columns is found by halving.
        let rises = self.slope > 0.0;
        let is_behind =
            |step: i64| if rises { self.across(step) > x } else { self.across(step) <= x };
        let range = first_of(0..self.steps, is_behind);
        self.start.y + range - 1
    }
}

/// The first number of a range, or its end, of which `is_behind` is true; it is true of all behind it.
fn first_of(range: Range<i64>, is_behind: impl Fn(i64) -> bool) -> i64 {
    let Range { mut start, mut end } = range;
    while start < end {
        let middle = start + (end - start) / 2;
        if is_behind(middle) {
            end = middle;
        } else {
            start = middle + 1;
        }
    }
    start
}

/// The columns of pixels whose two grid columns are in `low..=high`.
fn columns(low: i64, high: i64, width: u32) -> Range<i64> {
    let first = (low - 2).max(0) + 4;
    let first = first / 5;
    let end = ((high - 3).div_euclid(5) + 1).min(i64::from(width));
    first..end.max(first)
}

/// The row of pixels for a grid row, from 0 to the height.
fn row(y: i64, height: u32) -> u64 {
    let row = (y as f64 + 0.5) / SCALE - 0.5;
    row.clamp(0.0, f64::from(height)).ceil() as u64
}
