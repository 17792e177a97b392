//! `RunBytes`: the bytes of one run, lent by the source or in a buffer, and their verification.

use std::sync::Arc;

use tarflume_dataset::{Dataset, Source, match_checksum};
use tarflume_types::{Error, ErrorKind, Result};

use crate::fetch::part_needs::PartNeeds;
use crate::fetch::parts::PartRef;
use crate::fetch::plan::UnreadableSample;
use crate::fetch::verify::Verify;
use crate::fetch::view::{ItemView, RunView};

/// Bytes that differ from their checksums are read again so often.
const REREADS: usize = 3;

/// The bytes of one run. Reused for run after run. May move between threads.
#[derive(Debug, Default)]
pub struct RunBytes {
    source: Option<Arc<dyn Source>>,
    /// True if the source lends all bytes of the run; `buffer` is then unused.
    lent: bool,
    buffer: Vec<u8>,
    /// Numbers of items whose bytes could not be read, ascending.
    lost: Vec<usize>,
}

impl RunBytes {
    /// A buffer larger than this many bytes is freed after its run.
    pub const KEEP: usize = 8 << 20;

    /// Creates an empty value.
    pub fn new() -> RunBytes {
        RunBytes::default()
    }

    /// Reads `run`. If a read fails, reads the samples of the run one by one and appends those that fail to `bad`. A
    /// machine error ([`Error::is_machine`]) ends the run: it is the last entry of `bad`, and that sample and all later
    /// ones are not available.
    ///
    /// # Panics
    /// Panics if the run belongs to another data set.
    pub fn read(&mut self, dataset: &Dataset, run: RunView<'_>, bad: &mut Vec<UnreadableSample>) {
        self.clear();
        if self.read_whole(dataset, run).is_ok() {
            return;
        }
        let mut items = run.items();
        while let Some(item) = items.next() {
            let Err(error) = self.read_item(dataset, run, item, Source::read_at) else { continue };
            let error = item.place(dataset, error);
            let spares = error.spares_samples();
            let row = item.row();
            let ordinal = item.ordinal();
            bad.push(UnreadableSample { row, ordinal, error, excerpt: false });
            self.lost.push(item.number());
            if spares {
                self.lost.extend(items.map(ItemView::number));
                return;
            }
        }
    }

    /// Makes the bytes of all samples of `run` unavailable because of `error`, and appends the samples to `bad`.
    pub(crate) fn refuse(
        &mut self,
        dataset: &Dataset,
        run: RunView<'_>,
        error: &Error,
        bad: &mut Vec<UnreadableSample>,
    ) {
        self.clear();
        for item in run.items() {
            bad.push(UnreadableSample {
                row: item.row(),
                ordinal: item.ordinal(),
                error: item.place_part(dataset, error.clone()),
                excerpt: false,
            });
            self.lost.push(item.number());
        }
    }

    /// Advises the kernel to load the bytes of `run` into the page cache. Does not wait. Call it some runs ahead: page
    /// faults alone read a cold disk in small pieces, one after the other.
    pub fn advise(dataset: &Dataset, run: RunView<'_>) {
        if let Ok(source) = dataset.shard(run.shard()).source() {
            for read in run.reads() {
                source.advise(read.start, read.length);
            }
        }
    }

    /// Announces the bytes of `run`, each of whose samples will be read once, possibly much later. A source that keeps bytes
    /// fetches them when it has room; for others it is [`RunBytes::advise`].
    pub fn expect(dataset: &Dataset, run: RunView<'_>) {
        let Ok(source) = dataset.shard(run.shard()).source() else { return };
        let mut starts = Vec::new();
        let mut first = run.starts().into_iter().peekable();
        for read in run.reads() {
            let end = read.start + read.length;
            starts.clear();
            while let Some(start) = first.next_if(|start| *start < end) {
                starts.push(start);
            }
            source.expect(read.start, read.length, &starts);
        }
    }

    /// Releases the source. Keeps the buffer unless it is larger than [`RunBytes::KEEP`].
    pub fn clear(&mut self) {
        self.source = None;
        self.lent = false;
        self.lost.clear();
        if self.buffer.len() > RunBytes::KEEP {
            self.buffer = Vec::new();
        }
    }

    /// True if the bytes of item number `item` of the plan are available.
    pub fn has(&self, item: usize) -> bool {
        self.lost.binary_search(&item).is_err()
    }

    /// The bytes of a part. Empty if the sample does not have the part or its bytes are not available. Of an excerpt,
    /// they end with its last row, and the bytes between the header and its first row are unspecified.
    pub fn bytes(&self, part: &PartRef) -> &[u8] {
        // `make_room` checked that the run's length, and so the part's, fits a `usize`.
        let length = part.length as usize;
        if self.lent {
            let view = self.source.as_ref().and_then(|source| source.view(part.at, length));
            return view.unwrap_or_default();
        }
        let at = part.within as usize;
        self.buffer.get(at..at + length).unwrap_or_default()
    }

