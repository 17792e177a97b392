//! `pack verify`: a published data set is damaged in every way we know of; what is found, where, and
//! with which exit code. (Tars that lie from birth stand in `lies`.)

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::harness::{Member, Place, members_of};

/// A published data set `out` of three shards with ten samples each.
fn published() -> Place {
    let place = Place::new();
    place.folder("photos", 30);
    place.pack("build photos -o out --shard-samples 10").succeeds();
    place
}

/// Exit code and problems (kind, file, byte, key) of a verification.
fn verify(place: &Place, words: &str) -> (i32, Vec<String>) {
    let run = place.pack(&format!("verify {words} --format json"));
    let report: Value =
        serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:#?}"));
    assert_eq!(report["whole"], run.exit == 0, "{run:#?}");
    let text = |problem: &Value| {
        let file = PathBuf::from(problem["path"].as_str().unwrap());
        let file = file.file_name().unwrap().to_string_lossy().into_owned();
        let byte = problem["byte"].as_u64().map(|byte| format!("@{byte}")).unwrap_or_default();
        let key = problem["key"].as_str().map(|key| format!(" {key}")).unwrap_or_default();
        format!("{} {file}{byte}{key}", problem["kind"].as_str().unwrap())
    };
    (run.exit, report["problems"].as_array().unwrap().iter().map(text).collect())
}

/// Changes the bytes of a file of the data set.
fn change(place: &Place, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let path = place.at("out").join(name);
    let mut bytes = fs::read(&path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

const SHARD: &str = "shard-000001.tar";

/// The fifth member of the second shard.
fn member(place: &Place) -> Member {
    members_of(&fs::read(place.at("out").join(SHARD)).unwrap()).remove(4)
}

#[test]
fn draft() {
    let other = Place::new();
    other.folder("photos", 29).pack("build photos -o out --shard-samples 10").succeeds();
    let copy = |place: &Place, name: &str| {
        fs::copy(other.at("out").join(name), place.at("out").join(name)).unwrap();
    };
    let cases: Vec<(&str, Box<dyn Fn(&Place)>)> = vec![
        (
            "data",
            Box::new(|p| {
                let m = member(p);
                change(p, SHARD, |b| b[m.at + 3] ^= 1)
            }),
        ),
        (
            "header",
            Box::new(|p| {
                let m = member(p);
                change(p, SHARD, |b| b[m.header + 3] ^= 1)
            }),
        ),
        (
            "padding",
            Box::new(|p| {
                let m = member(p);
                change(p, SHARD, |b| b[m.at + m.data.len() + 2] ^= 1)
            }),
        ),
        (
            "cut512",
            Box::new(|p| {
                let m = member(p);
                change(p, SHARD, |b| b.truncate(m.header))
            }),
        ),
        ("cut1", Box::new(|p| change(p, SHARD, |b| b.truncate(b.len() - 512)))),
        ("noend", Box::new(|p| change(p, SHARD, |b| b.truncate(b.len() - 1024)))),
        ("garbage", Box::new(|p| change(p, SHARD, |b| b.extend_from_slice(b"x")))),
        ("zeroes", Box::new(|p| change(p, SHARD, |b| b.extend_from_slice(&[0; 512])))),
        ("emptytar", Box::new(|p| change(p, SHARD, |b| b.clear()))),
        (
            "swapped",
            Box::new(|p| {
                let a = fs::read(p.at("out/shard-000000.tar")).unwrap();
                let b = fs::read(p.at("out/shard-000001.tar")).unwrap();
                p.file("out/shard-000000.tar", b).file("out/shard-000001.tar", a);
            }),
        ),
        ("stale sidecar", Box::new(move |p| copy(p, "shard-000001.tar.index"))),
        (
            "damaged sidecar",
            Box::new(|p| {
                change(p, "shard-000001.tar.index", |b| {
                    let n = b.len() / 2;
                    b[n] ^= 1
                })
            }),
        ),
        (
            "cut sidecar",
            Box::new(|p| change(p, "shard-000001.tar.index", |b| b.truncate(b.len() / 2))),
        ),
        (
            "missing sidecar",
            Box::new(|p| fs::remove_file(p.at("out/shard-000001.tar.index")).unwrap()),
        ),
        ("missing tar", Box::new(|p| fs::remove_file(p.at("out/shard-000001.tar")).unwrap())),
        ("damaged manifest", Box::new(|p| change(p, "dataset.json", |b| b.truncate(b.len() / 2)))),
        (
            "extra tar",
            Box::new(|p| {
                fs::copy(p.at("out/shard-000001.tar"), p.at("out/zextra.tar")).unwrap();
            }),
        ),
        ("missing manifest", Box::new(|p| fs::remove_file(p.at("out/dataset.json")).unwrap())),
    ];
    for (what, damage) in cases {
        let place = published();
        let m = member(&place);
        damage(&place);
        let q = verify(&place, "out --level quick");
        let f = verify(&place, "out");
        eprintln!(
            "{what} (header {} data {} of {}):\n    quick {q:?}\n    full {f:?}",
            m.header, m.at, m.name
        );
    }
    let place = published();
    fs::copy(other.at("out/dataset.json"), place.at("out/dataset.json")).unwrap();
    eprintln!(
        "stale manifest {:?} {:?}",
        verify(&place, "out --level quick"),
        verify(&place, "out")
    );
    for w in [
        "verify nowhere",
        "verify photos",
        "verify out out",
        "verify --level decode out",
        "verify out/shard-000001.tar",
        "ls out/shard-000001.tar",
        "info out",
        "ls --long out",
        "ls --format json out/shard-000002.tar",
        "cat out c0000/s000000.json",
        "cat out nope.jpg",
        "unpack out -o back",
        "unpack out -o back",
        "index out",
        "index photos",
        "info --format json out",
    ] {
        let place = published();
        let mut run = place.pack(w);
        run.stdout.truncate(1000);
        eprintln!("{w}: {} {:?} {:?}", run.exit, run.stdout, run.stderr);
    }
}
