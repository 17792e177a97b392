//! Decodes damaged pictures to the pixels that libjpeg-turbo makes of them: gray where data lack,
//! the picture again after the next restart marker, estimates for missing scans.
//!
//! One stream, one code after the other. For pictures that other code has found to be damaged, and
//! whose pixels are wanted nevertheless.

mod bits;
mod blocks;
mod codes;
mod scans;
mod smoothing;
mod source;
mod store;
mod walk;

use self::scans::Scans;
use self::smoothing::Smoothing;
use self::store::{Store, last_of};
use self::walk::Walk;
use crate::error::{Error, ErrorKind, Result};
use crate::header::{Header, STRAYS};
use crate::picture::job::{Damage, Job, OnDamage, Report};
use crate::picture::planes::McuRow;
use crate::picture::slot::Slot;
use crate::simd::Simd;

/// The memory for damaged pictures, kept from picture to picture.
#[derive(Debug, Default)]
pub(crate) struct Damaged {
    store: Store,
    /// A row of the region's MCUs, and the zigzag number of the last coefficient of each block.
    row: Vec<[i16; 64]>,
    last: Vec<u8>,
}

impl Header {
    /// Returns an upper bound on the bytes that decoding takes beside those of [`Header::memory`] if
    /// damaged pictures are kept.
    pub fn memory_to_keep(&self) -> u64 {
        if !self.has_several_scans() {
            return 0; // such a picture is read again in any case: all its pixels may be there
        }
        let (columns, rows) = self.mcus();
        Store::bytes(self, rows) + u64::from(columns) * self.components.blocks() as u64 * 129
    }
}

/// # Errors
/// Returns an error if these bytes cannot hold all blocks.
fn check_room(bytes: &[u8], header: &Header) -> Result<()> {
    let (columns, rows) = header.mcus();
    header.check_rows(bytes, rows, u64::from(columns) * header.components.blocks() as u64)
}

impl Damaged {
    /// Decodes a job on its own.
    ///
    /// # Errors
    /// Returns an error if libjpeg-turbo does not decode it either, the job is invalid, or memory is
    /// exhausted.
    pub(crate) fn decode(
        &mut self,
        slot: &mut Slot,
        simd: &Simd,
        job: &mut Job<'_>,
    ) -> Result<Report> {
        let header = job.header;
        header.check_supported()?;
        if job.on_damage == OnDamage::Refuse {
            check_room(job.bytes, header)?;
        }
        let entry_points = slot.report.entry_points;
        slot.open_damaged(job)?;
        self.reserve(slot.layout.columns.len() * header.components.blocks())?;
        let several = header.has_several_scans();
        let lost = if several {
            self.decode_scans(slot, simd, job)?;
            true // a picture that loses nothing is decoded by `multiscan`
        } else {
            self.decode_scan(slot, simd, job)?
        };
        slot.report.entry_points = entry_points;
        slot.report.several_scans = several;
        slot.report.decoded = slot.report.blocks;
        slot.report.damage = if lost { Damage::Lost } else { Damage::Harmless };
        Ok(slot.report)
    }

    /// Reserves room for a row of this many blocks, and no more: [`Header::memory`] counts it.
    fn reserve(&mut self, blocks: usize) -> Result<()> {
        let Damaged { row, last, .. } = self;
        row.clear();
        last.clear();
        let reserved = row.try_reserve_exact(blocks).and_then(|()| last.try_reserve_exact(blocks));
        reserved.map_err(|_| {
            let text = format!("no memory for a row of {blocks} blocks");
            Error::new(ErrorKind::Limit, text)
        })
    }

