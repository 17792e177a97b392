//! Sources that are not folders: `pack build KIND:FILE`. Values, refusals, and the promises of
//! folders: restart, several machines, changed files, problems, the options of samples.
//!
//! `made` writes the files by hand; python/tests/sources/test_sources.py has those of the tools themselves.

mod archives;
mod documents;
mod loaders;
mod made;
mod member_names;

use std::fs;

use serde_json::{Value, json};
use tarflume_fixtures::flat_jpeg;

use crate::harness::{Member, Place};
use crate::interrupted::kills::killed;
use archives::tars;
use made::{arrays, floats, mds, npy, tens};

/// Returns the members of a data set by name.
fn members(place: &Place, name: &str) -> Vec<(String, Vec<u8>)> {
    let all = place.shards(name).into_iter().flatten();
    all.map(|Member { name, data, .. }| (name, data)).collect()
}

/// Returns the JSON of a member.
#[track_caller]
fn json_of(members: &[(String, Vec<u8>)], name: &str) -> Value {
    let found = members.iter().find(|(n, _)| n == name);
    let (_, bytes) = found.unwrap_or_else(|| panic!("no {name}"));
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn rows_of_arrays_are_samples_with_the_bytes_of_the_array() {
    let place = Place::new();
    arrays(&place, 5);
    place.pack("build npy:in/x.npy,in/y.npy -o out --shard-samples 2").succeeds();
    let found = members(&place, "out");
    assert_eq!(found.len(), 10);
    assert_eq!((found[0].0.as_str(), found[1].0.as_str()), ("00000000.json", "00000000.x.raw"));
    for row in 0..5 {
        assert_eq!(json_of(&found, &format!("{row:08}.json")), json!({"y": row * 10}));
        assert_eq!(found[2 * row + 1].1, floats(5)[row * 12..row * 12 + 12]);
    }
    let columns = &place.manifest("out")["columns"];
    assert_eq!(columns[0], json!({"name": "x.raw", "type": "float32", "shape": [3]}));
    assert_eq!(columns[1], json!({"name": "/y", "type": "int64"}));
    place.pack("verify out").succeeds();
}

#[test]
fn arrays_come_back_as_columns_of_their_type_and_shape() {
    use tarflume::{DType, Loader, Raw};
    let place = Place::new();
    arrays(&place, 6);
    place.pack("build npy:in/x.npy,in/y.npy -o out --shard-samples 4").succeeds();
    let out = place.at("out");
    let loader = Loader::builder(&out).bytes("x.raw").label("json", "/y").batch(6).build().unwrap();
    let batch = loader.epoch(0).next().unwrap().unwrap();
    let x = batch.column("x.raw").unwrap();
    assert_eq!((x.shape(), x.dtype()), (vec![6, 3], DType::F32));
    let wanted: Vec<f32> = (0..18).map(|n| n as f32).collect();
    assert_eq!(x.elements::<f32>().unwrap(), wanted);
    assert_eq!(batch.column("label").unwrap().elements::<i64>().unwrap(), [0, 10, 20, 30, 40, 50]);
    let all = Loader::builder(&out).batch(6).build().unwrap().epoch(0).next().unwrap().unwrap();
    assert_eq!(all.column("x.raw").unwrap().shape(), [6, 3], "without columns, too");
    let bytes = Loader::builder(&out).column("x", Raw::new("x.raw").dtype(DType::U8)).build();
    let batch = bytes.unwrap().epoch(0).next().unwrap().unwrap();
    assert_eq!(batch.column("x").unwrap().row(0), &floats(1)[..], "bytes if that is asked for");
}

#[test]
fn arrays_that_can_not_be_rows_are_refused_with_the_remedy() {
    let place = Place::new();
    let nan = [1.5f32, f32::NAN].map(f32::to_le_bytes).concat();
    let objects = npy("|O", "(2,)", &[0; 16]);
    for (file, text) in [
        (npy(">f4", "(2, 1)", &nan), "x.astype(x.dtype.newbyteorder('<'))"),
        (
            npy("<f4", "(2, 2)", &nan),
            "declares 16 bytes of data from byte 128, and the file ends at",
        ),
        (npy("<f4", "(2, 0)", &nan), "its rows have no elements"),
        (npy("<f4", "()", &nan), "a single number"),
        (npy("<c8", "(1, 1)", &nan), "bool, integers and floats"),
        (npy("<f4", "(18446744073709551615, 9)", &nan), "more bytes than a file can have"),
        (npy("<f4", "(9223372036854775807, 0)", &nan), "x.npy"),
        (objects, "x.npy"),
        (b"\x93NUMPY\x01\x00\xff\xff".to_vec(), "x.npy"),
        (b"no array".to_vec(), "not an npy file"),
        (Vec::new(), "x.npy"),
        (npy("<f4", "(0, 3)", &[]), "no samples"),
    ] {
        place.file("x.npy", file);
        let run = place.pack("build npy:x.npy -o out");
        assert!(run.exit == 2 || run.exit == 65, "{run:#?}");
        run.says(text);
        assert!(place.names("out").is_empty(), "nothing is written");
    }
    place.file("x.npy", npy("<f4", "(2,)", &nan));
    let run = place.pack("build npy:x.npy -o nan").exits(1);
    run.says("key 00000001: row 1: array 'x': it is NaN, which JSON lacks")
        .says("or name its bytes as a part: x.raw=x");
    assert_eq!(place.names("nan"), ["problems.jsonl"]);
    let mut order = npy("<f4", "(2, 1)", &nan);
    let at = order.windows(5).position(|w| w == b"False").unwrap();
    order[at..at + 5].copy_from_slice(b"True ");
    place.file("x.npy", order);
    place.pack("build npy:x.npy -o out").exits(2).says("numpy.ascontiguousarray");
    place.file("x.npy", npy("<f4", "(2, 1)", &nan)).file("y.npy", npy("<i8", "(3,)", &tens(3)));
    place.pack("build npy:x.npy,y.npy -o out").exits(2).says("has 2 rows and").says("has 3");
    place.pack("build npy:x.npy?key=y -o out").exits(2).says("npy: has no option 'key'");
    place.pack("build npy:x.npy,x.npy -o out").exits(2).says("two arrays are named 'x'");
}

#[test]
fn an_unknown_kind_lists_the_kinds_and_a_folder_is_no_source() {
    let place = Place::new();
    arrays(&place, 2);
    place
        .pack("build npx:in/x.npy -o out")
        .exits(2)
        .says("'npx:' is no kind")
        .says("npy:, npz:, parquet:");
    place.pack("build npy:none.npy -o out").says("none.npy");
    place.pack("build npy:in/x*.npz -o out").exits(2).says("no file matches");
    place.pack("build npy:in/x.npy in -o out").exits(2).says("is a folder and npy: is none");
    place.pack("build npy:in/x.npy -o out --ext-by-content").exits(2).says("--ext-by-content");
    place.pack("build npy:in -o out").succeeds();
    assert_eq!(place.manifest("out")["samples"], 2, "a folder stands for its files");
}

#[test]
fn an_output_folder_that_holds_a_source_or_is_in_one_is_refused() {
    let place = Place::new();
    arrays(&place, 2);
    mds(&place, "old", 1, 2, &|n| flat_jpeg(format!("{n}").as_bytes()));
    place.pack("build npy:in/x.npy -o in").exits(2).says("holds the source");
    place.pack("build npy:in/x.npy -o .").exits(2).says("holds the source");
    place.pack("build npy:in/x.npy -o in/x.npy").exits(2).says("this is a file");
    place.pack("build mds:old -o old/new").exits(2).says("is inside the source");
    place.pack("build mds:old -o old").exits(2);
    assert_eq!(place.names("in"), ["x.npy", "y.npy"]);
}

#[test]
fn a_source_that_changed_is_refused_by_name_and_one_elsewhere_is_read_from_there() {
    let place = Place::new();
    arrays(&place, 6);
    let plan = "npy:in/x.npy,in/y.npy";
    place.pack(&format!("build {plan} -o whole --shard-samples 2")).succeeds();
    place.pack(&format!("plan {plan} -o out --shard-samples 2")).succeeds();
    fs::rename(place.at("in"), place.at("moved")).unwrap();
    place.pack("run out").exits(75).says("x.npy: the source file does not exist").says("--source");
    place.pack("run out --shard 0 --source moved/x.npy --source moved/y.npy").succeeds();
    place.pack("run out --shard 1 --source npy:moved/x.npy,moved/y.npy").succeeds();
    place.pack("run out --source moved/x.npy").exits(2).says("2 source folders, 1 were given");
    fs::rename(place.at("moved"), place.at("in")).unwrap();
    let good = fs::read(place.at("in/x.npy")).unwrap();
    place.file("in/x.npy", &good[..good.len() - 1]);
    place.pack("run out").exits(65).says("was changed after it was planned").says("--fresh");
    place.file("in/x.npy", &good);
    place.pack("run out").exits(65).says("modification time differs");
    place.pack("run out --ignore-times").succeeds();
    place.pack("finalize out").succeeds();
    place.same("out", "whole");
    place.pack(&format!("build {plan} -o whole --shard-samples 2")).exits(2).says("modified after");
}

#[test]
fn a_repeated_build_goes_on_and_a_changed_source_is_refused() {
    let place = Place::new();
    arrays(&place, 8);
    place.pack("plan npy:in/x.npy -o out --shard-samples 2").succeeds();
    place.pack("run out --shards 1..3").succeeds();
    place.pack("build npy:in/x.npy -o out --shard-samples 2").succeeds().says("continuing");
    place.pack("build npy:in/x.npy -o other --shard-samples 2").succeeds();
    place.same("out", "other");
    place.pack("build npy:in/x.npy -o out --shard-samples 2").succeeds().says("published already");
    place.pack("plan npy:in/x.npy -o third --shard-samples 2").succeeds();
    place.file("in/x.npy", npy("<f4", "(8, 3)", &floats(9)[12..]));
    place.pack("build npy:in/x.npy -o third --shard-samples 2").exits(2).says("has changed");
    place
        .pack("build npy:in/y.npy -o third --shard-samples 2")
        .exits(2)
        .says("the list of sources was");
}

#[test]
fn two_machines_make_of_sources_what_one_build_makes() {
    let place = Place::new();
    arrays(&place, 60);
    tars(&place);
    mds(&place, "mds", 3, 20, &|n| flat_jpeg(format!("{n}").as_bytes()));
    for (n, source) in ["npy:in/x.npy,in/y.npy", "tar:old/*.tar", "mds:mds"].iter().enumerate() {
        let whole = format!("whole{n}");
        let out = format!("both{n}");
        place.pack(&format!("build {source} -o {whole} --shard-samples 3")).succeeds();
        place.pack(&format!("plan {source} -o {out} --shard-samples 3")).succeeds();
        let ranks = [0, 1].map(|rank| place.start(&format!("run {out} --rank {rank} --of 2")));
        for rank in ranks {
            rank.ended().succeeds();
        }
        place.pack(&format!("finalize {out}")).succeeds();
        place.same(&whole, &out);
    }
}

#[test]
fn builds_of_arrays_killed_at_random_calls_give_the_same_bytes() {
    let place = Place::new();
    arrays(&place, 400);
    killed(&place, "npy:in/x.npy,in/y.npy", "--shard-samples 6", 15);
}

#[test]
fn builds_of_tars_killed_at_random_calls_give_the_same_bytes() {
    let place = Place::new();
    place.folder("pairs", 400);
    place.pack("build pairs -o old --shards 5").succeeds();
    killed(&place, "tar:old/*.tar", "--shard-samples 6", 15);
}

#[test]
fn builds_of_mds_killed_at_random_calls_give_the_same_bytes() {
    let place = Place::new();
    mds(&place, "old", 8, 50, &|n| flat_jpeg(format!("{n}").as_bytes()));
    killed(&place, "mds:old", "--shard-samples 6 --shuffle 2", 15);
}
