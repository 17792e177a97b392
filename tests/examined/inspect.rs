//! `index`, `info`, `ls`, `cat`, `unpack`: on tars of `pack` and of other programs.

use std::fs;

use serde_json::Value;
use tarflume_fixtures::{Folder, GOLDEN, GOLDEN_GZIP, Golden, Huge};

use crate::harness::{Place, tool};

/// Returns the parts of a listing: name, byte of the data, bytes.
fn listed(place: &Place, tar: &str) -> Vec<(String, u64, u64)> {
    let mut parts = Vec::new();
    for sample in place.pack(&format!("ls --format json {tar}")).succeeds().events() {
        for part in sample["parts"].as_array().unwrap() {
            let name =
                format!("{}.{}", sample["key"].as_str().unwrap(), part["ext"].as_str().unwrap());
            parts.push((name, part["offset"].as_u64().unwrap(), part["length"].as_u64().unwrap()));
        }
    }
    parts.sort();
    parts
}

/// Returns the parts that Python's tarfile found in a golden tar, by the naming rule.
fn golden_parts(golden: &Golden) -> Vec<(String, u64, u64)> {
    let members: Vec<Value> = serde_json::from_str(golden.members).unwrap();
    let files = members.iter().filter(|m| m["type"] == "file");
    let part = |m: &Value| {
        let name = m["name"].as_str().unwrap();
        let dot = name.rfind('/').map_or(0, |slash| slash + 1);
        let dot = dot + name[dot..].find('.').unwrap();
        let name = format!("{}{}", &name[..dot], name[dot..].to_lowercase());
        (name, m["offset_data"].as_u64().unwrap(), m["size"].as_u64().unwrap())
    };
    let mut parts: Vec<_> = files.map(part).collect();
    parts.sort();
    parts
}

#[test]
fn tars_made_by_other_programs_are_indexed_as_python_lists_them() {
    for golden in &GOLDEN {
        for options in ["", "--headers"] {
            let place = Place::new();
            place.file("set/golden.tar", golden.tar);
            let name = golden.name;
            let before = listed(&place, "set/golden.tar");
            place.pack(&format!("index set {options}")).succeeds();
            assert_eq!(place.names("set"), ["dataset.json", "golden.index", "golden.tar"]);
            assert_eq!(listed(&place, "set"), golden_parts(golden), "{name}");
            assert_eq!(before, golden_parts(golden), "{name}: listed by its headers");
            let verified = place.pack("verify set --require ''");
            assert!(verified.exit == 0, "{name} {options}: {verified:#?}");
            for (part, at, length) in golden_parts(golden) {
                let run = place.pack(&format!("cat set {part}")).succeeds();
                let data = &golden.tar[at as usize..(at + length) as usize];
                assert_eq!(run.stdout, String::from_utf8_lossy(data), "{name}: {part}");
            }
        }
    }
}

#[test]
fn a_compressed_tar_is_refused_with_advice() {
    let place = Place::new();
    place
        .file("golden.tar", GOLDEN_GZIP.tar)
        .pack("index golden.tar")
        .exits(65)
        .says("gzip")
        .says("decompress");
    assert_eq!(place.names(""), ["golden.tar"]);
}

#[test]
fn members_beyond_eight_gigabytes_are_found_by_headers() {
    for huge in Huge::ALL {
        let place = Place::new();
        let member = huge.write(&place.at("huge.tar")).unwrap();
        place.pack("index --headers huge.tar").succeeds().says("2 samples");
        let parts = listed(&place, "huge.tar");
        assert_eq!(parts[0], ("huge.bin".into(), member.data_offset, member.size));
        assert_eq!(parts[1].0, "tail.jpg");
        assert_eq!(parts[1].1, member.tail_offset + 512);
        place.pack("verify --level quick huge.tar").succeeds();
        let run = place.pack("cat huge.tar tail.json").succeeds();
        serde_json::from_str::<Value>(&run.stdout).unwrap();
    }
}

#[test]
fn an_index_made_again_equals_the_packed_one() {
    let place = Place::new();
    place.folder("photos", 20).pack("build photos -o out --shards 2").succeeds();
    place.pack("index out").succeeds().says("kept");
    let before = place.tree("out");
    for shard in ["out/shard-000000.index", "out/shard-000001.index", "out/dataset.json"] {
        fs::remove_file(place.at(shard)).unwrap();
    }
    place.pack("index --entry-points out").succeeds().says("written: 2 shards, 20 samples");
    let after = place.tree("out");
    for name in ["shard-000000.index", "shard-000001.index"] {
        assert_eq!(before[name], after[name], "{name}");
    }
    place.pack("verify out").succeeds();
}

