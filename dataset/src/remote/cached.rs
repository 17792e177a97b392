//! `BlockCache`: the blocks of one data set in the cache of this machine; `CachedShard`: those of one shard.
//!
//! A block is named by the digest of its shard and its number, so no request is needed to know it. Blocks of
//! the share that the cache keeps are fetched whole; other bytes are fetched as if there were no cache.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use bytes::Bytes;
use tarflume_cache::{BLOCK, Begun, Cache, Fill, Key, Lookup, Share};
use tarflume_formats::IgnorePoison;

use crate::source::ahead::{Blocks, Keep, Kept};
use crate::source::fetch_stats::CacheStats;

/// Blocks that wait to be written. They are in memory, beside the readahead.
const QUEUE: usize = 64;
const BYTES: u64 = BLOCK as u64;

/// The blocks of a data set.
#[derive(Debug)]
pub(crate) struct BlockCache {
    cache: Cache,
    share: Share,
    /// The blocks that this data set has planned to fetch.
    pending: Mutex<HashMap<Key, Fill>>,
    /// `None` once it is dropped.
    queue: Option<SyncSender<(Fill, Bytes)>>,
    writer: Option<JoinHandle<()>>,
}

impl BlockCache {
    /// `lengths`: the lengths of the shards that can be in it.
    pub(crate) fn new(cache: Cache, lengths: impl Iterator<Item = u64>) -> BlockCache {
        let blocks = lengths.map(|length| length.div_ceil(BYTES)).sum();
        let (queue, blocks_to_write) = sync_channel(QUEUE);
        let writer = std::thread::Builder::new()
            .name("tarflume-cache".into())
            .spawn(move || write(&blocks_to_write))
            .ok(); // without it nothing is written, which the counters show
        let share = cache.share(blocks);
        BlockCache { cache, share, pending: Mutex::default(), queue: Some(queue), writer }
    }

    /// Hands a block to the thread that writes. If that cannot follow, the block is not kept.
    fn write(&self, fill: Fill, bytes: Bytes) {
        if let Some(queue) = &self.queue {
            let _ = queue.try_send((fill, bytes));
        }
    }

    /// Forgets what was planned.
    pub(crate) fn clear(&self) {
        let pending = std::mem::take(&mut *self.pending.lock().ignore_poison());
        drop(pending); // the slots are free
    }

    pub(crate) fn stats(&self) -> CacheStats {
        let found = self.cache.stats();
        CacheStats {
            bytes: self.cache.bytes(),
            hits: found.hits,
            hit_bytes: found.hit_bytes,
            misses: found.misses,
            fills: found.fills,
            evictions: found.evictions,
            damaged: found.damaged,
            errors: found.errors,
        }
    }
}

/// Writes blocks until the queue is closed. An error of the disk leaves the slot empty and is counted.
fn write(queue: &Receiver<(Fill, Bytes)>) {
    for (fill, bytes) in queue {
        let _ = fill.finish(&bytes);
    }
}

impl Drop for BlockCache {
    /// Waits until the blocks of the queue are written.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join(); // a panic there has lost blocks of a cache
        }
    }
}

/// A shard whose blocks can be in the cache.
#[derive(Debug, Clone)]
pub(crate) struct CachedShard {
    blocks: Arc<BlockCache>,
    digest: [u8; 32],
    length: u64,
}

impl CachedShard {
    pub(crate) fn new(blocks: Arc<BlockCache>, digest: [u8; 32], length: u64) -> CachedShard {
        CachedShard { blocks, digest, length }
    }

    /// The block that has byte `at`, and its bytes.
    fn block(&self, at: u64) -> (Key, Range<u64>) {
        let number = at / BYTES;
        let range = number * BYTES..((number + 1) * BYTES).min(self.length);
        (Key::new(self.digest, number as u32), range)
    }

    /// The blocks that have bytes of a range.
    fn blocks(&self, range: Range<u64>) -> impl Iterator<Item = (Key, Range<u64>)> + '_ {
        (range.start / BYTES..range.end.div_ceil(BYTES)).map(|number| self.block(number * BYTES))
    }

    /// What has to be fetched of a block.
    fn fetched(&self, key: Key, block: &Range<u64>, wanted: Range<u64>) -> Option<Range<u64>> {
        let BlockCache { cache, share, pending, .. } = &*self.blocks;
        if !share.has(key) {
            return Some(wanted);
        }
        let at = (wanted.start - block.start) as usize;
        if cache.advise(key, at, (wanted.end - wanted.start) as usize) {
            return None;
        }
        match cache.begin(key) {
            Begun::Here | Begun::Filling => None,
            Begun::Full => Some(wanted),
            Begun::Fill(fill) => {
                pending.lock().ignore_poison().insert(key, fill);
                Some(block.clone())
            }
        }
    }
}

impl Blocks for CachedShard {
    fn grain(&self) -> u64 {
        BYTES
    }

    fn missing(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for (key, block) in self.blocks(range.clone()) {
            let wanted = block.start.max(range.start)..block.end.min(range.end);
            let Some(fetched) = self.fetched(key, &block, wanted) else { continue };
            match ranges.last_mut().filter(|last| last.end == fetched.start) {
                Some(last) => last.end = fetched.end,
                None => ranges.push(fetched),
            }
        }
        ranges
    }

    fn release(&self, range: Range<u64>, is_planned: &dyn Fn(Range<u64>) -> bool) {
        let mut pending = self.blocks.pending.lock().ignore_poison();
        for (key, block) in self.blocks(range) {
            if pending.contains_key(&key) && !is_planned(block) {
                pending.remove(&key);
            }
        }
    }

    fn arrived(&self, at: u64, bytes: &Bytes) {
        let end = at + bytes.len() as u64;
        for (key, block) in self.blocks(at..end).filter(|(_, b)| b.start >= at && b.end <= end) {
            let fill = self.blocks.pending.lock().ignore_poison().remove(&key);
            if let Some(fill) = fill {
                let part = (block.start - at) as usize..(block.end - at) as usize;
                self.blocks.write(fill, bytes.slice(part));
            }
        }
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Kept {
        let (key, block) = self.block(at);
        let length = into.len().min((block.end - at) as usize);
        let BlockCache { cache, share, .. } = &*self.blocks;
        if !share.has(key) {
            return Kept::No;
        }
        match cache.read(key, (at - block.start) as usize, &mut into[..length]) {
            Lookup::Hit => Kept::Here(length),
            Lookup::Filling => Kept::Coming,
            Lookup::Miss => Kept::No,
        }
    }

    fn claim(&self, at: u64) -> Option<(Range<u64>, Keep)> {
        let (key, block) = self.block(at);
        let is_kept = self.blocks.share.has(key);
        let fill = is_kept.then(|| self.blocks.cache.begin(key).fill()).flatten()?;
        let blocks = self.blocks.clone();
        Some((block, Box::new(move |bytes| blocks.write(fill, bytes))))
    }

    fn forget(&self, range: Range<u64>) {
        self.blocks(range).for_each(|(key, _)| self.blocks.cache.forget(key));
    }
}
