//! Typed columns of sidecars: packed, indexed, resharded, appended, verified.

use std::fs;

use tarflume::{Class, DType, Json, Loader, Weights};

use tarflume_formats::Index;

use crate::harness::Place;

const COLUMNS: &str = "class:u32,split:str,score:f32,cap=txt:str";

/// Twelve pairs with a class, a text and, some of them, a score.
fn labeled() -> Place {
    let place = Place::new();
    for n in 0..12 {
        place.pair(&format!("photos/{n:02}"));
        let score = if n % 4 == 0 { String::new() } else { format!(", \"score\": {n}.5") };
        let json = format!("{{\"class\": {n}, \"split\": \"part {}\"{score}}}", n % 3);
        place.file(format!("photos/{n:02}.json"), json);
        place.file(format!("photos/{n:02}.txt"), format!("caption {n}"));
    }
    place
}

/// Key and values of each sample of a data set, in order.
fn values(place: &Place, set: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut text = Vec::new();
    for shard in place.manifest(set)["shards"].as_array().unwrap() {
        let name = shard["name"].as_str().unwrap().replace(".tar.zst", ".tar");
        let index = Index::open(place.at(format!("{set}/{}", name.replace(".tar", ".index"))));
        let index = index.unwrap();
        for row in 0..index.samples() {
            let mut line = String::from_utf8(index.key(row).unwrap().to_vec()).unwrap();
            for column in 0..index.columns().unwrap().len() {
                let value = index.value(column, row, &mut text).unwrap();
                line += &value.map_or(" -".into(), |value| format!(" {value}"));
            }
            found.push(line);
        }
    }
    found
}

fn expected(n: usize) -> String {
    let score = if n.is_multiple_of(4) { "-".into() } else { format!("{n}.5") };
    format!("{n:02} {n} \"part {}\" {score} \"caption {n}\"", n % 3)
}

#[test]
fn columns_are_packed_and_found_by_every_way_to_make_shards() {
    let place = labeled();
    place.pack(&format!("build photos -o shards --shards 3 --columns {COLUMNS}")).succeeds();
    let all: Vec<String> = (0..12).map(expected).collect();
    assert_eq!(values(&place, "shards"), all);
    let listed = place.manifest("shards")["sidecar_columns"].clone();
    assert_eq!(listed[0], "class=json:/class:u32");
    place.pack("verify shards").succeeds();

    // Another number of threads, compression and a machine's share give the same columns.
    place.pack(&format!("build photos -o one --shards 3 --jobs 1 --columns {COLUMNS}")).succeeds();
    place.same("one", "shards");
    place.pack(&format!("build photos -o zstd --compress zstd --columns {COLUMNS}")).succeeds();
    assert_eq!(values(&place, "zstd"), all);
    place.pack("verify zstd").succeeds();

    // `pack index` adds the same columns to tars without them, and keeps what is right.
    place.pack("build photos -o plain --shards 3").succeeds();
    assert!(place.manifest("plain")["sidecar_columns"].is_null());
    place.pack(&format!("index --columns {COLUMNS} plain")).succeeds();
    assert_eq!(values(&place, "plain"), all);
    assert_eq!(place.manifest("plain")["sidecar_columns"], listed);
    for n in 0..3 {
        let sidecar =
            |set: &str| fs::read(place.at(format!("{set}/shard-00000{n}.index"))).unwrap();
        assert!(sidecar("plain") == sidecar("shards"), "shard {n}: entry points were lost");
    }
    let again = place.pack(&format!("index --columns {COLUMNS} plain")).succeeds();
    again.says("kept");
    place.pack("index plain").succeeds();
    assert_eq!(values(&place, "plain"), all);
    place.pack("index --headers --columns class:u32 plain").exits(2);
}

