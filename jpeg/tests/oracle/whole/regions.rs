//! Regions: the same pixels as the window of the whole picture, with entry points and without.
//!
//! The whole picture comes from libjpeg-turbo; its own crops are not used.

use tarflume_jpeg::{Color, Region, Report, Scale, Size, Use};

use crate::harness::compare::Comparison;
use crate::harness::decoder::Ask;
use crate::harness::picture::{Motif, Picture};
use crate::harness::turbo::Recipe;

/// Every window of a picture.
fn every(width: u32, height: u32) -> impl Iterator<Item = Region> {
    fn spans(all: u32) -> impl Iterator<Item = (u32, u32)> {
        (0..all).flat_map(move |from| (1..=all - from).map(move |n| (from, n)))
    }
    spans(height).flat_map(move |(top, height)| {
        spans(width).map(move |(left, width)| Region { left, top, width, height })
    })
}

/// Every position and width beside a few rows, and every position and height beside a few columns:
/// the directions are independent.
fn bands(width: u32, height: u32) -> impl Iterator<Item = Region> {
    fn few(all: u32) -> [(u32, u32); 5] {
        [(0, all), (all / 2, 1), (all / 3, all / 2), (all - 1, 1), (0, 1)]
    }
    every(width, height).filter(move |r| {
        few(height).contains(&(r.top, r.height)) || few(width).contains(&(r.left, r.width))
    })
}

/// These regions of one JPEG at one scale; entry points and colors alternate.
fn regions(
    both: &mut Comparison,
    jpeg: &[u8],
    scale: Scale,
    of: &[Region],
    what: &dyn std::fmt::Debug,
) {
    let points = both.ours.points(jpeg).unwrap();
    let whole = [Color::Rgb, Color::Gray].map(|color| both.right(jpeg, scale, color));
    for (n, &region) in of.iter().enumerate() {
        let gray = n % 5 == 0;
        let color = if gray { Color::Gray } else { Color::Rgb };
        let points = (n % 3 != 0).then_some(&points[..]);
        let ask = Ask { scale, color, region: Some(region), points, ..Ask::default() };
        both.ask(jpeg, ask, &whole[usize::from(gray)], what);
    }
}

/// All regions of one small picture.
fn exhaustive(recipe: &Recipe, width: usize, height: usize, scale: Scale) {
    let mut both = Comparison::new();
    let picture = Picture::new(width, height, 3, Motif::Noise, 3);
    let jpeg = both.encode(&picture, recipe);
    let Size { width: w, height: h } = scale.of(width as u32, height as u32);
    regions(&mut both, &jpeg, scale, &every(w, h).collect::<Vec<_>>(), &recipe.luma);
    both.verdict();
}

#[test]
fn all_regions_of_420() {
    exhaustive(&Recipe::sampled(2, 2), 19, 18, Scale::Full);
}

#[test]
fn all_regions_of_420_at_a_half() {
    exhaustive(&Recipe::sampled(2, 2), 35, 37, Scale::Half);
}

#[test]
fn all_regions_of_420_at_a_quarter() {
    exhaustive(&Recipe::sampled(2, 2), 67, 66, Scale::Quarter);
}

#[test]
fn all_regions_of_444() {
    exhaustive(&Recipe::sampled(1, 1), 18, 17, Scale::Full);
}

#[test]
fn all_regions_of_422() {
    exhaustive(&Recipe::sampled(2, 1), 18, 17, Scale::Full);
}

#[test]
fn all_regions_of_440() {
    exhaustive(&Recipe::sampled(1, 2), 17, 18, Scale::Full);
}

