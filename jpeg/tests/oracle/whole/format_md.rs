//! FORMAT.md is correct about entry points: its worked example is what the scanner writes, and can
//! be decoded by the rules of that page alone.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use tarflume_jpeg::{EntryPoints, Header, Scanner, strips_fit};

const FORMAT: &str = include_str!("../../../../FORMAT.md");

/// The JPEG of the worked example: gray, 8 x 24 pixels, three rows of one MCU of one block.
///
/// The one DC code is `0` and is followed by three bits, the one AC code is `0` and ends the
/// block.
fn jpeg() -> Vec<u8> {
    let mut bytes = vec![0xff, 0xd8, 0xff, 0xdb, 0, 67, 0];
    bytes.extend([16; 64]);
    bytes.extend([0xff, 0xc0, 0, 11, 8, 0, 24, 0, 8, 1, 1, 0x11, 0]);
    for (kind, symbol) in [(0x00, 3), (0x10, 0)] {
        bytes.extend([0xff, 0xc4, 0, 20, kind, 1]);
        bytes.extend([0; 15]);
        bytes.push(symbol);
    }
    bytes.extend([0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0]);
    bytes.extend([0b0101_0001, 0b1000_1101]);
    bytes.extend([0xff, 0xd9]);
    bytes
}

fn blob() -> Vec<u8> {
    let mut blob = Vec::new();
    let bytes = jpeg();
    Scanner::new().scan(&bytes, &Header::parse(&bytes).unwrap(), &mut blob).unwrap();
    blob
}

/// Formats as `hexdump -C`.
fn hexdump(bytes: &[u8]) -> String {
    let mut out = String::new();
    for (i, line) in bytes.chunks(16).enumerate() {
        let hex: Vec<String> = line.iter().map(|b| format!("{b:02x}")).collect();
        let (a, b) = hex.split_at(hex.len().min(8));
        let text: String =
            line.iter().map(|&b| if (32..127).contains(&b) { b as char } else { '.' }).collect();
        let hex = format!("{}  {}", a.join(" "), b.join(" "));
        out.push_str(&format!("{:08x}  {hex:<48}  |{text}|\n", i * 16));
    }
    out + &format!("{:08x}\n", bytes.len())
}

#[test]
fn the_worked_example_of_entry_points_is_what_is_written() {
    let dump = hexdump(&blob());
    assert!(FORMAT.contains(&format!("```text\n{dump}```")), "FORMAT.md must hold:\n{dump}");
    let length = format!("a JPEG of {} bytes whose entropy-coded data", jpeg().len());
    assert!(FORMAT.contains(&length), "{length}");
    assert!(FORMAT.contains("are the bytes `51 8d` at byte 138"), "the data");
}

/// The numbers of the fixed part, by the table of FORMAT.md.
fn number(blob: &[u8], at: usize, length: usize) -> i64 {
    blob[at..at + length].iter().rev().fold(0, |n, &byte| n << 8 | i64::from(byte))
}

fn signed(blob: &[u8], at: usize, length: usize) -> i64 {
    let n = number(blob, at, length);
    let sign = 1i64 << (8 * length - 1);
    (n ^ sign) - sign
}

/// Byte, bit and predictors of a position, by the rules of FORMAT.md.
fn place(blob: &[u8], n: i64) -> (i64, i64, [i64; 3]) {
    let steps = (number(blob, 2, 2) * number(blob, 4, 2)).max(1);
    let widths = [38, 39, 40, 41].map(|at| number(blob, at, 1) as usize);
    let mut at = n as usize * (widths.iter().sum::<usize>() + 3);
    let mut take = |width: usize| {
        let bits = (at..at + width).map(|bit| i64::from(blob[42 + bit / 8] >> (bit % 8) & 1));
        at += width;
        bits.enumerate().map(|(i, bit)| bit << i).sum::<i64>()
    };
    let line = number(blob, 20, 4) + n * number(blob, 24, 4) / steps;
    let byte = line + signed(blob, 28, 4) + take(widths[0]);
    let bit = take(3);
    let predictors = [0, 1, 2].map(|c| signed(blob, 32 + 2 * c, 2) + take(widths[c + 1]));
    (byte, bit, predictors)
}

#[test]
fn the_worked_example_states_its_offsets_correctly() {
    let blob = blob();
    EntryPoints::read(&blob).unwrap();
    let expected = [(138, 0, 0), (138, 5, 5), (139, 2, 1), (139, 7, -3)];
    for (n, (byte, bit, predictor)) in expected.into_iter().enumerate() {
        assert_eq!(place(&blob, n as i64), (byte, bit, [predictor, 0, 0]));
        let row = format!("| {n} | {byte} | {bit} | {predictor} |");
        assert!(FORMAT.contains(&row), "{row}");
    }
}

#[test]
fn the_worked_example_of_strips_fits_the_jpeg() {
    let dump = "00000000  01 00 02 00 ba 61 fb d1  ec 5f 60 e4 ec 5f 60 e4  |.....a..._`.._`.|";
    assert!(FORMAT.contains(dump));
    let bytes = dump.split_whitespace().skip(1).take(16);
    let strips: Vec<u8> = bytes.map(|hex| u8::from_str_radix(hex, 16).unwrap()).collect();
    assert!(strips_fit(&jpeg(), &blob(), &strips));
}
