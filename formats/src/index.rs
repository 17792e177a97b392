//! The sidecar `NAME.index`: where every sample and part of a shard stands.
//!
//! [`build`] collects rows and encodes them, [`view`] reads an encoded file, usually mapped;
//! [`lookup`] copies one row out, by the map or by reads; `points` does the same for the entry points
//! of a part; [`layout`] holds the numbers both share; `stamp` asks whether a mapped file was changed. FORMAT.md is the specification. No file is read
//! or written here but by [`Index::open`].

mod blobs;
mod body;
pub mod build;
mod check;
mod counts;
mod head;
pub mod layout;
pub mod lookup;
mod points;
pub mod sample;
mod stamp;
pub mod view;

pub use body::Part;
pub use build::{IndexBuilder, TarFacts};
pub use lookup::Found;
pub use sample::Sample;
pub use view::Index;
