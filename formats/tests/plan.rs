//! The plan: written, read, damaged; and the inputs of its hashes.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use proptest::collection::vec;
use proptest::prelude::*;
use tarflume_formats::plan::{
    Location, Plan, PlanFoot, PlanWriter, PlannedExt, PlannedPart, PlannedSample, PlannedSource,
};
use tarflume_formats::{About, ClassTable};
use tarflume_formats::{ErrorKind, Result};

fn exts() -> Vec<PlannedExt> {
    fn ext(source: &str, shard: &str) -> PlannedExt {
        let source = source.into();
        let shard = shard.into();
        PlannedExt { source, shard, has_paths: false }
    }
    vec![ext("JPG", "jpg"), ext("jpg", "jpg"), ext("json", "json")]
}

fn write(shards: &[Vec<PlannedSample>], roots: &[&str]) -> (Vec<u8>, PlanFoot) {
    let mut plan = PlanWriter::new(Vec::new(), exts()).unwrap();
    for (i, samples) in shards.iter().enumerate() {
        plan.begin_shard(format!("s-{i}.tar"));
        samples.iter().for_each(|sample| plan.add(sample).unwrap());
        plan.end_shard(1024).unwrap();
    }
    let options = serde_json::json!({"shards": shards.len(), "require": ["jpg", "json"]});
    let roots = roots.iter().map(|r| r.to_string()).collect();
    plan.finish("pack 0".into(), roots, options, vec![]).unwrap()
}

fn read(plan: &Plan, shard: usize) -> Result<Vec<PlannedSample>> {
    let mut samples = plan.samples(shard);
    let mut all = Vec::new();
    let mut sample = PlannedSample::default();
    while samples.next_into(&mut sample)? {
        all.push(sample.clone());
    }
    Ok(all)
}

fn read_all(bytes: Vec<u8>) -> Result<Vec<Vec<PlannedSample>>> {
    let plan = Plan::from_bytes(bytes)?;
    (0..plan.foot().shards.len()).map(|shard| read(&plan, shard)).collect()
}

fn sample(key: &str) -> PlannedSample {
    let location = Location::File { stamp: 0x5eed };
    let part = |ext, size| PlannedPart { ext, size, location };
    let parts = vec![part(0, 110_000), part(2, 300)];
    PlannedSample { root: 0, source: key.into(), key: key.into(), parts, text: Vec::new() }
}

fn small() -> Vec<Vec<PlannedSample>> {
    vec![vec![sample("a/1"), sample("a/2")], vec![], vec![sample("b/1")]]
}

fn anything() -> impl Strategy<Value = PlannedSample> {
    let part = (0u16..3, any::<u64>(), any::<u32>());
    let part = part.prop_map(|(ext, size, stamp)| PlannedPart {
        ext,
        size: size >> 8,
        location: Location::File { stamp },
    });
    let source = vec(any::<u8>(), 0..20);
    let key = proptest::option::of(vec(any::<u8>(), 0..9));
    (0u32..2, source, key, vec(part, 0..4)).prop_map(|(root, source, key, parts)| PlannedSample {
        root,
        key: key.unwrap_or_else(|| source.clone()),
        source,
        parts,
        text: Vec::new(),
    })
}

proptest! {
    #[test]
    fn written_data_are_read_back(shards in vec(vec(anything(), 0..30), 0..4)) {
        let (bytes, foot) = write(&shards, &["/a", "/b"]);
        let plan = Plan::from_bytes(bytes.clone()).unwrap();
        prop_assert_eq!(plan.foot(), &foot);
        prop_assert_eq!(foot.samples, shards.iter().map(|s| s.len() as u64).sum::<u64>());
        prop_assert_eq!(read_all(bytes).unwrap(), shards);
    }
}

#[test]
fn chunks_keep_order_and_each_shard_is_read_alone() {
    fn many(n: usize, letter: char) -> Vec<PlannedSample> {
        (0..n).map(|i| sample(&format!("{letter}/{}", blake3::hash(&i.to_le_bytes())))).collect()
    }
    let shards = vec![many(12_000, 'a'), many(1, 'b'), many(9_000, 'c')];
    let (bytes, foot) = write(&shards, &["/a"]);
    assert!(foot.shards[0].length > 2 * 256 * 1024 / 2, "several chunks");
    let plan = Plan::from_bytes(bytes).unwrap();
    for shard in [2, 0, 1] {
        assert_eq!(read(&plan, shard).unwrap(), shards[shard]);
    }
    assert_eq!(read(&plan, 3).unwrap(), []);
}

