//! Photographs: those of the fixtures, and a folder of more if it exists.

use std::fs;
use std::path::Path;

use tarflume_fixtures::{PHOTOS, SplitMix64};
use tarflume_jpeg::{Color, Header, Region, Scale, Size};

use crate::harness::compare::Comparison;
use crate::harness::decoder::Ask;

/// An optional folder of photographs beside the project.
const MORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data/photos");
/// Limit on these, at equal distances.
const MOST: usize = 60;

/// All scales, gray, and regions with and without entry points.
fn look_at(both: &mut Comparison, name: &str, jpeg: &[u8]) {
    let header = Header::parse(jpeg).unwrap();
    let points = both.ours.points(jpeg).unwrap();
    both.whole(jpeg, Scale::Full, Color::Gray, &name);
    for scale in Scale::ALL {
        let right = both.right(jpeg, scale, Color::Rgb);
        both.ask(jpeg, Ask { scale, ..Ask::default() }, &right, &name);
        let mut rng = SplitMix64::nth(jpeg.len() as u64, scale as u64);
        let Size { width, height } = scale.of(header.width(), header.height());
        for n in 0..4 {
            let left = rng.below(width);
            let top = rng.below(height);
            let region = Region {
                left,
                top,
                width: rng.between(1, width - left),
                height: rng.between(1, height - top),
            };
            let points = (n % 2 == 0 && !points.is_empty()).then_some(&points[..]);
            let ask =
                Ask { scale, color: Color::Rgb, region: Some(region), points, ..Ask::default() };
            both.ask(jpeg, ask, &right, &name);
        }
    }
}

#[test]
fn the_photographs_of_the_fixtures() {
    let mut both = Comparison::new();
    for photo in PHOTOS {
        look_at(&mut both, photo.key, photo.jpeg);
    }
    both.verdict();
}

#[test]
fn more_photographs_where_there_are_any() {
    let Ok(folder) = fs::read_dir(Path::new(MORE)) else { return };
    let mut files: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut both = Comparison::new();
    for file in files.iter().step_by(files.len().div_ceil(MOST)) {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        look_at(&mut both, &name, &fs::read(file).unwrap());
    }
    both.verdict();
}
