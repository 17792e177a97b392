//! Reads a whole sidecar and checks everything that [`Index::open`] leaves for later.

use super::layout as l;
use super::sample::Sample;
use super::view::Index;
use crate::errors::error::Result;

impl Index {
    /// Checks the whole sidecar: every checksum, every row, the order of keys, the positions of
    /// entry points, and the values of typed columns.
    ///
    /// # Errors
    /// Returns the first problem found.
    pub fn check(&self) -> Result<()> {
        self.body.read(self.body.start, self.body.bytes.len() - self.body.start)?;
        self.check_ends()?;
        let mut end = 0;
        for sample in self.iter() {
            end = self.check_sample(&sample?, end)?;
        }
        self.check_order()?;
        self.check_frames()?;
        self.check_blobs()?;
        self.check_columns()
    }

    /// Checks that the frames of a compressed shard follow each other.
    fn check_frames(&self) -> Result<()> {
        let mut end = (0, 0);
        for n in 0..self.frames() {
            let Some(frame) = self.frame(n)? else { break };
            if (frame.file.start, frame.data.start) != end || frame.data.is_empty() {
                return Err(self.body.inconsistent(0, "the frames do not follow each other"));
            }
            end = (frame.file.end, frame.data.end);
        }
        Ok(())
    }

    /// Checks that the first and the last record of the rows cover all keys and parts.
    fn check_ends(&self) -> Result<()> {
        let first = self.body.row(0)?;
        let end = self.body.row(self.samples())?;
        let keys = self.body.sections.keys.len() as u64;
        if first.key == 0 && first.part == 0 && end.key == keys && end.part == self.parts {
            return Ok(());
        }
        Err(self.body.inconsistent(0, "the rows do not cover all keys and parts"))
    }

    /// Checks that samples and parts follow each other in the tar, each part after its own header.
    fn check_sample(&self, sample: &Sample<'_>, before: u64) -> Result<u64> {
        if sample.first < before {
            return Err(self
                .body
                .inconsistent(sample.row, "it begins inside the sample before it"));
        }
        let mut end = sample.first;
        for part in sample.parts() {
            let part = part?;
            if part.offset < end.saturating_add(l::TAR_BLOCK) {
                return Err(self
                    .body
                    .inconsistent(sample.row, "a part overlaps the bytes before it"));
            }
            end = part.end();
        }
        Ok(end)
    }

    /// Checks that keys rise, and rows of equal keys, too: then no row is missing or listed twice.
    fn check_order(&self) -> Result<()> {
        let mut before = None;
        for n in 0..self.samples() {
            let row = self.by_key(n)?;
            let here = Some((self.key(row)?, row));
            if before >= here {
                return Err(self.body.inconsistent(n, "the order of keys is wrong"));
            }
            before = here;
        }
        Ok(())
    }
}
