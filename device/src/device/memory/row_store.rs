//! `RowStore`: rows of equal length that stay in device memory: a resident data set, or the output of another decoder.

use std::fmt;
use std::sync::{Arc, OnceLock};

use tarflume_types::{Error, ErrorKind, Result};

use crate::device::driver::{DevicePtr, Driver, Event, WorkStream};
use crate::device::kernels::args::Store;

/// Device memory, freed when no work in our streams uses it.
struct HeldMemory {
    driver: Arc<dyn Driver>,
    memory: DevicePtr,
}

/// Rows in device memory, which is allocated separately.
pub struct RowStore {
    stride: u64,
    rows: u64,
    /// Bytes at the beginning of each row that are not part of the picture.
    head: u64,
    held: OnceLock<HeldMemory>,
}

impl RowStore {
    /// A store of `rows` rows that begin `stride` bytes apart. Kernels see the bytes after the first `head` bytes of
    /// each row.
    pub fn new(stride: u64, rows: u64, head: u64) -> RowStore {
        RowStore { stride, rows, head, held: OnceLock::new() }
    }

    /// Bytes of all rows.
    pub fn bytes(&self) -> u64 {
        self.stride.saturating_mul(self.rows)
    }

    /// Allocates the memory. Call it once.
    ///
    /// # Errors
    /// Returns an error if the device has too little memory, or on a second call.
    pub fn allocate(&self, driver: &Arc<dyn Driver>) -> Result<()> {
        // Kernels see rows shifted by `head`, so the last one ends `head` bytes after the rows.
        let bytes = self.bytes().saturating_add(self.head).max(1);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let held = HeldMemory { driver: driver.clone(), memory: driver.allocate(bytes)? };
        self.held.set(held).map_err(|_| allocated_twice())
    }

    /// The rows as kernel arguments; no rows at address 0 before the allocation.
    pub fn store(&self) -> Store {
        match self.held.get() {
            Some(held) => {
                Store { at: held.memory.0 + self.head, stride: self.stride, rows: self.rows }
            }
            None => Store { at: 0, stride: self.stride, rows: 0 },
        }
    }

    /// Copies `rows` whole rows from device address `from` to row `first` and the following rows, in the copy stream.
    ///
    /// # Errors
    /// Returns an error if the memory is not allocated, if the rows do not fit, or if the device fails.
    pub fn keep(&self, from: u64, first: u64, rows: u64) -> Result<()> {
        let held = self.held.get().filter(|_| first.saturating_add(rows) <= self.rows);
        let held = held.ok_or_else(|| {
            let text =
                format!("no room for rows {first} to {}: {self:?}", first.saturating_add(rows));
            Error::new(ErrorKind::Device, text)
        })?;
        let to = DevicePtr(held.memory.0 + first * self.stride);
        held.driver.copy_within(DevicePtr(from), to, (rows * self.stride) as usize)
    }
}

fn allocated_twice() -> Error {
    Error::new(ErrorKind::Device, "the memory of these rows is already allocated")
}

impl HeldMemory {
    /// Waits for the copies and the kernels that were submitted.
    fn wait(&self, mark: Event) -> Result<()> {
        self.driver.record(mark, WorkStream::Copy)?;
        self.driver.wait_event(mark, WorkStream::Kernel)?;
        self.driver.record(mark, WorkStream::Kernel)?;
        self.driver.synchronize(mark)
    }
}

impl Drop for HeldMemory {
    fn drop(&mut self) {
        if self.driver.is_forked_child() {
            return;
        }
        let Ok(mark) = self.driver.create_event() else { return };
        // After a device error the memory is leaked, because the device may still use it.
        if self.wait(mark).is_ok() {
            self.driver.free(self.memory);
        }
        self.driver.destroy_event(mark);
    }
}

impl fmt::Debug for RowStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = if self.held.get().is_some() { "" } else { ", without memory" };
        write!(f, "RowStore({} rows of {} bytes{there})", self.rows, self.stride)
    }
}
