//! Decides whether a data set's sidecars are mapped or read.
//!
//! A lookup through a map takes about 0.2 us and processes share the pages. But an exact shuffle
//! touches rows all over the data set, the kernel maps 64 KiB around each fault, and soon every page
//! of every sidecar counts as memory of the processes. A lookup by reads takes five system calls, 3
//! to 6 us (two more calls for entry points), and keeps only open files, of which the number is
//! bounded.
//!
//! Measured with 796 MB of sidecars and 24 processes of 16 threads (bench/scale): total PSS 862 MB
//! through maps, 89 MB by reads. Releasing mapped pages repeatedly is no alternative: a lookup touches
//! five pages and each fault brings sixteen, so the release would be due every fifty lookups or so.

use std::path::PathBuf;
use std::sync::Arc;

use crate::dataset::shard::ShardFacts;
use crate::source::cache::SourceCache;
use crate::source::open::SourceKind;

/// Sidecars with a larger total size are read and not mapped: 256 MiB, about 2.5 million samples, or a
/// fraction of these if their images have entry points. Mapped sidecars therefore use at most this much
/// memory, shared by all processes of a machine.
pub(crate) const MAPPED_SIDECARS: u64 = 256 << 20;

/// A cache for sidecars that are read; `None` if they are mapped.
pub(crate) fn to_be_read(facts: &[Arc<ShardFacts>], mapped: u64) -> Option<SourceCache> {
    let bytes = facts.iter().fold(0u64, |sum, facts| sum.saturating_add(facts.sidecar_bytes()));
    if bytes <= mapped {
        return None;
    }
    // Sidecars in memory stay there.
    let paths: Vec<PathBuf> =
        facts.iter().map(|facts| facts.sidecar_path()).collect::<Option<_>>()?;
    Some(SourceCache::new(Arc::new(SourceKind::File), paths, SourceCache::default_cap()))
}
