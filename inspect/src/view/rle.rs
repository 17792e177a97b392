//! Run-length encoded regions of COCO (`segmentation` with `counts` and `size`), as a PNG. Holds runs, not pixels.

use serde_json::Value;
use tarflume_base::check::objects::run_lengths;

use super::picture::{png, region_color};

/// Limit on the runs of a region.
const MAX_RUNS: usize = 1 << 20;

/// The runs of a region, column by column, as `pycocotools` has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Region {
    height: u64,
    width: u64,
    /// The pixel after each run; the runs of even numbers are outside the region.
    ends: Vec<u64>,
}

impl Region {
    /// Reads `{"counts": [..] or "..", "size": [height, width]}`; `None` for anything else.
    pub(super) fn read(value: &Value) -> Option<Region> {
        let size = value.get("size")?.as_array()?;
        let height = size.first()?.as_u64()?;
        let width = size.get(1)?.as_u64()?;
        let counts: Vec<u64> = match value.get("counts")? {
            Value::Array(counts) => counts.iter().map(Value::as_u64).collect::<Option<_>>()?,
            Value::String(text) => run_lengths(text.as_bytes())?,
            _ => return None,
        };
        let is_sane = height.checked_mul(width).is_some_and(|pixels| pixels > 0);
        if !is_sane || counts.len() > MAX_RUNS {
            return None;
        }
        let mut end = 0_u64;
        let ends = counts.into_iter().map(|count| {
            end = end.saturating_add(count);
            end
        });
        Some(Region { height, width, ends: ends.collect() })
    }

    /// Returns true if the pixel is in the region.
    fn has(&self, x: u64, y: u64) -> bool {
        let pixel = x * self.height + y;
        let run = self.ends.partition_point(|&end| end <= pixel);
        run % 2 == 1 && run < self.ends.len()
    }
}

/// Draws regions into one PNG whose longer side has at most `side` pixels; `None` if there are none.
pub(super) fn draw(regions: &[Region], side: u32) -> Option<Vec<u8>> {
    let first = regions.first()?;
    let longer = first.width.max(first.height);
    let [width, height] = [first.width, first.height]
        .map(|length| (length * u64::from(side).min(longer) / longer).max(1) as u32);
    let mut pixels = vec![0; width as usize * height as usize * 4];
    for (number, region) in (1..).zip(regions) {
        let color = region_color(number);
        for (at, pixel) in (0_u64..).zip(pixels.as_chunks_mut::<4>().0) {
            let x = at % u64::from(width);
            let y = at / u64::from(width);
            let x = x * region.width / u64::from(width);
            let y = y * region.height / u64::from(height);
            if region.has(x, y) {
                *pixel = color;
            }
        }
    }
    png(&pixels, width, height).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn runs_go_down_the_columns() {
        let region = Region::read(&json!({"counts": [3, 2, 7], "size": [4, 3]})).unwrap();
        let inside: Vec<(u64, u64)> =
            (0..12).map(|n| (n % 3, n / 3)).filter(|&(x, y)| region.has(x, y)).collect();
        assert_eq!(inside, [(1, 0), (0, 3)]);
        let png = draw(&[region], 64).unwrap();
        let shown = image::load_from_memory(&png).unwrap().to_rgba8();
        assert_eq!(shown.dimensions(), (3, 4));
        assert_eq!(shown.pixels().filter(|pixel| pixel[3] > 0).count(), 2);
    }

    #[test]
    fn compressed_counts_are_those_of_pycocotools() {
        // Made by pycocotools.mask.encode, of 4 x 3 pixels and of 300 x 4.
        assert_eq!(run_lengths(b"327").unwrap(), [3, 2, 7]);
        assert_eq!(run_lengths(b"\\9\\9\\9kFI").unwrap(), [300, 300, 300, 7, 293]);
        assert!(run_lengths(b"\\").is_none());
        assert!(Region::read(&json!([[1, 2]])).is_none());
    }
}
