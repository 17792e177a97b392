//! `ProofPass`: compares what a sidecar states of its samples with the tar, in the order of the rows.
//!
//! For tables, numbers and rules, which use what sidecars state without reading samples. Of a store, the parts of the
//! next rows are asked for together. Reads nothing of a tar that was not changed after its sidecar.

use std::sync::Arc;

use tarflume_formats::index::{Part, SampleRow};
use tarflume_types::{Error, ErrorKind, Result};

use super::Shard;
use super::pictures::is_image;
use crate::source::Source;

/// So many rows of a shard in a store are announced before they are read.
const AHEAD: u64 = 256;
/// Parts with at most so many other bytes between them are fetched together.
const GAP: u64 = 64 << 10;
/// Bytes of the parts that are fetched together.
const MOST: u64 = 8 << 20;

/// Which parts of a sample must be those that the sidecar describes.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProofNeeds {
    /// Extensions of the parts that typed columns were copied from.
    pub(crate) exts: Vec<String>,
    /// True for the pictures of which the sidecar has width and height.
    pub(crate) pictures: bool,
    /// True for the header of each part, which has its name and length. Of a store, they are not read: one request for each.
    pub(crate) headers: bool,
}

/// A pass over the rows of one shard.
#[derive(Debug)]
pub(crate) struct ProofPass {
    shard: Shard,
    needs: ProofNeeds,
    /// The rows before this one were announced.
    announced: u64,
    /// The tar, which stays open for the pass.
    source: Option<Arc<dyn Source>>,
    sample: SampleRow,
    bytes: Vec<u8>,
}

impl ProofPass {
    pub(crate) fn new(shard: &Shard, needs: ProofNeeds) -> ProofPass {
        ProofPass {
            shard: shard.clone(),
            needs,
            announced: 0,
            source: None,
            sample: SampleRow::new(),
            bytes: Vec::new(),
        }
    }

    /// Compares the parts of the sample in row `row` that must be compared and were not in this process. `has_size` is
    /// true if the sidecar has width and height of its first picture.
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`] or [`ErrorKind::Stale`] with path, byte and key: the sidecar does not describe the part.
    /// Returns an error if the tar cannot be read.
    pub(crate) fn prove(&mut self, row: u64, has_size: bool) -> Result<()> {
        if !self.shard.is_suspect() {
            return Ok(());
        }
        let proved = self.prove_suspect(row, has_size);
        proved.map_err(|e| e.with_path(self.shard.path()))
    }

    fn prove_suspect(&mut self, row: u64, has_size: bool) -> Result<()> {
        let source = match &self.source {
            Some(source) => source.clone(),
            None => {
                // Most tars in stores are older than their sidecars, which one byte tells.
                self.shard.learn_time()?;
                self.source.insert(self.shard.source()?).clone()
            }
        };
        if !self.shard.is_suspect() {
            return Ok(());
        }
        if self.shard.is_remote() {
            self.announce(row, &*source)?;
        }
        let ProofPass { shard, needs, sample, bytes, .. } = self;
        shard.look_up(row, sample)?;
        for part in sample.parts().filter(|part| shard.must_compare(part.number)) {
            if needs.has(&part, sample, has_size) {
                shard.read_and_compare(&*source, sample, &part, bytes)?;
            } else if needs.headers && !shard.is_remote() {
                shard.compare_header(&*source, sample, &part)?;
            }
        }
        Ok(())
    }

    /// Announces the parts of the next rows, before the announced ones are used up.
    fn announce(&mut self, row: u64, source: &dyn Source) -> Result<()> {
        if row + AHEAD / 2 < self.announced {
            return Ok(());
        }
        let end = self.shard.samples().min(row + AHEAD);
        let mut run = Run::default();
        for row in self.announced.max(row)..end {
            self.shard.look_up(row, &mut self.sample)?;
            let has_size = self.needs.pictures && self.shard.dimensions(row)?.is_some();
            for part in self.sample.parts() {
                let must = self.shard.must_compare(part.number);
                if must && self.needs.has(&part, &self.sample, has_size) {
                    run.add(&part, source);
                }
            }
        }
        run.announce(source);
        self.announced = self.announced.max(end);
        Ok(())
    }
}

impl ProofNeeds {
    /// True if a value of the sidecar was made from this part of the sample.
    fn has(&self, part: &Part<'_>, of: &SampleRow, has_size: bool) -> bool {
        if self.exts.iter().any(|ext| ext.as_bytes() == part.ext) {
            return true;
        }
        // The size is that of the first picture whose header could be read.
        self.pictures
            && has_size
            && (is_image(part.ext) || !of.parts().any(|part| is_image(part.ext)))
    }
}

impl Shard {
    /// Reads a part into `bytes` and compares it. Bytes of a store that differ are read once more: they may have changed on
    /// their way.
    fn read_and_compare(
        &self,
        source: &dyn Source,
        sample: &SampleRow,
        part: &Part<'_>,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        let length = usize::try_from(part.length).unwrap_or(usize::MAX);
        bytes.clear();
        bytes.try_reserve_exact(length).map_err(|e| {
            let text = format!("not enough memory for a part of {length} bytes");
            Error::new(ErrorKind::Machine, text).with_source(e)
        })?;
        bytes.resize(length, 0);
        source.read_at(part.offset, bytes)?;
        match self.compare(source, sample, part, bytes) {
            Err(error) if self.is_remote() && !error.spares_samples() => {
                source.read_again(part.offset, bytes)?;
                self.compare(source, sample, part, bytes)
            }
            compared => compared,
        }
    }
}

/// Neighbors that are fetched together.
#[derive(Debug, Default)]
struct Run {
    start: u64,
    end: u64,
    starts: Vec<u64>,
}

impl Run {
    fn add(&mut self, part: &Part<'_>, source: &dyn Source) {
        let is_near = part.offset >= self.end && part.offset - self.end <= GAP;
        if !is_near || part.end() - self.start > MOST {
            self.announce(source); // of nothing before the first part
        }
        if self.starts.is_empty() {
            self.start = part.offset;
        }
        self.starts.push(part.offset);
        self.end = part.end();
    }

    fn announce(&mut self, source: &dyn Source) {
        if !self.starts.is_empty() {
            source.expect(self.start, self.end - self.start, &self.starts);
            self.starts.clear();
        }
    }
}
