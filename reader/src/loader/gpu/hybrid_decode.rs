//! `HybridDecoder`: the stage between the line of batches and the copy: the device decodes its part of a batch's
//! JPEGs, the CPU those that it refused, and a bad one meets what is done about bad samples.
//!
//! Runs in the thread that copies, one for each epoch. A batch whose JPEGs the device may still read is
//! neither given back nor moved.

use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tarflume_formats::name;
use tarflume_jpeg::Scale;

use crate::batch::{Batch, Content, RowState};
use crate::decode::hybrid::balance::WaitTimes;
use crate::decode::hybrid::jpeg_decoder::{Compressed, Verdict};
use crate::decode::hybrid::row::{head_of, jpeg_of};
use crate::decode::{Sample, Scratch};
use crate::device::driver::Driver;
use crate::device::memory::decode_buffers::Lease;
use crate::error::{Error, ErrorKind, Result};
use crate::loader::bad_samples::OnBad;
use crate::loader::gpu::hybrid_columns::{HybridColumn, HybridColumns};
use crate::loader::gpu::state::DeviceShared;
use crate::loader::pipeline::panics::caught;
use crate::loader::pipeline::queue::BatchQueue;
use crate::loader::shared::LoaderShared;
use crate::picture::row_header::{PixelSource, RowHeader};
use crate::slab::Slab;

/// A picture that the device is to decode: the number of its column among the staged ones, its row.
#[derive(Debug, Clone, Copy)]
struct Pick {
    column: usize,
    row: usize,
    head: RowHeader,
}

/// Decodes the device's part of the batches of one epoch.
pub(crate) struct HybridDecoder {
    device: Arc<DeviceShared>,
    columns: Arc<HybridColumns>,
    lease: Option<Lease>,
    scratch: Scratch,
    /// When the last batch was handed on.
    since: Instant,
}

impl HybridDecoder {
    /// Begins an epoch of a loader with hybrid columns.
    pub(crate) fn begin(device: &Arc<DeviceShared>, columns: Arc<HybridColumns>) -> HybridDecoder {
        let memory = device.host.labour.with.decode.clone();
        let scratch = Scratch::with_memory(memory);
        let device = device.clone();
        HybridDecoder { device, columns, lease: None, scratch, since: Instant::now() }
    }

    /// The next batch of the line, with the device's part on its way.
    pub(crate) fn next(&mut self, flow: &BatchQueue) -> Option<Result<Box<Content>>> {
        let (idle, watch) = (self.since.elapsed(), Instant::now());
        // Behind the launch that reads it.
        self.lease = None;
        let content = flow.next()?;
        let cpu = watch.elapsed();
        let done = content.and_then(|content| {
            let (content, device) = self.decode(content)?;
            self.columns.observe(WaitTimes { device, cpu }, idle);
            Ok(content)
        });
        self.since = Instant::now();
        Some(done)
    }

    /// Keeps the batch that was made of it until the device reads no JPEG there.
    pub(crate) fn keep(&mut self, batch: &Arc<Batch>) {
        if let Some(lease) = &mut self.lease {
            lease.keep(batch);
        }
    }

