//! `ShardIndex`: the index of a shard, which tells where its inner chunks are. Pure.

use std::ops::Range;

use super::faults::ChunkFault;
use super::packing::{Packing, unpack};

/// Bytes of an entry: where an inner chunk begins, and its length.
const ENTRY: usize = 16;

/// How an index is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShardIndex {
    /// Whether its numbers are big-endian.
    pub(super) is_big: bool,
    /// Its checksums.
    pub(super) sums: Vec<Packing>,
    /// Whether it is at the start of the file.
    pub(super) at_start: bool,
}

impl ShardIndex {
    /// Returns the bytes of the index of so many inner chunks.
    pub(super) fn length(&self, chunks: usize) -> usize {
        chunks.saturating_mul(ENTRY).saturating_add(4 * self.sums.len())
    }

    /// Returns where the index is in a file of `length` bytes.
    ///
    /// # Errors
    /// Returns an error for a file that is shorter than its index.
    pub(super) fn place(&self, chunks: usize, length: u64) -> Result<Range<u64>, ChunkFault> {
        let bytes = self.length(chunks) as u64;
        let Some(last) = length.checked_sub(bytes) else {
            let why = format!("the shard has {length} bytes, and its index alone has {bytes}");
            return Err(ChunkFault::Damaged { byte: Some(0), why });
        };
        let start = if self.at_start { 0 } else { last };
        Ok(start..start + bytes)
    }

    /// Reads the index of a shard of `length` bytes: where each inner chunk is, `None` for one that is not there.
    ///
    /// # Errors
    /// Returns an error if a checksum or an entry is wrong.
    pub(super) fn parse(
        &self,
        stored: Vec<u8>,
        chunks: usize,
        length: u64,
    ) -> Result<Vec<Option<Range<u64>>>, ChunkFault> {
        let bytes = chunks * ENTRY;
        let index = unpack(&self.sums, stored, Some(bytes), bytes)?;
        let (entries, _) = index.as_chunks::<ENTRY>();
        let mut places = Vec::with_capacity(entries.len());
        for (number, entry) in entries.iter().enumerate() {
            let [start, count] = [&entry[..8], &entry[8..]].map(|half| {
                let half: [u8; 8] = half.try_into().expect("half of sixteen bytes");
                if self.is_big { u64::from_be_bytes(half) } else { u64::from_le_bytes(half) }
            });
            if (start, count) == (u64::MAX, u64::MAX) {
                places.push(None);
                continue;
            }
            let end = start.checked_add(count).filter(|&end| end <= length);
            let Some(end) = end else {
                let why = format!(
                    "the index of the shard has {count} bytes at {start} for the inner chunk {number}, and the shard ends \
                     at {length}"
                );
                return Err(ChunkFault::at(number * ENTRY, why));
            };
            places.push(Some(start..end));
        }
        Ok(places)
    }

    /// Reads the index of a whole shard.
    ///
    /// # Errors
    /// As [`ShardIndex::parse`], and for a shard that is shorter than its index.
    pub(super) fn of_shard(
        &self,
        shard: &[u8],
        chunks: usize,
    ) -> Result<Vec<Option<Range<u64>>>, ChunkFault> {
        let length = shard.len() as u64;
        let place = self.place(chunks, length)?;
        let stored = shard[place.start as usize..place.end as usize].to_vec();
        self.parse(stored, chunks, length).map_err(|fault| fault.from(place.start))
    }
}