#[test]
fn bands_of_every_sampling_at_every_scale() {
    let mut both = Comparison::new();
    let samplings = [(1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4), (4, 2), (2, 4)];
    for (n, luma) in samplings.into_iter().enumerate() {
        for scale in Scale::ALL {
            let side = [27, 39, 70, 118][scale as usize];
            let picture = Picture::new(side, side - 5, 3, Motif::Noise, n as u64);
            let restart = [0, 0, 3, 1][n % 4];
            let jpeg = both.encode(&picture, &Recipe { restart, luma, ..Recipe::default() });
            let Size { width: w, height: h } = scale.of(side as u32, side as u32 - 5);
            let few: Vec<Region> = bands(w, h).skip(n).step_by(3).collect();
            regions(&mut both, &jpeg, scale, &few, &(luma, restart));
        }
    }
    both.verdict();
}

#[test]
fn wide_pictures_have_entry_points_within_rows() {
    let mut both = Comparison::new();
    for (luma, restart) in [((1, 1), 0), ((2, 2), 0), ((2, 1), 0), ((1, 1), 37), ((2, 2), 50)] {
        let picture = Picture::new(1300, 40, 3, Motif::Scene, 9);
        let recipe = Recipe { restart, quality: 60, luma, ..Recipe::default() };
        let jpeg = both.encode(&picture, &recipe);
        let edges = [0, 1, 255, 256, 257, 500, 511, 512, 513, 777, 1023, 1024, 1025, 1298];
        fn wide(left: u32) -> [(u32, u32); 4] {
            [1, 3, 100, 300].map(|n| (left, n.min(1300 - left)))
        }
        let few: Vec<Region> = edges
            .into_iter()
            .flat_map(wide)
            .flat_map(|(left, width)| {
                let rows = [(0, 40), (17, 6)];
                rows.map(|(top, height)| Region { left, top, width, height })
            })
            .collect();
        regions(&mut both, &jpeg, Scale::Full, &few, &(luma, restart));
    }
    both.verdict();
}

#[test]
fn entry_points_of_any_step_lead_to_the_same_pixels() {
    let mut both = Comparison::new();
    for luma in [(1, 1), (2, 2)] {
        let picture = Picture::new(1300, 100, 3, Motif::Scene, 3);
        let jpeg = both.encode(&picture, &Recipe { luma, ..Recipe::default() });
        let points = [8, 11, 32, 1000].map(|n| both.ours.points_every(n, &jpeg).unwrap());
        for (left, width) in [(0, 1), (0, 1300), (263, 40), (640, 352), (1200, 100)] {
            let region = Some(Region { left, top: 3, width, height: 95 });
            let expected = both.ours.decode(&jpeg, Ask { region, ..Ask::default() }).unwrap();
            let mut decoded = Vec::new();
            for points in &points {
                let ask = Ask { region, points: Some(points), ..Ask::default() };
                let (found, report) = both.ours.report(&jpeg, ask).unwrap();
                assert_eq!(found.difference(&expected), None);
                assert_eq!(report.entry_points, Use::Used);
                decoded.push(report.decoded);
            }
            assert!(decoded[0] <= decoded[2] && decoded[2] <= decoded[3], "{decoded:?}");
        }
    }
}

#[test]
fn a_smaller_region_decodes_fewer_blocks() {
    let mut both = Comparison::new();
    let picture = Picture::new(640, 480, 3, Motif::Scene, 2);
    let jpeg = both.encode(&picture, &Recipe::sampled(2, 2));
    let points = both.ours.points(&jpeg).unwrap();
    let region = Some(Region { left: 300, top: 200, width: 60, height: 60 });
    let mut report = |points, region| {
        let ask = Ask { region, points, ..Ask::default() };
        both.ours.report(&jpeg, ask).unwrap().1
    };
    let whole = report(None, None);
    assert_eq!(whole.blocks, 40 * 30 * 6);
    let all = Report { decoded: whole.blocks, drawn: whole.blocks, ..whole };
    assert_eq!(whole, all);
    let without = report(None, region);
    let with = report(Some(&points), region);
    assert_eq!((without.entry_points, with.entry_points), (Use::Absent, Use::Used));
    assert!(without.drawn < whole.drawn / 10 && with.drawn == without.drawn);
    assert!(without.decoded < whole.decoded && with.decoded < without.decoded / 2);
}
