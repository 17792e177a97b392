//! Parquet files, written by the crate, as tables.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::{Float32Type, Int64Type};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Float32Array, Int64Array, ListArray,
    RecordBatch, StringArray, UInt64Array,
};
use parquet::arrow::ArrowWriter;
use tarflume_base::Stop;

use super::{ArrowBatches, ArrowKind, ArrowNumber, PlacedBytes, PlacedNumbers};
use crate::table::values::json::RowWriter;
use crate::table::values::survey::Survey;
use crate::table::values::types::described;
use crate::table::{self, TableOptions, TableRow};
use crate::text_column::TextColumn;

fn written(name: &str, columns: Vec<(&str, ArrayRef)>) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    (folder, path)
}

#[test]
fn rows_have_the_types_of_the_file() {
    let (_folder, path) = written(
        "t.parquet",
        vec![
            ("id", Arc::new(StringArray::from(vec!["007", "1"])) as ArrayRef),
            ("n", Arc::new(Int64Array::from(vec![Some(-5), None]))),
            ("big", Arc::new(UInt64Array::from(vec![u64::MAX, u64::MAX]))),
            ("x", Arc::new(Float32Array::from(vec![Some(0.1), None]))),
            ("ok", Arc::new(BooleanArray::from(vec![true, false]))),
            ("day", Arc::new(Date32Array::from(vec![0, 365]))),
        ],
    );
    let options = TableOptions::default();
    let survey = Survey::of(&path, &options, &Stop::new()).unwrap();
    let kinds = survey.names.iter().zip(&survey.types).map(|(name, &inferred)| {
        let column = described(name, inferred);
        format!("{} {}{}", column.name, column.kind, if column.nullable { "?" } else { "" })
    });
    assert_eq!(
        kinds.collect::<Vec<_>>(),
        ["/id string", "/n int64?", "/big uint64", "/x float64?", "/ok bool", "/day string"]
    );
    let writer = RowWriter::new(&survey.names, &survey.types, &[]);
    let mut reader = table::open(&path, &options).unwrap();
    let mut row = TableRow::default();
    let mut lines = Vec::new();
    while reader.next(&mut row).unwrap() {
        let mut json = Vec::new();
        writer.write(&row, &mut json);
        lines.push(format!("{} {}", row.number, String::from_utf8(json).unwrap()));
    }
    assert_eq!(
        lines,
        [
            r#"1 {"big":18446744073709551615,"day":"1970-01-01","id":"007","n":-5,"ok":true,"x":0.1}"#,
            r#"2 {"big":18446744073709551615,"day":"1971-01-01","id":"1","n":null,"ok":false,"x":null}"#,
        ]
    );
    survey.check_unchanged(&path, 2).unwrap();
}

fn refused(path: &Path) -> String {
    Survey::of(path, &TableOptions::default(), &Stop::new()).unwrap_err().text()
}

#[test]
fn columns_of_bytes_and_infinite_numbers_are_refused_by_name() {
    let ids: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let bytes = Arc::new(BinaryArray::from(vec![&b"x"[..], &b"y"[..]]));
    let (_folder, path) = written("t.parquet", vec![("id", ids.clone()), ("raw", bytes)]);
    assert!(refused(&path).contains("column 'raw' has bytes"), "{}", refused(&path));
    for (number, word) in [(f32::INFINITY, "Infinity"), (f32::NAN, "NaN")] {
        let lacking = Arc::new(Float32Array::from(vec![0.0, number]));
        let (_folder, path) = written("t.parquet", vec![("id", ids.clone()), ("x", lacking)]);
        let why = format!("row 2: column 'x': it is {word}, which JSON lacks");
        assert!(refused(&path).contains(&why), "{}", refused(&path));
    }
    std::fs::write(&path, b"PAR1 and no more").unwrap();
    assert!(refused(&path).contains("not a Parquet file"), "{}", refused(&path));
}

#[test]
fn a_column_with_names_of_files_makes_a_table_of_metadata() {
    let names: ArrayRef = Arc::new(StringArray::from(vec!["a.jpg"]));
    let (_folder, path) = written("metadata.parquet", vec![("file_name", names.clone())]);
    assert!(table::names_files(&path).unwrap());
    let (_folder, path) = written("metadata.parquet", vec![("title", names)]);
    assert!(!table::names_files(&path).unwrap());
}

