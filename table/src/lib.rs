//! Reads tables: CSV, TSV, JSON lines, JSON documents, MAT files, and Parquet with the feature `tables`.
//!
//! | module | task |
//! |---|---|
//! | [`open`], [`TableRow`] | rows of typed values |
//! | [`values`] | types of columns, and rows as JSON |
//! | [`text`], [`options`] | CSV and JSON, and how they are read |
//! | [`text_column`] | the texts of one column of a Parquet file |
//! | [`row_texts`] | rows of a Parquet or Arrow file as JSON in the order of their fields |
//! | [`json_float`] | floating-point numbers as JSON |
//! | [`MatFile`] | arrays of a MAT file |
//! | [`gzip`] | decompresses files of several members |
#![warn(missing_docs)]

pub mod gzip;
pub mod json_float;
pub mod row_texts;
mod table;
pub mod text_column;

pub use table::mat::file::MatFile;
#[cfg(feature = "tables")]
pub use table::parquet;
pub use table::{
    Cell, KEY_NAMES, Quoting, Separator, Span, TableOptions, TableReader, TableRow, bad_row,
    is_file_name, names_files, open, options, text, values,
};