    /// Decodes a picture of one scan, one row of MCUs after the other. Returns true if pixels are
    /// lost.
    fn decode_scan(&mut self, slot: &mut Slot, simd: &Simd, job: &mut Job<'_>) -> Result<bool> {
        let header = job.header;
        self.store.set(header, 1)?;
        let mut scans = Scans::new(job.bytes, header);
        while let Some(scan) = scans.next()? {
            let mut walk = Walk::new(header, &scan);
            slot.divisors = scans.divisors;
            for row in 0..walk.rows {
                self.store.clear();
                walk.row(row, &mut scans.bits, &mut self.store)?;
                if scans.bits.lost && job.on_damage == OnDamage::Refuse {
                    return Ok(true);
                }
                self.put(slot, simd, job, row, None);
            }
            if job.on_damage == OnDamage::Keep {
                break; // no pixel depends on what follows
            }
        }
        Ok(scans.bits.lost)
    }

    /// Decodes a picture of several scans: reads all of them, then draws it.
    fn decode_scans(&mut self, slot: &mut Slot, simd: &Simd, job: &mut Job<'_>) -> Result<()> {
        let header = job.header;
        self.store.set(header, header.mcus().1)?;
        let mut scans = Scans::new(job.bytes, header);
        let mut good = 0;
        while let Some(scan) = scans.next()? {
            let mut walk = Walk::new(header, &scan);
            for row in 0..walk.rows {
                walk.row(row, &mut scans.bits, &mut self.store)?;
            }
            good = walk.good;
        }
        // A component without a scan is gray, as if its coefficients were zeros.
        slot.divisors = scans.divisors.map(|divisors| Some(divisors.unwrap_or([0; 64])));
        let smoothings = scans.smoothings(good);
        for row in slot.layout.rows.clone() {
            self.put(slot, simd, job, row, smoothings.as_deref());
        }
        Ok(())
    }

    /// Returns true if all blocks of a picture of one scan are there, and nothing but markers and
    /// metadata follows them.
    pub(crate) fn is_whole(&mut self, bytes: &[u8], header: &Header) -> bool {
        if header.has_several_scans() || header.unsupported().is_some() {
            return false;
        }
        self.loses_blocks(bytes, header).is_ok_and(|loses| !loses)
    }

    /// Reads a picture of one scan without drawing it. Returns true if blocks are lost, or if bytes
    /// that may be blocks follow them.
    fn loses_blocks(&mut self, bytes: &[u8], header: &Header) -> Result<bool> {
        check_room(bytes, header)?;
        self.store.set(header, 1)?;
        let mut scans = Scans::new(bytes, header);
        while let Some(scan) = scans.next()? {
            let mut walk = Walk::new(header, &scan);
            for row in 0..walk.rows {
                self.store.clear();
                walk.row(row, &mut scans.bits, &mut self.store)?;
                if scans.bits.lost {
                    return Ok(true);
                }
            }
            if scans.bits.skip() > STRAYS {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(crate) fn drop_large(&mut self, bytes: usize) {
        self.store.drop_large(bytes);
        if self.row.capacity() * 128 > bytes {
            self.row = Vec::new();
            self.last = Vec::new();
        }
    }

    /// Makes samples and pixels of a row of MCUs if the region needs it.
    fn put(
        &mut self,
        slot: &mut Slot,
        simd: &Simd,
        job: &mut Job<'_>,
        row: u32,
        smoothings: Option<&[Smoothing]>,
    ) {
        if !slot.layout.rows.contains(&row) {
            return;
        }
        let held = self.store.held(row);
        self.row.clear();
        self.last.clear();
        for column in slot.layout.columns.clone() {
            for (number, part) in self.store.parts.iter().enumerate() {
                for n in 0..part.h * part.v {
                    let x = column * part.h + n % part.h;
                    let y = held * part.v + n / part.h;
                    let mut block = *part.at(x, y);
                    let smoothing = smoothings.and_then(|all| all.get(number));
                    if let Some(smoothing) = smoothing.filter(|_| x < part.across && y < part.down)
                    {
                        smoothing.smooth(part, x, y, &mut block);
                    }
                    self.last.push(last_of(&block));
                    self.row.push(block);
                }
            }
        }
        let mcus = McuRow {
            row,
            first: slot.layout.columns.start,
            coefficients: &mut self.row,
            last: &self.last,
        };
        slot.put(simd, job, mcus);
    }
}
