//! The root digest, provenance, signatures and repairs of a data set.

use std::fs;
use std::os::unix::fs::FileExt;

use serde_json::Value;

use crate::harness::Place;

/// Packs 12 pairs into three shards, and copies the data set.
fn packed() -> Place {
    let place = Place::new();
    for n in 0..12 {
        place.pair(&format!("photos/{n:02}"));
    }
    place.pack("build photos -o shards --shards 3 --provenance by=jane@example.org").succeeds();
    copy(&place, "shards", "copy");
    place
}

fn copy(place: &Place, from: &str, to: &str) {
    fs::create_dir(place.at(to)).unwrap();
    for entry in fs::read_dir(place.at(from)).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, place.at(to).join(path.file_name().unwrap())).unwrap();
    }
}

/// Flips a bit of a file.
fn damage(place: &Place, path: &str, at: u64) {
    let file = fs::File::options().read(true).write(true).open(place.at(path)).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 4], at).unwrap();
}

fn are_same(place: &Place, one: &str, other: &str) {
    for entry in fs::read_dir(place.at(other)).unwrap() {
        let name = entry.unwrap().file_name();
        let own = fs::read(place.at(one).join(&name)).unwrap();
        assert!(own == fs::read(place.at(other).join(&name)).unwrap(), "{name:?}");
    }
}

#[test]
fn info_prints_root_digest_and_provenance_and_an_append_adds_its_own() {
    let place = packed();
    let text = fs::read_to_string(place.at("shards/dataset.json")).unwrap();
    let run = place.pack("info --format json shards").succeeds();
    let info: Value = serde_json::from_str(&run.stdout).unwrap();
    let root = info["root"].as_str().unwrap();
    assert!(text.contains(&format!("\"manifest_blake3\": \"{root}\"")), "{text}");
    assert_eq!(info["provenance"], serde_json::json!([{"by": "jane@example.org"}]));
    place.pair("photos/12");
    place.pack("append photos -o shards --provenance by=joe@example.org").succeeds();
    let run = place.pack("info shards").succeeds();
    assert!(run.stdout.contains("provenance  build 1: by=jane@example.org"), "{}", run.stdout);
    assert!(run.stdout.contains("build 2: by=joe@example.org"), "{}", run.stdout);
    assert!(run.stdout.contains("root        "), "{}", run.stdout);
    assert!(!run.stdout.contains(root), "the root is that of another data set");
    place.pack("build photos -o other --provenance by").exits(2).says("give NAME=VALUE");
    place.pack("index --headers --force shards").succeeds();
    let run = place.pack("info --format json shards").succeeds();
    let info: Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(info["root"].is_null(), "a root digest without digests of tars covers nothing");
}

#[test]
fn a_signature_is_checked_and_a_change_of_the_manifest_is_found() {
    let place = packed();
    place.pack("sign --new-key release.key --no-password").succeeds();
    place.pack("sign --new-key release.key --no-password").exits(2).says("no key is replaced");
    place.pack("sign --new-key other.key --no-password").succeeds();
    place.pack("verify --signed-by release.pub shards").exits(1).says("no-signature");
    let run = place.pack("sign shards --key release.key").succeeds();
    assert!(run.stdout.contains("shards/dataset.json.minisig: root "), "{}", run.stdout);
    place.pack("verify --signed-by release.pub shards").succeeds();
    place.pack("sync shards synced").succeeds();
    place.pack("verify --signed-by release.pub synced").succeeds();
    let key = fs::read_to_string(place.at("release.pub")).unwrap();
    let key = key.lines().nth(1).unwrap();
    place.pack(&format!("verify --level quick --signed-by {key} shards")).succeeds();
    place.pack("verify --signed-by other.pub --signed-by release.pub shards").succeeds();
    let run = place.pack("verify --signed-by other.pub shards").exits(1);
    run.says("bad-signature").says("made this signature; accepted are");
    // A forger who writes the digest of the manifest again has no key.
    let text = fs::read_to_string(place.at("shards/dataset.json")).unwrap();
    place.file("shards/dataset.json", text.replace("jane@example.org", "mary@example.org"));
    place.pack("index --accept-edits shards").succeeds();
    place.pack("verify shards").succeeds();
    place.pack("verify --signed-by release.pub shards").exits(1).says("does not belong to this");
    place.pack("verify --signed-by release.pub shards/shard-000000.tar").exits(2);
    place.pack("verify --signed-by nothing shards").exits(2).says("neither a public key");
    place.pack("sign copy --key release.pub").exits(2).says("no secret key");
    place.pack("sign photos --key release.key").exits(2);
}

