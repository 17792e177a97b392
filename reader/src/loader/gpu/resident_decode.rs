//! `ResidentDecoder`: the stage between the line of batches and the copy, where pictures stay on the device as JPEGs: it
//! decodes those of a batch, and copies those that stay decoded to where they are drawn from.
//!
//! Runs in the thread that copies, one for each epoch.

use std::sync::Arc;
use std::time::Instant;

use tarflume_jpeg::Scale;

use crate::batch::Content;
use crate::decode::hybrid::jpeg_decoder::{Stored, Verdict};
use crate::decode::hybrid::row::head_of;
use crate::device::driver::DevicePtr;
use crate::device::memory::decode_buffers::Lease;
use crate::error::{Error, ErrorKind, Result};
use crate::loader::bad_samples::OnBad;
use crate::loader::gpu::hybrid_decode::{leave_out, placed};
use crate::loader::gpu::resident_jpegs::{ResidentJpegColumn, ResidentJpegs};
use crate::loader::gpu::state::DeviceShared;
use crate::loader::pipeline::queue::BatchQueue;
use crate::picture::row_header::{PixelSource, RowHeader};

/// Decodes the pictures of the batches of one epoch.
pub(crate) struct ResidentDecoder {
    device: Arc<DeviceShared>,
    jpegs: Arc<ResidentJpegs>,
    lease: Option<Lease>,
}

/// What is to be done of a batch.
#[derive(Default)]
struct Tasks {
    /// With the column and the row of each.
    jpegs: Vec<(Stored, usize, usize)>,
    /// From where, to where, how many bytes.
    copies: Vec<(u64, u64, usize)>,
}

impl ResidentDecoder {
    /// Begins an epoch of a loader with resident JPEGs.
    pub(crate) fn begin(device: &Arc<DeviceShared>, jpegs: Arc<ResidentJpegs>) -> ResidentDecoder {
        ResidentDecoder { device: device.clone(), jpegs, lease: None }
    }

    /// The next batch of the line, with its pictures on their way.
    pub(crate) fn next(&mut self, flow: &BatchQueue) -> Option<Result<Box<Content>>> {
        // Behind the launch that reads it.
        self.lease = None;
        Some(flow.next()?.and_then(|content| self.recall(content)))
    }

    fn recall(&mut self, mut content: Box<Content>) -> Result<Box<Content>> {
        let device = self.device.clone();
        let inner = &device.host;
        let jpegs = self.jpegs.clone();
        let recalled = &*jpegs;
        let lease = recalled.region.take()?.ok_or_else(|| {
            let text = "two epochs of this loader have the device's memory for decoded pictures: finish or drop one";
            Error::usage(text)
        })?;
        let mut tasks = Tasks::default();
        for column in &recalled.columns {
            list(column, &mut content, lease.number(), &mut tasks)?;
        }
        let watch = Instant::now();
        lease.begins()?;
        let verdicts = run(recalled, &tasks);
        // Even of a call that failed something may be on its way.
        lease.is_put()?;
        let waited = lease.waited + watch.elapsed();
        self.lease = Some(lease);
        let (mut bad, verdicts) = (Vec::new(), verdicts?);
        for ((_, column, row), verdict) in tasks.jpegs.iter().zip(verdicts) {
            let mut counted = device.counters.lock();
            let Verdict::Refused(why) = verdict else {
                counted.decoded += 1;
                continue;
            };
            counted.refused += 1;
            counted.why.get_or_insert_with(|| why.clone());
            let text = format!("the device does not decode this JPEG, which it was to: {why}");
            let error = placed(inner, &content, *row, Error::new(ErrorKind::Decode, text));
            let name = recalled.columns.iter().find(|c| c.number == *column).map(|c| &c.name);
            let error = match name {
                Some(name) => error.of_column(name),
                None => error,
            };
            if inner.labour.with.policy.on_bad == OnBad::Error {
                return Err(error);
            }
            if bad.iter().all(|(other, _)| other != row) {
                bad.push((*row, error));
            }
        }
        device.counters.lock().waited += waited;
        if !bad.is_empty() {
            leave_out(&mut content, bad);
        }
        Ok(content)
    }
}

/// Lists what a batch needs of a column, and says in its heads where it will be.
fn list(
    column: &ResidentJpegColumn,
    content: &mut Content,
    half: u64,
    tasks: &mut Tasks,
) -> Result<()> {
    let lost = || Error::new(ErrorKind::Device, "a row's head was lost on its way");
    let entries = column.entries.get().ok_or_else(lost)?;
    let (store, most) = (column.store.store(), content.slab.layout().rows() as u64);
    let rows = content.slab.column(column.number).chunks_exact(RowHeader::BYTES);
    let heads: Vec<Option<RowHeader>> = rows.map(head_of).collect();
    for (row, head) in heads.into_iter().enumerate() {
        let head = head.ok_or_else(lost)?;
        if head.from() != PixelSource::Store {
            continue;
        }
        let entry = entries.get(head.number() as usize).ok_or_else(lost)?;
        let (number, picture) = (half * most + row as u64, head.picture().ok_or_else(lost)?);
        let to = store.at + number * store.stride;
        if entry.length == 0 {
            let bytes = picture.format.bytes(picture.size, column.channels)?;
            tasks.copies.push((entry.at, to, bytes));
        } else {
            let stored = Stored {
                at: entry.at,
                length: entry.length.into(),
                to,
                width: picture.size.width,
                height: picture.size.height,
                scale: *Scale::ALL.get(head.scale() as usize).ok_or_else(lost)?,
                channels: column.channels as u8,
            };
            tasks.jpegs.push((stored, column.number, row));
        }
        let head = head.with_number(number);
        let to = content.slab.row_mut(column.number, row);
        to[..RowHeader::BYTES].copy_from_slice(bytemuck::bytes_of(&head));
    }
    Ok(())
}

/// Has the device do it.
fn run(recalled: &ResidentJpegs, tasks: &Tasks) -> Result<Vec<Verdict>> {
    for &(from, to, bytes) in &tasks.copies {
        recalled.driver.copy_within(DevicePtr(from), DevicePtr(to), bytes)?;
    }
    let jpegs: Vec<Stored> = tasks.jpegs.iter().map(|(stored, _, _)| *stored).collect();
    if jpegs.is_empty() { Ok(Vec::new()) } else { recalled.driver.decode_stored(&jpegs) }
}