    /// Also how long the device's decoder was waited for.
    fn decode(&mut self, mut content: Box<Content>) -> Result<(Box<Content>, Duration)> {
        let columns = self.columns.clone();
        let staging = &*columns;
        let mut picks = picks(staging, &content.slab);
        let Some((driver, region)) = staging.device.as_ref().filter(|_| !picks.is_empty()) else {
            return Ok((content, Duration::ZERO));
        };
        let Some(lease) = region.take()? else {
            let why = "other epochs of this loader have the device's memory for pictures";
            let all = picks.into_iter().map(|pick| (pick, why.to_string())).collect();
            self.redo(&mut content, all)?;
            return Ok((content, Duration::ZERO));
        };
        let rows = content.slab.layout().rows() as u64;
        for Pick { column, row, head } in &mut picks {
            *head = head.with_number(lease.number() * rows + *row as u64);
            let to = content.slab.row_mut(staging.columns[*column].number, *row);
            to[..RowHeader::BYTES].copy_from_slice(bytemuck::bytes_of(head));
        }
        let watch = Instant::now();
        let put = lease.begins().and_then(|()| call(&**driver, staging, &content.slab, &picks));
        let put = put.and_then(|verdicts| lease.is_put().map(|()| verdicts));
        let waited = lease.waited + watch.elapsed();
        let verdicts = match put {
            Ok(verdicts) => verdicts,
            Err(error) => {
                // The device may read it for ever.
                mem::forget(content);
                return Err(error);
            }
        };
        self.lease = Some(lease);
        let refused = picks.iter().zip(verdicts).filter_map(|(pick, verdict)| match verdict {
            Verdict::Decoded => None,
            Verdict::Refused(why) => Some((*pick, why)),
        });
        let refused: Vec<(Pick, String)> = refused.collect();
        let mut counted = self.device.counters.lock();
        counted.decoded += (picks.len() - refused.len()) as u64;
        counted.waited += waited;
        drop(counted);
        let redone = self.redo(&mut content, refused);
        if let Err(error) = redone {
            self.let_go(content);
            return Err(error);
        }
        Ok((content, waited))
    }

    /// Decodes on the CPU what the device refused, and leaves out what is bad, if that is wanted.
    ///
    /// # Errors
    /// A sample is bad and that is to be an error; the memory bound; the device's.
    fn redo(&mut self, content: &mut Content, refused: Vec<(Pick, String)>) -> Result<()> {
        let (device, watch) = (self.device.clone(), Instant::now());
        let inner = &device.host;
        let mut bad: Vec<(usize, Error)> = Vec::new();
        if !refused.is_empty() {
            let mut counted = device.counters.lock();
            counted.refused += refused.len() as u64;
            counted.why.get_or_insert_with(|| refused[0].1.clone());
        }
        let any = !refused.is_empty();
        for (pick, _) in refused {
            let Err(error) = self.redo_one(content, pick) else { continue };
            let column = &self.columns.columns[pick.column];
            let error = placed(inner, content, pick.row, error).of_column(&column.name);
            if self.scratch.take_refusal() || inner.labour.with.policy.on_bad == OnBad::Error {
                return Err(error);
            }
            if bad.iter().all(|(row, _)| *row != pick.row) {
                bad.push((pick.row, error));
            }
        }
        device.counters.lock().redone += if any { watch.elapsed() } else { Duration::ZERO };
        self.leave_out(content, bad)
    }

    fn redo_one(&mut self, content: &mut Content, pick: Pick) -> Result<()> {
        let columns = self.columns.clone();
        let HybridColumn { number, staged, .. } = &columns.columns[pick.column];
        let ordinal = fact(content, pick.row).map_or(0, |at| content.facts[at].ordinal);
        let key = key(&content.slab, pick.row).to_vec();
        let row = content.slab.row_mut(*number, pick.row);
        let jpeg = jpeg_of(&pick.head, row).unwrap_or_default().to_vec();
        let parts = [("", &jpeg[..])];
        let seed = pick.head.seed();
        let sample = Sample { key: &key, ordinal, seed, parts: &parts, entry_points: &[] };
        let scratch = &mut self.scratch;
        _ = scratch.take_refusal();
        let done = caught("the decoder", || staged.write_on_host(&sample, row, scratch));
        scratch.release();
        self.device.host.labour.with.meter.count(scratch);
        done
    }

    /// Leaves rows out of the batch, in all columns.
    fn leave_out(&self, content: &mut Content, bad: Vec<(usize, Error)>) -> Result<()> {
        if !bad.is_empty() {
            // Rows move, and the device may still read some.
            self.lease.as_ref().map_or(Ok(()), Lease::settle)?;
            leave_out(content, bad);
        }
        Ok(())
    }

