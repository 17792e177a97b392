//! `HybridDecoder`: a stage between the queue of batches and the upload. The device decodes its part of a batch's JPEGs,
//! the CPU decodes those that the device refuses, and the policy applies to bad ones.
//!
//! Runs in the thread that uploads, once for each epoch. A batch whose JPEGs the device may still read is neither recycled
//! nor moved.

use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tarflume_dataset::{Dataset, DatasetSample};
use tarflume_device::batch::{Batch, Content};
use tarflume_device::jpeg_decoder::Verdict;
use tarflume_device::memory::decode_buffers::Lease;
use tarflume_formats::message::Message;
use tarflume_types::{DecodeFault, ErrorKind, Result};

use crate::decode::hybrid::balance::WaitTimes;
use crate::decode::hybrid::row::{HybridRows, jpeg_of};
use crate::decode::{Decode, Sample, Scratch};
use crate::loader::arrays::any_source::AnySource;
use crate::loader::bad_samples::OnBad;
use crate::loader::gpu::bad_rows::{BadRows, key, ordinal, placed};
use crate::loader::gpu::columns::hybrid::{HybridColumn, HybridColumns};
use crate::loader::gpu::device_pictures::{
    DevicePicture, decode_pictures, device_pictures, lost_head, number_pictures,
};
use crate::loader::gpu::state::DeviceShared;
use crate::loader::pipeline::panics::catch_panic;
use crate::loader::pipeline::queue::BatchQueue;

/// A picture that the device refused, and why.
type RefusedPicture = (DevicePicture, Message);

/// Decodes the device's part of the batches of one epoch.
pub(crate) struct HybridDecoder {
    device: Arc<DeviceShared>,
    columns: Arc<HybridColumns>,
    /// The buffers of the last batch, until the next one is decoded.
    lease: Option<Lease>,
    scratch: Scratch,
    /// When the last batch was handed on.
    since: Instant,
}

impl HybridDecoder {
    /// Begins an epoch of a loader with hybrid columns.
    pub(crate) fn begin(device: &Arc<DeviceShared>, columns: Arc<HybridColumns>) -> HybridDecoder {
        let scratch = Scratch::with_memory(device.host.source.decode_memory().clone());
        HybridDecoder {
            device: device.clone(),
            columns,
            lease: None,
            scratch,
            since: Instant::now(),
        }
    }

    /// The next batch of the queue. The device's work on it has begun.
    pub(crate) fn next(&mut self, queue: &BatchQueue<AnySource>) -> Option<Result<Box<Content>>> {
        let idle = self.since.elapsed();
        let watch = Instant::now();
        // The launch that reads these buffers was enqueued before this call, so what follows is ordered behind it.
        self.lease = None;
        let content = queue.next()?;
        let cpu = watch.elapsed();
        let decoded = content.and_then(|content| {
            let (content, device) = self.decode(content)?;
            self.columns.balance(WaitTimes { device, cpu }, idle);
            Ok(content)
        });
        self.since = Instant::now();
        Some(decoded)
    }

    /// Keeps the batch that was made of the content until the device no longer reads its JPEGs.
    pub(crate) fn keep(&mut self, batch: &Arc<Batch>) {
        if let Some(lease) = &mut self.lease {
            lease.keep(batch);
        }
    }

    /// Decodes the device's pictures; also returns how long this waited for the device's decoder.
    fn decode(&mut self, mut content: Box<Content>) -> Result<(Box<Content>, Duration)> {
        let columns = self.columns.clone();
        let mut pictures = device_pictures(&columns, &content.slab);
        let device = columns.device.as_ref().filter(|_| !pictures.is_empty());
        let Some((driver, buffers)) = device else {
            return Ok((content, Duration::ZERO));
        };
        let Some(lease) = buffers.take()? else {
            let why = "other epochs of this loader have the device's memory for pictures";
            let all = pictures.into_iter().map(|picture| (picture, why.into())).collect();
            self.redo(&mut content, all)?;
            return Ok((content, Duration::ZERO));
        };
        number_pictures(&columns, &mut content.slab, &mut pictures, lease.number());
        let watch = Instant::now();
        let verdicts = lease
            .begins()
            .and_then(|()| decode_pictures(&**driver, &columns, &content.slab, &pictures));
        let verdicts = verdicts.and_then(|verdicts| lease.is_put().map(|()| verdicts));
        let waited = lease.waited + watch.elapsed();
        let verdicts = match verdicts {
            Ok(verdicts) => verdicts,
            Err(error) => {
                // The device's state is unknown: it may read the batch at any later time, so its memory stays allocated.
                mem::forget(content);
                return Err(error);
            }
        };
        self.lease = Some(lease);
        let refused =
            pictures.iter().zip(verdicts).filter_map(|(picture, verdict)| match verdict {
                Verdict::Decoded => None,
                Verdict::Refused(why) => Some((*picture, why)),
            });
        let refused: Vec<RefusedPicture> = refused.collect();
        {
            let mut counted = self.device.counters.lock();
            counted.decoded += (pictures.len() - refused.len()) as u64;
            counted.waited += waited;
        }
        // The CPU overwrites only rows that the device refused, which it does not read.
        if let Err(error) = self.redo(&mut content, refused) {
            self.drop_when_unread(content);
            return Err(error);
        }
        Ok((content, waited))
    }

