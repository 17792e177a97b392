//! Foreign programs read the output of `pack`, part by part as in the source: GNU tar, bsdtar,
//! Python's tarfile, Python's webdataset. None of them may warn.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tarflume_fixtures::Fault;

use crate::harness::{Place, python, tool};

/// A data set of two shards made of photo-like pairs with a text beside some of them.
fn packed() -> Place {
    let place = Place::new();
    place.photos("photos", 12);
    place.file("photos/c0000/s000000.txt", "a caption").file("photos/c0002/s000005.cls", "5");
    place.pack("build photos -o out --shards 2").succeeds();
    place
}

/// Packs names that plain readers may not support: long ones, and ones beyond ASCII.
fn packed_with_odd_names() -> Place {
    let place = Place::new();
    place.folder("photos", 4);
    for fault in
        [Fault::SplitName, Fault::LongName, Fault::LongPath, Fault::NonAsciiName, Fault::SpaceName]
    {
        fault.plant(&place.at("photos")).unwrap();
    }
    place.pack("build photos -o out --shards 2 --names allow").succeeds();
    place
}

/// Checks that every file of the folder `unpacked` is as in the source, and none is missing.
#[track_caller]
fn agree(place: &Place, unpacked: &str) {
    place.same("photos", unpacked);
}

#[test]
fn gnu_tar_and_bsdtar_unpack_what_was_packed() {
    for place in [packed(), packed_with_odd_names()] {
        for program in ["tar", "bsdtar"] {
            let folder = format!("by-{program}");
            fs::create_dir(place.at(&folder)).unwrap();
            for shard in ["out/shard-000000.tar", "out/shard-000001.tar"] {
                let run =
                    tool(&place, program, &["-x", "-v", "-f", shard, "-C", &folder]).succeeds();
                let said = format!("{}{}", run.stdout, run.stderr);
                for word in ["arning", "rror", "gnor", "Skipping", "nknown"] {
                    assert!(!said.contains(word), "{program} says: {said}");
                }
            }
            agree(&place, &folder);
        }
    }
}

#[test]
fn gnu_tar_lists_root_mode_and_the_epoch_for_every_member() {
    let place = packed();
    let words = ["--numeric-owner", "--utc", "-tvf", "out/shard-000000.tar"];
    let run = tool(&place, "tar", &words).succeeds();
    assert_eq!(run.stderr, "");
    assert!(run.stdout.lines().count() > 10);
    for line in run.stdout.lines() {
        assert!(line.starts_with("-rw-r--r-- 0/0 "), "{line}");
        assert!(line.contains(" 1970-01-01 00:00 c000"), "{line}");
    }
}

#[test]
fn gnu_tar_compares_a_shard_with_itself_and_finds_no_trailing_garbage() {
    let place = packed();
    let run =
        tool(&place, "tar", &["--check-device", "-tf", "out/shard-000001.tar", "--warning=all"]);
    assert_eq!(run.succeeds().stderr, "");
}

const TARFILE: &str = "
import json, sys, tarfile
for name in sys.argv[1:]:
    with tarfile.open(name, 'r:', errorlevel=2) as tar:
        for m in tar:
            assert m.isreg() and m.mtime == 0 and m.uid == 0 and m.gid == 0 and m.mode == 0o644, m
            data = tar.extractfile(m).read()
            print(json.dumps([m.name, m.offset, m.offset_data, data.hex()]))
";

#[test]
fn pythons_tarfile_reads_the_same_members_at_the_same_bytes() {
    let place = packed();
    let shards = ["out/shard-000000.tar", "out/shard-000001.tar"];
    let run = python(&place, TARFILE, &shards).succeeds();
    assert_eq!(run.stderr, "");
    let ours = place.shards("out").into_iter().flatten();
    let lines = run.events();
    assert_eq!(lines.len(), 12 * 2 + 2);
    for (member, line) in ours.zip(&lines) {
        assert_eq!(line[0], member.name);
        assert_eq!((&line[1], &line[2]), (&member.header.into(), &member.at.into()));
        let source = fs::read(place.at("photos").join(&member.name)).unwrap();
        assert_eq!(line[3], hex(&source), "{}", member.name);
    }
}

#[test]
fn pythons_tarfile_reads_odd_names() {
    let place = packed_with_odd_names();
    let run = python(&place, TARFILE, &["out/shard-000000.tar", "out/shard-000001.tar"]).succeeds();
    assert_eq!(run.stderr, "");
    let mut names: Vec<_> =
        run.events().iter().map(|line| line[0].as_str().unwrap().to_string()).collect();
    names.sort();
    assert_eq!(names, place.names("photos"));
    for line in run.events() {
        let source = fs::read(place.at("photos").join(line[0].as_str().unwrap())).unwrap();
        assert_eq!(line[3], hex(&source));
    }
}

const WEBDATASET: &str = "
import json, sys, webdataset
data = webdataset.WebDataset(sys.argv[1:], shardshuffle=False, empty_check=False)
for sample in data:
    parts = {k: v.hex() for k, v in sample.items() if not k.startswith('__')}
    print(json.dumps([sample['__key__'], parts]))
";

/// Returns webdataset's view of a data set: keys with their parts, in order.
fn webdataset(place: &Place, shards: &[&str]) -> Vec<Value> {
    let run = python(place, WEBDATASET, shards).succeeds();
    assert_eq!(run.stderr, "");
    run.events()
}

#[test]
fn webdataset_reads_the_same_samples() {
    let place = packed();
    let samples = webdataset(&place, &["out/shard-000000.tar", "out/shard-000001.tar"]);
    assert_eq!(samples.len(), 12);
    compare(&place, &samples);
    let texts = samples.iter().filter(|s| s[1].get("txt").is_some()).count();
    assert_eq!(texts, 1);
}

#[test]
fn webdataset_reads_what_replace_made_of_every_odd_name() {
    let place = Place::new();
    place.folder("photos", 4);
    for fault in [
        Fault::DottedStem,
        Fault::SpaceName,
        Fault::NonAsciiName,
        Fault::NonUtf8Name,
        Fault::DunderFolder,
        Fault::LongName,
        Fault::CaseTwins,
    ] {
        fault.plant(&place.at("photos")).unwrap();
    }
    place.pack("build photos -o out --names replace").succeeds();
    let samples = webdataset(&place, &["out/shard-000000.tar"]);
    assert_eq!(samples.len(), 4 + 8);
    for sample in samples {
        let parts: Vec<_> = sample[1].as_object().unwrap().keys().cloned().collect();
        assert_eq!(parts, ["jpg", "json"], "{}", sample[0]);
    }
}

#[test]
fn webdataset_reads_long_names_and_names_beyond_ascii() {
    let place = packed_with_odd_names();
    let samples = webdataset(&place, &["out/shard-000000.tar", "out/shard-000001.tar"]);
    assert_eq!(samples.len(), 4 + 5);
    compare(&place, &samples);
}

fn compare(place: &Place, samples: &[Value]) {
    for sample in samples {
        for (ext, data) in sample[1].as_object().unwrap() {
            let name = format!("{}.{ext}", sample[0].as_str().unwrap());
            let source = fs::read(place.at("photos").join(Path::new(&name))).unwrap();
            assert_eq!(*data, hex(&source), "{name}");
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
