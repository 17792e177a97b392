//! Numbers on every way in and out: each stays the same, or is an error with its place and the option that helps.

use std::fs;

use serde_json::json;
use tarflume::{DType, Json, Loader};
use tarflume_fixtures::flat_jpeg;

use crate::harness::{Place, python};

/// Numbers that no column of 64 bits holds.
const WIDE: [&str; 5] =
    ["18446744073709551616", "9223372036854775808", "0.1000000000000000055", "1e400", "-1e-400"];

fn packed(place: &Place, name: &str, json: &str) {
    place.file(format!("{name}-src/a.json"), json);
    place.file(format!("{name}-src/a.jpg"), flat_jpeg(b"a"));
    place.pack(&format!("build {name}-src -o {name}")).succeeds();
}

#[test]
fn an_export_keeps_a_number_or_refuses_it() {
    let place = Place::new();
    for (number, wide) in WIDE.iter().enumerate() {
        for (inner, json) in [
            ("id", format!("{{\"id\": {wide}}}")),
            ("o.id", format!("{{\"o\": {{\"id\": [1, {wide}]}}}}")),
        ] {
            let name = format!("{inner}{number}");
            packed(&place, &name, &json);
            for (format, to) in [
                ("csv", "t.csv"),
                ("hf", "hf"),
                ("parquet", "pq"),
                ("tfrecord", "tf"),
                ("folder", "dir"),
            ] {
                let export = format!("export {name} --to {format} -o {name}-{to}");
                let refused = place.pack(&export).exits(65);
                refused
                    .says("'a' in shard-000000.tar")
                    .says(&format!("the field '{inner}' is {wide},"));
                place.pack(&export).says("--numbers text").says("--json text");
                place.pack(&format!("{export} --numbers text")).succeeds();
            }
            let table = fs::read_to_string(place.at(format!("{name}-t.csv"))).unwrap();
            assert!(table.contains(wide), "{table}");
            let line = fs::read_to_string(place.at(format!("{name}-dir/metadata.jsonl"))).unwrap();
            assert!(line.contains(&format!("\"{wide}\"")), "{line}");
            let rounded = format!("export {name} --to csv -o {name}-near.csv --numbers nearest");
            match *wide {
                "1e400" => place.pack(&rounded).exits(65).says("is outside the range"),
                _ => place.pack(&rounded).succeeds(),
            };
            // Text is the part, byte by byte.
            place
                .pack(&format!("export {name} --to csv -o {name}-json.csv --json text"))
                .succeeds();
        }
    }
}

#[test]
fn exported_numbers_are_those_of_python_and_pyarrow() {
    let place = Place::new();
    let numbers = json!({
        "int": 9_007_199_254_740_993_i64, "least": i64::MIN, "most": i64::MAX, "tenth": 0.1,
        "long": 0.300_000_000_000_000_04, "tiny": 5e-324, "huge": 1.797_693_134_862_315_7e308, "negative": -0.0,
        "list": [1.5, 31.245_270_191_439_438]
    });
    packed(&place, "set", &numbers.to_string());
    place.pack("export set --to parquet -o pq").succeeds();
    place.pack("export set --to csv -o t.csv").succeeds();
    let program = "
import csv, json, sys
want = json.load(open('set-src/a.json'))
rows = list(csv.DictReader(open('t.csv')))
for name, value in want.items():
    found = json.loads(rows[0][name])
    assert repr(found) == repr(value), (name, found, value)
";
    python(&place, program, &[]).succeeds();
    let parquet = "
import glob, json
try:
    import pyarrow.parquet as pq
except ImportError:
    raise SystemExit
want = json.load(open('set-src/a.json'))
row = pq.read_table(glob.glob('pq/*.parquet')[0]).to_pylist()[0]
for name, value in want.items():
    assert repr(row[name]) == repr(value), (name, row[name], value)
";
    python(&place, parquet, &[]).succeeds();
}

