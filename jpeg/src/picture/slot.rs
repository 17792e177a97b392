//! `Slot`: a picture being decoded, from rows of coefficients to rows of pixels.
//!
//! Rows of MCUs may come in any order; a row of pixels is written as soon as the samples that it
//! depends on exist, while they are in the cache. Knows no lanes or bits.

use std::ops::Range;
use std::sync::Arc;

use crate::entropy::LaneTables;
use crate::error::{Error, Result};
use crate::picture::job::{Damage, Job, Report};
use crate::picture::layout::Layout;
use crate::picture::lines::{Lines, PixelFormat, Samples};
use crate::picture::planes::{Divisors, KEPT_ROWS, McuRow, Planes};
use crate::simd::Simd;

/// The state of a row of MCUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum RowState {
    #[default]
    Missing,
    /// Its samples exist.
    Ready,
    /// Its pixels are written.
    Written,
}

/// A picture being decoded.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    pub(crate) layout: Layout,
    pub(crate) tables: Arc<LaneTables>,
    pub(crate) report: Report,
    /// The error that ended it early.
    pub(crate) error: Option<Error>,
    /// The quantization table of each component.
    pub(crate) divisors: Divisors,
    planes: Planes,
    lines: Lines,
    /// The states of the layout's rows.
    rows: Vec<RowState>,
    /// The first row whose samples are still needed.
    needed: usize,
}

impl Slot {
    /// Prepares for a picture.
    ///
    /// # Errors
    /// Returns an error if the job is invalid, its Huffman tables are damaged, or memory is
    /// exhausted.
    pub(crate) fn open(&mut self, job: &Job<'_>) -> Result<()> {
        job.check()?;
        self.layout = Layout::of(job.header, job.scale, job.region)?;
        let each = u64::from(self.layout.mcus.0) * self.layout.blocks as u64;
        job.header.check_rows(job.bytes, self.layout.rows.end, each)?;
        // Lanes drop their reference before a slot is free; if one did not, allocate new tables.
        let tables = match Arc::get_mut(&mut self.tables) {
            Some(tables) => tables,
            None => {
                self.tables = Arc::default();
                #[allow(clippy::expect_used)] // allocated above, so not shared
                Arc::get_mut(&mut self.tables).expect("tables of its own")
            }
        };
        tables.build(job.header, job.bytes)?;
        self.divisors = job.header.divisors(job.bytes)?;
        self.make_ready(job)
    }

    /// Prepares for a picture whose coefficients are collected elsewhere; the quantization tables
    /// follow.
    ///
    /// # Errors
    /// Returns an error if the job is invalid or memory is exhausted.
    pub(crate) fn open_several(&mut self, job: &Job<'_>) -> Result<()> {
        job.check()?;
        self.layout = Layout::of(job.header, job.scale, job.region)?;
        job.header.check_blocks(job.bytes)?;
        self.make_ready(job)
    }

    /// Prepares for a damaged picture, whose data may be too few.
    ///
    /// # Errors
    /// Returns an error if the job is invalid or memory is exhausted.
    pub(crate) fn open_damaged(&mut self, job: &Job<'_>) -> Result<()> {
        job.check()?;
        self.layout = Layout::of(job.header, job.scale, job.region)?;
        self.make_ready(job)
    }

    fn make_ready(&mut self, job: &Job<'_>) -> Result<()> {
        self.planes.set(&self.layout)?;
        let mcus = u64::from(self.layout.mcus.0) * u64::from(self.layout.mcus.1);
        let blocks = mcus * self.layout.blocks as u64;
        self.report = Report { blocks, ..Report::default() };
        self.note(job.header.irregular());
        self.reset();
        Ok(())
    }

    /// Notes the first byte that breaks a rule without a loss, if there is one.
    pub(crate) fn note(&mut self, irregular: Option<usize>) {
        if irregular.is_some() {
            self.report.damage = Damage::Harmless;
        }
    }

    pub(crate) fn drop_large(&mut self, bytes: usize) {
        self.planes.drop_large(bytes);
    }

    /// Resets the rows: they will come again.
    pub(crate) fn reset(&mut self) {
        self.error = None;
        self.needed = 0;
        self.rows.clear();
        self.rows.resize(self.layout.rows.len(), RowState::Missing);
    }

    /// Takes a row of MCUs, whose coefficients are zeros afterwards if the next row is needed.
    pub(crate) fn put(&mut self, simd: &Simd, job: &mut Job<'_>, mcus: McuRow<'_>) {
        let row = mcus.row;
        self.report.decoded += mcus.coefficients.len() as u64;
        if !self.layout.rows.contains(&row) {
            // Rows that are only passed overwrite each other's coefficients: the last one is cleared.
            if self.layout.rows.contains(&(row + 1)) {
                mcus.coefficients.fill([0; 64]);
            }
            return;
        }
        self.report.drawn += (self.layout.columns.len() * self.layout.blocks) as u64;
        self.planes.put(simd, &self.layout, &self.divisors, mcus);
        let number = (row - self.layout.rows.start) as usize;
        self.rows[number] = RowState::Ready;
        // The new samples may complete the rows above and below, whose edge lines depend on them.
        for near in number.saturating_sub(1)..(number + 2).min(self.rows.len()) {
            if self.is_ready(near) {
                self.write(simd, job, near);
                self.rows[near] = RowState::Written;
            }
        }
        // The planes are a ring: rows that no pixel needs make room for new ones.
        while self.needed < self.rows.len() && self.is_done_with(self.needed) {
            self.needed += 1;
        }
    }

    /// Returns true if the samples of a row of MCUs fit beside those that are still needed.
    pub(crate) fn has_room(&self, row: u32) -> bool {
        u64::from(row)
            < u64::from(self.layout.rows.start) + self.needed as u64 + u64::from(KEPT_ROWS)
    }

    /// Returns true if all pixels that depend on a row are written.
    fn is_done_with(&self, number: usize) -> bool {
        self.rows[self.near(number)].iter().all(|&row| row == RowState::Written)
    }

    /// Returns the rows whose pixels depend on this row's samples, which are also the rows whose
    /// samples its pixels depend on.
    fn near(&self, number: usize) -> Range<usize> {
        if self.layout.reads_below {
            number.saturating_sub(1)..(number + 2).min(self.rows.len())
        } else {
            number..number + 1
        }
    }

    /// Returns true if all samples that the pixels of a row depend on exist.
    fn is_ready(&self, number: usize) -> bool {
        self.rows[number] == RowState::Ready
            && !self.rows[self.near(number)].contains(&RowState::Missing)
    }

    /// Writes the pixels of a row of MCUs that are in the region.
    fn write(&mut self, simd: &Simd, job: &mut Job<'_>, number: usize) {
        let region = job.area();
        let lines = self.layout.lines;
        let top = (self.layout.rows.start + number as u32) * lines;
        let from = top.max(region.top);
        let to = (top + lines).min(region.top + region.height);
        let wanted = PixelFormat { color: job.color, ycc: job.header.ycc };
        let bytes = region.width as usize * job.color.bytes();
        let samples = Samples { layout: &self.layout, planes: &self.planes };
        for y in from..to {
            let at = (y - region.top) as usize * job.stride;
            let out = &mut job.output[at..at + bytes];
            self.lines.write(simd, samples, wanted, &region, y, out);
        }
    }
}
