//! `RowStore`: rows of one length that stay in device memory from batch to batch: a resident data set, or what
//! another decoder wrote there.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::device::driver::{DevicePtr, Driver, WorkStream};
use crate::device::kernels::args::Store;
use crate::error::{Error, ErrorKind, Result};

/// Memory of a device, given back when nothing in our stream uses it any more.
struct Held {
    driver: Arc<dyn Driver>,
    memory: DevicePtr,
}

/// Rows that stay. There is no memory for them until they are asked for.
pub(crate) struct RowStore {
    stride: u64,
    rows: u64,
    /// Bytes at the beginning of each row that are not a picture's.
    head: u64,
    held: OnceLock<Held>,
}

impl RowStore {
    /// `rows` rows that begin `stride` bytes apart; a kernel sees what stands behind the first `head`
    /// bytes of each.
    pub(crate) fn new(stride: u64, rows: u64, head: u64) -> RowStore {
        RowStore { stride, rows, head, held: OnceLock::new() }
    }

    /// Bytes of all rows.
    pub(crate) fn bytes(&self) -> u64 {
        self.stride.saturating_mul(self.rows)
    }

    /// Asks for their memory; once.
    ///
    /// # Errors
    /// The device has not so much; it was asked for before.
    pub(crate) fn allocate(&self, driver: &Arc<dyn Driver>) -> Result<()> {
        // What a kernel sees of the last row ends as far behind it as it begins.
        let bytes = self.bytes().saturating_add(self.head).max(1);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let held = Held { driver: driver.clone(), memory: driver.allocate(bytes)? };
        let twice = || Error::new(ErrorKind::Device, "these rows have their memory already");
        self.held.set(held).map_err(|_| twice())
    }

    /// Where they are; nowhere, and none, without memory.
    pub(crate) fn store(&self) -> Store {
        match self.held.get() {
            Some(held) => {
                Store { at: held.memory.0 + self.head, stride: self.stride, rows: self.rows }
            }
            None => Store { at: 0, stride: self.stride, rows: 0 },
        }
    }

    /// Copies so many whole rows from elsewhere on the device to row `first` and those behind it, on our
    /// stream.
    ///
    /// # Errors
    /// There is no memory, or are not so many rows; the device's.
    pub(crate) fn keep(&self, from: u64, first: u64, rows: u64) -> Result<()> {
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

impl Drop for Held {
    fn drop(&mut self) {
        if self.driver.is_forked_child() {
            return;
        }
        let Ok(mark) = self.driver.create_event() else { return };
        let done =
            self.driver.record(mark, WorkStream::Copy).and_then(|()| self.driver.synchronize(mark));
        // What a broken device may still be at is not given back.
        if done.is_ok() {
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
