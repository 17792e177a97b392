//! `Preload`: fills the stores of a resident data set, once, from an epoch in order that is uploaded like any other.

use std::fmt;
use std::sync::{Arc, Mutex};

use crate::decode::hybrid::row::head_of;
use crate::decode::resident::jpeg::Entry;
use crate::decode::resident::row::StoreRows;
use crate::loader::gpu::columns::resident_plan::{ResidentColumn, ResidentPlan};
use crate::loader::gpu::device_pictures::lost_head;
use crate::loader::gpu::epoch::DeviceEpoch;
use crate::loader::gpu::state::DeviceShared;
use tarflume_device::driver::{Driver, WorkStream};
use tarflume_device::upload::batch::DeviceBatch;
use tarflume_formats::IgnorePoison;
use tarflume_image::ImageSize;
use tarflume_image::row_header::RowHeader;
use tarflume_types::Result;

/// The stores, and the loader that fills them.
pub(crate) struct Preload {
    columns: Vec<ResidentColumn>,
    rows: Arc<StoreRows>,
    driver: Arc<dyn Driver>,
    /// Of the whole data set.
    samples: u64,
    /// The loader of the resident columns; `None` after the stores are filled.
    loader: Mutex<Option<Arc<DeviceShared>>>,
}

impl Preload {
    /// Fills the stores of `plan` from `loader`, which has the columns of [`ResidentPlan::keep`] and reads a data set of
    /// `samples` samples.
    pub(crate) fn new(
        plan: ResidentPlan,
        driver: Arc<dyn Driver>,
        samples: u64,
        loader: Arc<DeviceShared>,
    ) -> Preload {
        let ResidentPlan { columns, rows, .. } = plan;
        let loader = Mutex::new(Some(loader));
        Preload { columns, rows, driver, samples, loader }
    }

    /// Fills the stores, unless they are filled. Calls `goes_on` between batches with the number of samples that are in
    /// the stores, and stops with false if it returns false. After that, or an error, the next call begins again.
    ///
    /// # Errors
    /// The loader's, and the device's.
    pub(crate) fn fill(&self, goes_on: &mut dyn FnMut(u64) -> bool) -> Result<bool> {
        let mut loader = self.loader.lock().ignore_poison();
        let Some(from) = &*loader else { return Ok(true) };
        for column in &self.columns {
            if let Some((jpegs, _)) = &column.jpegs {
                jpegs.clear();
            } else if column.store.store().rows == 0 {
                column.store.allocate(&self.driver).map_err(|e| e.of_column(&column.name))?;
            }
        }
        let mut ordinals = Vec::new();
        let mut sizes = vec![Vec::new(); self.columns.len()];
        let mut entries = vec![Vec::new(); self.columns.len()];
        for batch in DeviceEpoch::begin(from, 0) {
            if !goes_on(ordinals.len() as u64) {
                return Ok(false);
            }
            let batch = batch?;
            batch.before_copies()?;
            for (column, entries) in self.columns.iter().zip(&mut entries) {
                keep_jpegs(column, &batch, entries).map_err(|e| e.of_column(&column.name))?;
            }
            self.keep(&batch, &mut ordinals, &mut sizes)?;
        }
        self.rows.fill(self.samples, ordinals.into_iter().zip(0..));
        self.synchronize()?;
        for (column, (sizes, entries)) in self.columns.iter().zip(sizes.into_iter().zip(entries)) {
            if let Some(to) = &column.sizes {
                let _ = to.set(sizes);
            }
            if let Some((_, to)) = &column.jpegs {
                let _ = to.set(entries);
            }
        }
        *loader = None;
        Ok(true)
    }

    /// Waits until the stores are filled: the JPEG decoder does not wait for the stream of the copies.
    fn synchronize(&self) -> Result<()> {
        let mark = self.driver.create_event()?;
        let done =
            self.driver.record(mark, WorkStream::Copy).and_then(|()| self.driver.synchronize(mark));
        self.driver.destroy_event(mark);
        done
    }

    /// Copies the rows of a batch to the stores, behind those of earlier batches.
    fn keep(
        &self,
        batch: &DeviceBatch,
        ordinals: &mut Vec<u64>,
        sizes: &mut [Vec<[u32; 2]>],
    ) -> Result<()> {
        let first = ordinals.len() as u64;
        let rows = batch.host().len();
        for (column, sizes) in self.columns.iter().zip(sizes) {
            if column.sizes.is_some() {
                let kept = batch.host().column(&column.name)?;
                let heads =
                    kept.bytes().chunks_exact(column.stride).map(|row| &row[..RowHeader::BYTES]);
                let head = heads.map(bytemuck::pod_read_unaligned::<RowHeader>);
                sizes.extend(head.filter_map(size).map(|size| [size.width, size.height]));
            }
            if column.jpegs.is_some() {
                continue;
            }
            let from = batch.column(&column.name)?.pointer;
            column.store.keep(from, first, rows as u64)?;
        }
        ordinals.extend(batch.host().ordinals());
        Ok(())
    }
}

fn size(head: RowHeader) -> Option<ImageSize> {
    head.picture().map(|picture| picture.size)
}

/// Copies the JPEGs of a batch, and the pixels of other pictures, behind those of earlier batches.
fn keep_jpegs(
    column: &ResidentColumn,
    batch: &DeviceBatch,
    entries: &mut Vec<Entry>,
) -> Result<()> {
    let Some((jpegs, _)) = &column.jpegs else { return Ok(()) };
    let kept = batch.host().column(&column.name)?;
    let from = batch.column(&column.name)?.pointer;
    for (row, bytes) in (0u64..).zip(kept.bytes().chunks_exact(column.stride)) {
        let head = head_of(bytes).ok_or_else(lost_head)?;
        let picture = head.picture().ok_or_else(lost_head)?;
        let length = head.bytes();
        let all = match length {
            0 => picture.format.bytes(picture.size, column.channels)? as u64,
            length => length,
        };
        let at = jpegs.keep(from + row * column.stride as u64 + RowHeader::BYTES as u64, all)?;
        let size = [picture.size.width, picture.size.height];
        entries.push(Entry { at, length: length as u32, size });
    }
    Ok(())
}

impl fmt::Debug for Preload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.columns.iter().map(|column| &column.name).collect();
        write!(f, "Preload({names:?} on {})", self.driver.name())
    }
}
