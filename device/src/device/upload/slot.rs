//! `DeviceSlot`: device memory for one batch, and its events; `Slots`: the free slots of a loader. Decides no states:
//! `ring` does.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use crate::batch::Batch;
use crate::device::driver::{
    DevicePtr, DeviceStream, Driver, Event, OnUploaded, StagedCopy, UploadParts, WorkStream,
};
use crate::device::memory::decode_buffers::HALVES;
use crate::device::room::meter::MemoryCounts;
use crate::device::upload::objects::{ObjectColumns, PlacedObjects};
use crate::device::upload::post_copy::PostCopy;
use crate::device::upload::ring::Queue;
use crate::device::upload::staging::{StagingPool, with_spare};
use crate::slab::{ExternalMemory, HostMemory};
use tarflume_formats::message::Message;
use tarflume_formats::{IgnorePoison, message};
use tarflume_types::{Error, Result};

/// Device memory for the objects of one batch.
#[derive(Debug, Clone, Copy)]
struct ObjectMemory {
    start: DevicePtr,
    bytes: usize,
}

impl ObjectMemory {
    const NONE: ObjectMemory = ObjectMemory { start: DevicePtr(0), bytes: 0 };
}

/// Device memory for one batch. A drop waits for the last use and frees the memory.
pub(crate) struct DeviceSlot {
    driver: Arc<dyn Driver>,
    pub(crate) memory: DevicePtr,
    /// Memory for columns of objects, which grows with the batches.
    objects: Mutex<ObjectMemory>,
    /// Recorded after each copy, in the stream of the copies.
    copied: Event,
    /// Recorded after the kernels that follow each copy, in their stream.
    pub(crate) ready: Event,
    /// Recorded where the consumer's streams have finished using the slot.
    uses: Mutex<Vec<Event>>,
}

impl DeviceSlot {
    fn new(driver: Arc<dyn Driver>, bytes: usize) -> Result<DeviceSlot> {
        let copied = driver.create_event()?;
        let made = driver.create_event().and_then(|ready| {
            let memory = driver.allocate(bytes);
            memory.inspect_err(|_| driver.destroy_event(ready)).map(|memory| (ready, memory))
        });
        match made {
            Ok((ready, memory)) => {
                let objects = Mutex::new(ObjectMemory::NONE);
                Ok(DeviceSlot { memory, objects, copied, ready, uses: Mutex::default(), driver })
            }
            Err(error) => {
                driver.destroy_event(copied);
                Err(error)
            }
        }
    }

    fn uses(&self) -> MutexGuard<'_, Vec<Event>> {
        self.uses.lock().ignore_poison()
    }

    /// The event of the consumer's `n`th stream.
    fn nth_use(&self, n: usize) -> Result<Event> {
        let mut uses = self.uses();
        // An event is recorded again for each batch, so a slot needs as many as the most streams of one batch.
        while uses.len() <= n {
            uses.push(self.driver.create_event()?);
        }
        Ok(uses[n])
    }

    /// Where the objects of its batch are.
    pub(crate) fn objects(&self) -> DevicePtr {
        self.objects.lock().ignore_poison().start
    }

    /// Makes room for `bytes` bytes of objects, and returns where they begin. Memory that is too small is freed first, when
    /// all work that uses it has finished.
    ///
    /// # Errors
    /// Returns the device's error, or that it has too little memory.
    fn room_for_objects(&self, bytes: usize) -> Result<DevicePtr> {
        let mut objects = self.objects.lock().ignore_poison();
        if objects.bytes == 0 || objects.bytes < bytes {
            if objects.bytes > 0 {
                let uses = self.uses().clone();
                uses.iter()
                    .chain([&self.copied, &self.ready])
                    .try_for_each(|mark| self.driver.synchronize(*mark))?;
                self.driver.free(objects.start);
                *objects = ObjectMemory::NONE;
            }
            let bytes = with_spare(bytes);
            *objects = ObjectMemory { start: self.driver.allocate(bytes)?, bytes };
        }
        Ok(objects.start)
    }
}

