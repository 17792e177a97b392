//! Looks up a key in many sidecars: by bisection if keys rise from shard to shard, otherwise in
//! each.
//!
//! Does not open sidecars and does not know manifests; the reader uses it, too.

use std::sync::OnceLock;

use crate::errors::error::Error;
use crate::index::Index;

/// State shared by the searches of one list of shards.
#[derive(Debug, Default)]
pub struct KeySearch {
    /// Whether keys rise from shard to shard; computed at the first search.
    sorted: OnceLock<bool>,
}

impl KeySearch {
    /// Returns shard and row of the first sample with this key in `shards` shards. `index` returns
    /// the sidecar of a shard.
    ///
    /// # Errors
    /// Returns an error if a sidecar is damaged, and the errors of `index`.
    pub fn find<'a, E: From<Error>>(
        &self,
        key: &[u8],
        shards: usize,
        index: impl Fn(usize) -> Result<&'a Index, E>,
    ) -> Result<Option<(usize, u64)>, E> {
        let mut range = 0..shards;
        if self.is_sorted(shards, &index)? {
            let mut low = 0;
            let mut high = shards;
            while low < high {
                let middle = low + (high - low) / 2;
                let sidecar = index(middle)?;
                let behind = ends(sidecar)?.is_none_or(|(_, last)| last < key);
                sidecar.intact()?;
                if behind { low = middle + 1 } else { high = middle }
            }
            range = low..shards.min(low + 1);
        }
        for shard in range {
            if let Some(row) = index(shard)?.find(key)? {
                return Ok(Some((shard, row)));
            }
        }
        Ok(None)
    }

    /// Returns true if no shard is empty and every key of a shard is at or after all keys of the
    /// shards before it. Computed over all shards once, at the first search.
    fn is_sorted<'a, E: From<Error>>(
        &self,
        shards: usize,
        index: impl Fn(usize) -> Result<&'a Index, E>,
    ) -> Result<bool, E> {
        if let Some(&sorted) = self.sorted.get() {
            return Ok(sorted);
        }
        let mut before: &[u8] = &[];
        let mut sorted = true;
        for shard in 0..shards {
            match ends(index(shard)?)? {
                Some((first, last)) if first >= before => before = last,
                _ => sorted = false,
            }
            if !sorted {
                break;
            }
        }
        // The keys were compared in the maps: make sure that the maps are still intact.
        for shard in 0..shards {
            index(shard)?.intact()?;
        }
        Ok(*self.sorted.get_or_init(|| sorted))
    }
}

/// The first and the last key of a shard.
type Ends<'a> = Option<(&'a [u8], &'a [u8])>;

/// Returns the first and the last key of a shard in byte order.
fn ends(index: &Index) -> Result<Ends<'_>, Error> {
    let Some(last) = index.samples().checked_sub(1) else { return Ok(None) };
    Ok(Some((index.key(index.by_key(0)?)?, index.key(index.by_key(last)?)?)))
}