#[test]
fn reshard_keeps_the_columns_and_append_continues_them() {
    let place = labeled();
    place.pack(&format!("build photos -o shards --columns {COLUMNS}")).succeeds();
    let all: Vec<String> = (0..12).map(expected).collect();
    place.pack("reshard shards -o three --shards 3").succeeds();
    assert_eq!(values(&place, "three"), all);
    place.pack("reshard shards -o none --columns=").succeeds();
    assert!(place.manifest("none")["sidecar_columns"].is_null());
    place.pack("reshard shards -o fewer --drop txt --rename json=meta.json").succeeds();
    let listed = place.manifest("fewer")["sidecar_columns"].clone();
    assert_eq!(listed[0], "class=meta.json:/class:u32");
    assert_eq!(listed.as_array().unwrap().len(), 3, "a column of a part that is left out stays");

    place.pack("build photos -o other --columns class:i64").succeeds();
    place.pack("reshard shards other -o both").exits(2).says("class").says("--columns");

    for n in 12..14 {
        place.pair(&format!("photos/{n:02}"));
        place
            .file(format!("photos/{n:02}.json"), format!("{{\"class\": {n}, \"split\": \"new\"}}"));
        place.file(format!("photos/{n:02}.txt"), "new");
    }
    place.pack("append photos -o shards").succeeds();
    let found = values(&place, "shards");
    assert_eq!(found[..12], all);
    assert_eq!(found[12..], ["12 12 \"new\" - \"new\"", "13 13 \"new\" - \"new\""]);
    assert_eq!(place.manifest("shards")["sidecar_columns"].as_array().unwrap().len(), 4);
}

#[test]
fn a_value_of_another_type_is_a_problem_with_its_place() {
    let place = labeled();
    place.file("photos/07.json", "{\"class\": \"seven\", \"split\": \"a\"}");
    let run = place.pack("build photos -o shards --columns class:u32").exits(1);
    run.says("photos/07.json").says("column 'class'").says("\"seven\" is not of type u32");
    place.pack("build photos -o shards --columns class:u32 --on-problem skip --fresh").succeeds();
    assert_eq!(values(&place, "shards").len(), 11);

    // `pack index` cannot leave a sample out: it gets no value, and the user reads why.
    place.pack("build photos -o all").succeeds();
    let run = place.pack("index --columns class:u32,split:str all").succeeds();
    run.says("shard-000000.tar").says("07").says("\"seven\" is not of type u32");
    assert_eq!(values(&place, "all")[7], "07 - \"a\"");
    place.pack("verify all").succeeds();

    for (columns, said) in [
        ("class", "NAME:TYPE"),
        ("class:int", "is none of bool, u8"),
        ("a:u8,a=/b:u8", "two columns have the name 'a'"),
    ] {
        place.pack(&format!("build photos -o no --columns {columns}")).exits(2).says(said);
    }
}

#[test]
fn verify_finds_a_sidecar_whose_values_are_not_those_of_the_parts() {
    let place = labeled();
    place.pack("build photos -o shards --columns class:u32").succeeds();
    // The sidecar of other labels, which describes the same bytes but for them.
    place.file("photos/03.json", "{\"class\": 8, \"split\": \"part 0\", \"score\": 3.5}");
    place.pack("build photos -o other --columns class:u32").succeeds();
    let tar = "shard-000000.tar";
    let mine = place.at(format!("shards/{tar}"));
    let theirs = place.at(format!("other/{tar}"));
    assert_eq!(fs::metadata(&mine).unwrap().len(), fs::metadata(&theirs).unwrap().len());
    fs::copy(theirs, mine).unwrap();
    let run = place.pack("verify shards").exits(1);
    run.says("column 'class' of the sidecar has 3, the part has 8").says("pack index --force");

    // An earlier sample whose headers are all damaged does not shift the rows that are compared.
    place.pack("build photos -o third --columns class:u32").succeeds();
    let tar = place.at("third/shard-000000.tar");
    let mut bytes = fs::read(&tar).unwrap();
    let headers = bytes.chunks_mut(512).filter(|block| block.starts_with(b"00."));
    assert_eq!(headers.map(|header| header[..100].fill(0xff)).count(), 3);
    fs::write(&tar, bytes).unwrap();
    let run = place.pack("verify third").exits(1);
    assert!(!(run.stdout.clone() + &run.stderr).contains("column 'class'"), "{run:?}");
}

