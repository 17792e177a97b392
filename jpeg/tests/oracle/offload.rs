//! The kernels that decode JPEGs on a device (`device/src/device/kernels/{jpeg,huff,pixels}.cu`), compiled as C++ and run
//! on the CPU under sanitizers: their pixels are libjpeg-turbo's, and what they cannot decode has a fault.

mod batch;

use std::fs;
use std::path::Path;

use tarflume_fixtures::{PHOTOS, Sanitizer, SplitMix64};
use tarflume_jpeg::{Color, Header, Region, Scale, Size};

use crate::harness::compare::Comparison;
use crate::harness::decoder::Ask;
use crate::harness::picture::{Motif, Picture};
use crate::harness::turbo::Recipe;
use crate::offload::batch::{Batch, Grid};

/// An optional folder of photographs beside the project, and the number of them that are compared.
const MORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data/photos");
const MOST: usize = 12;

/// Some region of a picture of this size.
fn any_region(dice: &mut SplitMix64, size: Size) -> Region {
    let left = dice.below(size.width);
    let top = dice.below(size.height);
    let width = dice.between(1, size.width - left);
    let height = dice.between(1, size.height - top);
    Region { left, top, width, height }
}

/// Adds regions of a JPEG at every scale, some in gray, with the pixels of libjpeg-turbo.
fn add(batch: &mut Batch, both: &mut Comparison, jpeg: &[u8], regions: usize, points: &[u8]) {
    let header = Header::parse(jpeg).unwrap();
    let mut dice = SplitMix64::new(jpeg.len() as u64);
    for scale in Scale::ALL {
        let whole = [Color::Rgb, Color::Gray].map(|color| both.right(jpeg, scale, color));
        let size = scale.of(header.width(), header.height());
        for n in 0..regions {
            let region = if n == 0 { Region::whole(size) } else { any_region(&mut dice, size) };
            let gray = n % 4 == 3;
            let color = if gray { Color::Gray } else { Color::Rgb };
            let Region { left, top, width, height } = region;
            let [left, top, width, height] = [left, top, width, height].map(|n| n as usize);
            let right = whole[usize::from(gray)].crop(left, top, width, height);
            let ask =
                Ask { scale, color, region: Some(region), points: Some(points), ..Ask::default() };
            assert!(batch.add(jpeg, ask, Some(right)), "{ask:?}");
        }
    }
}

#[test]
fn every_sampling_at_every_scale_is_that_of_libjpeg_turbo() {
    let mut both = Comparison::new();
    let mut batch = Batch::default();
    let samplings = [(1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4), (4, 2), (2, 4)];
    for (n, luma) in samplings.into_iter().enumerate() {
        for (motif, restart) in
            [(Motif::Noise, 0), (Motif::Scene, 3), (Motif::Tiles, [1, 7][n % 2])]
        {
            let picture = Picture::new(61 + n, 50 - n, 3, motif, n as u64);
            let jpeg = both.encode(&picture, &Recipe { restart, luma, ..Recipe::default() });
            let points = both.ours.points(&jpeg).unwrap();
            add(&mut batch, &mut both, &jpeg, 4, &points);
        }
    }
    for (width, height) in [(1, 1), (8, 8), (3, 17), (25, 2)] {
        for channels in [1, 3] {
            let picture = Picture::new(width, height, channels, Motif::Noise, 5);
            let jpeg = both.encode(&picture, &Recipe { luma: (2, 2), ..Recipe::default() });
            let points = both.ours.points(&jpeg).unwrap();
            add(&mut batch, &mut both, &jpeg, 2, &points);
        }
    }
    batch.compare(Grid { x: 3, y: 5, block: 96 });
}

#[test]
fn pieces_within_rows_and_restarts_within_pieces_are_passed() {
    let mut both = Comparison::new();
    let mut batch = Batch::default();
    for (luma, restart, quality) in
        [((1, 1), 0, 60), ((2, 2), 0, 95), ((2, 1), 0, 30), ((1, 1), 37, 60), ((2, 2), 5, 90)]
    {
        let picture = Picture::new(700, 40, 3, Motif::Scene, 9);
        let jpeg = both.encode(&picture, &Recipe { restart, quality, luma, ..Recipe::default() });
        for step in [8, 11, 1000] {
            let points = both.ours.points_every(step, &jpeg).unwrap();
            add(&mut batch, &mut both, &jpeg, 3, &points);
        }
    }
    batch.compare(Grid { x: 2, y: 3, block: 128 });
}

/// Small pictures, in many orders of the threads of a block and of the blocks.
#[test]
fn every_order_gives_the_same_pixels_and_no_two_threads_race() {
    let mut both = Comparison::new();
    let mut batch = Batch::default();
    for (luma, restart) in [((2, 2), 0), ((1, 1), 2)] {
        let picture = Picture::new(45, 34, 3, Motif::Scene, 7);
        let jpeg = both.encode(&picture, &Recipe { restart, luma, ..Recipe::default() });
        let points = both.ours.points(&jpeg).unwrap();
        add(&mut batch, &mut both, &jpeg, 1, &points);
    }
    batch.compare_in(Grid { x: 2, y: 2, block: 64 }, Sanitizer::Address, 20);
    batch.compare_in(Grid { x: 3, y: 2, block: 40 }, Sanitizer::Thread, 20);
}

