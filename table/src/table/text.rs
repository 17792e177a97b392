//! Tables that are text: CSV, TSV, JSON lines and JSON documents.

pub(crate) mod csv;
pub(crate) mod cursor;
pub(crate) mod document;
pub(crate) mod guess;
pub(crate) mod jsonl;
pub(crate) mod objects;
pub mod quotes;
pub(crate) mod records;
pub mod stream;
pub(crate) mod words;
