//! `Fetched`: the bytes of one run, from its source or in a buffer, and whether they are right.

use std::sync::Arc;

use tarflume_formats::name;

use crate::dataset::Dataset;
use crate::dataset::sample::match_checksum;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::plan::{Bad, Item, PartRef, Plan};
use crate::fetch::wanted::Wanted;
use crate::source::Source;

/// Of how many parts the checksum is compared.
///
/// ```
/// use tarflume::{Loader, Verify};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).bytes("jpg").verify(Verify::All).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Verify {
    /// Of none.
    #[default]
    Off,
    /// Of those of one sample in 64: always the same ones, chosen by a hash of the ordinal.
    Sampled,
    /// Of all.
    All,
}

impl Verify {
    /// True if the parts of the sample with this ordinal are compared in this pass: every pass has
    /// others.
    pub fn picks(self, ordinal: u64, pass: u64) -> bool {
        match self {
            Verify::Off => false,
            Verify::Sampled => spread(ordinal ^ spread(pass)).is_multiple_of(64),
            Verify::All => true,
        }
    }
}

/// The finisher of SplitMix64 (Steele, Lea, Flood 2014): neighbors get far-apart numbers.
fn spread(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// The bytes of one run. Made once and used for run after run; may go from thread to thread.
#[derive(Debug, Default)]
pub struct Fetched {
    source: Option<Arc<dyn Source>>,
    /// True if the source lends all bytes of the run.
    lent: bool,
    buffer: Vec<u8>,
    /// Items whose bytes could not be read, rising.
    lost: Vec<usize>,
}

impl Fetched {
    /// A buffer of more bytes than this is not kept for the next run.
    pub const KEEP: usize = 8 << 20;

    /// Nothing yet.
    pub fn new() -> Fetched {
        Fetched::default()
    }

    /// Reads run `run` of `plan`. If that fails as a whole, its samples are read one by one, and those
    /// that can't be are put into `bad`. Where the machine fails it ends there: its error is the last that is put
    /// into `bad` ([`Error::is_machine`]), and the samples from that one on are not here.
    ///
    /// # Panics
    /// The plan has no such run, or is of another data set.
    pub fn read(&mut self, dataset: &Dataset, plan: &Plan, run: usize, bad: &mut Vec<Bad>) {
        self.clear();
        if self.read_whole(dataset, plan, run).is_ok() {
            return;
        }
        let items = plan.runs()[run].items.clone();
        for number in items.clone() {
            let item = &plan.items()[number];
            let Err(error) = self.read_item(dataset, plan, run, item) else { continue };
            let error = named(error, dataset, plan, item);
            let machine = error.is_machine();
            bad.push(Bad { slot: item.slot, ordinal: item.ordinal, error });
            if machine {
                self.lost.extend(number..items.end);
                return;
            }
            self.lost.push(number);
        }
    }

    /// Asks the system to bring the bytes of run `run` into its cache; waits for nothing. To be called
    /// some runs ahead: page faults alone read a cold disk in small pieces, one after the other.
    pub fn advise(dataset: &Dataset, plan: &Plan, run: usize) {
        let run = &plan.runs()[run];
        if let Ok(source) = dataset.shard(run.shard).source() {
            for read in &plan.reads()[run.reads.clone()] {
                source.advise(read.start, read.length);
            }
        }
    }

    /// Lets the source go. The buffer stays, unless it is larger than [`Fetched::KEEP`].
    pub fn clear(&mut self) {
        self.source = None;
        self.lent = false;
        self.lost.clear();
        if self.buffer.len() > Fetched::KEEP {
            self.buffer = Vec::new();
        }
    }

    /// True if the bytes of this item, by its number in the plan, are here.
    pub fn has(&self, item: usize) -> bool {
        self.lost.binary_search(&item).is_err()
    }

    /// The bytes of a part of this run's items; none if the sample does not have it, or is lost.
    pub fn bytes(&self, part: &PartRef) -> &[u8] {
        // The length was found to fit when the run was read.
        let length = part.length as usize;
        if self.lent {
            let view = self.source.as_ref().and_then(|source| source.view(part.at, length));
            return view.unwrap_or_default();
        }
        let at = part.within as usize;
        self.buffer.get(at..at + length).unwrap_or_default()
    }

    /// Compares the parts of an item that is here with their checksums, if `verify` picks it.
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`], with path, byte, key and part; or what became of the shard.
    pub fn verify(
        &self,
        dataset: &Dataset,
        plan: &Plan,
        item: &Item,
        wanted: &Wanted,
        (verify, pass): (Verify, u64),
    ) -> Result<()> {
        if !verify.picks(item.ordinal, pass) {
            return Ok(());
        }
        for part in plan.parts_of(item) {
            let Some(ext) = part.ext else { continue };
            let ext = wanted.ext(ext).as_bytes();
            match_checksum(self.bytes(part), part.checksum, ext, || self.check())
                .map_err(|e| named(e.with_byte(part.at), dataset, plan, item))?;
        }
        Ok(())
    }

    /// True if the parts are lent by the source: [`Fetched::check`] tells whether they were whole.
    pub fn is_lent(&self) -> bool {
        self.lent
    }

    /// Asks whether the source still is what was opened: to be called after the parts were used, and
    /// before what came of them is believed (what a file loses while it is mapped reads as zeros).
    /// Costs two calls of the system.
    ///
    /// # Errors
    /// The shard was cut, replaced or written to.
    pub fn check(&self) -> Result<()> {
        self.source.as_ref().map_or(Ok(()), |source| source.check())
    }

    fn read_whole(&mut self, dataset: &Dataset, plan: &Plan, run: usize) -> Result<()> {
        let run = &plan.runs()[run];
        if run.reads.is_empty() {
            return Ok(());
        }
        let source = dataset.shard(run.shard).source()?;
        let source = self.source.insert(source);
        let reads = &plan.reads()[run.reads.clone()];
        let lends =
            |at, length| usize::try_from(length).is_ok_and(|n| source.view(at, n).is_some());
        self.lent = reads.iter().all(|read| lends(read.start, read.length));
        if self.lent {
            return Ok(());
        }
        let source = source.clone();
        self.make_room(run.bytes)?;
        for read in reads {
            let at = read.within as usize;
            source.read_at(read.start, &mut self.buffer[at..at + read.length as usize])?;
        }
        Ok(())
    }

    /// One item alone, into its places in the run's buffer.
    fn read_item(&mut self, dataset: &Dataset, plan: &Plan, run: usize, item: &Item) -> Result<()> {
        let source = dataset.shard(item.shard).source()?;
        self.source = Some(source.clone());
        self.make_room(plan.runs()[run].bytes)?;
        for part in plan.parts_of(item).iter().filter(|part| part.length > 0) {
            let at = part.within as usize;
            source.read_at(part.at, &mut self.buffer[at..at + part.length as usize])?;
        }
        Ok(())
    }

    /// Makes the buffer at least `bytes` long. What it holds is overwritten.
    fn make_room(&mut self, bytes: u64) -> Result<()> {
        let too_long = || {
            let text = format!("there is no memory for the {bytes} bytes of a read");
            Error::new(ErrorKind::Machine, text)
        };
        let bytes = usize::try_from(bytes).map_err(|_| too_long())?;
        if bytes > self.buffer.len() {
            self.buffer = Vec::new(); // the two must not stand side by side
            self.buffer.try_reserve_exact(bytes).map_err(|_| too_long())?;
            self.buffer.resize(bytes, 0);
        }
        Ok(())
    }
}

/// Adds path and key to what went wrong with an item.
fn named(error: Error, dataset: &Dataset, plan: &Plan, item: &Item) -> Error {
    let path = dataset.shard(item.shard).path();
    error.with_path(path).with_key(name::shown(plan.key(item)))
}
