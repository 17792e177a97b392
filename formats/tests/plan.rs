//! The plan: written, read, damaged; and the inputs of its hashes.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use proptest::collection::vec;
use proptest::prelude::*;
use tarflume_formats::plan::{Plan, PlanFoot, PlanWriter, PlannedExt, PlannedPart, PlannedSample};
use tarflume_formats::{ErrorKind, Result};

fn exts() -> Vec<PlannedExt> {
    let ext = |source: &str, shard: &str| {
        let (source, shard) = (source.into(), shard.into());
        PlannedExt { source, shard, has_paths: false }
    };
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
    let (mut samples, mut all) = (plan.samples(shard), Vec::new());
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
    let part = |ext, size| PlannedPart { ext, size, stamp: 0x5eed };
    let parts = vec![part(0, 110_000), part(2, 300)];
    PlannedSample { root: 0, source: key.into(), key: key.into(), parts }
}

fn small() -> Vec<Vec<PlannedSample>> {
    vec![vec![sample("a/1"), sample("a/2")], vec![], vec![sample("b/1")]]
}

fn anything() -> impl Strategy<Value = PlannedSample> {
    let part = (0u16..3, any::<u64>(), any::<u32>());
    let part = part.prop_map(|(ext, size, stamp)| PlannedPart { ext, size: size >> 8, stamp });
    let (source, key) = (vec(any::<u8>(), 0..20), proptest::option::of(vec(any::<u8>(), 0..9)));
    (0u32..2, source, key, vec(part, 0..4)).prop_map(|(root, source, key, parts)| PlannedSample {
        root,
        key: key.unwrap_or_else(|| source.clone()),
        source,
        parts,
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
    let many = |n: usize, letter: char| -> Vec<_> {
        (0..n).map(|i| sample(&format!("{letter}/{}", blake3::hash(&i.to_le_bytes())))).collect()
    };
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
    let in_chunks =
        |i: &usize| foot.shards.iter().any(|s| (s.at..s.at + s.length).contains(&(*i as u64)));
    assert!(silent.iter().all(in_chunks), "unnoticed: {silent:?}");
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
    let (_, base) = write(&small(), &["/a"]);
    let with = |change: &dyn Fn(&mut PlannedSample)| {
        let mut shards = small();
        change(&mut shards[0][1]);
        write(&shards, &["/a", "/b"]).1
    };
    assert_eq!(write(&small(), &["/elsewhere"]).1.content, base.content);
    assert_eq!(write(&small(), &["/elsewhere"]).1.shards, base.shards);

    let elsewhere: [&dyn Fn(&mut PlannedSample); 4] = [
        &|s| s.root = 1,
        &|s| s.source.push(b'x'),
        &|s| s.parts[0].stamp = 1,
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
    let canonical =
        |key: &str| [&[3], key.as_bytes(), b"\x02\x03jpg\xb0\xdb\x06\x04json\xac\x02"].concat();
    let hex = |bytes: &[u8]| blake3::hash(bytes).to_hex().to_string();
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