#[test]
fn each_kind_of_damage_is_repaired_from_a_copy() {
    let place = packed();
    let length = fs::metadata(place.at("shards/shard-000001.tar")).unwrap().len();
    damage(&place, "shards/shard-000000.tar", 600); // in the first picture
    damage(&place, "shards/shard-000001.tar", 20); // in the name of the first header
    let file = fs::File::options().write(true).open(place.at("shards/shard-000001.tar")).unwrap();
    file.set_len(length - 700).unwrap();
    fs::remove_file(place.at("shards/shard-000002.tar")).unwrap();
    damage(&place, "shards/shard-000002.index", 90);
    place.pack("verify shards").exits(1);
    let run = place.pack("repair shards --from copy --dry-run").succeeds();
    assert!(run.stdout.contains("3 shards, 0 sound, 4 files can be replaced"), "{}", run.stdout);
    place.pack("verify shards").exits(1);
    let run = place.pack("repair shards --from copy").succeeds();
    assert!(run.stdout.contains("shard-000000.tar: 1 part of 1 sample, "), "{}", run.stdout);
    assert!(run.stdout.contains("shard-000002.tar: the whole file, "), "{}", run.stdout);
    are_same(&place, "shards", "copy");
    place.pack("verify --level decode shards").succeeds();
    place.pack("verify --level quick shards").succeeds();
    let run = place.pack("repair shards --from copy").succeeds();
    assert!(run.stdout.contains("3 shards, 3 sound, 0 files replaced"), "{}", run.stdout);
}

#[test]
fn parts_are_taken_from_the_packed_files_and_from_other_shards() {
    let place = packed();
    damage(&place, "shards/shard-000000.tar", 600);
    damage(&place, "shards/shard-000002.tar", 20);
    let run = place.pack("repair shards --from photos --format json").succeeds();
    let done: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(done["files"][0]["parts"], 1, "{done}");
    assert_eq!(
        (&done["files"][1]["parts"], &done["files"][1]["headers"]),
        (&0.into(), &true.into())
    );
    are_same(&place, "shards", "copy");
    place.pack("reshard copy -o single --shards 1 --shuffle 3").succeeds();
    damage(&place, "shards/shard-000001.tar", 600);
    place.pack("repair shards --from single").succeeds();
    are_same(&place, "shards", "copy");
    // A file of the same length with other bytes is none of these.
    damage(&place, "shards/shard-000001.tar", 600);
    for n in 0..12 {
        damage(&place, &format!("photos/{n:02}.jpg"), 100);
    }
    let before = fs::read(place.at("shards/shard-000001.tar")).unwrap();
    let run = place.pack("repair shards --from photos").exits(1);
    run.says("digest: shards/shard-000001.tar").says("no copy has the bytes");
    assert_eq!(fs::read(place.at("shards/shard-000001.tar")).unwrap(), before);
    place.pack("repair shards --from nowhere").exits(2).says("no such folder");
}

#[test]
fn a_manifest_is_restored_by_the_root_digest_that_info_prints() {
    let place = packed();
    let run = place.pack("info --format json copy").succeeds();
    let info: Value = serde_json::from_str(&run.stdout).unwrap();
    let root = info["root"].as_str().unwrap();
    fs::remove_file(place.at("shards/dataset.json")).unwrap();
    place.pack("repair shards --from copy").exits(65).says("--root HEX");
    place.pack(&format!("repair shards --from copy --root {root}")).succeeds();
    are_same(&place, "shards", "copy");
}
