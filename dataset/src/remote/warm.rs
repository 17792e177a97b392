//! `warm_cache`: fetches the blocks of a data set that the cache of this machine should keep, before a job needs them.

use std::ops::Range;
use std::sync::Mutex;

use serde::Serialize;
use tarflume_cache::{BLOCK, Begun, Cache, Fill, Key, Share};
use tarflume_formats::IgnorePoison;
use tarflume_store::Object;
use tarflume_types::{Error, Result};

use crate::remote::folder::{self, FoundManifest};
use crate::remote::place::{Storage, of_cache, of_store};

/// Requests at the same time.
const AT_ONCE: usize = 16;
/// Blocks of a request at most.
const MOST: usize = 8;

/// What [`warm_cache`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Warmed {
    /// Blocks of 1 MiB of all shards.
    pub blocks: u64,
    /// Those that the cache keeps: all, or the share that fits.
    pub kept: u64,
    /// Those of `kept` that were there before, or that another process writes.
    pub present: u64,
    /// Those that were fetched.
    pub fetched: u64,
    /// Bytes that were fetched.
    pub bytes: u64,
    /// True if `watch` has ended it early.
    pub stopped: bool,
}

/// Fetches the blocks of the data set at `url` that the cache should keep and does not have. `watch` is called
/// after each request, and ends the work by returning false.
///
/// # Errors
/// Returns an error if `storage` has no size of a cache and `TARFLUME_CACHE_SIZE` neither, if the cache cannot be
/// opened or written, or if the store refuses or does not answer.
pub fn warm_cache(
    url: &str,
    storage: &Storage,
    watch: &(dyn Fn(&Warmed) -> bool + Sync),
) -> Result<Warmed> {
    let Some(cache) = storage.open_cache()? else {
        return Err(Error::usage(
            "no cache was asked for; give its size, or set TARFLUME_CACHE_SIZE",
        ));
    };
    let FoundManifest { store, manifest, .. } = folder::find(url, storage)?;
    let mut shards = Vec::new();
    for entry in &manifest.shards {
        if let Some(digest) = entry.digest()? {
            let object = store.object_of(&entry.name, entry.bytes);
            shards.push(Shard { object, digest: *digest.as_bytes() });
        }
    }
    let blocks = shards.iter().map(Shard::blocks).sum();
    let share = cache.share(blocks);
    let work = Work {
        cache,
        share,
        shards,
        next: Mutex::new((0, 0)),
        done: Mutex::new((Warmed { blocks, ..Warmed::default() }, None)),
        watch,
    };
    std::thread::scope(|scope| {
        for _ in 1..AT_ONCE {
            // With fewer threads it only takes longer.
            let _ = std::thread::Builder::new().spawn_scoped(scope, || work.run());
        }
        work.run();
    });
    work.cache.intact().map_err(|e| of_cache(&e))?; // a lost cache claims nothing
    match work.done.into_inner().ignore_poison() {
        (_, Some(error)) => Err(error),
        (warmed, None) => Ok(warmed),
    }
}

struct Shard {
    object: Object,
    digest: [u8; 32],
}

impl Shard {
    fn blocks(&self) -> u64 {
        self.object.length().div_ceil(BLOCK as u64)
    }

    fn range(&self, block: u64) -> Range<u64> {
        let start = block * BLOCK as u64;
        start..(start + BLOCK as u64).min(self.object.length())
    }
}

/// Neighbors that one request fetches.
struct Claimed<'a> {
    shard: &'a Shard,
    fills: Vec<(Fill, Range<u64>)>,
    /// Blocks beside them that are there.
    present: u64,
}

struct Work<'a> {
    cache: Cache,
    share: Share,
    shards: Vec<Shard>,
    /// Number of a shard and of its block: where the next request begins.
    next: Mutex<(usize, u64)>,
    done: Mutex<(Warmed, Option<Error>)>,
    watch: &'a (dyn Fn(&Warmed) -> bool + Sync),
}

impl Work<'_> {
    fn run(&self) {
        while let Some(Claimed { shard, fills, present }) = self.claim() {
            let bytes: u64 = fills.iter().map(|(_, range)| range.end - range.start).sum();
            let fetched = fills.len() as u64;
            let failed = fetch(shard, fills).err();
            let mut done = self.done.lock().ignore_poison();
            let (warmed, error) = &mut *done;
            warmed.kept += present + fetched;
            warmed.present += present;
            if failed.is_none() {
                warmed.fetched += fetched;
                warmed.bytes += bytes;
            }
            if error.is_none() {
                *error = failed;
            }
            let now = *warmed;
            if !(self.watch)(&now) {
                warmed.stopped = true;
            }
        }
    }

    /// Claims the next neighbors that the cache should keep and does not have; `None` if all was done.
    fn claim(&self) -> Option<Claimed<'_>> {
        let mut fills = Vec::new();
        let mut present = 0;
        let mut next = self.next.lock().ignore_poison();
        if self.is_over() {
            return None;
        }
        let shard = self.shards.get(next.0)?;
        while fills.len() < MOST && next.1 < shard.blocks() {
            let block = next.1 as u32;
            let key = Key::new(shard.digest, block);
            next.1 += 1;
            match self.share.has(key).then(|| self.cache.begin(key)) {
                Some(Begun::Fill(fill)) => fills.push((fill, shard.range(u64::from(block)))),
                Some(Begun::Here | Begun::Filling) => present += 1,
                None | Some(Begun::Full) => {}
            }
            if fills.last().is_some_and(|(fill, _)| fill.key() != key) {
                break;
            }
        }
        if next.1 >= shard.blocks() {
            *next = (next.0 + 1, 0);
        }
        Some(Claimed { shard, fills, present })
    }

    fn is_over(&self) -> bool {
        let done = self.done.lock().ignore_poison();
        done.0.stopped || done.1.is_some()
    }
}

/// Fetches neighbors by one request, and writes them.
fn fetch(shard: &Shard, fills: Vec<(Fill, Range<u64>)>) -> Result<()> {
    let Some((_, first)) = fills.first() else { return Ok(()) };
    let (_, last) = fills.last().expect("it has a first fill");
    let start = first.start;
    let end = last.end;
    let bytes = shard.object.read(start, end - start).map_err(|e| of_store(&e))?;
    for (fill, range) in fills {
        let part = (range.start - start) as usize..(range.end - start) as usize;
        fill.finish(&bytes[part]).map_err(|e| of_cache(&e))?;
    }
    Ok(())
}
