//! `Slot`: a picture under way, from rows of coefficients to rows of pixels.
//!
//! Rows of MCUs may come in any order; a row of pixels is written as soon as the samples that it
//! depends on are there, while they are in the cache. Knows nothing of lanes and bits.

use std::ops::Range;
use std::sync::Arc;

use crate::entropy::Tables;
use crate::error::{Error, Result};
use crate::job::{Job, Report};
use crate::layout::Layout;
use crate::lines::{Lines, Wanted};
use crate::planes::{Divisors, KEPT_ROWS, Planes};
use crate::simd::Simd;

/// How far a row of MCUs is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Row {
    #[default]
    Missing,
    /// Its samples are there.
    There,
    /// Its pixels are written.
    Written,
}

/// A picture under way.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    pub(crate) layout: Layout,
    pub(crate) tables: Arc<Tables>,
    pub(crate) report: Report,
    /// What ended it before its time.
    pub(crate) error: Option<Error>,
    /// What the coefficients of each component are multiplied with.
    pub(crate) divisors: Divisors,
    planes: Planes,
    lines: Lines,
    /// The rows of the layout.
    rows: Vec<Row>,
    /// Of these, the first whose samples are still needed.
    needed: usize,
}

impl Slot {
    /// Makes ready for a picture.
    ///
    /// # Errors
    /// The job can't be, its Huffman tables are damaged, or there is no memory.
    pub(crate) fn open(&mut self, job: &Job<'_>) -> Result<()> {
        job.check()?;
        self.layout = Layout::of(job.header, job.scale, job.region)?;
        let each = u64::from(self.layout.mcus.0) * self.layout.blocks as u64;
        job.header.check_rows(job.bytes, self.layout.rows.end, each)?;
        // Lanes have given their share back when a slot is free; if not, this one makes its own.
        let tables = match Arc::get_mut(&mut self.tables) {
            Some(tables) => tables,
            None => {
                self.tables = Arc::default();
                #[allow(clippy::expect_used)] // nobody else knows of it
                Arc::get_mut(&mut self.tables).expect("tables of its own")
            }
        };
        tables.build(job.header, job.bytes)?;
        self.divisors = job.header.divisors(job.bytes)?;
        self.make_ready()
    }

    /// Makes ready for a picture whose coefficients are gathered elsewhere; divisors follow.
    ///
    /// # Errors
    /// The job can't be, or there is no memory.
    pub(crate) fn open_several(&mut self, job: &Job<'_>) -> Result<()> {
        job.check()?;
        self.layout = Layout::of(job.header, job.scale, job.region)?;
        job.header.check_blocks(job.bytes)?;
        self.make_ready()
    }

    fn make_ready(&mut self) -> Result<()> {
        self.planes.set(&self.layout)?;
        let mcus = u64::from(self.layout.mcus.0) * u64::from(self.layout.mcus.1);
        let blocks = mcus * self.layout.blocks as u64;
        self.report = Report { blocks, ..Report::default() };
        self.reset();
        Ok(())
    }

    pub(crate) fn drop_large(&mut self, bytes: usize) {
        self.planes.drop_large(bytes);
    }

    /// Forgets the rows: they come again.
    pub(crate) fn reset(&mut self) {
        self.error = None;
        self.needed = 0;
        self.rows.clear();
        self.rows.resize(self.layout.rows.len(), Row::Missing);
    }

    /// Takes a row of MCUs: its coefficients, from the MCU in column `first` on, become zeros again.
    pub(crate) fn put(
        &mut self,
        simd: &Simd,
        job: &mut Job<'_>,
        (row, first): (u32, u32),
        (coefficients, last): (&mut [[i16; 64]], &[u8]),
    ) {
        self.report.decoded += coefficients.len() as u64;
        if !self.layout.rows.contains(&row) {
            coefficients.fill([0; 64]);
            return;
        }
        self.report.drawn += (self.layout.columns.len() * self.layout.blocks) as u64;
        let blocks = (coefficients, last);
        self.planes.put(simd, &self.layout, &self.divisors, (row, first), blocks);
        let number = (row - self.layout.rows.start) as usize;
        self.rows[number] = Row::There;
        for near in number.saturating_sub(1)..(number + 2).min(self.rows.len()) {
            if self.is_ready(near) {
                self.write(simd, job, near);
                self.rows[near] = Row::Written;
            }
        }
        while self.needed < self.rows.len() && self.is_done_with(self.needed) {
            self.needed += 1;
        }
    }

    /// Whether the samples of a row of MCUs have room beside those that are still needed.
    pub(crate) fn has_room(&self, row: u32) -> bool {
        u64::from(row)
            < u64::from(self.layout.rows.start) + self.needed as u64 + u64::from(KEPT_ROWS)
    }

    /// Whether no pixel that is not written depends on a row.
    fn is_done_with(&self, number: usize) -> bool {
        self.rows[self.near(number)].iter().all(|&row| row == Row::Written)
    }

    /// The rows whose pixels depend on this one's samples, and on whose samples its pixels depend.
    fn near(&self, number: usize) -> Range<usize> {
        match self.layout.looks_down {
            true => number.saturating_sub(1)..(number + 2).min(self.rows.len()),
            false => number..number + 1,
        }
    }

    /// Whether all is there that the pixels of a row depend on.
    fn is_ready(&self, number: usize) -> bool {
        self.rows[number] == Row::There && !self.rows[self.near(number)].contains(&Row::Missing)
    }

    /// Writes the pixels of a row of MCUs that lie in the region.
    fn write(&mut self, simd: &Simd, job: &mut Job<'_>, number: usize) {
        let region = job.area();
        let lines = self.layout.lines;
        let top = (self.layout.rows.start + number as u32) * lines;
        let from = top.max(region.top);
        let to = (top + lines).min(region.top + region.height);
        let wanted = Wanted { color: job.color, ycc: job.header.ycc };
        let bytes = region.width as usize * job.color.bytes();
        for y in from..to {
            let at = (y - region.top) as usize * job.stride;
            let out = &mut job.output[at..at + bytes];
            self.lines.write(simd, (&self.layout, &self.planes), wanted, (&region, y), out);
        }
    }
}
