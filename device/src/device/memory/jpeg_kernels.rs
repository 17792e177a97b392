//! `JpegKernels`: the device memory in which our kernels decode the JPEGs of a column of a batch, and the calls that run
//! them.

use std::sync::{Arc, Mutex};

use tarflume_formats::IgnorePoison;
use tarflume_jpeg::{Offload, OffloadPlace};
use tarflume_types::{Error, ErrorKind, Result};

use crate::device::driver::{DevicePtr, Driver, WorkStream};
use crate::device::kernels::args::Strided;
use crate::device::kernels::jpegs::{self, JpegArrays};
use crate::device::kernels::program::Program;
use crate::device::memory::row_store::RowStore;

/// Bytes of the coefficients of a block.
const BLOCK: u64 = 128;

/// The room that each picture has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JpegRoom {
    /// Bytes of its record.
    pub record: u64,
    /// Blocks of 64 coefficients.
    pub blocks: u64,
    /// Samples.
    pub samples: u64,
}

impl JpegRoom {
    /// True if a kernel can decode it here.
    pub fn holds(&self, work: &Offload) -> bool {
        work.length() as u64 <= self.record
            && work.blocks() <= self.blocks
            && work.samples() <= self.samples
    }
}

/// Memory for the pictures of a batch. One batch at a time uses it: the kernels have ended when a call returns.
pub struct JpegKernels {
    driver: Arc<dyn Driver>,
    rows: u64,
    records: RowStore,
    coefficients: RowStore,
    samples: RowStore,
    faults: RowStore,
    /// Held by the thread whose pictures are decoded, with the faults of the last ones.
    running: Mutex<Vec<u32>>,
}

/// Memory for `rows` times so many bytes.
fn store(driver: &Arc<dyn Driver>, rows: u64, bytes: u64) -> Result<RowStore> {
    let store = RowStore::new(bytes.next_multiple_of(Offload::ALIGNED as u64), rows, 0);
    store.allocate(driver)?;
    Ok(store)
}

impl JpegKernels {
    /// Loads the kernels, and allocates memory for `rows` pictures.
    ///
    /// # Errors
    /// The kernels cannot be compiled or loaded, or the device has too little memory.
    pub fn new(driver: &Arc<dyn Driver>, rows: usize, room: JpegRoom) -> Result<JpegKernels> {
        driver.prepare_kernels(Program::Jpegs)?;
        let rows = rows as u64;
        Ok(JpegKernels {
            driver: driver.clone(),
            rows,
            records: store(driver, rows, room.record)?,
            coefficients: store(driver, rows, room.blocks.saturating_mul(BLOCK))?,
            samples: store(driver, rows, room.samples)?,
            faults: store(driver, rows, size_of::<u32>() as u64)?,
            running: Mutex::default(),
        })
    }

    /// Writes the place of picture `number` of a call into its record; its pixels begin at byte `pixels` of the output.
    pub fn set_place(&self, record: &mut [u8], number: u64, pixels: u64) {
        let blocks = number * (self.coefficients.store().stride / BLOCK);
        let samples = number * self.samples.store().stride;
        Offload::set_place(record, OffloadPlace { blocks, samples, pixels });
    }

    /// Decodes pictures, whose records have their places, to device address `pixels`. Waits until they are decoded, and
    /// returns for each of them whether it has a fault: its pixels mean nothing then.
    ///
    /// # Errors
    /// The device's. It may then read the records at any later time.
    pub fn decode(&self, records: &[&[u8]], pixels: u64) -> Result<Vec<bool>> {
        let count = records.len() as u64;
        let to = self.records.store();
        if count > self.rows || records.iter().any(|record| record.len() as u64 > to.stride) {
            return Err(Error::new(ErrorKind::Device, "no room for records of JPEGs"));
        }
        let mut faults = self.running.lock().ignore_poison();
        // A picture whose fault is not written has one.
        faults.clear();
        faults.resize(records.len(), 1);
        let begun = self.begin(records, pixels);
        // It waits for what was begun, also if that is not all.
        let ended = self.driver.copy_out(DevicePtr(self.faults.store().at), &mut faults);
        begun.and(ended)?;
        Ok(faults.iter().map(|&fault| fault != 0).collect())
    }

    /// Copies the records, and launches the kernels.
    fn begin(&self, records: &[&[u8]], pixels: u64) -> Result<()> {
        let to = self.records.store();
        for (record, number) in records.iter().zip(0u64..) {
            self.driver.copy_in(record, DevicePtr(to.at + number * to.stride))?;
        }
        let arrays = JpegArrays {
            records: Strided { at: to.at, stride: to.stride },
            coefficients: self.coefficients.store().at,
            faults: self.faults.store().at,
            samples: self.samples.store().at,
            pixels,
        };
        let launches = jpegs::launches(&arrays, records.len() as u32);
        launches.iter().try_for_each(|launch| self.driver.launch(launch, WorkStream::Decode))
    }
}
