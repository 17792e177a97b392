//! Whether a data set's sidecars are mapped or read: decided here, and nowhere else.
//!
//! Lookups through maps cost some 0.2 us and processes share the pages; but an exact shuffle draws
//! rows all over the data set, the system maps 64 KiB around each, and soon every page of every
//! sidecar counts as memory of the processes. Lookups by reads cost five calls of the system, 3 to 6
//! us (two calls more where entry points are wanted), and keep nothing: open files alone, of which a
//! bounded number stands open.
//!
//! Measured with 796 MB of sidecars and 24 processes of 16 threads (bench/scale): PSS together 862 MB
//! through maps, 89 MB by reads. To let go of pages again and again would not do: a lookup touches
//! five pages, each brings sixteen, so it would have to be done every fifty lookups or so.

use std::sync::Arc;

use tarflume_formats::shard::index_path;

use crate::dataset::shard::Facts;
use crate::source::open::SourceKind;
use crate::source::shelf::Shelf;

/// Sidecars of more bytes than this together are read and not mapped: 256 MiB, some 2.5 million
/// samples, a fraction of these where their images have entry points. Below that all processes of a machine together hold no more than this, once.
pub(crate) const MAPPED_SIDECARS: u64 = 256 << 20;

/// A shelf for sidecars that are to be read; `None` if they are to be mapped.
pub(crate) fn to_be_read(facts: &[Arc<Facts>], mapped: u64) -> Option<Shelf> {
    let bytes = facts.iter().fold(0u64, |sum, facts| sum.saturating_add(facts.sidecar_bytes()));
    if bytes <= mapped {
        return None;
    }
    let paths = facts.iter().map(|facts| index_path(facts.path()));
    Some(Shelf::new(Arc::new(SourceKind::File), paths, Shelf::default_cap()))
}
