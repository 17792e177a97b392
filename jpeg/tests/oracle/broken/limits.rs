//! Limits: the largest sizes and steps, intervals longer than rows, headers of other bytes, codes
//! that add up to an impossible picture, callers that panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tarflume_jpeg::{Color, Decoder, ErrorKind, Header, Job, Region, Scale};

use crate::harness::compare::Comparison;
use crate::harness::decoder::{Ask, TestDecoder};
use crate::harness::picture::{Motif, Picture};
use crate::harness::segments::Pieces;
use crate::harness::turbo::{Recipe, Turbo};

const DHT: u8 = 0xC4;

fn jpeg(width: usize, height: usize, recipe: &Recipe) -> Vec<u8> {
    Turbo::new().encode(&Picture::new(width, height, 3, Motif::Scene, 3), recipe)
}

#[test]
fn the_widest_and_the_highest_pictures() {
    const MOST: usize = 65_500; // libjpeg-turbo makes none larger
    let mut both = Comparison::new();
    for (width, height) in [(MOST, 3), (3, MOST), (MOST, 17), (17, MOST)] {
        for recipe in [Recipe::sampled(2, 2), Recipe { restart: 1000, ..Recipe::sampled(4, 1) }] {
            let picture = Picture::new(width, height, 3, Motif::Scene, 1);
            let jpeg = both.encode(&picture, &recipe);
            let points = both.ours.points(&jpeg).unwrap();
            for scale in [Scale::Full, Scale::Quarter] {
                let whole = both.right(&jpeg, scale, Color::Rgb);
                let width = whole.width as u32;
                let height = whole.height as u32;
                let across = width.min(30);
                let down = height.min(30);
                let end = Region {
                    left: width - across,
                    top: height - down,
                    width: across,
                    height: down,
                };
                let last = Region { left: width - 1, top: height - 1, width: 1, height: 1 };
                for region in [None, Some(end), Some(last)] {
                    for points in [None, Some(&points[..])] {
                        let ask = Ask { scale, region, points, ..Ask::default() };
                        both.ask(&jpeg, ask, &whole, &(width, height, recipe.luma));
                    }
                }
            }
        }
    }
    both.verdict();
}

#[test]
fn intervals_of_every_length_with_entry_points() {
    let mut both = Comparison::new();
    let picture = Picture::new(600, 40, 3, Motif::Scene, 4);
    let whole = [(1, 1), (2, 2)].map(|luma| (luma, 75 * 5 / (luma.0 * luma.1)));
    for (luma, mcus) in whole {
        let row = 600_u32.div_ceil(8 * luma.0);
        for restart in [1, 2, 3, row - 1, row, row + 1, 2 * row, mcus - 1, mcus, mcus + 1, 65_535] {
            let recipe = Recipe { restart, luma, ..Recipe::default() };
            let jpeg = both.encode(&picture, &recipe);
            let points = both.ours.points(&jpeg).unwrap();
            let whole = both.right(&jpeg, Scale::Full, Color::Rgb);
            for left in [0, 200, 255, 300, 511, 590] {
                let region = Some(Region { left, top: 13, width: 10, height: 20 });
                for points in [None, Some(&points[..])] {
                    let ask = Ask { region, points, ..Ask::default() };
                    both.ask(&jpeg, ask, &whole, &(luma, restart));
                }
            }
        }
    }
    both.verdict();
}

/// One lane works while the others have finished all rows that fit beside its row.
#[test]
fn one_row_takes_longer_than_all_others() {
    let mut both = Comparison::new();
    for luma in [(1, 1), (2, 2), (1, 2)] {
        for heavy in [0, 1, 3, 17, 24] {
            let mut picture = Picture::new(150, 400, 3, Motif::Flat, 1);
            let noise = Picture::new(150, 16, 3, Motif::Noise, 2);
            let from = heavy * 16 * 150 * 3;
            picture.bytes[from..from + noise.bytes.len()].copy_from_slice(&noise.bytes);
            let recipe = Recipe { quality: 99, luma, ..Recipe::default() };
            let jpeg = both.encode(&picture, &recipe);
            let points = both.ours.points(&jpeg).unwrap();
            let whole = both.right(&jpeg, Scale::Full, Color::Rgb);
            let part = Some(Region { left: 20, top: 5, width: 100, height: 390 });
            for (streams, region) in (1..=4).flat_map(|n| [(n, None), (n, part)]) {
                both.ours.decoder.set_streams(streams);
                let ask = Ask { region, points: Some(&points), ..Ask::default() };
                both.ask(&jpeg, ask, &whole, &(luma, heavy, streams));
            }
        }
    }
    both.verdict();
}

