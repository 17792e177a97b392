//! Shards that are damaged, truncated, replaced or false: an error at the right place, no crash, no silent loss.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use tarflume::internal::{Limits, PartNeeds, ReadPlan, RowDraw, RunBytes};
use tarflume::{Dataset, ErrorKind, Verify};
use tarflume_fixtures::{FalseClaim, good_shard};
use tarflume_formats::freshness::{may_be_newer, renew};
use tarflume_formats::index::{IndexBuilder, TarFacts};
use tarflume_formats::index_path;
use tarflume_formats::manifest::FILE_NAME;

use crate::shards::harness::{KINDS, Made, cut};

fn planned(dataset: &Dataset, exts: &[&str]) -> (ReadPlan, PartNeeds) {
    let mut wanted = PartNeeds::new();
    exts.iter().for_each(|ext| {
        wanted.require(ext).unwrap();
    });
    let draws: Vec<_> =
        (0..dataset.len()).map(|n| RowDraw { row: n as usize, ordinal: n, pass: 0 }).collect();
    let mut plan = ReadPlan::new();
    plan.fill(dataset, &draws, &wanted, Limits { gap: 4096, run: 8000, ..Limits::default() })
        .unwrap();
    (plan, wanted)
}

/// Reads and verifies all: the ordinals that are good, and what is said of the others.
fn outcome(dataset: &Dataset) -> (Vec<u64>, Vec<(u64, ErrorKind, String)>) {
    let (mut plan, wanted) = planned(dataset, &["jpg", "json"]);
    let mut good = Vec::new();
    let mut bad = plan.take_bad().collect::<Vec<_>>();
    let mut wrong = Vec::new();
    let mut fetched = RunBytes::new();
    for run in plan.run_views() {
        fetched.read(dataset, run, &mut bad);
        for item in run.items().filter(|item| fetched.has(item.number())) {
            let verified = fetched.verify(dataset, item, &wanted, Verify::All, 0);
            match verified.and_then(|()| fetched.check()) {
                Ok(()) => good.push(item.ordinal()),
                Err(e) => wrong.push((item.ordinal(), e.kind(), e.to_string())),
            }
        }
    }
    wrong.extend(bad.iter().map(|b| (b.ordinal, b.error.kind(), b.error.to_string())));
    good.sort();
    wrong.sort_by_key(|w| w.0);
    (good, wrong)
}

#[test]
fn a_flipped_bit_is_named_with_path_byte_key_and_part() {
    fn found(path: &Path) -> fs::Metadata {
        fs::metadata(path).unwrap()
    }

    let made = Made::new(&[10]);
    let index = Dataset::open(made.path()).unwrap();
    let sample = index.shard(0).index().unwrap().sample(6).unwrap().unwrap();
    let part = sample.part(b"json").unwrap().unwrap();
    assert!(part.length > 0);
    let file = File::options().read(true).write(true).open(&made.tars[0]).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, part.offset).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], part.offset).unwrap();
    // A disk changes bytes, but no times.
    let sidecar = index_path(&made.tars[0]);
    while may_be_newer(&found(&made.tars[0]), &found(&sidecar)) {
        renew(&sidecar, &found(&sidecar), &found(&made.tars[0])).unwrap();
    }
    for kind in KINDS {
        let dataset = Dataset::open(made.path()).unwrap().with_source(kind);
        let (good, wrong) = outcome(&dataset);
        assert_eq!(good, [0, 1, 2, 3, 4, 5, 7, 8, 9]);
        let (ordinal, kind, text) = &wrong[0];
        assert_eq!((*ordinal, *kind, wrong.len()), (6, ErrorKind::Damaged, 1));
        for word in ["s-0.tar", &format!("byte {}", part.offset), "key k00006", "'json'"] {
            assert!(text.contains(word), "{text}");
        }
        assert_eq!(dataset.get(6).unwrap().verify().unwrap_err().to_string(), *text);
    }
}

#[test]
fn a_shard_cut_in_the_middle_of_an_epoch_is_an_error_for_what_it_lost() {
    for kind in KINDS {
        let made = Made::new(&[10, 10]);
        let dataset = Dataset::open(made.path()).unwrap().with_source(kind);
        assert_eq!(outcome(&dataset).0.len(), 20);
        let held = dataset.get(19).unwrap();
        cut(&made.tars[1], 8192);
        let (good, wrong) = outcome(&dataset);
        assert!(good.starts_with(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), "the other shard is whole");
        assert!(!wrong.is_empty() && good.len() + wrong.len() == 20);
        for (_, kind, text) in wrong {
            assert_eq!(kind, ErrorKind::Truncated, "{text}");
            assert!(text.contains("s-1.tar"), "{text}");
        }
        let lost = held.verify().and_then(|()| held.part("jpg").unwrap().check());
        assert_eq!(lost.is_err(), held.part("jpg").unwrap().check().is_err());
    }
}

