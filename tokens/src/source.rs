//! Files of text as documents in order, and the list of them.
//!
//! Reads files; knows nothing of tokens. A kind of file that is not here needs no change of this
//! crate: [`DocumentSource::new`] takes any function that opens [`Documents`].

mod conversations;
mod documents;
mod elements;
mod jsonl;
mod left_out;
mod lines;
mod list;
mod parquet;
mod plain;
mod rows;
mod shards;
mod unpack;

pub use documents::{DocumentFault, DocumentSource, Documents, LONGEST, Next, Reading};
pub use list::{Sources, list};
pub use rows::{RowWords, Rows};

#[cfg(test)]
mod tests;
