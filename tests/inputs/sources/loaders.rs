//! The files of other loaders as sources: MDS, LitData, TFRecord.

use std::fs;

use serde_json::json;
use tarflume_fixtures::flat_jpeg;

use super::made::{feature, mds, packed, record};
use super::{json_of, members};
use crate::harness::Place;

#[test]
fn mds_columns_become_parts_and_json() {
    let place = Place::new();
    mds(&place, "old", 2, 3, &|n| flat_jpeg(format!("{n}").as_bytes()));
    place
        .pack("build mds:old -o out")
        .succeeds()
        .says("'image' is packed as jpg, by its first bytes");
    let found = members(&place, "out");
    assert_eq!(found.len(), 12);
    assert_eq!(found[0].0, "00000000.jpg");
    assert_eq!(found[8], ("00000004.jpg".into(), flat_jpeg(b"4")));
    assert_eq!(json_of(&found, "00000004.json"), json!({"label": 4, "name": "p0004"}));
    place.pack("build mds:old?key=name&jpg=image&cls=label -o named").succeeds();
    let found = members(&place, "named");
    assert_eq!((found[0].0.as_str(), found[0].1.as_slice()), ("p0000.cls", &b"0"[..]));
    assert_eq!(found[1].0, "p0000.jpg");
    place
        .pack("build mds:old?jpg=picture -o none")
        .exits(2)
        .says("the columns are image, label, name");
    place.pack("build mds:in -o none").exits(2).says("index.json does not exist");
}

#[test]
fn a_pickled_column_is_refused_by_name_and_can_be_left_out() {
    let place = Place::new();
    mds(&place, "old", 1, 2, &|n| flat_jpeg(format!("{n}").as_bytes()));
    let index = fs::read_to_string(place.at("old/index.json")).unwrap();
    place.file("old/index.json", index.replace("\"str\"", "\"pkl\""));
    place.pack("build mds:old -o out").exits(2).says("column 'name': it is pickled");
    place.pack("build mds:old?jpg=image&json=label -o out").succeeds();
    place.file("old/index.json", index.replace("\"samples\":2", "\"samples\":3"));
    place
        .pack("build mds:old -o bad")
        .exits(65)
        .says("the index says 3 samples, and the file has 2");
    let shard = fs::read(place.at("old/shard.00000.mds")).unwrap();
    place.file("old/index.json", &index);
    place.file("old/shard.00000.mds", [&shard[..4], &[255; 4], &shard[8..]].concat());
    place.pack("build mds:old -o bad").exits(65).says("shard.00000.mds").says("sample 0 should be");
}

#[test]
fn litdata_leaves_become_parts_and_json() {
    let place = Place::new();
    let sample = |n: usize| {
        let image = flat_jpeg(&[b'a' + n as u8]);
        let name = format!("p{n}");
        let sizes = [image.len() as u32, 8, name.len() as u32].map(u32::to_le_bytes).concat();
        [sizes, image, (n as i64).to_le_bytes().to_vec(), name.into_bytes()].concat()
    };
    let samples: Vec<Vec<u8>> = (0..4).map(sample).collect();
    let bytes = samples.concat().len();
    place.file("old/chunk-0-0.bin", packed(&samples));
    let leaf = json!({"type": null, "context": null, "children_spec": []});
    let spec = json!([1, {"type": "builtins.dict", "context": "[\"image\", \"label\", \"name\"]",
        "children_spec": [leaf, leaf, leaf]}]);
    let index = |format: &str| {
        json!({"chunks": [{"chunk_bytes": bytes, "chunk_size": 4, "dim": null, "filename": "chunk-0-0.bin"}],
            "config": {"compression": null, "chunk_size": 4, "chunk_bytes": null,
                "data_format": ["jpeg", "int", format], "data_spec": spec.to_string()}})
        .to_string()
    };
    place.file("old/index.json", index("str"));
    place.pack("build litdata:old -o out").succeeds();
    let found = members(&place, "out");
    assert_eq!(found[4], ("00000002.jpg".into(), flat_jpeg(b"c")));
    assert_eq!(json_of(&found, "00000002.json"), json!({"label": 2, "name": "p2"}));
    place.file("old/index.json", index("pickle"));
    place.pack("build litdata:old -o none").exits(2).says("column 'name': it is pickled");
    place.file("old/index.json", index("str"));
    let chunk = [
        packed(&[vec![], vec![], vec![], vec![]]),
        b"a table of Arrow\x10\0\0\0LDARW01\0".to_vec(),
    ]
    .concat();
    place.file("old/chunk-0-0.bin", chunk);
    let run = place.pack("build litdata:old -o none").exits(2);
    run.says("chunk-0-0.bin: byte 44: the samples are an Arrow table").says("ShardWriter");
}

/// Records of an image, its name, an integer and a list of floats.
fn records(count: usize) -> Vec<u8> {
    let record = |n: usize| {
        let floats: Vec<u8> = (0..n % 3).flat_map(|f| (f as f32 + 0.1).to_le_bytes()).collect();
        record(&[
            feature("image/encoded", 1, &flat_jpeg(format!("{n}").as_bytes())),
            feature("image/filename", 1, format!("p{n}.JPEG").as_bytes()),
            feature("label", 3, &[n as u8]),
            feature("boxes", 2, &floats),
        ])
    };
    (0..count).flat_map(record).collect()
}

#[test]
fn tfrecord_features_become_parts_and_json() {
    let place = Place::new();
    place.file("a.tfrecord", records(5));
    place
        .pack("build tfrecord:a.tfrecord -o out")
        .succeeds()
        .says("'image/encoded' is packed as jpg");
    let found = members(&place, "out");
    assert_eq!(found[4], ("00000002.jpg".into(), flat_jpeg(b"2")));
    let wanted = json!({"boxes": [0.1, 1.1], "image/filename": "p2.JPEG", "label": 2});
    assert_eq!(json_of(&found, "00000002.json"), wanted);
    assert_eq!(json_of(&found, "00000001.json")["boxes"], json!([0.1]));
    let named = "tfrecord:a.tfrecord?key=image/filename&jpg=image/encoded&json=label";
    place.pack(&format!("build {named} -o named")).succeeds();
    assert_eq!(json_of(&members(&place, "named"), "p4.json"), json!({"label": 4}));
}

#[test]
fn a_damaged_record_is_a_problem_with_its_byte() {
    let place = Place::new();
    let first = records(1).len();
    let mut bytes = records(5);
    bytes[first + 40] ^= 1;
    place.file("a.tfrecord", &bytes);
    let run = place.pack("build tfrecord:a.tfrecord -o out").exits(1);
    run.says(&format!("checksum: PLACE/a.tfrecord: byte {first}: record 1"));
    place.pack("build tfrecord:a.tfrecord -o out --on-problem skip").succeeds();
    assert_eq!(place.manifest("out")["samples"], 4);
    bytes[first] ^= 1;
    place.file("a.tfrecord", &bytes);
    let run = place.pack("build tfrecord:a.tfrecord -o other").exits(65);
    run.says("the length of a record is damaged").says(&format!("byte {first}"));
    place.file("a.tfrecord", &bytes[..first - 3]);
    place.pack("build tfrecord:a.tfrecord -o other").exits(65).says("ends inside a record");
    place.file("a.tfrecord", b"\x1f\x8b\x08 compressed with gzip");
    place.pack("build tfrecord:a.tfrecord -o other").exits(65).says("gunzip");
}