#[test]
fn floats_of_tfrecord_are_not_rounded_without_the_option() {
    let place = Place::new();
    packed(&place, "good", r#"{"a": 0.1, "b": [0.25, 16777216], "c": 16777217}"#);
    place.pack("export good --to tfrecord -o good-tf").succeeds();
    for (name, json, number) in [
        ("long", r#"{"a": 0.30000000000000004}"#, "0.30000000000000004"),
        ("wide", r#"{"a": [0.5, 16777217]}"#, "16777217"),
    ] {
        packed(&place, name, json);
        let export = format!("export {name} --to tfrecord -o {name}-tf");
        place.pack(&export).exits(65).says(&format!("is {number},")).says("--numbers nearest");
        place.pack(&format!("export {name} --to parquet -o {name}-pq")).succeeds();
        place.pack(&format!("{export} --numbers nearest")).succeeds();
    }
}

#[test]
fn no_export_makes_a_number_infinite() {
    let place = Place::new();
    packed(&place, "narrow", r#"{"o": {"a": 1e39}}"#);
    packed(&place, "wide", r#"{"o": {"a": [0.5, -1e400]}}"#);
    for (set, number, formats) in [
        ("narrow", "1e39", &["tfrecord"][..]),
        ("wide", "-1e400", &["csv", "folder", "hf", "parquet", "tfrecord"]),
    ] {
        for format in formats {
            let export = format!("export {set} --to {format} -o {set}-{format}");
            for numbers in ["exact", "nearest"] {
                let refused = place.pack(&format!("{export} --numbers {numbers}")).exits(65);
                refused
                    .says("'a' in shard-000000.tar")
                    .says(&format!("the field 'o.a' is {number}, which is outside the range"))
                    .says("--numbers text");
            }
            place.pack(&format!("{export} --numbers text")).succeeds();
        }
    }
    place.pack("export narrow --to parquet -o narrow-parquet").succeeds();
}

#[test]
fn an_id_with_leading_zeros_is_not_exported_as_an_integer() {
    let place = Place::new();
    place.pair("src/a").file("src/a.cls", "007\n");
    place.pack("build src -o set").succeeds();
    for format in ["mds", "litdata", "tfrecord", "parquet"] {
        let export = format!("export set --to {format} -o {format}");
        place.pack(&export).exits(65).says("part 'cls' is '007'").says("--as cls=bytes");
        place.pack(&format!("{export} --as cls=bytes")).succeeds();
    }
}

#[test]
fn rows_of_tables_keep_the_digits_of_their_numbers() {
    let place = Place::new();
    place.file("photos/a.jpg", flat_jpeg(b"a")).file("photos/b.jpg", flat_jpeg(b"b"));
    let line = |name: &str, number: &str| {
        format!("{{\"file\": \"{name}\", \"n\": {number}, \"list\": [{number}, 1.50]}}\n")
    };
    let json = |out: &str| -> Vec<String> {
        let members = place.shards(out).into_iter().flatten();
        let jsons = members.filter(|member| member.name.ends_with("json"));
        jsons.map(|member| String::from_utf8(member.data).unwrap()).collect()
    };
    for (number, wide) in WIDE.iter().enumerate() {
        place.file(format!("{number}.jsonl"), line("a.jpg", wide) + &line("b.jpg", "0.5"));
        place.pack(&format!("build photos -o j{number} --join {number}.jsonl")).succeeds();
        let found = json(&format!("j{number}"));
        // No type of 64 bits holds a whole number with more, and the column has one type.
        let quote = if number == 0 { "\"" } else { "" };
        let n = |digits: &str| format!("\"n\":{quote}{digits}{quote}}}");
        assert_eq!(found[0], format!("{{\"file\":\"a.jpg\",\"list\":[{wide},1.5],{}", n(wide)));
        assert_eq!(found[1], format!("{{\"file\":\"b.jpg\",\"list\":[0.5,1.5],{}", n("0.5")));
    }
    // Numbers that no type holds together are text.
    place.file("t.csv", "file,n\na.jpg,9007199254740993\nb.jpg,0.1000000000000000055\n");
    place.pack("build photos -o csv --join t.csv").succeeds().says("column 'n' is text");
    assert!(json("csv")[0].ends_with("\"n\":\"9007199254740993\"}"), "{:?}", json("csv"));
    assert!(json("csv")[1].ends_with("\"n\":\"0.1000000000000000055\"}"), "{:?}", json("csv"));
    // A text part of a number is that number.
    place.file(
        "s.jsonl",
        "{\"k\": \"a\", \"score\": 0.25, \"ok\": true, \"big\": 18446744073709551616}\n",
    );
    place.pack("build jsonl:s.jsonl?key=k&txt=score&cls=ok&id=big -o parts").succeeds();
    let parts: Vec<(String, Vec<u8>)> =
        place.shards("parts").into_iter().flatten().map(|m| (m.name, m.data)).collect();
    for (name, text) in [("a.txt", "0.25"), ("a.cls", "true"), ("a.id", "18446744073709551616")] {
        assert!(parts.contains(&(name.into(), text.into())), "{name}: {parts:?}");
    }
}

#[test]
fn typed_columns_and_the_loader_do_not_round_whole_numbers() {
    let place = Place::new();
    packed(
        &place,
        "set",
        r#"{"n": 16777217, "m": 9007199254740993, "f": 0.1, "d": 9007199254740993.0, "e": 1e400}"#,
    );
    for (columns, why) in [
        ("n:f32", "16777217 would be rounded in f32"),
        ("m:f64", "9007199254740993 would be rounded in f64"),
        ("d:f64", "9007199254740993.0 would be rounded"),
        ("e:f64", "1e400 would be rounded or is outside the range of f64"),
        ("e:f32", "1e400 would be rounded or is outside the range of f32"),
    ] {
        let build = format!("build set-src -o no --fresh --columns {columns}");
        place.pack(&build).exits(1).says("set-src/a.json").says(why);
        place.pack(&format!("index --force --columns {columns} set")).exits(65).says(why);
    }
    place.pack("index --force --columns n:u32,m:i64,d:i64,f:f32 set").succeeds();
    place.pack("verify set --level decode").succeeds();
    for set in ["set", "plain"] {
        if set == "plain" {
            packed(&place, set, &fs::read_to_string(place.at("set-src/a.json")).unwrap());
        }
        let read = |pointer: &str, dtype: DType| {
            let column = Json::new("json", pointer).dtype(dtype);
            let loader = Loader::builder(place.at(set)).column("n", column).batch(1).build()?;
            let batch = loader.epoch(0).next().unwrap()?;
            Ok::<Vec<u8>, tarflume::Error>(batch.column("n")?.bytes().to_vec())
        };
        assert_eq!(read("/m", DType::I64).unwrap(), 9_007_199_254_740_993_i64.to_ne_bytes());
        assert_eq!(read("/d", DType::I64).unwrap(), 9_007_199_254_740_993_i64.to_ne_bytes());
        assert_eq!(read("/f", DType::F32).unwrap(), 0.1f32.to_ne_bytes());
        assert_eq!(read("/f", DType::F64).unwrap(), 0.1f64.to_ne_bytes());
        assert_eq!(read("/n", DType::F64).unwrap(), 16_777_217_f64.to_ne_bytes());
        for (pointer, dtype) in [
            ("/n", DType::F32),
            ("/n", DType::F16),
            ("/m", DType::F64),
            ("/d", DType::F64),
            ("/e", DType::F32),
            ("/e", DType::F64),
            ("/e", DType::I64),
        ] {
            let error = read(pointer, dtype).unwrap_err();
            let text = error.text();
            let is_told = text.contains("would be rounded") || text.contains("outside the range");
            assert!(is_told, "{set} {pointer} {dtype}: {error}");
        }
    }
}

/// Texts of numbers, and the float of 32 bits that each is read as; `None` where it is refused.
const SINGLES: [(&str, Option<f32>); 16] = [
    ("16777216", Some(16_777_216.0)),
    ("16777217", None),
    ("16777218", Some(16_777_218.0)),
    // With a point or an exponent it is the text of a float, which names the nearest one.
    ("16777216.0", Some(16_777_216.0)),
    ("16777217.0", Some(16_777_216.0)),
    ("16777217e0", Some(16_777_216.0)),
    ("16777219.0", Some(16_777_220.0)),
    ("1.6777217E7", Some(16_777_216.0)),
    ("-16777217.0", Some(-16_777_216.0)),
    ("123456790.0", Some(123_456_792.0)),
    ("3.4028234663852886e38", Some(f32::MAX)),
    ("3.4028235e38", Some(f32::MAX)),
    // The largest float of 32 bits and more than half a step: from here on all become infinite.
    ("3.4028235677973367e38", None),
    ("1e300", None),
    ("-1e300", None),
    ("1e400", None),
];

#[test]
fn a_float_of_32_bits_is_rounded_once_from_its_digits() {
    let place = Place::new();
    // The fewest digits that name the float; through 64 bits they are those of its neighbor.
    packed(&place, "set", r#"{"n": 7.038531e-26}"#);
    place.pack("build set-src -o typed --columns n:f32").succeeds();
    for set in ["set", "typed"] {
        let column = Json::new("json", "/n").dtype(DType::F32);
        let loader = Loader::builder(place.at(set)).column("n", column).batch(1).build().unwrap();
        let batch = loader.epoch(0).next().unwrap().unwrap();
        assert_eq!(batch.column("n").unwrap().bytes(), 0x15ae_43fdu32.to_ne_bytes(), "{set}");
    }
    place.pack("verify typed").succeeds();
}

#[test]
fn the_text_of_a_float_names_the_nearest_float_and_none_becomes_infinite() {
    let place = Place::new();
    for (number, (text, single)) in SINGLES.into_iter().enumerate() {
        let set = format!("set{number}");
        packed(&place, &set, &format!("{{\"n\": {text}}}"));
        let read = |set: &str| {
            let column = Json::new("json", "/n").dtype(DType::F32);
            let loader = Loader::builder(place.at(set)).column("n", column).batch(1).build()?;
            let batch = loader.epoch(0).next().unwrap()?;
            Ok::<Vec<u8>, tarflume::Error>(batch.column("n")?.bytes().to_vec())
        };
        let columns = format!("build {set}-src -o {set}-typed --columns n:f32");
        match single {
            Some(single) => {
                assert_eq!(read(&set).unwrap(), single.to_ne_bytes(), "{text}");
                place.pack(&columns).succeeds();
                assert_eq!(read(&format!("{set}-typed")).unwrap(), single.to_ne_bytes(), "{text}");
            }
            None => {
                let error = read(&set).unwrap_err();
                let why = ["outside the range of float32", "would be rounded in float32"];
                assert!(why.iter().any(|why| error.text().contains(why)), "{text}: {error}");
                place.pack(&columns).exits(1).says(&format!("{set}-src/a.json"));
            }
        }
    }
    // Python reads the texts of floats so.
    let floats: Vec<String> = SINGLES
        .iter()
        .filter(|(text, single)| text.contains(['.', 'e', 'E']) && single.is_some())
        .filter_map(|(text, single)| Some(format!("('{text}', {:?})", f64::from((*single)?))))
        .collect();
    let program = format!(
        "
import json, struct
for text, want in [{}]:
    found, = struct.unpack('f', struct.pack('f', json.loads(text)))
    assert found == want, (text, found, want)
",
        floats.join(", ")
    );
    python(&place, &program, &[]).succeeds();
}
