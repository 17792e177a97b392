//! Reads tables: CSV, TSV, JSON lines, and Parquet with the feature `tables`.
//!
//! | module | task |
//! |---|---|
//! | [`table`] | rows of typed values, and rows as JSON |
//! | [`text_column`] | the texts of one column of a Parquet file |
//! | [`json_float`] | floating-point numbers as JSON |
//! | [`gzip`] | decompresses files of several members |
#![warn(missing_docs)]

pub mod gzip;
pub mod json_float;
pub mod table;
pub mod text_column;