#[test]
fn every_changed_byte_is_noticed_or_changes_nothing() {
    let shards = small();
    let (whole, foot) = write(&shards, &["/a"]);
    let mut silent = Vec::new();
    for i in 0..whole.len() {
        for bit in [0x01, 0x10, 0x80] {
            let mut bytes = whole.clone();
            bytes[i] ^= bit;
            if let Ok(read) = read_all(bytes) {
                assert_eq!(read, shards, "byte {i} ^ {bit:#x} gives other samples");
                silent.push(i);
            }
        }
    }
    // zstd's frames have bits that decoders ignore; any other change must be detected.
    assert!(
        silent
            .iter()
            .all(|i| foot.shards.iter().any(|s| (s.at..s.at + s.length).contains(&(*i as u64)))),
        "unnoticed: {silent:?}"
    );
    assert!(silent.len() < 10, "unnoticed: {silent:?}");
}

#[test]
fn every_cut_is_noticed() {
    let (whole, _) = write(&small(), &["/a"]);
    for length in 0..whole.len() {
        let error = Plan::from_bytes(whole[..length].to_vec()).unwrap_err();
        let kind = if length < 8 { ErrorKind::WrongFormat } else { ErrorKind::Truncated };
        assert_eq!(error.kind(), kind, "cut to {length}");
    }
}

#[test]
fn a_file_is_refused_with_its_path() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("plan");
    std::fs::write(&path, b"{}").unwrap();
    let error = Plan::open(&path).unwrap_err();
    assert_eq!(
        (error.kind(), error.place().path.as_deref()),
        (ErrorKind::WrongFormat, Some(&*path))
    );
    std::fs::write(&path, write(&small(), &["/a"]).0).unwrap();
    assert_eq!(read(&Plan::open(&path).unwrap(), 0).unwrap(), small()[0]);
}

#[test]
fn the_content_hash_depends_only_on_the_content_of_shards() {
    fn with(change: &dyn Fn(&mut PlannedSample)) -> PlanFoot {
        let mut shards = small();
        change(&mut shards[0][1]);
        write(&shards, &["/a", "/b"]).1
    }

    let (_, base) = write(&small(), &["/a"]);
    assert_eq!(write(&small(), &["/elsewhere"]).1.content, base.content);
    assert_eq!(write(&small(), &["/elsewhere"]).1.shards, base.shards);

    let elsewhere: [&dyn Fn(&mut PlannedSample); 4] = [
        &|s| s.root = 1,
        &|s| s.source.push(b'x'),
        &|s| s.parts[0].location = Location::File { stamp: 1 },
        &|s| s.parts[0].ext = 1, // jpg in place of JPG: the shard's extension is the same
    ];
    for change in elsewhere {
        let foot = with(change);
        assert_eq!(foot.content, base.content);
        assert_eq!(foot.shards[0].content, base.shards[0].content);
        assert_ne!(foot.shards[0].sources, base.shards[0].sources);
        assert_eq!(foot.shards[2].sources, base.shards[2].sources);
    }
    let other: [&dyn Fn(&mut PlannedSample); 4] =
        [&|s| s.key.push(b'x'), &|s| s.parts[0].size += 1, &|s| s.parts[0].ext = 2, &|s| {
            s.parts.truncate(1)
        }];
    for change in other {
        let foot = with(change);
        assert_ne!(foot.content, base.content);
        assert_ne!(foot.shards[0].content, base.shards[0].content);
    }
}

#[test]
fn the_content_hash_is_as_specified() {
    let (_, foot) = write(&small(), &["/a"]);
    fn canonical(key: &str) -> Vec<u8> {
        [&[3], key.as_bytes(), b"\x02\x03jpg\xb0\xdb\x06\x04json\xac\x02"].concat()
    }
    fn hex(bytes: &[u8]) -> String {
        blake3::hash(bytes).to_hex().to_string()
    }
    let first = hex(&[canonical("a/1"), canonical("a/2")].concat());
    assert_eq!(foot.shards[0].content, first);
    let text = format!(
        "tarflume plan 1\n{{\"require\":[\"jpg\",\"json\"],\"shards\":3}}\n\
         s-0.tar 2 {first}\ns-1.tar 0 {}\ns-2.tar 1 {}",
        hex(b""),
        hex(&canonical("b/1"))
    );
    assert_eq!(foot.content, hex(text.as_bytes()));
}