    /// Drops a batch that the device may read, when it no longer does.
    fn let_go(&self, content: Box<Content>) {
        if self.lease.as_ref().is_some_and(|lease| lease.settle().is_err()) {
            mem::forget(content);
        }
    }
}

/// The pictures of a batch that the device is to decode.
fn picks(staging: &HybridColumns, slab: &Slab) -> Vec<Pick> {
    let mut found = Vec::new();
    for (number, column) in staging.columns.iter().enumerate() {
        let bytes = slab.column(column.number);
        let stride = bytes.len() / slab.rows().max(1);
        let heads = bytes.chunks_exact(stride.max(1)).map(head_of).enumerate();
        found.extend(heads.filter_map(|(row, head)| {
            let head = head.filter(|head| head.from() == PixelSource::Store)?;
            Some(Pick { column: number, row, head })
        }));
    }
    found
}

/// Has the device decode them.
fn call(
    driver: &dyn Driver,
    staging: &HybridColumns,
    slab: &Slab,
    picks: &[Pick],
) -> Result<Vec<Verdict>> {
    let compressed = |Pick { column, row, head }: &Pick| {
        let column = &staging.columns[*column];
        let (all, store) = (slab.column(column.number), column.store.store());
        let bytes = all.chunks_exact(all.len() / slab.rows()).nth(*row);
        let size = head.picture()?.size;
        Some(Compressed {
            bytes: jpeg_of(head, bytes?)?,
            to: store.at + head.number() * store.stride,
            width: size.width,
            height: size.height,
            scale: *Scale::ALL.get(head.scale() as usize)?,
            channels: column.staged.output().1 as u8,
        })
    };
    let all: Option<Vec<_>> = picks.iter().map(compressed).collect();
    let lost = || Error::new(ErrorKind::Device, "a row's head was lost on its way");
    driver.decode(&all.ok_or_else(lost)?)
}

/// Leaves rows out of a batch that nobody reads yet, in all columns.
pub(crate) fn leave_out(content: &mut Content, bad: Vec<(usize, Error)>) {
    let rows: Vec<usize> = bad.iter().map(|(row, _)| *row).collect();
    let bad: Vec<_> = bad.into_iter().map(|(row, e)| (fact(content, row), e)).collect();
    for (at, error) in bad {
        let Some(at) = at else { continue };
        let facts = &mut content.facts[at];
        (facts.state, facts.ordinal) = (RowState::Skipped, facts.planned);
        // Of one that stood in for another it is known already why.
        if content.bad.iter().all(|(row, _)| *row != at) {
            content.bad.push((at, error));
        }
    }
    content.bad.sort_by_key(|(row, _)| *row);
    content.slab.seal(|row| !rows.contains(&row));
}

/// Among the facts, those of a row of the slab.
fn fact(content: &Content, row: usize) -> Option<usize> {
    let there = content.facts.iter().enumerate().filter(|(_, f)| f.state != RowState::Skipped);
    there.map(|(at, _)| at).nth(row)
}

fn key(slab: &Slab, row: usize) -> &[u8] {
    let (bytes, Some(offsets)) = (slab.column(0), slab.offsets(0)) else { return &[] };
    &bytes[offsets[row] - offsets[0]..offsets[row + 1] - offsets[0]]
}

/// Says of an error which sample it is about.
pub(crate) fn placed(inner: &LoaderShared, content: &Content, row: usize, error: Error) -> Error {
    let error = error.with_key(name::shown(key(&content.slab, row)));
    let ordinal = fact(content, row).map(|at| content.facts[at].ordinal);
    let dataset = &inner.labour.with.dataset;
    match ordinal.and_then(|ordinal| dataset.place(ordinal)) {
        Some((shard, _)) => error.with_path(dataset.shard(shard).path()),
        None => error,
    }
}
