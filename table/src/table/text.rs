//! Tables that are text: CSV, TSV and JSON lines.

pub(crate) mod csv;
pub(crate) mod jsonl;
pub mod quotes;
pub mod stream;