#[test]
fn names_without_end_are_refused() {
    let mut plan = PlanWriter::new(Vec::new(), exts()).unwrap();
    plan.begin_shard("a.tar");
    let error = plan.add(&sample(&"x".repeat(65_537))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

/// Writes shards whose parts may be anywhere.
fn write_located(shards: &[Vec<PlannedSample>]) -> (Vec<u8>, PlanFoot) {
    let mut plan = PlanWriter::new(Vec::new(), exts()).unwrap();
    fn source(path: &str) -> PlannedSource {
        PlannedSource {
            root: 0,
            path: path.into(),
            kind: "parquet".into(),
            options: serde_json::json!({"columns": [path]}),
            bytes: 1 << 40,
            stamp: 0x5eed,
        }
    }
    plan.set_sources(vec![source("a.parquet"), source("b.parquet")]);
    let names = vec!["cat".into(), "dog".into()];
    let classes =
        ClassTable { pointer: "/class".into(), names, ids: vec![3, 17], ..ClassTable::default() };
    plan.set_about(About { classes: Some(classes), ..About::default() });
    plan.set_base("00".repeat(32));
    for (i, samples) in shards.iter().enumerate() {
        plan.begin_shard_of(format!("train-{i}.tar"), Some("train".into()));
        samples.iter().for_each(|sample| plan.add(sample).unwrap());
        plan.end_shard(1024).unwrap();
    }
    let options = serde_json::json!({"shards": shards.len()});
    plan.finish("pack 0".into(), vec!["/a".into()], options, vec![]).unwrap()
}

/// A sample with a part in each kind of place.
fn located(key: &str, text: &[u8]) -> PlannedSample {
    fn part(ext: u16, size: u64, location: Location) -> PlannedPart {
        PlannedPart { ext, size, location }
    }
    let parts = vec![
        part(0, 110_000, Location::File { stamp: 0x5eed }),
        part(1, u64::MAX >> 2, Location::Range { source: 1, at: 1 << 40 }),
        part(1, 12, Location::Cell { source: 0, row: 1 << 50, column: 9 }),
        part(2, text.len() as u64, Location::Text { at: 0 }),
    ];
    PlannedSample { root: 0, source: key.into(), key: key.into(), parts, text: text.into() }
}

fn anywhere() -> impl Strategy<Value = PlannedSample> {
    let text = vec(any::<u8>(), 0..40);
    let part =
        (0u16..3, any::<u64>(), any::<u64>(), 0u32..2, any::<u32>(), any::<u16>(), 0..4, text);
    (vec(any::<u8>(), 0..20), vec(part, 0..5)).prop_map(|(key, drawn)| {
        let mut sample = PlannedSample { source: key.clone(), key, ..PlannedSample::default() };
        for (ext, size, at, source, stamp, column, kind, text) in drawn {
            let (location, size) = match kind {
                0 => (Location::File { stamp }, size >> 8),
                1 => (Location::Text { at: sample.text.len() as u32 }, text.len() as u64),
                2 => (Location::Range { source, at }, size >> 8),
                _ => (Location::Cell { source, row: at, column }, size >> 8),
            };
            if kind == 1 {
                sample.text.extend(text);
            }
            sample.parts.push(PlannedPart { ext, size, location });
        }
        sample
    })
}

proptest! {
    #[test]
    fn parts_in_all_places_are_read_as_written(shards in vec(vec(anywhere(), 0..20), 0..4)) {
        let (bytes, foot) = write_located(&shards);
        let plan = Plan::from_bytes(bytes.clone()).unwrap();
        prop_assert_eq!(plan.foot(), &foot);
        prop_assert_eq!(read_all(bytes).unwrap(), shards);
    }

    #[test]
    fn a_hostile_chunk_ends_with_an_error(chunk in vec(any::<u8>(), 1..200)) {
        let (whole, foot) = write_located(&[vec![located("a/1", b"{}")]]);
        if let Ok(shards) = read_all(with_chunk(&whole, &foot, &chunk)) {
            prop_assert_eq!(shards[0].len(), 1);
        }
    }
}

/// Returns the plan with other bytes in the only chunk of its first shard, and right checksums.
fn with_chunk(whole: &[u8], foot: &PlanFoot, raw: &[u8]) -> Vec<u8> {
    let packed = zstd::bulk::compress(raw, 1).unwrap();
    let mut bytes = whole[..8].to_vec();
    bytes.extend((packed.len() as u32).to_le_bytes());
    bytes.extend((raw.len() as u32).to_le_bytes());
    bytes.extend(tarflume_formats::crc32c(raw).to_le_bytes());
    bytes.extend(&packed);
    let mut foot = foot.clone();
    foot.shards[0].length = bytes.len() as u64 - 8;
    let json = serde_json::to_vec(&foot).unwrap();
    let at = bytes.len() as u64;
    bytes.extend(&json);
    bytes.extend(at.to_le_bytes());
    bytes.extend((json.len() as u64).to_le_bytes());
    bytes.extend(tarflume_formats::crc32c(&json).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(&whole[..8]);
    bytes
}

/// Returns the unpacked bytes of the only chunk of the first shard.
fn chunk_of(whole: &[u8], foot: &PlanFoot) -> Vec<u8> {
    let at = foot.shards[0].at as usize;
    let packed = &whole[at + 12..at + foot.shards[0].length as usize];
    zstd::bulk::decompress(packed, 1 << 20).unwrap()
}

#[test]
fn a_plan_of_files_has_schema_1_and_its_bytes() {
    let (whole, foot) = write(&[vec![sample("a/1"), sample("a/2")]], &["/a"]);
    // As FORMAT.md has it: root, common, rest, key, parts; extension, size, stamp.
    let parts = b"\x00\xb0\xdb\x06\xed\x5e\x00\x00\x02\xac\x02\xed\x5e\x00\x00";
    let chunk = [&b"\x00\x00\x03a/1\x00\x02"[..], parts, b"\x00\x02\x012\x00\x02", parts].concat();
    assert_eq!(chunk_of(&whole, &foot), chunk);
    let json =
        String::from_utf8(whole[8 + foot.shards[0].length as usize..whole.len() - 32].into());
    let shard = &foot.shards[0];
    let text = format!(
        "{{\"schema\":1,\"tool\":\"pack 0\",\"content\":\"{}\",\"roots\":[\"/a\"],\
         \"options\":{{\"require\":[\"jpg\",\"json\"],\"shards\":1}},\
         \"exts\":[{{\"source\":\"JPG\",\"shard\":\"jpg\"}},{{\"source\":\"jpg\",\"shard\":\"jpg\"}},\
         {{\"source\":\"json\",\"shard\":\"json\"}}],\"samples\":2,\"bytes\":1024,\
         \"shards\":[{{\"name\":\"s-0.tar\",\"samples\":2,\"source_bytes\":220600,\"jpeg_bytes\":220000,\"bytes\":1024,\
         \"at\":8,\"length\":{},\"content\":\"{}\",\"sources\":\"{}\"}}],\"problems\":[]}}",
        foot.content, shard.length, shard.content, shard.sources
    );
    assert_eq!(json.unwrap(), text);
}

#[test]
fn a_located_plan_is_as_specified() {
    let (whole, foot) = write_located(&[vec![located("a", b"{}")]]);
    assert_eq!((foot.schema, foot.shards[0].split.as_deref()), (2, Some("train")));
    let chunk = [
        &b"\x00\x00\x01a\x00\x04"[..],
        b"\x00\xb0\xdb\x06\xed\x5e\x00\x00", // 0 * 4 + 0: a file
        b"\x06\xff\xff\xff\xff\xff\xff\xff\xff\x3f\x01\x80\x80\x80\x80\x80\x20", // 1 * 4 + 2
        b"\x07\x0c\x00\x80\x80\x80\x80\x80\x80\x80\x02\x09", // 1 * 4 + 3
        b"\x09\x02{}",                       // 2 * 4 + 1
    ];
    assert_eq!(chunk_of(&whole, &foot), chunk.concat());
}

#[test]
fn a_location_outside_the_plan_is_damage() {
    let (whole, foot) = write_located(&[vec![located("a", b"{}")]]);
    let head = b"\x00\x00\x01a\x00\x01";
    let read = |part: &[u8]| read_all(with_chunk(&whole, &foot, &[&head[..], part].concat()));
    assert_eq!(read(b"\x02\x05\x01\x07").unwrap()[0][0].parts[0].size, 5);
    for (part, what) in [
        (&b"\x02\x05\x02\x07"[..], "a third source of two"),
        (b"\x03\x05\x02\x07\x00", "a cell of a third source"),
        (b"\x03\x05\x00\x07\x80\x80\x04", "column 65536"),
        (b"\x01\x03{}", "a text that is longer than the chunk"),
        (b"\x0c\x05\x00\x00\x00\x00", "a fourth extension of three"),
        (b"\x00\x05\x00\x00\x00", "a cut stamp"),
    ] {
        let error = read(part).expect_err(what);
        assert_eq!(error.kind(), ErrorKind::Damaged, "{what}");
    }
}

#[test]
fn every_changed_byte_of_a_located_plan_is_noticed_or_changes_nothing() {
    let shards = vec![vec![located("a/1", b"{\"class\":1}"), located("a/2", b"{}")]];
    let (whole, _) = write_located(&shards);
    for i in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[i] ^= 0x10;
        if let Ok(read) = read_all(bytes) {
            assert_eq!(read, shards, "byte {i} gives other samples");
        }
    }
}

#[test]
fn a_text_is_part_of_the_content_and_a_location_is_not() {
    fn content(sample: PlannedSample) -> String {
        write_located(&[vec![sample]]).1.content
    }
    let base = content(located("a", b"{}"));
    let mut moved = located("a", b"{}");
    moved.parts[1].location = Location::Range { source: 0, at: 3 };
    assert_eq!(content(moved), base);
    assert_ne!(content(located("a", b"[]")), base);
}

#[test]
fn a_plan_of_files_takes_no_other_location() {
    let mut plan = PlanWriter::new(Vec::new(), exts()).unwrap();
    plan.begin_shard("a.tar");
    let error = plan.add(&located("a", b"{}")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}