#[test]
fn extreme_coefficients_wrap_and_saturate_where_libjpeg_turbo_s_do() {
    let mut both = Comparison::new();
    let mut batch = Batch::default();
    for quality in [1, 2, 5, 100] {
        for motif in [Motif::Tiles, Motif::Noise] {
            let picture = Picture::new(80, 64, 3, motif, quality.into());
            let recipe =
                Recipe { quality, luma: (2, 1), wide_tables: quality == 1, ..Recipe::default() };
            let jpeg = both.encode(&picture, &recipe);
            let points = both.ours.points(&jpeg).unwrap();
            add(&mut batch, &mut both, &jpeg, 2, &points);
        }
    }
    batch.compare(Grid { x: 4, y: 2, block: 64 });
}

#[test]
fn the_photographs_of_the_fixtures_are_those_of_libjpeg_turbo() {
    let mut both = Comparison::new();
    let mut batch = Batch::default();
    for photo in PHOTOS {
        let points = both.ours.points(photo.jpeg).unwrap();
        if !points.is_empty() {
            add(&mut batch, &mut both, photo.jpeg, 3, &points);
        }
    }
    batch.compare(Grid { x: 8, y: 8, block: 256 });
}

#[test]
fn more_photographs_are_equal_where_there_are_any() {
    let Ok(folder) = fs::read_dir(Path::new(MORE)) else { return };
    let mut files: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut both = Comparison::new();
    let few: Vec<_> = files.iter().step_by(files.len().div_ceil(MOST).max(1)).collect();
    for files in few.chunks(4) {
        let mut batch = Batch::default();
        for file in files {
            let jpeg = fs::read(file).unwrap();
            let points = both.ours.points(&jpeg).unwrap();
            if !points.is_empty() {
                add(&mut batch, &mut both, &jpeg, 2, &points);
            }
        }
        batch.compare(Grid { x: 8, y: 8, block: 256 });
    }
}

/// A changed bit is a fault, or it changes pixels that the CPU's decoder gives, too. No read or write is outside.
#[test]
fn damaged_codes_are_faults_or_the_pixels_of_the_cpu() {
    let mut both = Comparison::new();
    let mut batch = Batch::default();
    let mut dice = SplitMix64::new(11);
    for (luma, restart) in [((2, 2), 0), ((1, 1), 4), ((2, 1), 0)] {
        let picture = Picture::new(200, 60, 3, Motif::Scene, 2);
        let jpeg = both.encode(&picture, &Recipe { restart, luma, ..Recipe::default() });
        let points = both.ours.points_every(8, &jpeg).unwrap();
        let data = jpeg.windows(2).position(|two| two == [0xff, 0xda]).unwrap() + 14;
        for n in 0..120 {
            let mut bytes = jpeg.clone();
            let at = data + dice.below((jpeg.len() - data) as u32) as usize;
            match n % 4 {
                0 => bytes[at] = 0xff,
                1 => bytes[at] ^= 1 << dice.below(8),
                2 => bytes[at..].iter_mut().take(9).for_each(|byte| *byte = dice.next_u64() as u8),
                _ => bytes.truncate(at),
            }
            let ask = Ask { points: Some(&points), ..Ask::default() };
            batch.add(&bytes, ask, None);
        }
    }
    let verdicts = batch.run(Grid { x: 3, y: 4, block: 64 });
    batch.compare_with_cpu(&verdicts);
    // A changed bit of a value changes no code.
    let faults = verdicts.iter().filter(|found| found.is_none()).count();
    assert!(faults > verdicts.len() / 2, "{faults} faults in {} pictures", verdicts.len());
}

/// Pieces that lie: whatever they say, no read or write is outside, and the picture has a fault, unless the lie has no effect.
#[test]
fn pieces_that_lie_are_faults() {
    let mut both = Comparison::new();
    let picture = Picture::new(300, 64, 3, Motif::Scene, 4);
    let jpeg = both.encode(&picture, &Recipe { luma: (2, 2), ..Recipe::default() });
    let points = both.ours.points_every(8, &jpeg).unwrap();
    let ask = Ask { points: Some(&points), ..Ask::default() };
    let mut dice = SplitMix64::new(12);
    let mut batch = Batch::default();
    // The number of the first MCU is the host's own, not one of an entry point: it only moves blocks within the picture.
    const NUMBER: usize = 2;
    for word in (0..8).filter(|&word| word != NUMBER) {
        for lie in [0, 1, 7, u32::MAX, 1 << 31, dice.next_u64() as u32] {
            batch.add(&jpeg, ask, None);
            batch.lie(word, lie);
        }
    }
    let verdicts = batch.run(Grid { x: 3, y: 2, block: 32 });
    // A lie that is the truth, or that stays without effect, is right.
    batch.compare_with_cpu(&verdicts);
    let faults = verdicts.iter().filter(|found| found.is_none()).count();
    assert!(faults > verdicts.len() / 2, "{faults}");
    let mut moved = Batch::default();
    for lie in [0, 1, 75, 76, 77, u32::MAX, 1 << 31] {
        moved.add(&jpeg, ask, None);
        moved.lie(NUMBER, lie);
    }
    assert_eq!(moved.run(Grid { x: 2, y: 2, block: 64 }).len(), 7);
}
