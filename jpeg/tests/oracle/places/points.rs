//! Entry points of another JPEG: detected, reported, and never a wrong pixel.

use tarflume_jpeg::{EntryPoints, Region, Use};

use crate::harness::compare::Comparison;
use crate::harness::decoder::{Ask, TestDecoder};
use crate::harness::picture::{Motif, Picture};
use crate::harness::turbo::Recipe;

const REGION: Region = Region { left: 20, top: 50, width: 40, height: 30 };

/// Two JPEGs of one size, with their entry points.
fn pair(recipe: &Recipe) -> [(Vec<u8>, Vec<u8>); 2] {
    let mut both = Comparison::new();
    [1, 2].map(|seed| {
        let picture = Picture::new(150, 130, 3, Motif::Scene, seed);
        let jpeg = both.encode(&picture, recipe);
        let points = both.ours.points(&jpeg).unwrap();
        (jpeg, points)
    })
}

/// Checks that the region with these entry points equals the one without, and that they are
/// reported as refused.
fn refused(ours: &mut TestDecoder, jpeg: &[u8], points: &[u8], what: &str) {
    for region in [None, Some(REGION)] {
        let without = ours.decode(jpeg, Ask { region, ..Ask::default() }).unwrap();
        let ask = Ask { region, points: Some(points), ..Ask::default() };
        let (picture, report) = ours.report(jpeg, ask).unwrap();
        assert_eq!(picture.difference(&without), None, "{what}");
        assert_eq!(report.entry_points, Use::Refused, "{what}");
    }
}

#[test]
fn entry_points_of_another_jpeg_are_refused() {
    let mut ours = TestDecoder::default();
    for recipe in [Recipe::sampled(1, 1), Recipe::sampled(2, 2)] {
        let [(first, its), (second, others)] = pair(&recipe);
        refused(&mut ours, &first, &others, "another's");
        refused(&mut ours, &second, &its, "another's");
        let ask = Ask { points: Some(&its), ..Ask::default() };
        assert_eq!(ours.report(&first, ask).unwrap().1.entry_points, Use::Used);
    }
}

#[test]
fn changed_and_cut_ones_are_refused() {
    let mut ours = TestDecoder::default();
    let [(jpeg, points), _] = pair(&Recipe::sampled(2, 2));
    for at in 0..points.len() {
        let mut changed = points.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(EntryPoints::read(&changed).is_err());
        refused(&mut ours, &jpeg, &changed, &format!("byte {at} changed"));
        refused(&mut ours, &jpeg, &points[..at], &format!("cut at {at}"));
    }
    refused(&mut ours, &jpeg, b"", "nothing");
    refused(&mut ours, &jpeg, &[points, vec![0]].concat(), "a byte more");
}

#[test]
fn a_jpeg_that_changed_since_has_none() {
    let mut ours = TestDecoder::default();
    let [(jpeg, points), _] = pair(&Recipe::sampled(1, 1));
    let longer = [&jpeg[..], b"\0"].concat();
    refused(&mut ours, &longer, &points, "a byte more");
    for at in (700..jpeg.len()).step_by(97) {
        let mut changed = jpeg.clone();
        changed[at] ^= 0x10;
        let region = Some(REGION);
        let without = ours.decode(&changed, Ask { region, ..Ask::default() });
        let with = ours.report(&changed, Ask { region, points: Some(&points), ..Ask::default() });
        match (without, with) {
            (Ok(without), Ok((picture, report))) => {
                assert_eq!(picture.difference(&without), None);
                assert_eq!(report.entry_points, Use::Refused);
            }
            (Err(without), Err(with)) => assert_eq!(with, without),
            (without, with) => panic!("byte {at}: {without:?} without, {with:?} with"),
        }
    }
}