impl Drop for DeviceSlot {
    fn drop(&mut self) {
        // The device does not exist in a forked child: memory and events are those of the parent.
        if self.driver.is_forked_child() {
            return;
        }
        let uses = std::mem::take(&mut *self.uses());
        let marks = || uses.iter().chain([&self.copied, &self.ready]);
        // After a device error the memory is leaked, because the device may still use it.
        if marks().all(|mark| self.driver.synchronize(*mark).is_ok()) {
            self.driver.free(self.memory);
            let objects = *self.objects.get_mut().ignore_poison();
            if objects.bytes > 0 {
                self.driver.free(objects.start);
            }
        }
        marks().for_each(|mark| self.driver.destroy_event(*mark));
    }
}

impl fmt::Debug for DeviceSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceSlot({:#x} on {})", self.memory.0, self.driver.name())
    }
}

/// The operations of a ring on one slot, executed by a driver. The slot number is ignored.
pub(crate) struct SlotCalls<'a> {
    driver: &'a dyn Driver,
    slots: &'a Slots,
    slot: &'a DeviceSlot,
    /// The batch to copy, and the callback for its completion.
    batch: Option<(&'a Arc<Batch>, &'a OnUploaded)>,
}

impl Queue for SlotCalls<'_> {
    type Stream = DeviceStream;
    type Error = Error;

    fn await_work(&self, _: usize) -> Result<()> {
        self.driver.wait_event(self.slot.ready, WorkStream::Copy)
    }

    fn await_use(&self, _: usize, n: usize) -> Result<()> {
        self.driver.wait_event(self.slot.nth_use(n)?, WorkStream::Copy)
    }

    fn copy(&self, _: usize) -> Result<()> {
        let Some((batch, on_uploaded)) = self.batch else { return Ok(()) };
        let spans = self.slots.work.spans(batch.fixed(), batch.len());
        let staged = self.slots.stage(self.slot, batch)?;
        let to = self.slot.memory;
        let parts = UploadParts { batch, spans: &spans, to, staged: staged.as_ref() };
        self.driver.upload(parts, on_uploaded)
    }

    fn mark_copied(&self, _: usize) -> Result<()> {
        self.driver.record(self.slot.copied, WorkStream::Copy)
    }

    fn await_copied(&self, _: usize) -> Result<()> {
        self.driver.wait_event(self.slot.copied, WorkStream::Kernel)
    }

    fn work(&self, _: usize) -> Result<()> {
        let Some((batch, _)) = self.batch else { return Ok(()) };
        let mut launches = self.slots.work.launches(self.slot.memory.0, batch.len());
        launches.try_for_each(|launch| self.driver.launch(&launch?, WorkStream::Kernel))
    }

    fn mark_ready(&self, _: usize) -> Result<()> {
        self.driver.record(self.slot.ready, WorkStream::Kernel)
    }

    fn await_ready(&self, _: usize, stream: DeviceStream) -> Result<()> {
        self.driver.wait_event(self.slot.ready, WorkStream::Consumer(stream))
    }

    fn mark_use(&self, _: usize, n: usize, stream: DeviceStream) -> Result<()> {
        self.driver.record(self.slot.nth_use(n)?, WorkStream::Consumer(stream))
    }
}

/// The slots of a loader that no epoch uses. They move from one epoch to the next.
#[derive(Debug)]
pub struct Slots {
    /// The device.
    pub driver: Arc<dyn Driver>,
    /// The computations on each batch after its copy.
    pub(crate) work: PostCopy,
    /// The columns of objects that are copied with each batch.
    pub(crate) objects: ObjectColumns,
    /// Where they are put together.
    staging: StagingPool,
    /// Initial number of slots of a ring.
    pub(crate) count: usize,
    /// The device's name, and why it was chosen.
    device: String,
    /// Limitations of the device for this loader.
    warning: Option<Message>,
    /// Batches that were uploaded.
    uploads: AtomicU64,
    /// The device's allocations at the end of the warm-up.
    warm: OnceLock<u64>,
    /// Free slots with their numbers of events.
    free: Mutex<Vec<(DeviceSlot, usize)>>,
}