#[test]
fn excessive_strides_and_regions_are_usage_errors() {
    let jpeg = jpeg(20, 20, &Recipe::default());
    let header = Header::parse(&jpeg).unwrap();
    let mut decoder = Decoder::new();
    let mut ask = |region, stride, bytes| {
        let mut output = vec![0; bytes];
        let job = Job { region: Some(region), stride, ..Job::new(&jpeg, &header, &mut output) };
        decoder.decode(job).map_err(|error| error.kind())
    };
    fn region(left: u32, top: u32, width: u32, height: u32) -> Region {
        Region { left, top, width, height }
    }
    assert!(ask(region(0, 0, 20, 1), usize::MAX, 60).is_ok(), "one row takes no step");
    for (rows, stride) in [(2, usize::MAX), (3, usize::MAX / 2), (20, usize::MAX / 8), (2, 61)] {
        assert_eq!(ask(region(0, 0, 20, rows), stride, 120), Err(ErrorKind::Usage), "{stride}");
    }
    assert_eq!(ask(region(0, 0, 20, 1), 59, 60), Err(ErrorKind::Usage), "rows would overlap");
    for wrong in [
        region(20, 0, 1, 1),
        region(0, 20, 1, 1),
        region(1, 0, 20, 1),
        region(0, 1, 1, 20),
        region(u32::MAX, 0, 1, 1),
        region(0, u32::MAX, 1, u32::MAX),
        region(1, 1, u32::MAX, 1),
        region(5, 5, 0, 5),
        region(5, 5, 5, 0),
    ] {
        assert_eq!(ask(wrong, 60, 1200), Err(ErrorKind::Usage), "{wrong}");
    }
    assert!(ask(region(19, 19, 1, 1), 3, 3).is_ok());
}

#[test]
fn a_header_of_other_bytes_is_an_error_or_a_picture() {
    let mut turbo = Turbo::new();
    let recipes = [
        Recipe::default(),
        Recipe { optimized: true, ..Recipe::sampled(2, 2) },
        Recipe { progressive: true, ..Recipe::default() },
        Recipe { restart: 2, optimized: true, ..Recipe::sampled(2, 1) },
    ];
    let jpegs = recipes.iter().enumerate().map(|(n, recipe)| {
        turbo.encode(&Picture::new(40 + n, 30, 3, Motif::ALL[n % 4], n as u64), recipe)
    });
    let jpegs: Vec<Vec<u8>> = jpegs.collect();
    let mut decoder = Decoder::new();
    let mut scanner = tarflume_jpeg::Scanner::new();
    for of in &jpegs {
        let header = Header::parse(of).unwrap();
        let mut output = vec![0; header.width() as usize * header.height() as usize * 3];
        for bytes in &jpegs {
            for length in (0..bytes.len()).step_by(7).chain([bytes.len()]) {
                let bytes = &bytes[..length];
                let _ = decoder.decode(Job::new(bytes, &header, &mut output));
                let _ = scanner.scan(bytes, &header, &mut Vec::new());
            }
        }
        decoder.decode(Job::new(of, &header, &mut output)).unwrap();
        let right = TestDecoder::default().decode(of, Ask::default()).unwrap();
        assert!(output == right.bytes, "nothing is left of it");
    }
}

