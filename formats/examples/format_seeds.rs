//! Writes the fuzzers' seeds: small whole files of every format, after the byte that the targets
//! take as their mode. `cargo run -p tarflume-formats --example format_seeds -- fuzz/seeds`

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use tarflume_formats::index::{IndexBuilder, TarFacts};
use tarflume_formats::manifest::{Manifest, ShardEntry};
use tarflume_formats::plan::{
    Location, PlanWriter, PlannedExt, PlannedPart, PlannedSample, PlannedSource,
};
use tarflume_formats::{IrregularJpegs, ShardRecord, crc32c, npy, tar};

fn main() -> Result<(), Box<dyn Error>> {
    let out = std::env::args().nth(1).ok_or("usage: format_seeds DIR")?;
    let out = Path::new(&out);
    let put = |target: &str, name: &str, mode: &[u8], bytes: &[u8]| {
        fs::create_dir_all(out.join(target))?;
        fs::write(out.join(target).join(name), [mode, bytes].concat())
    };
    let long = format!("{}/a.jpg", "long".repeat(60));
    for (name, members) in [("ustar", ["a/1.jpg", "a/1.json"]), ("pax", [&long, "ö.json"])] {
        put("walk", name, &[1], &small_tar(&members)?)?;
    }
    let digest = blake3::hash(b"tar");
    let entry = ShardEntry {
        name: "a.tar".into(),
        split: None,
        samples: 2,
        bytes: 6144,
        blake3: Some(digest.to_hex().to_string()),
        index_bytes: 1024,
        index_blake3: digest.to_hex().to_string(),
    };
    let record = ShardRecord {
        plan: digest.to_hex().to_string(),
        shard: 0,
        entry: entry.clone(),
        entry_points: false,
        unsynced: false,
        extensions: BTreeMap::from([("jpg".into(), 2)]),
        problems: vec![serde_json::json!({"kind": "orphan"})],
        irregular_jpegs: IrregularJpegs::default(),
    };
    let manifest = Manifest::new("pack", None, record.extensions.clone(), vec![entry]);
    put("manifest", "manifest", &[], &manifest.to_json())?;
    put("manifest", "record", &[], &record.to_json())?;
    put("record", "record", &[], &record.to_json())?;
    for (name, field) in [
        ("octal", &b"00000001000\0"[..]),
        ("spaces", b"       1000 "),
        ("zeros", b"\0\0\0\0\0\0\x001000\0"),
        ("base256", b"\x80\0\0\0\0\0\0\0\0\0\x02\0"),
        ("negative", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe\0"),
    ] {
        put("numbers", &format!("size-{name}"), &[0], field)?;
        put("numbers", &format!("mtime-{name}"), &[4], field)?;
    }
    put("numbers", "pax", &[8], b"12 size=512\n24 mtime=1700000000.5\n")?;
    for (name, keys) in [("sorted", ["a/1", "a/2"]), ("unsorted", ["b", "a"])] {
        put("index", name, &[0], &small_index(keys)?)?;
        put("index", &format!("{name}-summed"), &[1], &small_index(keys)?)?;
    }
    put("index", "points", &[0], &with_points()?)?;
    for (name, fortran, shape) in [("matrix", false, &[3, 2][..]), ("scalar", true, &[])] {
        let mut head = Vec::new();
        let dtype = npy::Dtype { kind: 'f', size: 4, little: true };
        npy::write_header(&mut head, dtype, fortran, shape)?;
        put("npy", name, &[0], &head)?;
        put("npy", &format!("{name}-text"), &[1], &head[10..])?;
    }
    put("index", "made", &[2], &[3, 6, 9, 7, 7, 1, 40, 3, 2, 1, 0, 1, 1, 1, 2, 2, 1, 1])?;
    put("index", "made-points", &[2], &[1, 2, 3, 7, 16, 1, 40, 0, 2, 1, 0, 5, 1, 1, 2, 9])?;
    put("plan", "whole", &[0], &small_plan()?)?;
    put("plan", "located", &[0], &located_plan()?)?;
    // root, common, length, source, key as source, parts, ext, size, stamp
    put("plan", "chunk", &[9], b"\x00\x00\x03a/1\x00\x01\x00\x05TIME\x01\x02\x012\x00\x00")?;
    let parts = b"\x00\x05TIME\x05\x02{}\x02\x05\x00\x09\x03\x05\x00\x07\x02";
    let chunk = [&b"\x00\x00\x03a/1\x00\x04"[..], parts, b"\x00\x02\x012\x00\x00"].concat();
    put("plan", "located-chunk", &[10], &chunk)?;
    Ok(())
}

fn small_tar(members: &[&str]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut out = Vec::new();
    for name in members {
        tar::write_header(&mut out, name.as_bytes(), 5)?;
        out.extend_from_slice(b"hello");
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.extend_from_slice(&tar::END);
    Ok(out)
}

fn small_index(keys: [&str; 2]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut index = IndexBuilder::new();
    for (i, key) in keys.iter().enumerate() {
        let first = i as u64 * 2048;
        index.sample(key.as_bytes(), first);
        index.part(b"jpg", first + 512, 5, Some(crc32c(b"hello")))?;
        index.part(b"json", first + 1536, 2, Some(crc32c(b"{}")))?;
        index.dimensions(640, 480);
    }
    Ok(index.encode(&TarFacts { length: 5120, digest: Some(blake3::hash(b"tar")) })?)
}

fn with_points() -> Result<Vec<u8>, Box<dyn Error>> {
    let mut index = IndexBuilder::new();
    index.sample(b"a", 0);
    index.part(b"jpg", 512, 5, Some(crc32c(b"hello")))?;
    index.entry_points(b"entry points");
    index.part(b"json", 1536, 2, Some(crc32c(b"{}")))?;
    Ok(index.encode(&TarFacts { length: 3072, digest: None })?)
}

fn small_plan() -> Result<Vec<u8>, Box<dyn Error>> {
    let exts = vec![PlannedExt { source: "JPG".into(), shard: "jpg".into(), has_paths: false }];
    let mut plan = PlanWriter::new(Vec::new(), exts)?;
    plan.begin_shard("a.tar");
    for key in ["a/1", "a/2", "b/1"] {
        let parts = vec![PlannedPart { ext: 0, size: 5, location: Location::File { stamp: 7 } }];
        plan.add(&PlannedSample {
            source: key.into(),
            key: key.into(),
            parts,
            ..Default::default()
        })?;
    }
    plan.end_shard(4096)?;
    let options = serde_json::json!({"require": ["jpg"]});
    Ok(plan.finish("pack".into(), vec!["photos".into()], options, vec![])?.0)
}

/// A plan whose parts are in all kinds of places.
fn located_plan() -> Result<Vec<u8>, Box<dyn Error>> {
    let exts = vec![PlannedExt { source: "jpg".into(), shard: "jpg".into(), has_paths: false }];
    let mut plan = PlanWriter::new(Vec::new(), exts)?;
    plan.set_sources(vec![PlannedSource {
        root: 0,
        path: "a.parquet".into(),
        kind: "parquet".into(),
        options: serde_json::json!({"image": "x"}),
        bytes: 1000,
        stamp: 7,
    }]);
    plan.begin_shard_of("train-0.tar", Some("train".into()));
    let text = b"{\"class\":1}".to_vec();
    fn part(size: u64, location: Location) -> PlannedPart {
        PlannedPart { ext: 0, size, location }
    }
    let parts = vec![
        part(5, Location::File { stamp: 7 }),
        part(text.len() as u64, Location::Text { at: 0 }),
        part(5, Location::Range { source: 0, at: 300 }),
        part(5, Location::Cell { source: 0, row: 300, column: 2 }),
    ];
    let source = b"a/1".to_vec();
    let key = b"a/1".to_vec();
    plan.add(&PlannedSample { root: 0, source, key, parts, text })?;
    plan.end_shard(4096)?;
    Ok(plan.finish("pack".into(), vec!["photos".into()], serde_json::json!({}), vec![])?.0)
}
