//! A mask of CVAT: runs row by row in a rectangle -> a region of COCO: runs column by column in the picture.

use serde_json::Value;

/// Limit on the pixels of a mask's rectangle.
const MAX_PIXELS: u64 = 1 << 26;

/// Converts a mask at left, top, width and height in a picture of this width and height.
///
/// # Errors
/// Returns the reason if the runs do not fill the rectangle, or the rectangle is not in the picture.
pub(super) fn region(
    place: [f64; 4],
    runs: &str,
    [width, height]: [u64; 2],
) -> Result<Value, String> {
    if !place.iter().all(is_whole) {
        return Err("the place of a mask is not whole numbers".into());
    }
    let [left, top, across, down] = place.map(|side| side as u64);
    if left + across > width || top + down > height || across * down > MAX_PIXELS {
        return Err(format!("a mask of {across} x {down} at {left}, {top} is not in the picture"));
    }
    let pixels = filled(runs, across * down)?;
    let mut counts = Vec::new();
    let mut is_inside = false;
    let mut run = left * height;
    for x in 0..across {
        run = put(&mut counts, &mut is_inside, false, run, top);
        for y in 0..down {
            let is_set = pixels[(y * across + x) as usize];
            run = put(&mut counts, &mut is_inside, is_set, run, 1);
        }
        run = put(&mut counts, &mut is_inside, false, run, height - top - down);
    }
    run = put(&mut counts, &mut is_inside, false, run, (width - left - across) * height);
    counts.push(run);
    Ok(serde_json::json!({"counts": counts, "size": [height, width]}))
}

fn is_whole(side: &f64) -> bool {
    *side >= 0.0 && side.fract() == 0.0 && *side <= 1e9
}

/// Adds pixels of one kind; returns the length of the run that is open.
fn put(counts: &mut Vec<u64>, is_inside: &mut bool, is_set: bool, run: u64, pixels: u64) -> u64 {
    if pixels == 0 || *is_inside == is_set {
        return run + pixels;
    }
    counts.push(run);
    *is_inside = is_set;
    pixels
}

/// Returns the pixels of a rectangle row by row.
fn filled(runs: &str, pixels: u64) -> Result<Vec<bool>, String> {
    let mut filled = Vec::with_capacity(pixels as usize);
    for (n, run) in runs.split(',').enumerate() {
        let run: u64 =
            run.trim().parse().map_err(|_| "a run of a mask is no number".to_string())?;
        if run > pixels - filled.len() as u64 {
            return Err("the runs of a mask are longer than its rectangle".into());
        }
        filled.resize(filled.len() + run as usize, n % 2 == 1);
    }
    if filled.len() as u64 != pixels {
        return Err("the runs of a mask do not fill its rectangle".into());
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pixels of a region, row by row.
    fn drawn(region: &Value) -> Vec<String> {
        let size: Vec<u64> = serde_json::from_value(region["size"].clone()).unwrap();
        let counts: Vec<u64> = serde_json::from_value(region["counts"].clone()).unwrap();
        let column: String = counts
            .iter()
            .enumerate()
            .map(|(n, &run)| ["0", "1"][n % 2].repeat(run as usize))
            .collect();
        assert_eq!(column.len() as u64, size[0] * size[1]);
        let rows = 0..size[0];
        rows.map(|y| (0..size[1]).map(|x| &column[(x * size[0] + y) as usize..][..1]).collect())
            .collect()
    }

    #[test]
    fn runs_of_rows_become_runs_of_columns() {
        let found = region([1.0, 1.0, 3.0, 2.0], "0, 2, 2, 2", [5, 4]).unwrap();
        assert_eq!(drawn(&found), ["00000", "01100", "00110", "00000"]);
        let whole = region([0.0, 0.0, 2.0, 2.0], "0,4", [2, 2]).unwrap();
        assert_eq!(whole["counts"], serde_json::json!([0, 4]));
        let none = region([0.0, 0.0, 2.0, 1.0], "2", [2, 2]).unwrap();
        assert_eq!(none["counts"], serde_json::json!([4]));
    }

    #[test]
    fn masks_that_do_not_fit_are_refused() {
        for (place, runs, reason) in [
            ([1.0, 0.0, 2.0, 1.0], "2", "not in the picture"),
            ([0.5, 0.0, 1.0, 1.0], "1", "whole numbers"),
            ([0.0, 0.0, 2.0, 1.0], "1", "do not fill"),
            ([0.0, 0.0, 2.0, 1.0], "1,2", "longer"),
            ([0.0, 0.0, 2.0, 1.0], "1,18446744073709551615", "longer"),
            ([0.0, 0.0, 2.0, 1.0], "1,x", "no number"),
        ] {
            assert!(region(place, runs, [2, 2]).unwrap_err().contains(reason), "{reason}");
        }
    }
}