#[test]
fn texts_of_a_column_are_read_row_by_row() {
    let texts = StringArray::from(vec![Some("one"), None, Some("")]);
    let numbers = Int64Array::from(vec![1, 2, 3]);
    let columns = vec![("n", Arc::new(numbers) as ArrayRef), ("body", Arc::new(texts))];
    let (_folder, path) = written("t.parquet", columns);
    let mut column = TextColumn::open(&path, "body").unwrap();
    let mut text = String::from("> ");
    assert!(column.next(3, &mut text).unwrap() && column.next(3, &mut text).unwrap());
    assert!(column.next(3, &mut text).unwrap() && !column.next(3, &mut text).unwrap());
    assert_eq!(text, "> one");
    let long = TextColumn::open(&path, "body").unwrap().next(2, &mut text).unwrap_err().text();
    assert!(long.contains("row 1: column 'body': the text is longer"), "{long}");
    let refused = |name: &str| TextColumn::open(&path, name).unwrap_err().text();
    assert!(refused("text").contains("no column 'text'; the columns are 'n', 'body'; give"));
    assert!(refused("n").contains("column 'n' is Int64, and not text"), "{}", refused("n"));
}

/// Writes two batches of Arrow as a stream, or as a file with a footer.
fn arrow_file(path: &Path, has_footer: bool) {
    let floats = ListArray::from_iter_primitive::<Float32Type, _, _>([
        Some(vec![Some(1.5), Some(2.5)]),
        Some(vec![Some(3.5), Some(-1.0)]),
        None,
    ]);
    let wholes = ListArray::from_iter_primitive::<Int64Type, _, _>([
        Some(vec![Some(1), Some(2)]),
        Some(vec![Some(3)]),
        None,
    ]);
    let columns: [(&str, ArrayRef); 4] = [
        ("b", Arc::new(BinaryArray::from_opt_vec(vec![Some(b"abc"), None, Some(b"")]))),
        ("x", Arc::new(floats)),
        ("n", Arc::new(wholes)),
        ("t", Arc::new(StringArray::from(vec![Some("é"), Some("long text"), None]))),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    );
    let batch = batch.unwrap();
    let file = std::fs::File::create(path).unwrap();
    let batches = [&batch, &batch.slice(1, 2)];
    if has_footer {
        let mut writer = arrow_ipc::writer::FileWriter::try_new(file, &batch.schema()).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
    } else {
        let mut writer = arrow_ipc::writer::StreamWriter::try_new(file, &batch.schema()).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
    }
}

/// Returns the bytes of a value, which must be those of the file there.
fn there(found: PlacedBytes<'_>, file: &[u8]) -> Vec<u8> {
    let start = found.at as usize;
    assert_eq!(&file[start..start + found.bytes.len()], found.bytes);
    found.bytes.to_vec()
}

#[test]
fn values_of_arrow_are_in_the_file_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    for has_footer in [false, true] {
        let path = folder.path().join(format!("{has_footer}.arrow"));
        arrow_file(&path, has_footer);
        let bytes = std::fs::read(&path).unwrap();
        let mut batches = ArrowBatches::open(&path).unwrap();
        let kinds: Vec<ArrowKind> = batches.columns().iter().map(|column| column.kind).collect();
        let wanted = [
            ArrowKind::Bytes,
            ArrowKind::Numbers(ArrowNumber { name: "float32", size: 4 }),
            ArrowKind::Numbers(ArrowNumber { name: "int64", size: 8 }),
            ArrowKind::Text,
        ];
        assert_eq!(kinds, wanted);
        let first = batches.next_batch().unwrap().unwrap();
        let values: Vec<_> = (0..3)
            .map(|row| first.bytes(0, row).unwrap().map(|found| there(found, &bytes)))
            .collect();
        assert_eq!(values, [Some(b"abc".to_vec()), None, Some(Vec::new())]);
        assert_eq!(
            first.bytes(3, 0).unwrap().map(|found| there(found, &bytes)),
            Some("é".as_bytes().to_vec())
        );
        assert_eq!(first.path(3, 1), Some("long text"));
        let second = batches.next_batch().unwrap().unwrap();
        assert_eq!((first.first, second.first, second.len()), (0, 3, 2));
        for (batch, row) in [(&first, 1), (&second, 0)] {
            let Ok(PlacedNumbers::Value(dims, found)) = batch.numbers(1, row) else {
                panic!("no numbers")
            };
            let floats = [3.5f32, -1.0].map(f32::to_le_bytes).concat();
            assert_eq!((dims, there(found, &bytes)), (vec![2], floats));
        }
        assert!(matches!(second.numbers(1, 1), Ok(PlacedNumbers::Null)));
        assert!(batches.next_batch().unwrap().is_none());
        for end in (0..bytes.len()).step_by(8) {
            std::fs::write(&path, &bytes[..end]).unwrap();
            let Ok(mut cut) = ArrowBatches::open(&path) else { continue };
            let fails = std::iter::repeat_with(|| cut.next_batch()).find_map(|read| match read {
                Ok(Some(_)) => None,
                Ok(None) => Some(false),
                Err(_) => Some(true),
            });
            assert_eq!(fails, Some(true), "{end} of {} bytes", bytes.len());
        }
    }
}
