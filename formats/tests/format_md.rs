//! FORMAT.md is correct: its worked example is what this crate writes, and its figures are right.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use tarflume_formats::crc32c;
use tarflume_formats::index::{Index, IndexBuilder, TarFacts};

const FORMAT: &str = include_str!("../FORMAT.md");

/// The sample of the worked example: `cat/001.cls` holds "7", `cat/001.txt` holds "hello".
fn example() -> Vec<u8> {
    let mut index = IndexBuilder::new();
    index.sample(b"cat/001", 0);
    index.part(b"cls", 512, 1, Some(crc32c(b"7"))).unwrap();
    index.part(b"txt", 1536, 5, Some(crc32c(b"hello"))).unwrap();
    index.encode(&TarFacts { length: 3072, digest: Some(digest()) }).unwrap()
}

/// blake3 of the example's tar.
fn digest() -> blake3::Hash {
    let mut tar = Vec::new();
    for (name, data) in [("cat/001.cls", "7"), ("cat/001.txt", "hello")] {
        tarflume_formats::tar::write_header(&mut tar, name.as_bytes(), data.len() as u64).unwrap();
        tar.extend_from_slice(data.as_bytes());
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.extend_from_slice(&tarflume_formats::tar::END);
    assert_eq!(tar.len(), 3072);
    blake3::hash(&tar)
}

/// Formats as `hexdump -C`: sixteen bytes per line, a star for repeated lines.
fn hexdump(bytes: &[u8]) -> String {
    let mut out = String::new();
    let mut last = None;
    let mut star = false;
    for (i, line) in bytes.chunks(16).enumerate() {
        if last == Some(line) {
            out.push_str(if star { "" } else { "*\n" });
            star = true;
            continue;
        }
        last = Some(line);
        star = false;
        let hex: Vec<String> = line.iter().map(|b| format!("{b:02x}")).collect();
        let (a, b) = hex.split_at(8);
        let text: String =
            line.iter().map(|&b| if (32..127).contains(&b) { b as char } else { '.' }).collect();
        out.push_str(&format!("{:08x}  {}  {}  |{text}|\n", i * 16, a.join(" "), b.join(" ")));
    }
    out + &format!("{:08x}\n", bytes.len())
}

#[test]
fn the_worked_example_is_what_is_written() {
    let dump = hexdump(&example());
    assert!(FORMAT.contains(&format!("```text\n{dump}```")), "FORMAT.md must hold:\n{dump}");
}

#[test]
fn the_example_of_entry_points_is_what_is_written() {
    let mut index = IndexBuilder::new();
    index.sample(b"a", 0);
    for (n, points) in [&b""[..], b"12345", b""].into_iter().enumerate() {
        index.part(format!("{n}").as_bytes(), n as u64 * 1024 + 512, 1, None).unwrap();
        index.entry_points(points);
    }
    let bytes = index.encode(&TarFacts { length: 4096, digest: None }).unwrap();
    let starts: String = FORMAT
        .lines()
        .find(|line| line.len() == 50 && line.starts_with("00 00 00 00  "))
        .unwrap()
        .split_whitespace()
        .collect();
    let starts: Vec<_> = (0..16).map(|n| u8::from_str_radix(&starts[2 * n..][..2], 16)).collect();
    let starts = starts.into_iter().collect::<Result<Vec<_>, _>>().unwrap();
    assert!(bytes.windows(64).any(|window| window[..16] == starts && window[16..] == [0; 48]));
    assert_eq!(Index::from_bytes(bytes).unwrap().entry_points(1).unwrap(), Some(&b"12345"[..]));
}

#[test]
fn every_section_is_explained() {
    use tarflume_formats::index::layout as l;
    for name in [
        l::ROWS,
        l::SPANS,
        l::EXT_IDS,
        l::EXTS,
        l::KEYS,
        l::CHECKSUMS,
        l::DIMS,
        l::KEY_ORDER,
        l::POINT_STARTS,
        l::POINTS,
    ] {
        let line = format!("| `{}` | ", std::str::from_utf8(&name).unwrap());
        assert!(FORMAT.contains(&line), "{line}");
    }
}

#[test]
fn the_worked_example_opens() {
    let index = Index::from_bytes(example()).unwrap();
    index.check().unwrap();
    let sample = index.sample(index.find(b"cat/001").unwrap().unwrap()).unwrap().unwrap();
    assert_eq!(sample.part(b"txt").unwrap().unwrap().offset, 1536);
    assert_eq!(sample.end().unwrap(), 2048);
}
