//! Shards and sidecars with false content: each ends with an error that names the shard, or with rows that
//! match the bytes; never with a panic or a hang.

use std::fs;

use tarflume::{Error, Loader, OnBad, Result, SourceKind, Verify};
use tarflume_fixtures::{FalseClaim, good_shard};
use tarflume_formats::index::{IndexBuilder, TarFacts};
use tarflume_formats::index_path;
use tarflume_formats::tar::{Event, Walk};

/// A sidecar of what can be walked of a tar; of its members as key and extension.
fn index(tar: &[u8]) -> Option<Vec<u8>> {
    let mut walk = Walk::new();
    let mut builder = IndexBuilder::new();
    let mut last = Vec::new();
    loop {
        match walk.step_in(tar) {
            Ok(Some(Event::Member(member))) => {
                let name = String::from_utf8_lossy(&member.name).into_owned();
                let Some((key, ext)) = name.split_once('.') else { continue };
                if last != key.as_bytes() {
                    builder.sample(key.as_bytes(), member.first);
                    last = key.as_bytes().to_vec();
                }
                let _ = builder.part(ext.as_bytes(), member.data, member.size, None);
            }
            Ok(None) => {}
            Ok(Some(Event::End { .. })) | Err(_) => break,
        }
    }
    builder.encode(&TarFacts { length: tar.len() as u64, digest: None }).ok()
}

/// Loads a tar with this sidecar in every way, all rows.
fn load(tar: &[u8], sidecar: &[u8], name: &str) -> Vec<Error> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.tar");
    fs::write(&path, tar).unwrap();
    fs::write(index_path(&path), sidecar).unwrap();
    let mut errors = Vec::new();
    for source in [SourceKind::File, SourceKind::Mapped] {
        for on_bad in [OnBad::Error, OnBad::Skip, OnBad::Substitute] {
            let loader = Loader::builder(path.as_path()).source(source).on_bad(on_bad).batch(1);
            let loader = loader
                .verify(Verify::All)
                .memory_limit("128MiB".parse().unwrap())
                .threads(2)
                .build();
            let read = |loader: Loader| -> Result<()> {
                for batch in loader.epoch(0) {
                    for column in batch?.columns() {
                        assert!(column.bytes().len() <= tar.len(), "{name}");
                    }
                }
                Ok(())
            };
            errors.extend(loader.and_then(read).err());
        }
    }
    for error in &errors {
        assert!(!error.to_string().contains("panicked"), "{name}: {error}");
    }
    errors
}

#[test]
fn false_tars_never_cause_a_hang_or_panic() {
    let mut loaded = 0;
    for claim in FalseClaim::ALL {
        let tar = claim.bytes();
        if tar.len() > 16 << 20 {
            continue;
        }
        if let Some(sidecar) = index(&tar) {
            load(&tar, &sidecar, claim.name());
            loaded += 1;
        }
    }
    assert!(loaded > 10, "{loaded} claims could be indexed");
}

#[test]
fn false_sidecars_are_errors_with_the_place() {
    let tar = good_shard();
    let length = tar.len() as u64;
    let edges = [0, 1, 512, length - 1, length, length + 1, u64::MAX / 2, u64::MAX - 511, u64::MAX];
    for offset in edges {
        for size in edges {
            let mut builder = IndexBuilder::new();
            for n in 0..3 {
                builder.sample(format!("k{n}").as_bytes(), 0);
                let (offset, size) = if n == 1 { (offset, size) } else { (512, 3) };
                builder.part(b"x", offset, size, None).unwrap();
            }
            let Ok(sidecar) = builder.encode(&TarFacts { length, digest: None }) else { continue };
            let padded = size.checked_next_multiple_of(512);
            let end = padded.and_then(|size| offset.checked_add(size));
            let inside = end.is_some_and(|end| end <= length);
            let errors = load(&tar, &sidecar, "a sidecar");
            assert_eq!(errors.is_empty(), inside, "{offset} {size}: {errors:?}");
            assert!(errors.iter().all(|e| e.place().path.is_some()), "{errors:?}");
        }
    }
}
