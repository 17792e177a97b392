//! Tables and annotations: CSV, JSON lines, COCO, YOLO and Pascal VOC. The first byte selects the format.
#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;
use tarflume_sources::internal::{parse_texts, read_coco, read_table};

fuzz_target!(|input: &[u8]| {
    let Some((&mode, rest)) = input.split_first() else { return };
    let end = match mode % 5 {
        0 => ".csv",
        1 => ".tsv",
        2 => ".jsonl",
        3 => ".json",
        _ => {
            if let Ok(text) = std::str::from_utf8(rest) {
                parse_texts(text);
            }
            return;
        }
    };
    let mut file = tempfile::Builder::new().suffix(end).tempfile().expect("a temporary file");
    file.write_all(rest).expect("a temporary file takes the input");
    match end {
        ".json" => read_coco(file.path()),
        _ => read_table(file.path()),
    }
});
