//! `ResidentDecoder`: a stage between the queue of batches and the upload, for pictures that are resident as JPEGs. The
//! device decodes those of a batch, and copies those that are resident as pixels to where they are drawn from.
//!
//! Runs in the thread that uploads, once for each epoch.

use std::sync::Arc;
use std::time::Instant;

use tarflume_device::batch::Content;
use tarflume_device::driver::DevicePtr;
use tarflume_device::jpeg_decoder::{PixelTarget, Stored, Verdict};
use tarflume_device::memory::decode_buffers::Lease;
use tarflume_formats::message;
use tarflume_image::row_header::{PixelSource, RowHeader};
use tarflume_jpeg::Scale;
use tarflume_types::{Error, ErrorKind, Result};

use crate::decode::hybrid::row::head_of;
use crate::loader::arrays::any_source::AnySource;
use crate::loader::gpu::bad_rows::{BadRows, placed};
use crate::loader::gpu::columns::resident_jpegs::{ResidentJpegColumn, ResidentJpegs};
use crate::loader::gpu::device_pictures::lost_head;
use crate::loader::gpu::state::DeviceShared;
use crate::loader::pipeline::queue::BatchQueue;

/// Decodes the pictures of the batches of one epoch.
pub(crate) struct ResidentDecoder {
    device: Arc<DeviceShared>,
    jpegs: Arc<ResidentJpegs>,
    lease: Option<Lease>,
}

/// What the device does for a batch.
#[derive(Default)]
struct DeviceTasks {
    /// JPEGs to decode.
    jpegs: Vec<JpegTask>,
    /// Pixels to copy.
    copies: Vec<CopyTask>,
}

/// A JPEG to decode, and the column and the row of the batch that it is for.
struct JpegTask {
    stored: Stored,
    column: usize,
    row: usize,
}

/// Pixels to copy within the device.
struct CopyTask {
    from: u64,
    to: u64,
    bytes: usize,
}

impl ResidentDecoder {
    /// Begins an epoch of a loader with resident JPEGs.
    pub(crate) fn begin(device: &Arc<DeviceShared>, jpegs: Arc<ResidentJpegs>) -> ResidentDecoder {
        ResidentDecoder { device: device.clone(), jpegs, lease: None }
    }

    /// The next batch of the queue. The device's work on it has begun.
    pub(crate) fn next(&mut self, queue: &BatchQueue<AnySource>) -> Option<Result<Box<Content>>> {
        // The launch that reads these buffers was enqueued before this call, so what follows is ordered behind it.
        self.lease = None;
        Some(queue.next()?.and_then(|content| self.decode(content)))
    }

    fn decode(&mut self, mut content: Box<Content>) -> Result<Box<Content>> {
        let jpegs = self.jpegs.clone();
        let lease = jpegs.buffers.take()?.ok_or_else(|| {
            let text = "two epochs of this loader have the device's memory for decoded pictures: finish or drop one";
            Error::usage(text)
        })?;
        let mut tasks = DeviceTasks::default();
        for column in &jpegs.columns {
            list(column, &mut content, lease.number(), &mut tasks)?;
        }
        let watch = Instant::now();
        lease.begins()?;
        let verdicts = run(&jpegs, &tasks);
        // A call that failed may have started part of the work, which the lease must cover.
        lease.is_put()?;
        let waited = lease.waited + watch.elapsed();
        self.lease = Some(lease);
        let bad = self.check(&content, &tasks, verdicts?)?;
        self.device.counters.lock().waited += waited;
        if !bad.is_empty() {
            bad.leave_out(&mut content);
        }
        Ok(content)
    }

    /// Counts the device's verdicts. Returns the rows that it refused.
    fn check(
        &self,
        content: &Content,
        tasks: &DeviceTasks,
        verdicts: Vec<Verdict>,
    ) -> Result<BadRows> {
        let host = &self.device.host;
        let mut bad = BadRows::default();
        for (task, verdict) in tasks.jpegs.iter().zip(verdicts) {
            let mut counted = self.device.counters.lock();
            let Verdict::Refused(why) = verdict else {
                counted.decoded += 1;
                continue;
            };
            counted.refused += 1;
            counted.why.get_or_insert_with(|| why.clone());
            drop(counted);
            let text =
                message!("the device does not decode this JPEG, which it was to: {why}"; why = why);
            let mut error = Error::new(ErrorKind::Decode, text);
            error = placed(host, content, task.row, error);
            if let Some(column) = self.jpegs.columns.iter().find(|c| c.number == task.column) {
                error = error.of_column(&column.name);
            }
            bad.add(host.source.on_bad(), task.row, error)?;
        }
        Ok(bad)
    }
}

/// Lists what the device does for a column, and writes into each header where the picture will be.
fn list(
    column: &ResidentJpegColumn,
    content: &mut Content,
    half: u64,
    tasks: &mut DeviceTasks,
) -> Result<()> {
    let entries = column.entries.get().ok_or_else(lost_head)?;
    let store = column.store.store();
    let most = content.slab.layout().rows() as u64;
    // Behind its header a row may have a list of actions.
    let heads = content.slab.fixed_rows(column.number).map(head_of);
    let heads: Vec<Option<RowHeader>> = heads.collect();
    for (row, head) in heads.into_iter().enumerate() {
        let head = head.ok_or_else(lost_head)?;
        if head.from() != PixelSource::Store {
            continue;
        }
        let entry = entries.get(head.number() as usize).ok_or_else(lost_head)?;
        let number = half * most + row as u64;
        let picture = head.picture().ok_or_else(lost_head)?;
        let to = store.at + number * store.stride;
        if entry.length == 0 {
            let bytes = picture.format.bytes(picture.size, column.channels)?;
            tasks.copies.push(CopyTask { from: entry.at, to, bytes });
        } else {
            let target = PixelTarget {
                to,
                width: picture.size.width,
                height: picture.size.height,
                scale: *Scale::ALL.get(head.scale() as usize).ok_or_else(lost_head)?,
                channels: column.channels as u8,
            };
            let stored = Stored { at: entry.at, length: entry.length.into(), target };
            tasks.jpegs.push(JpegTask { stored, column: column.number, row });
        }
        let head = head.with_number(number);
        let to = content.slab.row_mut(column.number, row);
        to[..RowHeader::BYTES].copy_from_slice(bytemuck::bytes_of(&head));
    }
    Ok(())
}

/// Starts the device's work.
fn run(jpegs: &ResidentJpegs, tasks: &DeviceTasks) -> Result<Vec<Verdict>> {
    for &CopyTask { from, to, bytes } in &tasks.copies {
        jpegs.driver.copy_within(DevicePtr(from), DevicePtr(to), bytes)?;
    }
    let stored: Vec<Stored> = tasks.jpegs.iter().map(|task| task.stored).collect();
    if stored.is_empty() { Ok(Vec::new()) } else { jpegs.driver.decode_stored(&stored) }
}
