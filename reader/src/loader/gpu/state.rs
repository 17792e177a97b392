//! `DeviceShared`: what a device loader and its epochs share beyond [`LoaderShared`].
//!
//! Knows slots, the device's part of the decoding, and resident data. Starts no threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::decode::hybrid::sharing::Sharing;
use crate::loader::arrays::any_source::AnySource;
use crate::loader::gpu::columns::hybrid::HybridColumns;
use crate::loader::gpu::columns::resident_config::ResidentSize;
use crate::loader::gpu::columns::resident_jpegs::ResidentJpegs;
use crate::loader::metrics::device_memory::DeviceMemoryStats;
use crate::loader::metrics::stats::{DecoderStats, Stats};
use crate::loader::metrics::warning::Warning;
use crate::loader::pipeline::memory_budget::SPARE_SLABS;
use crate::loader::pipeline::queue::BatchQueue;
use crate::loader::shared::LoaderShared;
use tarflume_device::upload::slot::Slots;
use tarflume_formats::IgnorePoison;
use tarflume_formats::message::Message;
use tarflume_types::Result;

/// Fills the resident stores, unless they are filled. Returns false if the callback, which gets the number of samples
/// between batches, returned false.
pub(crate) type PreloadFn = Box<dyn Fn(&mut dyn FnMut(u64) -> bool) -> Result<bool> + Send + Sync>;

/// What the device decodes for each batch.
pub(crate) enum DeviceDecode {
    /// A share of the JPEGs that the host read; none if there are no such columns.
    Hybrid(Arc<HybridColumns>),
    /// JPEGs that are resident in device memory.
    Resident(Arc<ResidentJpegs>),
}

/// What a device loader and its epochs share.
pub(crate) struct DeviceShared {
    /// What every loader has.
    pub(crate) host: Arc<LoaderShared>,
    /// The slots of batches in device memory.
    pub(crate) slots: Arc<Slots>,
    pub(crate) decode: DeviceDecode,
    pub(crate) counters: DecoderCounters,
    /// Why the host does work that the device was to do.
    pub(crate) warning: Option<Message>,
    /// The resident data set's size, and how it is preloaded.
    pub(crate) resident: Option<(ResidentSize, PreloadFn)>,
    /// True once the slabs for uploads were allocated.
    pub(crate) stocked: AtomicBool,
    /// The shares of columns whose transforms move between host and device.
    pub(crate) transforms: Vec<Arc<Sharing>>,
}

impl DeviceShared {
    /// Preloads the resident data set, if there is one; see [`PreloadFn`].
    pub(crate) fn preload(&self, goes_on: &mut dyn FnMut(u64) -> bool) -> Result<bool> {
        self.resident.as_ref().map_or(Ok(true), |(_, preload)| preload(goes_on))
    }

    /// Begins an epoch as [`LoaderShared::begin`], with slabs in memory that the device copies from.
    pub(crate) fn begin(&self, epoch: u64) -> Result<(BatchQueue<AnySource>, u64, bool)> {
        let begun = self.host.begin(epoch, Some(self.slots.clone()))?;
        self.stock(&begun.0, begun.1)?;
        Ok(begun)
    }

    /// Allocates the slabs that uploads need before the first of `steps`: pinning memory later would stop the device.
    /// Slabs are reused from epoch to epoch.
    ///
    /// # Errors
    /// There is no memory.
    fn stock(&self, queue: &BatchQueue<AnySource>, steps: u64) -> Result<()> {
        if steps == 0 || self.stocked.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        // One for each step, and those that are planned or on their way back.
        let wanted = usize::try_from(steps + SPARE_SLABS).unwrap_or(usize::MAX);
        queue.stock(wanted.min(self.host.batch_pool.room()))
    }

    /// The statistics of the host, with those of the device.
    pub(crate) fn stats(&self) -> Stats {
        let _ = self.slots.driver.reap();
        let mut host = self.host.stats();
        let of_host = host.warning.take().map(|warning| warning.message().clone());
        let of_slots = self.slots.warning();
        let warning = Warning::of([of_host, of_slots, self.warning.clone()].into_iter().flatten());
        let device = Some(self.slots.device().to_string());
        let device_memory = Some(self.memory_stats());
        Stats { warning, device, device_memory, decoder: self.decoder_stats(), ..host }
    }

    fn memory_stats(&self) -> DeviceMemoryStats {
        let (counts, late_allocations) = self.slots.memory();
        DeviceMemoryStats {
            bytes: counts.device_bytes,
            pinned_bytes: counts.pinned_bytes,
            allocations: counts.allocations,
            late_allocations,
        }
    }

    /// The counters of the device's decoder, if it decodes.
    fn decoder_stats(&self) -> Option<DecoderStats> {
        let counted = self.counters.lock().clone();
        let share = match &self.decode {
            DeviceDecode::Hybrid(columns) => columns.per_mille(),
            DeviceDecode::Resident(_) => 1000,
        };
        (!counted.about.is_empty()).then_some(DecoderStats { share, ..counted })
    }
}

/// What the device's decoder did, counted by the thread that uploads.
#[derive(Debug, Default)]
pub(crate) struct DecoderCounters(Mutex<DecoderStats>);

impl DecoderCounters {
    /// The counters of a decoder that this line describes.
    pub(crate) fn of(about: Message) -> DecoderCounters {
        DecoderCounters(Mutex::new(DecoderStats { about, ..DecoderStats::default() }))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, DecoderStats> {
        self.0.lock().ignore_poison()
    }
}