    /// Decodes on the CPU what the device refused, and applies the policy to bad samples.
    ///
    /// # Errors
    /// A sample is bad, and bad samples are errors; a decoder's mistake; the device's.
    fn redo(&mut self, content: &mut Content, refused: Vec<RefusedPicture>) -> Result<()> {
        let Some((_, why)) = refused.first() else { return Ok(()) };
        let device = self.device.clone();
        let watch = Instant::now();
        {
            let mut counted = device.counters.lock();
            counted.refused += refused.len() as u64;
            counted.why.get_or_insert_with(|| why.clone());
        }
        let mut bad = BadRows::default();
        for (picture, _) in refused {
            let Err(error) = self.redo_one(content, picture) else { continue };
            let column = &self.columns.columns[picture.column];
            let error = placed(&device.host, content, picture.row, error).of_column(&column.name);
            // A mistake of the decoder would make every sample bad, and the sample itself may be good if it could not be
            // read again: no policy applies.
            let on_bad = match error.fault() {
                DecodeFault::Decoder => OnBad::Error,
                _ if error.spares_samples() => OnBad::Error,
                _ => device.host.source.on_bad(),
            };
            bad.add(on_bad, picture.row, error)?;
        }
        device.counters.lock().redone += watch.elapsed();
        if !bad.is_empty() {
            // Rows move, so the device must not read any of them at this time.
            self.lease.as_ref().map_or(Ok(()), Lease::settle)?;
            bad.leave_out(content);
        }
        Ok(())
    }

    fn redo_one(&mut self, content: &mut Content, picture: DevicePicture) -> Result<()> {
        let columns = self.columns.clone();
        let HybridColumn { number, decode, kernels, .. } = &columns.columns[picture.column];
        let ordinal = ordinal(content, picture.row).expect("a row of the slab is that of a sample");
        let key = key(&content.slab, picture.row).to_vec();
        let row = content.slab.row_mut(*number, picture.row);
        let seed = picture.head.seed();
        let sample = Sample { key: &key, ordinal, seed, ..Sample::default() };
        let scratch = &mut self.scratch;
        let decoded = match kernels {
            None => {
                // The JPEG is in the row that its pixels replace.
                let jpeg = jpeg_of(&picture.head, row).ok_or_else(lost_head)?.to_vec();
                let parts = [("", &jpeg[..])];
                let sample = Sample { parts: &parts, ..sample };
                catch_panic("the decoder", || decode.write_on_host(&sample, row, scratch))
            }
            Some(_) => {
                let dataset = self.device.host.source.dataset();
                redo_from_shard(decode, sample, dataset, row, scratch)
            }
        };
        scratch.release();
        self.device.host.counters.count(scratch);
        decoded
    }

    /// Drops a batch after the device has read it. If the device can't tell, the batch stays allocated.
    fn drop_when_unread(&self, content: Box<Content>) {
        if self.lease.as_ref().is_some_and(|lease| lease.settle().is_err()) {
            mem::forget(content);
        }
    }
}

/// Reads the part of a sample again, and decodes it.
fn redo_from_shard(
    decode: &HybridRows,
    sample: Sample<'_>,
    dataset: &Dataset,
    row: &mut [u8],
    scratch: &mut Scratch,
) -> Result<()> {
    let read = read_part(dataset, sample.ordinal, &decode.parts())?;
    let part = &read.parts()[0];
    let ext = part.ext();
    let parts = [(ext.as_str(), &**part.bytes())];
    let entry_points = [part.entry_points()];
    let sample = Sample { parts: &parts, entry_points: &entry_points, ..sample };
    let written = catch_panic("the decoder", || decode.write_on_host(&sample, row, scratch));
    written.map_err(|error| error.in_part(part.first()))
}

/// Reads the part of a sample that a column needs, the first that exists of its alternatives, and its entry points.
///
/// # Errors
/// The shard can't be read, or the sample has no such part.
fn read_part(dataset: &Dataset, ordinal: u64, needs: &[String]) -> Result<DatasetSample> {
    let mut found = Err(lost_head());
    for ext in needs.iter().flat_map(|need| need.split(';')) {
        found = dataset.get_parts(ordinal, &[ext]);
        if !found.as_ref().is_err_and(|error| error.kind() == ErrorKind::MissingPart) {
            break;
        }
    }
    found
}
