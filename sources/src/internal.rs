//! What the fuzz targets of this project need beyond the public items. No promise of semver holds
//! here. Each function reads hostile input as a build does and discards the result.

use std::path::Path;

use tarflume_base::{Failure, Stop};
use tarflume_formats::About;
use tarflume_formats::json::{JsonRules, check_object};
use tarflume_table::values::json::RowWriter;
use tarflume_table::values::survey::Survey;
use tarflume_table::{TableOptions, TableRow};

use crate::annotations::{coco, voc, yolo};
use crate::join::{JoinOptions, JoinRow, JoinRows};
use crate::rows::SplitUrl;

/// Reads the table at `path` twice and writes its rows as JSON; panics on JSON that is malformed.
pub fn read_table(path: &Path) {
    let options = TableOptions::default();
    let Ok(survey) = Survey::of(path, &options, &Stop::new()) else { return };
    let writer = RowWriter::new(&survey.names, &survey.types, &[]);
    let Ok(mut reader) = tarflume_table::open(path, &options) else { return };
    let mut row = TableRow::default();
    let mut json = Vec::new();
    while let Ok(true) = reader.next(&mut row) {
        json.clear();
        if writer.check(&row, JsonRules::Strict).is_err() {
            continue; // a build refuses the row
        }
        writer.write(&row, &mut json);
        assert_eq!(check_object(&json, JsonRules::Strict), Ok(()), "a row is no JSON object");
    }
}

/// Reads the COCO file at `path`; panics on JSON that is malformed.
pub fn read_coco(path: &Path) {
    let Ok((mut rows, _)) = coco::open(path, None, &About::default(), &Stop::new()) else { return };
    let mut row = JoinRow::default();
    while let Ok(true) = rows.next(&mut row) {
        let checked = check_object(&row.json, JsonRules::Strict);
        assert!(row.name.is_empty() || checked.is_ok(), "a row is no JSON object");
    }
}

/// Parses a line of YOLO, a YAML file with names of classes, an XML file of Pascal VOC, and the
/// text of `--join`.
pub fn parse_texts(text: &str) {
    yolo::parse(text);
    voc::parse(text);
    let _ = JoinOptions::parse(text, tarflume_formats::message::Name::Join);
}

/// The names of files and the options of a source.
pub type Split<'a> = (Vec<&'a str>, Vec<(String, String)>);

/// Splits the name of a source; `None` if it is the path of a folder.
///
/// # Errors
/// Returns the errors of a build.
pub fn split_source(text: &str) -> Result<Option<Split<'_>>, Failure> {
    Ok(SplitUrl::of(text)?.map(|url| (url.patterns, url.options)))
}
