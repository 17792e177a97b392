//! `Preload`: how the stores of a resident data set are filled, once, through the ring, by an epoch in order.

use std::fmt;
use std::sync::{Arc, Mutex};

use crate::decode::hybrid::row::head_of;
use crate::decode::resident::jpeg::Entry;
use crate::decode::resident::row::Rows;
use crate::device::driver::{Driver, WorkStream};
use crate::device::upload::batch::DeviceBatch;
use crate::error::{Error, ErrorKind, Result};
use crate::loader::gpu::epoch::DeviceEpoch;
use crate::loader::gpu::resident_plan::{Plan, Resident};
use crate::loader::gpu::state::DeviceShared;
use crate::picture::row_header::RowHeader;
use tarflume_formats::poison::IgnorePoison;

/// Stores that are to be filled before the first epoch.
pub(crate) struct Preload {
    columns: Vec<Resident>,
    rows: Arc<Rows>,
    driver: Arc<dyn Driver>,
    /// Of the whole data set.
    samples: u64,
    /// The loader of what stays; none when all is there.
    inner: Mutex<Option<Arc<DeviceShared>>>,
}

impl Preload {
    /// What fills the stores of `plan` from an epoch of the loader of [`Plan::keep`], of a data set of
    /// so many samples.
    pub(crate) fn new(
        plan: Plan,
        driver: Arc<dyn Driver>,
        samples: u64,
        inner: Arc<DeviceShared>,
    ) -> Preload {
        let Plan { columns, rows, .. } = plan;
        let inner = Mutex::new(Some(inner));
        Preload { columns, rows, driver, samples, inner }
    }

    /// Fills the stores, unless that was done; false if `goes_on`, which is asked between batches and told
    /// how many samples are there, said no.
    ///
    /// # Errors
    /// The loader's, and the device's. The next call begins anew, as after a no.
    pub(crate) fn fill(&self, goes_on: &mut dyn FnMut(u64) -> bool) -> Result<bool> {
        let mut inner = self.inner.lock().ignore_poison();
        let Some(from) = &*inner else { return Ok(true) };
        for column in &self.columns {
            if let Some((heap, _)) = &column.heap {
                heap.clear();
            } else if column.store.store().rows == 0 {
                column.store.allocate(&self.driver).map_err(|e| e.of_column(&column.name))?;
            }
        }
        let (mut ordinals, mut sizes) = (Vec::new(), vec![Vec::new(); self.columns.len()]);
        let mut entries = vec![Vec::new(); self.columns.len()];
        for batch in DeviceEpoch::begin(from, 0) {
            if !goes_on(ordinals.len() as u64) {
                return Ok(false);
            }
            let batch = batch?;
            for (column, entries) in self.columns.iter().zip(&mut entries) {
                keep_jpegs(column, &batch, entries).map_err(|e| e.of_column(&column.name))?;
            }
            self.keep(&batch, &mut ordinals, &mut sizes)?;
        }
        self.rows.fill(self.samples, ordinals.into_iter().zip(0..));
        self.arrived()?;
        for (column, (sizes, entries)) in self.columns.iter().zip(sizes.into_iter().zip(entries)) {
            if let Some(to) = &column.sizes {
                let _ = to.set(sizes);
            }
            if let Some((_, to)) = &column.heap {
                let _ = to.set(entries);
            }
        }
        *inner = None;
        Ok(true)
    }

    /// Waits until all is there: JPEG engines read at once, whatever stands in the stream.
    fn arrived(&self) -> Result<()> {
        let mark = self.driver.create_event()?;
        let done =
            self.driver.record(mark, WorkStream::Copy).and_then(|()| self.driver.synchronize(mark));
        self.driver.destroy_event(mark);
        done
    }

    /// Copies a batch's rows behind those that were kept before.
    fn keep(
        &self,
        batch: &DeviceBatch,
        ordinals: &mut Vec<u64>,
        sizes: &mut [Vec<[u32; 2]>],
    ) -> Result<()> {
        let (first, rows) = (ordinals.len() as u64, batch.host().len());
        for (column, sizes) in self.columns.iter().zip(sizes) {
            if column.sizes.is_some() {
                let kept = batch.host().column(&column.name)?;
                let heads =
                    kept.bytes().chunks_exact(column.stride).map(|row| &row[..RowHeader::BYTES]);
                let head = heads.map(bytemuck::pod_read_unaligned::<RowHeader>);
                let size = |head: RowHeader| head.picture().map(|picture| picture.size);
                sizes.extend(head.filter_map(size).map(|size| [size.width, size.height]));
            }
            if column.heap.is_some() {
                continue;
            }
            let from = batch.column(&column.name)?.pointer;
            column.store.keep(from, first, rows as u64)?;
        }
        ordinals.extend(batch.host().ordinals());
        Ok(())
    }
}

/// Copies a batch's JPEGs, and the pixels of other pictures, behind those that were kept before.
fn keep_jpegs(column: &Resident, batch: &DeviceBatch, entries: &mut Vec<Entry>) -> Result<()> {
    let Some((heap, _)) = &column.heap else { return Ok(()) };
    let (kept, from) = (batch.host().column(&column.name)?, batch.column(&column.name)?.pointer);
    for (row, bytes) in (0u64..).zip(kept.bytes().chunks_exact(column.stride)) {
        let lost = || Error::new(ErrorKind::Device, "a row's head was lost on its way");
        let head = head_of(bytes).ok_or_else(lost)?;
        let (picture, length) = (head.picture().ok_or_else(lost)?, head.bytes());
        let all = match length {
            0 => picture.format.bytes(picture.size, column.channels)? as u64,
            length => length,
        };
        let at = heap.keep(from + row * column.stride as u64 + RowHeader::BYTES as u64, all)?;
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