#[test]
fn a_shard_replaced_in_the_middle_of_an_epoch_is_stale() {
    for kind in KINDS {
        let made = Made::new(&[10]);
        let dataset = Dataset::open(made.path()).unwrap().with_source(kind);
        assert_eq!(outcome(&dataset).0.len(), 10);
        let other = made.path().join("new");
        fs::copy(&made.tars[0], &other).unwrap();
        fs::rename(other, &made.tars[0]).unwrap();
        let (good, wrong) = outcome(&dataset);
        assert_eq!((good.len(), wrong.len()), (0, 10));
        assert!(wrong.iter().all(|w| w.1 == ErrorKind::Stale), "{wrong:?}");
        assert_eq!(outcome(&Dataset::open(made.path()).unwrap()).0.len(), 10, "opened again");
    }
}

#[test]
fn a_damaged_sidecar_spoils_its_own_samples_alone() {
    let made = Made::new(&[5, 5, 5]);
    let path = made.path().join("s-1.index");
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 70;
    bytes[last] ^= 1;
    fs::write(&path, bytes).unwrap();
    let (good, wrong) = outcome(&Dataset::open(made.path()).unwrap());
    assert_eq!(good, [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]);
    for (_, kind, text) in wrong {
        assert_eq!(kind, ErrorKind::Damaged);
        assert!(text.contains("s-1.index"), "{text}");
    }
}

#[test]
fn a_tar_replaced_after_the_manifest_was_written_is_stale() {
    let made = Made::new(&[5]);
    cut(&made.tars[0], 4096);
    let dataset = Dataset::open(made.path()).unwrap();
    assert_eq!(dataset.get(0).unwrap_err().kind(), ErrorKind::Stale);
    assert_eq!(dataset.shard(0).source().unwrap_err().kind(), ErrorKind::Stale);
    fs::remove_file(made.path().join(FILE_NAME)).unwrap();
    assert_eq!(Dataset::open(made.path()).unwrap_err().kind(), ErrorKind::Stale);
}

/// The sidecar of an honest shard beside every shard with a false claim: each is refused, or its parts do not
/// have their checksums, or what is read is what the honest one has.
#[test]
fn no_false_claim_passes_verification() {
    let honest = good_shard();
    let mut builder = IndexBuilder::new();
    let mut members = Vec::new();
    for entry in tar::Archive::new(&honest[..]).entries().unwrap() {
        let entry = entry.unwrap();
        let name = entry.path().unwrap().to_str().unwrap().to_string();
        let (key, ext) = name.split_once('.').map(|(k, e)| (k.to_string(), e.to_string())).unwrap();
        let at = entry.raw_file_position();
        let length = entry.size();
        if ext == "jpg" {
            builder.sample(key.as_bytes(), at - 512);
        }
        let data = &honest[at as usize..][..length as usize];
        let sum = tarflume_formats::crc32c(data);
        builder.part(ext.as_bytes(), at, length, Some(sum)).unwrap();
        members.push((key, ext, data.to_vec()));
    }
    let facts = TarFacts { length: honest.len() as u64, digest: None };
    let sidecar = builder.encode(&facts).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let tar = folder.path().join("s.tar");
    for claim in FalseClaim::ALL {
        fs::write(&tar, claim.bytes()).unwrap();
        fs::write(folder.path().join("s.index"), &sidecar).unwrap();
        let opened = match Dataset::open(tar.as_path()) {
            Ok(opened) => opened,
            Err(e) => {
                assert_eq!(e.kind(), ErrorKind::Stale, "{}: {e}", claim.name());
                continue;
            }
        };
        for kind in KINDS {
            let dataset = opened.with_source(kind);
            for (number, pair) in members.chunks(2).enumerate() {
                let sample = dataset.get(number as u64).unwrap();
                let same = pair.iter().all(|(_, ext, data)| &**sample.part(ext).unwrap() == data);
                assert_eq!(sample.verify().is_ok(), same, "{}", claim.name());
            }
        }
    }
}
