//! How many parts of each extension a sidecar lists.

use std::collections::BTreeMap;

use crate::errors::error::Result;
use crate::index::layout as l;
use crate::index::view::Index;

impl Index {
    /// Counts parts by extension; reads two bytes per part.
    ///
    /// # Errors
    /// Returns the errors of [`Index::sample`].
    pub fn ext_counts(&self) -> Result<BTreeMap<Vec<u8>, u64>> {
        let mut counts = vec![0u64; usize::from(u16::MAX) + 1];
        let section = self.body.sections.ext_ids.clone();
        let length = section.len().min(self.parts as usize * 2);
        for start in (0..length).step_by(l::CHECK_BLOCK) {
            let piece = l::CHECK_BLOCK.min(length - start);
            for id in self.body.read(section.start + start, piece)?.chunks_exact(2) {
                counts[usize::from(u16::from_le_bytes([id[0], id[1]]))] += 1;
            }
        }
        let mut named = BTreeMap::new();
        for (id, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            // Ids are u16, so the table always has an entry for each.
            *named.entry(self.body.ext(id as u16)?.to_vec()).or_default() += count;
        }
        self.body.intact()?;
        Ok(named)
    }
}
