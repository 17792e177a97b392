//! Sources that are not folders: NumPy arrays.

use std::fs;

use crate::harness::Place;

/// Returns the bytes of an array in NumPy's format, version 1.
fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
}

/// A place with 40 rows of 6 bytes in `x.npy` and their numbers in `y.npy`.
fn arrays() -> Place {
    let place = Place::new();
    let x: Vec<u8> = (0..240u32).map(|n| (n * 7 % 256) as u8).collect();
    let y: Vec<u8> = (0..40i16).flat_map(|n| (n - 3).to_le_bytes()).collect();
    place.file("x.npy", npy("|u1", "(40, 2, 3)", &x));
    place.file("y.npy", npy("<i2", "(40,)", &y));
    place
}

#[test]
fn rows_of_two_arrays_are_samples_with_the_bytes_of_each_row() {
    let place = arrays();
    place.pack("build npy:x.npy,y.npy -o out --shard-samples 15").succeeds();
    place.pack("verify out").succeeds();
    let shards = place.shards("out");
    assert_eq!(shards.iter().map(|shard| shard.len() / 2).collect::<Vec<_>>(), [15, 15, 10]);
    for (row, members) in shards.concat().chunks(2).enumerate() {
        assert_eq!(members[0].name, format!("{row:08}.json"));
        assert_eq!(members[0].data, format!("{{\"y\":{}}}", row as i32 - 3).as_bytes());
        assert_eq!(members[1].name, format!("{row:08}.x.raw"));
        let data: Vec<u8> = (row * 6..row * 6 + 6).map(|n| (n * 7 % 256) as u8).collect();
        assert_eq!(members[1].data, data);
    }
    let columns = &place.manifest("out")["columns"];
    assert_eq!(columns[0]["name"], "x.raw");
    assert_eq!(columns[0]["shape"], serde_json::json!([2, 3]));
    let cat = place.pack("cat out 00000004.json").succeeds();
    assert_eq!(cat.stdout.trim_end(), "{\"y\":1}");
}

#[test]
fn arrays_packed_by_two_machines_are_those_of_one_build() {
    let place = arrays();
    place.pack("build npy:x.npy,y.npy -o whole --shard-samples 3").succeeds();
    place.pack("plan npy:x.npy,y.npy -o out --shard-samples 3").succeeds();
    place.pack("run out --rank 1 --of 2").succeeds();
    place.pack("run out --rank 0 --of 2").succeeds();
    place.pack("finalize out").succeeds();
    place.same("out", "whole");
}

#[test]
fn an_array_that_changes_after_it_was_planned_packs_nothing() {
    let place = arrays();
    place.pack("plan npy:x.npy,y.npy -o out --shard-samples 3").succeeds();
    let array = fs::read(place.at("x.npy")).unwrap();
    fs::write(place.at("x.npy"), [&array[..], b"more"].concat()).unwrap();
    let run = place.pack("run out");
    assert!(run.exit != 0 && run.stderr.contains("x.npy"), "{run:#?}");
    place.pack("finalize out").exits(75);
}

#[test]
fn arrays_of_different_lengths_and_files_that_are_none_are_refused() {
    let place = arrays();
    place.file("short.npy", npy("|u1", "(39, 1)", &[0; 39]));
    place.file("cut.npy", npy("|u1", "(40, 9)", &[0; 39]));
    place.file("text.npy", "no array");
    place.pack("build npy:x.npy,short.npy -o out").exits(2).says("40 rows").says("has 39");
    place.pack("build npy:cut.npy -o out").exits(2).says("declares 360 bytes");
    let run = place.pack("build npy:text.npy -o out");
    assert!(run.exit != 0 && run.stderr.contains("text.npy"), "{run:#?}");
    place.pack("build npy:nowhere.npy -o out").says("nowhere.npy");
    assert!(!place.at("out/dataset.json").exists());
}