#[test]
fn a_sidecar_of_another_tar_is_not_replaced_without_force() {
    let place = Place::new();
    place.folder("photos", 20).pack("build photos -o out --shards 2").succeeds();
    fs::copy(place.at("out/shard-000001.tar"), place.at("out/shard-000000.tar")).unwrap();
    let run = place.pack("index out");
    assert_ne!(run.exit, 0, "{run:#?}");
    assert!(run.stderr.contains("--force"), "{run:#?}");
    place.pack("index --force out/shard-000000.tar").succeeds();
    place.pack("verify out/shard-000000.tar").succeeds();
}

#[test]
fn info_counts_and_measures() {
    let place = Place::new();
    Folder::new(7).pairs(27).mixed_kinds().write(&place.at("photos")).unwrap();
    place.pack("build photos -o out --shards 3").succeeds();
    let run = place.pack("info --format json out").succeeds();
    let info: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&info["samples"], &info["shards"]), (&27.into(), &3.into()));
    assert_eq!(info["extensions"]["jpg"]["parts"], 27);
    assert_eq!(info["images"]["width"], serde_json::json!({"min": 1, "median": 97, "max": 400}));
    place.pack("info out").succeeds().says("27 images with known dimensions").says("1 to 400");
    place.pack("info out/shard-000001.tar").succeeds();
    place.pack("info nowhere").exits(2);
}

#[test]
fn ls_shows_keys_in_the_order_of_the_data_set() {
    let place = Place::new();
    place.folder("photos", 6).pack("build photos -o out --shards 2").succeeds();
    place.pack("ls out").succeeds().prints(
        "c0000/s000000  jpg json\nc0000/s000003  jpg json\nc0001/s000001  jpg json\n\
         c0001/s000004  jpg json\nc0002/s000002  jpg json\nc0002/s000005  jpg json\n",
        "",
    );
    let run = place.pack("ls out --prefix c0001/").succeeds();
    assert_eq!(run.stdout, "c0001/s000001  jpg json\nc0001/s000004  jpg json\n");
    let run = place.pack("ls --long out/shard-000001.tar").succeeds();
    assert!(
        run.stdout.starts_with("shard-000001.tar             0  c0001/s000004  8x8  jpg "),
        "{run:?}"
    );
    let piped =
        tool(&place, "sh", &["-c", &format!("{} ls out | head -1", env!("CARGO_BIN_EXE_pack"))]);
    piped.succeeds().prints("c0000/s000000  jpg json\n", "");
}

#[test]
fn cat_prints_the_bytes_or_lists_the_available_parts() {
    let place = Place::new();
    place.folder("photos", 6).pack("build photos -o out --shards 2").succeeds();
    let run = place.pack("cat out c0002/s000002.json").succeeds();
    assert_eq!(run.stdout.as_bytes(), fs::read(place.at("photos/c0002/s000002.json")).unwrap());
    place.pack("cat out c0002/s000003.json").exits(2).says("no sample").says("c0002/s000002");
    place.pack("cat out c0002/s000002.txt").exits(2).says("jpg");
    let mut tar = fs::read(place.at("out/shard-000000.tar")).unwrap();
    tar[512 + 100] ^= 1;
    place.file("out/shard-000000.tar", tar).pack("cat out c0000/s000000.jpg").exits(65);
}

#[test]
fn unpacking_restores_the_folder() {
    let place = Place::new();
    place.photos("photos", 20).pack("build photos -o out --shards 3").succeeds();
    place.pack("unpack out -o back").succeeds().says("40 files");
    place.same("photos", "back");
    let run = place.pack("unpack out -o back");
    assert_ne!(run.exit, 0, "nothing is overwritten: {run:#?}");
    place.same("photos", "back");
    place.pack("unpack out/shard-000000.tar -o one").succeeds();
    assert!(place.names("one").len() < 40);
    let mut tar = fs::read(place.at("out/shard-000000.tar")).unwrap();
    tar[512 + 100] ^= 1;
    place.file("out/shard-000000.tar", tar);
    place.pack("unpack out -o damaged").exits(1).says("checksum");
    assert_eq!(place.names("damaged").len(), 39, "all but the damaged file");
}
