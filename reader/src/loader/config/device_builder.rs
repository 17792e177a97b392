//! `DeviceLoaderBuilder`: the options of a loader whose batches go to a device, and how it is built.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tarflume_dataset::Dataset;
use tarflume_device::Device;
use tarflume_device::memory::jpeg_store::ALIGNED;
use tarflume_types::{Error, Result};

use crate::loader::bad_samples::OnBad;
use crate::loader::config::build::OpenedDataset;
use crate::loader::config::builder::{BatchSize, Indexed, LoaderBuilder};
use crate::loader::gpu::columns::host_mixes::HostMixes;
use crate::loader::gpu::columns::resident_config::{Residency, ResidentSize};
use crate::loader::gpu::columns::resident_jpegs::ResidentJpegs;
use crate::loader::gpu::columns::resident_plan::ResidentExtent;
use crate::loader::gpu::division::BatchRules;
use crate::loader::gpu::placement::{ColumnPlacement, DeviceSlots, Placed};
use crate::loader::gpu::resident_preload::Preload;
use crate::loader::gpu::state::{DecoderCounters, DeviceDecode, DeviceShared, PreloadFn};
use crate::order::{By, Order, Remainder, Share, Split};

/// Slots of a device by default: one that the consumer reads, one that is ready, one that is uploaded to.
const SLOTS: usize = 3;

/// Slots of the loader that preloads a resident data set.
const PRELOAD_SLOTS: usize = 2;

/// Rows of a batch that preloads a resident data set, at most.
const PRELOAD_ROWS: u64 = 64;

/// The options of a [`DeviceLoader`](crate::loader::DeviceLoader): those of a [`LoaderBuilder`], and of the device.
///
/// ```no_run
/// use tarflume::{Device, Loader};
///
/// # fn main() -> tarflume::Result<()> {
/// let builder = Loader::builder("shards/").bytes("bin").batch(256); // the options of the host come first
/// let loader = builder.device(Device::cuda(0)?).device_slots(2).build()?;
/// println!("{} steps", loader.steps()?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct DeviceLoaderBuilder {
    host: LoaderBuilder,
    device: Device,
    slots: usize,
    resident: Option<Residency>,
}

/// A resident data set: its size, how it is preloaded, and what the device decodes for each batch.
type ResidentParts = (ResidentSize, PreloadFn, Option<ResidentJpegs>);

impl LoaderBuilder {
    /// Batches go to this device. The other options come before this one: it gives the builder of a
    /// [`DeviceLoader`](crate::loader::DeviceLoader).
    ///
    /// Pictures are uploaded as bytes, and converted on the device to what their column asks for.
    ///
    /// ```no_run
    /// use tarflume::{Device, Loader, RandomResizedCrop};
    ///
    /// # fn main() -> tarflume::Result<()> {
    /// let loader = Loader::builder("shards/")
    ///     .image("jpg", RandomResizedCrop::new(224))
    ///     .batch(256)
    ///     .device(Device::cuda(0)?)
    ///     .build()?;
    /// for batch in loader.epoch(0) {
    ///     let batch = batch?;
    ///     println!("{:#x}", batch.column("image")?.pointer);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn device(self, device: Device) -> DeviceLoaderBuilder {
        DeviceLoaderBuilder::new(self, device)
    }
}

impl DeviceLoaderBuilder {
    pub(crate) fn new(host: LoaderBuilder, device: Device) -> DeviceLoaderBuilder {
        DeviceLoaderBuilder { host, device, slots: SLOTS, resident: None }
    }

    /// Batches in device memory at once: ready, being uploaded, or held by the consumer; 3 by default.
    ///
    /// ```no_run
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let shards = "shards/";
    /// let loader = Loader::builder(shards)
    ///     .bytes("bin")
    ///     .device(Device::cuda(0)?)
    ///     .device_slots(4)
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn device_slots(mut self, slots: usize) -> Self {
        self.slots = slots;
        self
    }

    /// Keeps the data set, or this rank's shards of it with a split by shard, in device memory. The first epoch begins
    /// with preloading it; later epochs read, decode and copy nothing. Columns whose rows differ in length are read in
    /// each epoch.
    ///
    /// ```no_run
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let shards = "shards/";
    /// let loader = Loader::builder(shards)
    ///     .image("jpg", RandomResizedCrop::new(224))
    ///     .batch(256)
    ///     .device(Device::cuda(0)?)
    ///     .resident(Residency::within("40GiB".parse()?))
    ///     .build()?;
    /// println!("{}", loader.resident().unwrap());
    /// # Ok(())
    /// # }
    /// ```
    pub fn resident(mut self, residency: Residency) -> Self {
        self.resident = Some(residency);
        self
    }

