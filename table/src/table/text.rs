//! Tables that are text: CSV, TSV and JSON lines.

pub(crate) mod csv;
pub(crate) mod guess;
pub(crate) mod jsonl;
pub mod quotes;
pub(crate) mod records;
pub mod stream;
pub(crate) mod words;
