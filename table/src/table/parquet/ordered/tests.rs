//! Rows of Parquet and Arrow, written by their crates, as JSON in the order of fields.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder, StructBuilder};
use arrow_array::{ArrayRef, Int64Array, StringArray};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{Fields, Schema};
use parquet::arrow::ArrowWriter;

use super::*;

/// Conversations of three rows, tools as JSON of the extension, and another column.
fn batch() -> RecordBatch {
    let fields = Fields::from(vec![
        Field::new("role", DataType::Utf8, true),
        Field::new("content", DataType::Utf8, true),
        Field::new("a", DataType::Int64, true),
    ]);
    let mut messages = ListBuilder::new(StructBuilder::from_fields(fields, 4));
    for (role, content, a) in [("user", Some("é \"q\""), Some(1)), ("assistant", None, None)] {
        let row = messages.values();
        row.field_builder::<StringBuilder>(0).unwrap().append_value(role);
        row.field_builder::<StringBuilder>(1).unwrap().append_option(content);
        row.field_builder::<Int64Builder>(2).unwrap().append_option(a);
        row.append(true);
    }
    messages.append(true);
    messages.append(true);
    messages.append(false);
    let messages: ArrayRef = Arc::new(messages.finish());
    let tools: ArrayRef =
        Arc::new(StringArray::from(vec![Some(r#"[{"z":1,"a":2}]"#), None, Some("[]")]));
    let id: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let json = Field::new("tools", DataType::Utf8, true).with_metadata(HashMap::from([
        ("ARROW:extension:name".to_string(), JSON.to_string()),
        ("ARROW:extension:metadata".to_string(), String::new()),
    ]));
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int64, true),
        Field::new("messages", messages.data_type().clone(), true),
        json,
    ]);
    RecordBatch::try_new(Arc::new(schema), vec![id, messages, tools]).unwrap()
}

const ROWS: [&str; 3] = [
    r#"{"messages":[{"role":"user","content":"é \"q\"","a":1},{"role":"assistant","content":null,"a":null}],"tools":[{"z":1,"a":2}]}"#,
    r#"{"messages":[],"tools":null}"#,
    r#"{"messages":null,"tools":[]}"#,
];

struct Written(tempfile::TempDir);

impl Written {
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn create(&self, name: &str) -> fs::File {
        fs::File::create(self.path(name)).unwrap()
    }

    fn new() -> Written {
        let written = Written(tempfile::tempdir().unwrap());
        let batch = batch();
        let mut parquet =
            ArrowWriter::try_new(written.create("t.parquet"), batch.schema(), None).unwrap();
        parquet.write(&batch).unwrap();
        parquet.close().unwrap();
        let mut stream = StreamWriter::try_new(written.create("t.arrow"), &batch.schema()).unwrap();
        stream.write(&batch.slice(0, 1)).unwrap();
        stream.write(&batch.slice(1, 2)).unwrap();
        stream.finish().unwrap();
        let mut footer = FileWriter::try_new(written.create("f.arrow"), &batch.schema()).unwrap();
        footer.write(&batch).unwrap();
        footer.finish().unwrap();
        written
    }
}

fn rows(path: &Path, columns: &[&str]) -> Result<Vec<String>, String> {
    let mut opened = OrderedRows::open(path, columns).map_err(|e| e.text())?;
    let mut all = Vec::new();
    loop {
        let mut text = String::new();
        match opened.next(1 << 20, &mut text) {
            Ok(true) => all.push(text),
            Ok(false) => return Ok(all),
            Err(e) => return Err(e.text()),
        }
    }
}

#[test]
fn rows_keep_the_order_of_fields_in_all_three_forms() {
    let written = Written::new();
    for name in ["t.parquet", "t.arrow", "f.arrow"] {
        let found = rows(&written.path(name), &["messages", "tools", "none"]);
        assert_eq!(found, Ok(ROWS.map(String::from).to_vec()), "{name}");
        let told = rows(&written.path(name), &["chat"]).unwrap_err();
        assert!(
            told.contains("no column 'chat'; the columns are 'id', 'messages', 'tools'"),
            "{told}"
        );
    }
    let mut opened = OrderedRows::open(&written.path("t.arrow"), &["messages"]).unwrap();
    let told = opened.next(10, &mut String::new()).unwrap_err().text();
    assert!(told.contains("longer than"), "{told}");
}

#[test]
fn damaged_arrow_files_are_errors() {
    let written = Written::new();
    let whole = fs::read(written.path("t.arrow")).unwrap();
    let path = written.path("cut.arrow");
    for at in (1..whole.len() - 8).step_by(7) {
        fs::write(&path, &whole[..at]).unwrap();
        if let Ok(found) = rows(&path, &["messages", "tools"]) {
            assert!(found.len() < 3, "a file cut at {at} gives all rows");
        }
    }
    for at in 0..whole.len() {
        let mut other = whole.clone();
        other[at] ^= 0xff;
        fs::write(&path, &other).unwrap();
        let _ = rows(&path, &["messages", "tools"]);
    }
    fs::write(&path, b"no arrow at all").unwrap();
    let told = rows(&path, &["messages"]).unwrap_err();
    assert!(told.contains("it is no stream of Arrow, or was cut"), "{told}");
}
