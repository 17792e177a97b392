//! The sidecar `NAME.index`: the positions of every sample and part of a shard.
//!
//! `build` collects rows and encodes them; `view` reads an encoded file, usually mapped;
//! `lookup` copies one row out, through the map or by reads; `points` does the same for the entry
//! points of a part; `columns` describes and encodes typed values of samples, and `values` reads them;
//! [`layout`] holds the constants of the format; `stamp` detects that a mapped file changed. FORMAT.md is the specification. Only [`Index::open`] opens a file.

mod body;
mod check;
mod columns;
mod head;
pub mod layout;
mod lookup;
mod renewal;
mod sample;
mod sections;
mod stamp;
mod view;
mod writing;

pub use body::Part;
pub use columns::{ColumnSpec, OwnedValue, StoredColumn, Value, ValueType};
pub use lookup::SampleRow;
pub use sample::Sample;
pub use view::Index;
pub use writing::build::{IndexBuilder, TarFacts};
