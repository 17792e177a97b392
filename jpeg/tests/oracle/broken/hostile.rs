//! Impossible scans: an error with its byte, before much work is done.

use tarflume_jpeg::{Decoder, Error, ErrorKind, Header, Job};

use crate::harness::compare::Comparison;
use crate::harness::decoder::{Ask, TestDecoder};
use crate::harness::picture::{Motif, Picture};
use crate::harness::segments::{Pieces, Segment, segments};
use crate::harness::turbo::{Recipe, ScanOf, Scans, Turbo};

fn scene() -> Picture {
    Picture::new(53, 38, 3, Motif::Scene, 11)
}

fn progressive() -> Vec<u8> {
    Turbo::new().encode(&scene(), &Recipe { progressive: true, ..Recipe::default() })
}

fn scans(jpeg: &[u8]) -> Vec<Segment<'_>> {
    segments(jpeg).into_iter().filter(|segment| segment.marker == 0xDA).collect()
}

/// Returns the error of the decoder and the scanner, which must be equal.
fn refused(jpeg: &[u8]) -> Error {
    let mut ours = TestDecoder::default();
    let error = ours.decode(jpeg, Ask::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
    assert!(error.byte().is_some_and(|byte| byte <= jpeg.len() as u64), "{error:?}");
    assert_eq!(ours.points(jpeg).unwrap_err(), error);
    error
}

#[test]
fn impossible_scan_parameters_are_errors_with_their_byte() {
    let jpeg = progressive();
    // In the second scan: coefficients 1 to 5 of the first component, but for two bits.
    let at = scans(&jpeg)[1].at;
    let numbers = at + 3;
    assert_eq!(jpeg[numbers..numbers + 3], [1, 5, 0x02]);
    for (change, text) in [
        ([0, 5, 0x02], "cannot have coefficients 0 to 5"),
        ([6, 5, 0x02], "cannot have coefficients 6 to 5"),
        ([1, 64, 0x02], "cannot have coefficients 1 to 64"),
        ([1, 255, 0x02], "cannot have coefficients 1 to 255"),
        ([1, 5, 0x0e], "cannot code bit 14 after bit 0"),
        ([1, 5, 0x31], "cannot code bit 1 after bit 3"),
        ([1, 5, 0x11], "cannot code bit 1 after bit 1"),
        ([1, 5, 0x21], "bit 1 of coefficient 1 comes out of turn"),
        ([0, 0, 0x00], "bit 0 of coefficient 0 comes out of turn"),
    ] {
        let mut jpeg = jpeg.clone();
        jpeg[numbers..numbers + 3].copy_from_slice(&change);
        let error = refused(&jpeg);
        assert!(error.text().contains(text), "{error}");
        assert_eq!(error.byte(), Some(at as u64 - 4), "{error}");
    }
}

#[test]
fn missing_components_and_tables() {
    let jpeg = progressive();
    let at = scans(&jpeg)[1].at;
    for (byte, value, text) in [
        (1, 77, "components that are not there"),
        (2, 0x03, "Huffman table 3 was never given"),
        (2, 0x0f, "Huffman table 15 was never given"),
    ] {
        let mut jpeg = jpeg.clone();
        jpeg[at + byte] = value;
        let error = refused(&jpeg);
        assert!(error.text().contains(text), "{error}");
    }
    let mut jpeg = jpeg.clone();
    // The first scan is of all three.
    let first = scans(&jpeg)[0].at;
    jpeg[first + 3] = jpeg[first + 1];
    assert!(Header::parse(&jpeg).unwrap_err().text().contains("not there"));
}

#[test]
fn a_range_of_two_components() {
    let jpeg = progressive();
    let mut pieces = Pieces::of(&jpeg);
    *pieces.body(0xDA) = vec![2, 1, 0, 2, 0, 1, 5, 0];
    let error = refused(&pieces.file(0));
    assert!(error.text().contains("is of 2 components"), "{error}");
}

#[test]
fn ranges_before_their_dc() {
    let mut turbo = Turbo::new();
    let script = vec![ScanOf::new(&[0], 0..=0, 0, 0), ScanOf::new(&[0], 1..=63, 0, 0)];
    let gray = Picture::new(40, 30, 1, Motif::Scene, 3);
    let jpeg = turbo.encode(&gray, &Recipe { script, ..Recipe::default() });
    let all = scans(&jpeg);
    // Tables precede each scan: the second part begins with them.
    let tables = segments(&jpeg).into_iter().filter(|s| s.marker == 0xC4).map(|s| s.at - 4);
    let second = tables.filter(|&at| at > all[0].at).min().unwrap();
    let first = segments(&jpeg).into_iter().find(|s| s.marker == 0xC4).unwrap().at - 4;
    let end = jpeg.len() - 2;
    let turned = [&jpeg[..first], &jpeg[second..end], &jpeg[first..second], &jpeg[end..]].concat();
    let error = refused(&turned);
    assert!(error.text().contains("come before the first one"), "{error}");
}

/// Repeats the last scan of a file: each may cost a pass over all blocks, and is a dozen bytes
/// long.
fn repeat_last_scan(jpeg: &[u8], times: usize) -> Vec<u8> {
    let last = scans(jpeg).pop().unwrap();
    let scan = last.at - 4;
    let end = jpeg.len() - 2;
    [&jpeg[..scan], &jpeg[scan..end].repeat(times), &jpeg[end..]].concat()
}

#[test]
fn scans_that_come_again_are_refused() {
    let mut turbo = Turbo::new();
    let several = Recipe { scans: Scans::OneEach, ..Recipe::default() };
    for jpeg in [progressive(), turbo.encode(&scene(), &several)] {
        TestDecoder::default().decode(&jpeg, Ask::default()).unwrap();
        let again = repeat_last_scan(&jpeg, 2);
        let error = refused(&again);
        assert!(error.text().contains("comes out of turn"), "{error}");
        assert_eq!(error.byte(), Some(scans(&again).pop().unwrap().at as u64 - 4));
    }
}

#[test]
fn more_scans_than_any_encoder_writes_are_refused() {
    fn encode(script: &[ScanOf]) -> Vec<u8> {
        let recipe = Recipe { script: script.to_vec(), ..Recipe::default() };
        Turbo::new().encode(&scene(), &recipe)
    }

    // Each coefficient of three components alone, and many bits of some: 502 valid scans.
    let mut script = vec![ScanOf::new(&[0, 1, 2], 0..=0, 0, 0)];
    for (c, k) in (0..3).flat_map(|c| (1..64).map(move |k| (c, k))) {
        let low = if c == 0 && k < 63 { 5 } else { 0 };
        script.push(ScanOf::new(&[c], k..=k, 0, low));
        script.extend((0..low).rev().map(|low| ScanOf::new(&[c], k..=k, low + 1, low)));
    }
    assert_eq!(script.len(), 500);
    TestDecoder::default().decode(&encode(&script), Ask::default()).unwrap();
    let last = script.pop().unwrap();
    script.extend([ScanOf { low: 1, ..last.clone() }, ScanOf { before: 1, ..last }]);
    let error = refused(&encode(&script));
    assert!(error.text().contains("more than 500 scans"), "{error}");
}

/// A gray progressive picture of 64 blocks: the DC of all, then a scan of the AC in these bits.
fn with_ac(symbols: &[u8], bits: &str) -> Vec<u8> {
    let flat = Picture::new(64, 64, 1, Motif::Flat, 1);
    let script = vec![ScanOf::new(&[0], 0..=0, 0, 0)];
    let jpeg = Turbo::new().encode(&flat, &Recipe { script, ..Recipe::default() });
    let mut jpeg = jpeg[..jpeg.len() - 2].to_vec();
    // Codes of 8 bits: the first is 0, the next is 1 and so on.
    let mut table = vec![0x10];
    table.extend([0, 0, 0, 0, 0, 0, 0, symbols.len() as u8, 0, 0, 0, 0, 0, 0, 0, 0]);
    table.extend(symbols);
    jpeg.extend([0xFF, 0xC4, 0, 2 + table.len() as u8]);
    jpeg.extend(table);
    jpeg.extend([0xFF, 0xDA, 0, 8, 1, 1, 0, 1, 63, 0]);
    let filled = format!("{bits}{}", "1".repeat(bits.len().next_multiple_of(8) - bits.len()));
    for byte in filled.as_bytes().chunks(8) {
        let byte = byte.iter().fold(0u8, |byte, bit| byte << 1 | (bit - b'0'));
        jpeg.push(byte);
        jpeg.extend((byte == 0xFF).then_some(0));
    }
    jpeg.extend([0xFF, 0xD9]);
    jpeg
}

#[test]
fn runs_of_ended_blocks_end_with_the_scan() {
    // Symbol 0x60: 64 blocks and the number in the next six bits.
    let mut both = Comparison::new();
    let jpeg = with_ac(&[0x60], "00000000000000");
    let right = both.right(&jpeg, tarflume_jpeg::Scale::Full, tarflume_jpeg::Color::Gray);
    let ask = Ask { color: tarflume_jpeg::Color::Gray, ..Ask::default() };
    both.ask(&jpeg, ask, &right, &"64 blocks");
    both.verdict();
    for bits in ["00000000000001", "00000000111111"] {
        let error = refused(&with_ac(&[0x60], bits));
        assert!(error.text().contains("more blocks end here than there are"), "{error}");
    }
    // The longest possible: 32,767.
    let error = refused(&with_ac(&[0xe0], &format!("00000000{}", "1".repeat(14))));
    assert!(error.text().contains("more blocks end here than there are"), "{error}");
    // One too few, and no bits for another code but those that fill the byte.
    let error = refused(&with_ac(&[0x50, 0x40], "0000000011111"));
    assert!(
        error.text().contains("no Huffman code begins") || error.text().contains("more entropy"),
        "{error}"
    );
}

#[test]
fn coefficients_end_with_their_range() {
    // 15 zeros and a value, five times: coefficient 80.
    let error = refused(&with_ac(&[0xf1], &"000000001".repeat(5)));
    assert!(error.text().contains("more than 64 coefficients"), "{error}");
    let error = refused(&with_ac(&[0xf0], &"00000000".repeat(5)));
    assert!(error.text().contains("more than 64 coefficients"), "{error}");
}

#[test]
fn bytes_behind_the_last_block_of_a_scan() {
    let jpeg = progressive();
    let second = scans(&jpeg)[1].at;
    let end = (second..).find(|&at| jpeg[at] == 0xFF && jpeg[at + 1] == 0xC4).unwrap();
    let longer = [&jpeg[..end], &[0x55, 0x2a].repeat(15), &jpeg[end..]].concat();
    let error = refused(&longer);
    assert!(error.text().contains("left after the last block"), "{error}");
    assert!(error.byte().unwrap().abs_diff(end as u64) <= 1, "{error} {end}");
}

#[test]
fn a_picture_takes_no_more_memory_than_was_allowed() {
    let jpeg = progressive();
    let header = Header::parse(&jpeg).unwrap();
    let needed = header.memory(jpeg.len(), tarflume_jpeg::Scale::Full, None).unwrap();
    let mut output = vec![0; 53 * 38 * 3];
    let mut decoder = Decoder::new();
    for (allowed, fits) in [(needed - 1, false), (needed, true), (1, false), (u64::MAX, true)] {
        decoder.set_memory(allowed);
        let result = decoder.decode(Job::new(&jpeg, &header, &mut output));
        assert_eq!(result.is_ok(), fits, "{result:?}");
        if let Err(error) = result {
            assert_eq!(error.kind(), ErrorKind::Limit);
            let text =
                format!("53x38 pixels take {needed} bytes of memory, and {allowed} are allowed");
            assert_eq!(error.text(), text);
        }
    }
}