    pub(crate) fn shared(mut self) -> Result<Arc<DeviceShared>> {
        let opened = self.host.open()?;
        let (placement, resident) = self.place(&opened)?;
        let slabs = placement.slabs();
        let host = self.host.assemble(opened, slabs, None)?;
        let Placed { slots, mut decode, mut counters, warning, transforms } =
            placement.finish(host.source.columns())?;
        let resident = resident.map(|(size, preload, jpegs)| {
            if let Some(jpegs) = jpegs {
                counters = DecoderCounters::of(jpegs.about.clone());
                decode = DeviceDecode::Resident(Arc::new(jpegs));
            }
            (size, preload)
        });
        let host = host.started();
        let stocked = AtomicBool::new(false);
        Ok(Arc::new(DeviceShared {
            host,
            slots,
            decode,
            counters,
            warning,
            resident,
            stocked,
            transforms,
        }))
    }

    /// Divides the columns' work between host and device.
    fn place(
        &mut self,
        opened: &OpenedDataset,
    ) -> Result<(ColumnPlacement, Option<ResidentParts>)> {
        let target = DeviceSlots { device: self.device.clone(), count: self.slots };
        let rows = opened.rows();
        let common = &self.host.common;
        let host = HostMixes::of(common.mix.as_ref(), &common.objects);
        if let (Some(name), Some(_)) = (host.first_name(), &self.resident) {
            return Err(Error::usage(format!(
                "{name}: a resident data set is drawn by the device, behind the place where rows are mixed: leave out one \
                 of both",
            )));
        }
        if self.resident.is_some() && self.host.of.arrays.is_some() {
            return Err(Error::usage(
                "arrays are not kept in device memory: leave out resident, or pack them (pack build npy:x.npy)",
            ));
        }
        let Some(residency) = self.resident.take() else {
            let on_bad = self.host.common.on_bad;
            let columns = &mut self.host.common.columns;
            let rules = BatchRules { rows, verifies: on_bad == OnBad::Substitute };
            let placement = ColumnPlacement::of(target, columns, rules, &host)?;
            let keeps = host.first_name().is_some() && self.host.common.keep_transforms;
            // Rows that the device finds to be bad are left out after the mix, which numbers partners by row.
            if keeps && on_bad == OnBad::Skip && placement.shares_decoding() {
                return Err(Error::usage(
                    "the partners of mixed rows cannot be kept where rows are left out after the mix: leave out \
                     keep_transforms or the device decoder, or replace bad samples",
                ));
            }
            return Ok((placement, None));
        };
        let dataset = &opened.dataset;
        let mut once = self.once(dataset, opened.batch);
        let share = Share::new(&once.host.order(dataset)?, once.host.of.split)?;
        let order = share.order();
        let extent = ResidentExtent {
            samples: order.samples(),
            rows,
            lengths: &|parts| lengths(dataset, order, parts),
        };
        once.host.of.left_out = self.host.of.left_out.clone();
        once.host.of.selected = self.host.of.selected.clone();
        let columns = &mut self.host.common.columns;
        let (placement, mut plan) =
            ColumnPlacement::resident(target, columns, &residency, &extent)?;
        let size = plan.size;
        let jpegs = plan.jpegs.take();
        once.host.common.columns = std::mem::take(&mut plan.keep);
        let driver = self.device.driver().clone();
        let preload = Preload::new(plan, driver, dataset.len(), once.shared()?);
        let preload: PreloadFn = Box::new(move |goes_on| preload.fill(goes_on));
        Ok((placement, Some((size, preload, jpegs))))
    }

    /// A loader of every sample that an epoch may have, once, in order. It has no columns yet.
    fn once(&self, dataset: &Dataset, batch: u64) -> DeviceLoaderBuilder {
        let from = &self.host.of;
        // A sample that is bad here is bad in every epoch, where `on_bad` applies to it.
        let given = &self.host.common;
        let on_bad = if given.on_bad == OnBad::Error { OnBad::Error } else { OnBad::Skip };
        let split = if from.split.by() == By::Shard { from.split } else { Split::alone() };
        let of = Indexed {
            left_out: from.left_out.clone(),
            selected: from.selected.clone(),
            skip: from.skip,
            take: from.take,
            split,
            remainder: Remainder::Uneven,
            batch: BatchSize::Rank(batch.min(PRELOAD_ROWS)),
            verify: from.verify,
            source: from.source,
            opener: from.opener.clone(),
            ..Indexed::new(Ok(dataset.clone()))
        };
        let host = LoaderBuilder { of, common: given.without_columns(on_bad) };
        DeviceLoaderBuilder {
            slots: PRELOAD_SLOTS,
            ..DeviceLoaderBuilder::new(host, self.device.clone())
        }
    }
}

/// Bytes that the first part with one of these extensions takes in device memory, of all samples of `order`.
fn lengths(dataset: &Dataset, order: &Order, parts: &[String]) -> Result<u64> {
    let mut resident =
        vec![false; usize::try_from(dataset.len()).expect("a resident data set fits memory")];
    order.cursor(0, 0)?.for_each(|draw| resident[draw.ordinal as usize] = true);
    let mut all = 0u64;
    dataset.filter(|facts| {
        let mut exts = parts.iter().flat_map(|part| part.split(';'));
        let length = exts.find_map(|ext| facts.length(ext)).unwrap_or(0);
        if resident[facts.ordinal() as usize] {
            all = all.saturating_add(length.next_multiple_of(ALIGNED));
        }
        true
    })?;
    Ok(all)
}
