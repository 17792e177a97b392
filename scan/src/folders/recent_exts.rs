//! `RecentExts`: the pairs of extensions that a thread has met last.

use crate::names::exts::ExtTable;

/// The last pairs of extensions, of the file and of the part: a folder has few of them, and the
/// table is shared by all threads.
#[derive(Default)]
pub(super) struct RecentExts {
    pairs: Vec<(Vec<u8>, Vec<u8>, u16)>,
    next: usize,
}

impl RecentExts {
    /// Limit on kept pairs: searching them takes less time than a hash.
    const MOST: usize = 8;

    /// Returns the number of a pair in the table.
    pub(super) fn number(
        &mut self,
        table: &ExtTable,
        source_ext: &[u8],
        shard_ext: &[u8],
    ) -> Option<u16> {
        let kept = self
            .pairs
            .iter()
            .find(|(source, shard, _)| *source == source_ext && *shard == shard_ext);
        if let Some((.., number)) = kept {
            return Some(*number);
        }
        let number = table.number(source_ext, shard_ext)?;
        let pair = (source_ext.to_vec(), shard_ext.to_vec(), number);
        if self.pairs.len() < RecentExts::MOST {
            self.pairs.push(pair);
        } else {
            self.pairs[self.next] = pair;
            self.next = (self.next + 1) % RecentExts::MOST;
        }
        Some(number)
    }
}