/// A gray JPEG in which each DC is `size` ones more than the one before, and nothing else.
fn rising(blocks: usize, size: u8) -> Vec<u8> {
    let gray = Picture::new(8 * blocks, 8, 1, Motif::Flat, 1);
    let mut pieces = Pieces::of(&Turbo::new().encode(&gray, &Recipe::default()));
    pieces.segments.retain(|(marker, _)| *marker != DHT);
    for (table, symbol) in [(0x00, size), (0x10, 0)] {
        // One code, of one bit.
        pieces.push(DHT, &[&[table, 1][..], &[0; 15], &[symbol]].concat());
    }
    let each: String = format!("0{}0", "1".repeat(usize::from(size)));
    let bits = each.repeat(blocks) + "1111111";
    fn byte(bits: &[u8]) -> u8 {
        bits.iter().fold(0, |byte, bit| byte << 1 | (bit - b'0'))
    }
    let bytes = bits.as_bytes().chunks_exact(8).map(byte);
    pieces.data =
        bytes.flat_map(|b| [b, 0].into_iter().take(if b == 0xFF { 2 } else { 1 })).collect();
    pieces.file(0)
}

#[test]
fn accumulated_brightness_may_overflow() {
    let mut both = Comparison::new();
    // 16 times 2047 is the last that 16 bits hold.
    for blocks in [1, 2, 15, 16] {
        both.scales(&rising(blocks, 11), &blocks);
        both.ours.points(&rising(blocks, 11)).unwrap();
    }
    for jpeg in [rising(17, 11), rising(2000, 11), rising(8, 12), rising(3, 15)] {
        let error = both.ours.decode(&jpeg, Ask::default()).unwrap_err();
        assert_eq!((error.kind(), error.mcu_row()), (ErrorKind::Damaged, Some(0)), "{error}");
        let scan = both.ours.points(&jpeg).unwrap_err();
        assert_eq!((scan.kind(), scan.mcu_row()), (ErrorKind::Damaged, Some(0)), "{scan}");
    }
    both.verdict();
}

#[test]
fn no_code_is_all_ones() {
    let mut turbo = Turbo::new();
    let mut pieces =
        Pieces::of(&turbo.encode(&Picture::new(9, 9, 1, Motif::Scene, 2), &Recipe::default()));
    pieces.segments.retain(|(marker, _)| *marker != DHT);
    // Two codes of one bit: 0 and 1.
    pieces.push(DHT, &[&[0x00, 2][..], &[0; 15], &[0, 1]].concat());
    pieces.push(DHT, &[&[0x10, 1][..], &[0; 15], &[0]].concat());
    pieces.data = vec![0; 9];
    let jpeg = pieces.file(0);
    let error = TestDecoder::default().decode(&jpeg, Ask::default()).unwrap_err();
    assert!(error.text().contains("too many codes of 1 bits"), "{error}");
    assert!(turbo.decode(&jpeg, 1, crate::harness::turbo::Color::Gray).is_err());
}

#[test]
fn a_caller_that_panics_leaves_nothing_behind() {
    let mut turbo = Turbo::new();
    let jpegs: Vec<Vec<u8>> = (0..6)
        .map(|n| {
            turbo.encode(
                &Picture::new(30 + 40 * n, 60, 3, Motif::Noise, n as u64),
                &Recipe::sampled(2, 2),
            )
        })
        .collect();
    let headers: Vec<Header> = jpegs.iter().map(|jpeg| Header::parse(jpeg).unwrap()).collect();
    fn bytes(h: &Header) -> usize {
        h.width() as usize * h.height() as usize * 3
    }
    let mut ours = TestDecoder::default();
    for panics_at in 0..6 {
        let mut outputs: Vec<Vec<u8>> = headers.iter().map(|h| vec![0; bytes(h)]).collect();
        let all = jpegs.iter().zip(&headers).zip(&mut outputs);
        let jobs: Vec<Job<'_>> = all.map(|((jpeg, h), out)| Job::new(jpeg, h, out)).collect();
        let mut told = 0;
        let call = AssertUnwindSafe(|| {
            ours.decoder.decode_group(jobs, |_, _| {
                assert_ne!(told, panics_at, "the caller's own fault");
                told += 1;
            });
        });
        catch_unwind(call).unwrap_err();
        for jpeg in &jpegs {
            let right = TestDecoder::default().decode(jpeg, Ask::default()).unwrap();
            let ours = ours.decode(jpeg, Ask::default()).unwrap();
            assert_eq!(ours.difference(&right), None, "after a panic at {panics_at}");
        }
    }
}
