//! Rows, types and JSON of small tables.

use std::io::Write;
use std::path::PathBuf;

use tarflume_base::Stop;
use tarflume_formats::json::JsonRules;

use super::values::json::RowWriter;
use super::values::survey::Survey;
use super::values::types::{Conflict, Inferred, Types, ValueKind, described};
use super::*;

/// Writes a table to a temporary folder.
fn written(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// Returns the columns of a table and the JSON of its rows.
fn read(name: &str, bytes: &[u8]) -> Result<(Vec<String>, Vec<String>), Failure> {
    let table = written(name, bytes);
    let mut reader = open(&table.1, &TableOptions::default())?;
    let mut row = TableRow::default();
    let mut types = Types::default();
    while reader.next(&mut row)? {
        let columns = reader.columns().len();
        types.add(&row, columns).map_err(|c: Conflict| Failure::usage(format!("{c:?}")))?;
    }
    let names = reader.columns().to_vec();
    let types = types.finish(names.len());
    let writer = RowWriter::new(&names, &types, &[]);
    let mut again = open(&table.1, &TableOptions::default())?;
    let mut rows = Vec::new();
    while again.next(&mut row)? {
        let mut json = Vec::new();
        writer.write(&row, &mut json);
        let text = String::from_utf8(json).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap();
        rows.push(text);
    }
    let described = names.iter().zip(types).map(|(name, t)| {
        let column = described(name, t);
        format!("{} {}{}", column.name, column.kind, if column.nullable { "?" } else { "" })
    });
    Ok((described.collect(), rows))
}

fn refused(name: &str, bytes: &[u8]) -> String {
    read(name, bytes).unwrap_err().text()
}

#[test]
fn separated_fields_get_the_type_that_all_rows_have() {
    let text = "id,n,x,ok,note,none\n007,1,1,true,a,\n12,-2,2.50,FALSE,\"b,\"\"c\"\"\nd\",\n";
    let (columns, rows) = read("t.csv", text.as_bytes()).unwrap();
    assert_eq!(
        columns,
        ["/id string", "/n int64", "/x float64", "/ok bool", "/note string", "/none string?"]
    );
    assert_eq!(
        rows,
        [
            r#"{"id":"007","n":1,"none":null,"note":"a","ok":true,"x":1.0}"#,
            r#"{"id":"12","n":-2,"none":null,"note":"b,\"c\"\nd","ok":false,"x":2.5}"#,
        ]
    );
}

#[test]
fn a_word_late_in_the_table_makes_all_of_its_column_text() {
    let text = "k,v\n".to_string() + &"a,1\n".repeat(999) + "a,1.5.2\n";
    let (columns, rows) = read("t.csv", text.as_bytes()).unwrap();
    assert_eq!(columns, ["/k string", "/v string"]);
    assert_eq!(
        (rows[0].as_str(), rows[999].as_str()),
        (r#"{"k":"a","v":"1"}"#, r#"{"k":"a","v":"1.5.2"}"#)
    );
}

#[test]
fn byte_order_marks_line_ends_tabs_and_compression_change_nothing() {
    let plain = read("t.csv", b"a,b\n1,x\n2,y\n").unwrap();
    assert_eq!(read("t.csv", b"\xef\xbb\xbfa,b\r\n1,x\r\n\r\n2,y").unwrap(), plain);
    assert_eq!(read("t.tsv", b"a\tb\n1\tx\n2\ty\n").unwrap(), plain);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(b"\xef\xbb\xbfa,b\n1,x\n2,y\n").unwrap();
    assert_eq!(read("t.csv.gz", &gz.finish().unwrap()).unwrap(), plain);
    let zst = zstd::bulk::compress(b"{\"b\":\"x\",\"a\":1}\n{\"a\":2,\"b\":\"y\"}\n", 1).unwrap();
    assert_eq!(read("t.jsonl.zst", &zst).unwrap().1, plain.1);
}

#[test]
fn a_malformed_table_is_refused_with_its_row_and_byte() {
    assert!(refused("t.csv", b"").contains("the table is empty"));
    assert!(
        refused("t.csv", b"a,b\n1,2\n3\n")
            .contains("row 2, byte 8: 1 fields where the header has 2")
    );
    assert!(refused("t.csv", b"a,a\n").contains("column 'a' twice"));
    assert!(refused("t.csv", b"a;b\n1;2\n").contains("give sep=;"));
    assert!(refused("t.csv", b"a\n\xff\n").contains("row 1, byte 2: column 'a' is not UTF-8"));
    assert!(refused("t.csv", b"\xff\xfea\0").contains("UTF-16"));
    assert!(refused("t.json", b"{}").contains("the document is an object"));
    assert!(refused("t.bin", b"a\0b\n").contains(".csv, .tsv and .jsonl"));
    assert!(refused("t.txt", b"a b\nc d e\nf\n").contains("give sep=tab, sep=space"));
    assert!(refused("t.jsonl", b"{\"a\":1}\n[1]\n").contains("row 2, byte 8"));
    assert!(refused("t.jsonl", b"{\"a\":1,\"a\":2}").contains("'a' occurs twice"));
    assert!(refused("t.jsonl", b"{\"a\":1} x").contains("row 1"));
}

#[test]
fn a_quote_that_is_never_closed_takes_no_more_than_a_row() {
    let mut text = b"a\n\"".to_vec();
    text.resize(MAX_ROW + (1 << 20), b'x');
    assert!(refused("t.csv", &text).contains("longer than 16 MiB"));
    let mut line = b"{\"a\":\"".to_vec();
    line.resize(MAX_ROW + (1 << 20), b'x');
    assert!(refused("t.jsonl", &line).contains("longer than 16 MiB"));
}

#[test]
fn values_with_types_keep_them_and_a_conflict_names_both_rows() {
    let text = "{\"b\":1,\"a\":[1,{\"z\":0,\"y\":null}]}\n{\"a\":[],\"c\":\"t\",\"b\":0.1}\n\n{\"b\":null,\"a\":[2]}";
    let (columns, rows) = read("t.jsonl", text.as_bytes()).unwrap();
    assert_eq!(columns, ["/b float64?", "/a list", "/c string?"]);
    assert_eq!(
        rows,
        [
            r#"{"a":[1,{"y":null,"z":0}],"b":1}"#,
            r#"{"a":[],"b":0.1,"c":"t"}"#,
            r#"{"a":[2],"b":null}"#
        ]
    );
    let conflict = refused("t.jsonl", b"{\"x\":null}\n{\"x\":3}\n{\"x\":\"three\"}\n");
    let expected = Conflict { column: 0, first: (2, ValueKind::Int), here: ValueKind::String };
    assert_eq!(conflict, format!("{expected:?}"));
}

#[test]
fn numbers_are_words_as_json_writes_them() {
    let kinds = [
        ("0", ValueKind::Int),
        ("-12", ValueKind::Int),
        ("9223372036854775808", ValueKind::String),
        ("1e3", ValueKind::Float),
        ("-0.5E-7", ValueKind::Float),
        ("-0", ValueKind::Float),
        ("007", ValueKind::String),
        ("00.5", ValueKind::String),
        ("+1", ValueKind::String),
        ("1.", ValueKind::String),
        (".5", ValueKind::String),
        ("1e999", ValueKind::String),
        ("nan", ValueKind::String),
        ("True", ValueKind::Bool),
        ("yes", ValueKind::String),
        (" 1", ValueKind::String),
    ];
    for (word, kind) in kinds {
        assert_eq!(ValueKind::of_word(word), kind, "{word:?}");
    }
}

#[test]
fn words_for_nan_are_numbers_beside_numbers_and_texts_beside_texts() {
    let table = written("t.csv", b"n,x,t,alone,ok\n1,0.5,a,nan,true\nNaN,-inf,NaN,nan,inf\n");
    let options = TableOptions::default();
    let survey = Survey::of(&table.1, &options, &Stop::new()).unwrap();
    let kinds: Vec<ValueKind> = survey.types.iter().map(|inferred| inferred.kind).collect();
    assert_eq!(
        kinds,
        [
            ValueKind::Float,
            ValueKind::Float,
            ValueKind::String,
            ValueKind::String,
            ValueKind::String
        ]
    );
    assert!(!survey.whole[0]);
    let writer = RowWriter::new(&survey.names, &survey.types, &[]);
    let mut reader = open(&table.1, &options).unwrap();
    let mut row = TableRow::default();
    let mut json = Vec::new();
    assert!(reader.next(&mut row).unwrap());
    writer.check(&row, JsonRules::Strict).unwrap();
    assert!(reader.next(&mut row).unwrap());
    let why = writer.check(&row, JsonRules::Strict).unwrap_err();
    assert!(
        why.text().starts_with("column \"n\": it is NaN") && why.text().contains("missing=NaN"),
        "{why:?}"
    );
    writer.check(&row, JsonRules::Python).unwrap();
    writer.write(&row, &mut json);
    let json = String::from_utf8(json).unwrap();
    assert_eq!(json, r#"{"alone":"nan","n":NaN,"ok":"inf","t":"NaN","x":-Infinity}"#);
}

#[test]
fn lines_of_python_keep_nan_under_its_rules() {
    let table = written("t.jsonl", b"{\"x\": 0.5}\n{\"x\": NaN}\n{\"x\": [-Infinity]}\n");
    let mut row = TableRow::default();
    let mut strict = open(&table.1, &TableOptions::default()).unwrap();
    assert!(strict.next(&mut row).unwrap());
    let refused = strict.next(&mut row).unwrap_err().text();
    assert!(refused.contains("row 2") && refused.contains("--json-rules python"), "{refused}");
    let options = TableOptions { rules: JsonRules::Python, ..TableOptions::default() };
    let mut python = open(&table.1, &options).unwrap();
    let mut lines = Vec::new();
    while python.next(&mut row).unwrap() {
        let types = [Inferred { kind: ValueKind::Float, nullable: false }];
        let mut json = Vec::new();
        RowWriter::new(&["x".to_string()], &types, &[]).write(&row, &mut json);
        lines.push(String::from_utf8(json).unwrap());
    }
    assert_eq!(lines, [r#"{"x":0.5}"#, r#"{"x":NaN}"#, r#"{"x":[-Infinity]}"#]);
}

/// Returns the JSON of the rows of a document at a pointer.
fn rows_at(at: &str, bytes: &[u8]) -> Result<Vec<String>, Failure> {
    let (_folder, path) = written("t.json", bytes);
    let options = TableOptions { at: Some(at.into()), ..TableOptions::default() };
    let survey = Survey::of(&path, &options, &Stop::default())?;
    let writer = RowWriter::new(&survey.names, &survey.types, &[]);
    let mut reader = open(&path, &options)?;
    let mut row = TableRow::default();
    let mut rows = Vec::new();
    while reader.next(&mut row)? {
        let mut json = Vec::new();
        writer.write(&row, &mut json);
        rows.push(String::from_utf8(json).unwrap());
    }
    Ok(rows)
}

/// A row whose text has brackets and quotes.
fn bracketed(n: usize) -> String {
    let text = "]}\\\"[{,\\\\".repeat(n % 700);
    format!("{{\"n\":{n},\"t\":\"{text}\",\"z\":[{{\"a\":null}},[],{{}}]}}")
}

#[test]
fn a_list_in_a_document_is_read_as_lines_are() {
    // Longer than what is read at a time, with brackets and quotes in texts.
    let rows: Vec<String> = (0..500).map(bracketed).collect();
    let (columns, lines) = read("t.jsonl", rows.join("\n").as_bytes()).unwrap();
    assert_eq!(columns, ["/n int64", "/t string", "/z list"]);
    let document = format!(
        "{{ \"info\" : {{\"a\": [1, -2.5e3, \"}}\\\"\"], \"b\": {{}}}},\n \"x\": [ [], [ {} ] ] , \"y\": null}}\n",
        rows.join(" ,\n")
    );
    assert_eq!(rows_at("/x/1", document.as_bytes()).unwrap(), lines);
    assert!(rows_at("/x/0", document.as_bytes()).unwrap().is_empty());
    // The last row, each of its bytes, and then each eleventh byte.
    for end in (2..40).chain((40..200).step_by(11)) {
        let cut = &document.as_bytes()[..document.len() - end];
        assert!(rows_at("/x/1", cut).is_err(), "without its last {end} bytes");
    }
}

#[test]
fn members_of_an_object_are_rows_with_their_names() {
    let rows = rows_at("/", br#"{"b~": {"x": 1}, "a": {}}"#).unwrap();
    assert_eq!(rows, [r#"{"key":"b~","x":1}"#, r#"{"key":"a"}"#]);
    let rows = rows_at("/a~1b/c~0", br#"{"a": {}, "a/b": {"c~": {"k": {"y": true}}}}"#).unwrap();
    assert_eq!(rows, [r#"{"key":"k","y":true}"#]);
}