impl Slots {
    /// No slot yet; the first epoch allocates `count`. `warning` states what the device cannot do for this loader.
    pub fn new(
        driver: Arc<dyn Driver>,
        work: PostCopy,
        count: usize,
        warning: Option<Message>,
    ) -> Slots {
        let device = driver.name();
        Slots {
            driver,
            work,
            objects: ObjectColumns::default(),
            staging: StagingPool::default(),
            count,
            device,
            warning,
            uploads: AtomicU64::new(0),
            warm: OnceLock::new(),
            free: Mutex::default(),
        }
    }

    /// Copies these columns of objects, too.
    #[must_use]
    pub fn with_objects(self, objects: ObjectColumns) -> Slots {
        Slots { objects, ..self }
    }

    /// Puts the objects of a batch together for one copy into a slot; `None` if there are none.
    ///
    /// # Errors
    /// Returns an error if there is too little memory on the device or on the host.
    fn stage(&self, slot: &DeviceSlot, batch: &Batch) -> Result<Option<StagedCopy>> {
        if self.objects.is_empty() {
            return Ok(None);
        }
        let values = self.objects.values(batch);
        let length = values.last().map_or(0, PlacedObjects::end);
        // Also without an object: arrays of none have an address.
        let to = slot.room_for_objects(length)?;
        if length == 0 {
            return Ok(None);
        }
        let bytes = self.staging.put_together(&values, self)?;
        Ok(Some(StagedCopy { bytes, length, to }))
    }

    /// Counts a batch that was uploaded. The warm-up ends with the batch by which each slot and each half of the decoder's
    /// memory was used once.
    pub(crate) fn count_upload(&self) {
        let uploads = self.uploads.fetch_add(1, Ordering::Relaxed) + 1;
        if uploads == self.count as u64 + HALVES {
            let _ = self.warm.set(self.driver.memory_counts().allocations); // counted once
        }
    }

    /// What was allocated on the device and pinned for it, and how many of the allocations came after the warm-up.
    pub fn memory(&self) -> (MemoryCounts, u64) {
        let counts = self.driver.memory_counts();
        let late = self.warm.get().map_or(0, |warm| counts.allocations.saturating_sub(*warm));
        (counts, late)
    }

    /// Adds the reason for choosing the device.
    pub fn because(mut self, why: Option<&str>) -> Slots {
        self.device.extend(why.map(|why| format!(" ({why})")));
        self
    }

    /// The device's name, and why it was chosen.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// The operations of a ring on one slot.
    pub(crate) fn calls<'a>(
        &'a self,
        slot: &'a DeviceSlot,
        batch: Option<(&'a Arc<Batch>, &'a OnUploaded)>,
    ) -> SlotCalls<'a> {
        SlotCalls { driver: &*self.driver, slots: self, slot, batch }
    }

    fn free(&self) -> MutexGuard<'_, Vec<(DeviceSlot, usize)>> {
        self.free.lock().ignore_poison()
    }

    /// Problems of the setup.
    pub fn warning(&self) -> Option<Message> {
        let both = self.driver.warning().into_iter().chain(self.warning.clone());
        both.reduce(|one, other| message!("{one}; {other}"; one = one, other = other))
    }

    /// A slot, and the number of events to wait for.
    ///
    /// # Errors
    /// Returns an error if the device has no memory for another slot.
    pub(crate) fn take(&self) -> Result<(DeviceSlot, usize)> {
        let kept = self.free().pop();
        kept.map_or_else(
            || {
                let bytes = self.work.bytes().max(1);
                Ok((DeviceSlot::new(self.driver.clone(), bytes)?, 0))
            },
            Ok,
        )
    }

    /// Keeps a slot for the next epoch, up to the initial number of slots.
    pub(crate) fn put(&self, slot: DeviceSlot, marks: usize) {
        let mut free = self.free();
        if free.len() < self.count {
            free.push((slot, marks));
            return;
        }
        drop(free);
        drop(slot); // waits for the device, so not under the lock
    }
}

impl HostMemory for Slots {
    fn block(&self, bytes: usize) -> Option<Box<dyn ExternalMemory>> {
        self.driver.block(bytes)
    }
}