/// The labels of an epoch in the order of the data set.
fn labels(
    place: &Place,
    set: &str,
    pointer: &str,
    dtype: DType,
) -> Result<Vec<u8>, tarflume::Error> {
    let label = Json::new("json", pointer).dtype(dtype);
    let label =
        if pointer == "/split" { label.labels(["part 0", "part 1", "part 2"]) } else { label };
    let loader = Loader::builder(place.at(set)).column("label", label).batch(12).build()?;
    let batch = loader.epoch(0).next().unwrap()?;
    Ok(batch.column("label")?.bytes().to_vec())
}

#[test]
fn a_loader_takes_labels_and_weights_from_the_sidecars_without_reading_their_parts() {
    let place = labeled();
    for n in 0..12 {
        place.file(format!("photos/{n:02}.cls"), format!("{n}\n"));
    }
    place.pack("build photos -o plain").succeeds();
    let columns = "class:u32,split:str,score:f32,cls=cls:i16";
    place.pack(&format!("build photos -o shards --columns {columns}")).succeeds();
    // Every `{` becomes `!`: a JSON that is read is an error.
    let tar = place.at("shards/shard-000000.tar");
    let mut bytes = fs::read(&tar).unwrap();
    for at in 0..bytes.len() - 9 {
        if &bytes[at..at + 9] == b"{\"class\":" {
            bytes[at] = b'!';
        }
    }
    fs::write(&tar, bytes).unwrap();
    place.renew("shards/shard-000000.tar");
    for (pointer, dtype) in [("/class", DType::I64), ("/class", DType::F32), ("/split", DType::U8)]
    {
        let ours = labels(&place, "shards", pointer, dtype);
        let plain = labels(&place, "plain", pointer, dtype);
        assert_eq!(ours.unwrap(), plain.unwrap(), "{pointer}");
    }
    // A sample without a value is an error, as without the column; a float is not rounded twice.
    for set in ["shards", "plain"] {
        let error = labels(&place, set, "/score", DType::F32).unwrap_err();
        assert!(error.text().contains("there is no value"), "{error}");
        assert!(error.to_string().contains("00"), "{error}");
    }
    labels(&place, "shards", "/score", DType::F64).unwrap_err(); // read from the JSON, which is damaged
    labels(&place, "shards", "/other", DType::I64).unwrap_err();

    let dataset = tarflume::Dataset::open(place.at("shards")).unwrap();
    assert_eq!(dataset.typed_columns().len(), 4);
    assert_eq!(dataset.numbers("/class").unwrap()[..], (0..12).collect::<Vec<i64>>());
    assert_eq!(dataset.numbers("cls").unwrap()[..], (0..12).collect::<Vec<i64>>());
    let builder = Loader::builder(place.at("shards")).column("cls", Class::new("cls")).batch(12);
    let loader = builder.weights(Weights::balanced("/class")).build().unwrap();
    let batch = loader.epoch(0).next().unwrap().unwrap();
    let mut found = batch.column("cls").unwrap().elements::<i64>().unwrap().to_vec();
    found.sort_unstable();
    assert_eq!(found, (0..12).collect::<Vec<i64>>());

    let table = dataset.with_mapped_sidecars(0).table().unwrap();
    assert_eq!(table.columns()[0].name, "class");
    let batch = table.into_iter().next().unwrap().unwrap();
    assert_eq!(batch.columns[0].values, tarflume::TableValues::U32((0..12).collect()));
    let known: Vec<bool> = (0..12).map(|n| n % 4 != 0).collect();
    assert_eq!(batch.columns[2].known, known);
    // Data sets opened together have the columns that both have.
    let both = [tarflume::Dataset::open(place.at("plain")).unwrap(), dataset];
    assert!(tarflume::Dataset::concat(&both).unwrap().typed_columns().is_empty());
}
