//! Tables and annotations: CSV, JSON lines, COCO, YOLO and Pascal VOC. The first byte selects the format.

use super::file::file_of;
use tarflume_sources::internal::{parse_texts, read_coco, read_table};

/// Reads the input as a table or as annotations.
pub fn tables(input: &[u8]) {
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
    let file = file_of(rest, end);
    match end {
        ".json" => read_coco(file.path()),
        _ => read_table(file.path()),
    }
}