    /// Compares the parts of an available item with their checksums, if `verify` selects it or the tar may be newer than
    /// the sidecar, which then is compared with the headers, too.
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`], with path, byte, key and part; [`ErrorKind::Stale`] for another header. As
    /// [`RunBytes::check`].
    pub fn verify(
        &self,
        dataset: &Dataset,
        item: ItemView<'_>,
        wanted: &PartNeeds,
        verify: Verify,
        pass: u64,
    ) -> Result<()> {
        if !item.is_suspect() && !verify.picks(item.ordinal(), pass) {
            return Ok(());
        }
        let shard = dataset.shard(item.shard());
        // Decoders compare excerpts with the checksums of their strips.
        let compared = item.parts().iter().filter(|part| part.excerpt.is_none());
        for part in compared.clone() {
            let Some(ext) = part.ext else { continue };
            let bytes = self.bytes(part);
            let ext = wanted.ext(ext).as_bytes();
            let found = match part.header {
                Some(header) => header.compare(bytes, item.key(), ext),
                None => match_checksum(bytes, part.checksum, ext, || self.check()),
            };
            found.map_err(|e| {
                let e = item.place(dataset, e.with_byte(part.at));
                if item.is_suspect() { shard.stale(e) } else { e }
            })?;
        }
        if item.is_suspect() {
            let parts = compared.filter(|part| part.ext.is_some() && part.header.is_none());
            parts.for_each(|part| shard.set_compared(part.number));
        }
        Ok(())
    }

    /// Reads the parts of an available item again if they differ from their checksums: a network may change bytes on
    /// their way. Returns the error of the first bytes if the second ones are right.
    ///
    /// # Panics
    /// As [`RunBytes::read`].
    pub fn mend(
        &mut self,
        dataset: &Dataset,
        run: RunView<'_>,
        item: ItemView<'_>,
        wanted: &PartNeeds,
    ) -> Option<Error> {
        let first = self.verify(dataset, item, wanted, Verify::All, 0).err()?;
        if first.kind() != ErrorKind::Damaged {
            return None;
        }
        let is_right = (0..REREADS).any(|_| {
            self.read_item(dataset, run, item, Source::read_again)
                .and_then(|()| self.verify(dataset, item, wanted, Verify::All, 0))
                .is_ok()
        });
        is_right.then_some(first)
    }

    /// True if the source lends the parts. [`RunBytes::check`] then tells whether they were intact.
    pub fn is_lent(&self) -> bool {
        self.lent
    }

    /// Checks that the source is the file that was opened. Call it after using the parts and before
    /// trusting the result, because bytes that a mapped file loses read as zeros. Costs two system calls.
    ///
    /// # Errors
    /// Returns an error if the shard was truncated, replaced or written to.
    pub fn check(&self) -> Result<()> {
        self.source.as_ref().map_or(Ok(()), |source| source.check())
    }

    fn read_whole(&mut self, dataset: &Dataset, run: RunView<'_>) -> Result<()> {
        let reads = run.reads();
        if reads.is_empty() {
            return Ok(());
        }
        let source = dataset.shard(run.shard()).source()?;
        let source = self.source.insert(source);
        // Parts, not reads: a view of an excerpt spans the hole in it.
        let mut parts = run.items().flat_map(ItemView::parts).filter(|part| part.length > 0);
        self.lent = parts.all(|part| lends(&**source, part));
        if self.lent {
            return Ok(());
        }
        let source = source.clone();
        self.make_room(run.bytes())?;
        for read in reads {
            let at = read.within as usize;
            source.read_at(read.start, &mut self.buffer[at..at + read.length as usize])?;
        }
        Ok(())
    }

    /// Reads one item into its place in the run's buffer with `read`.
    fn read_item(
        &mut self,
        dataset: &Dataset,
        run: RunView<'_>,
        item: ItemView<'_>,
        read: fn(&(dyn Source + 'static), u64, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let source = dataset.shard(item.shard()).source()?;
        self.source = Some(source.clone());
        self.make_room(run.bytes())?;
        for part in item.parts().iter().filter(|part| part.length > 0) {
            for bytes in part.ranges() {
                let from = part.within + bytes.start;
                let to = part.within + bytes.end;
                let into = &mut self.buffer[from as usize..to as usize];
                read(&*source, part.at + bytes.start, into)?;
            }
        }
        Ok(())
    }

    /// Makes the buffer at least `bytes` long. Its content is not kept.
    fn make_room(&mut self, bytes: u64) -> Result<()> {
        let length = usize::try_from(bytes).map_err(|_| too_long(bytes))?;
        if length > self.buffer.len() {
            self.buffer = Vec::new(); // free the old buffer first, to bound the peak
            self.buffer.try_reserve_exact(length).map_err(|_| too_long(bytes))?;
            self.buffer.resize(length, 0);
        }
        Ok(())
    }
}

/// True if the source lends the bytes of a part.
#[inline]
fn lends(source: &dyn Source, part: &PartRef) -> bool {
    usize::try_from(part.length).is_ok_and(|length| source.view(part.at, length).is_some())
}

fn too_long(bytes: u64) -> Error {
    Error::new(ErrorKind::Machine, format!("cannot allocate the {bytes} bytes of a read"))
}
