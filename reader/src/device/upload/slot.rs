//! `DeviceSlot`: a slab on the device and its marks; `Slots`: those of a loader that nobody has.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::batch::Batch;
use crate::device::driver::{DevicePtr, DeviceStream, Driver, Event, OnCopied, WorkStream};
use crate::device::upload::post_copy::PostCopy;
use crate::device::upload::ring::Queue;
use crate::error::{Error, Result};
use crate::slab::{Foreign, HostMemory};
use tarflume_formats::poison::IgnorePoison;

/// A slab on the device. Dropped, it waits for whoever was told of it last, and gives its memory back.
pub(crate) struct DeviceSlot {
    driver: Arc<dyn Driver>,
    pub(crate) memory: DevicePtr,
    /// Set behind each copy.
    pub(crate) ready: Event,
    /// Set where the consumer's streams are done with it.
    uses: Mutex<Vec<Event>>,
}

impl DeviceSlot {
    fn new(driver: Arc<dyn Driver>, bytes: usize) -> Result<DeviceSlot> {
        let ready = driver.create_event()?;
        match driver.allocate(bytes) {
            Ok(memory) => Ok(DeviceSlot { memory, ready, uses: Mutex::default(), driver }),
            Err(error) => {
                driver.destroy_event(ready);
                Err(error)
            }
        }
    }

    fn uses(&self) -> MutexGuard<'_, Vec<Event>> {
        self.uses.lock().ignore_poison()
    }

    /// The mark of the consumer's `n`th stream.
    fn nth_use(&self, n: usize) -> Result<Event> {
        let mut uses = self.uses();
        while uses.len() <= n {
            uses.push(self.driver.create_event()?);
        }
        Ok(uses[n])
    }
}

impl Drop for DeviceSlot {
    fn drop(&mut self) {
        if self.driver.is_forked_child() {
            return;
        }
        let uses = std::mem::take(&mut *self.uses());
        let marks = || uses.iter().chain([&self.ready]);
        // What a broken device may still be at is not given back.
        if marks().all(|mark| self.driver.synchronize(*mark).is_ok()) {
            self.driver.free(self.memory);
        }
        marks().for_each(|mark| self.driver.destroy_event(*mark));
    }
}

impl fmt::Debug for DeviceSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceSlot({:#x} on {})", self.memory.0, self.driver.name())
    }
}

/// The calls of a ring, as a driver has them. The slot is always this one.
pub(crate) struct Calls<'a> {
    driver: &'a dyn Driver,
    slot: &'a DeviceSlot,
    work: &'a PostCopy,
    /// What is to be copied, and who is told when it was.
    batch: Option<(&'a Arc<Batch>, &'a OnCopied)>,
}

impl Queue for Calls<'_> {
    type Stream = DeviceStream;
    type Error = Error;

    fn await_use(&self, _: usize, n: usize) -> Result<()> {
        self.driver.wait_event(self.slot.nth_use(n)?, WorkStream::Copy)
    }

    fn copy(&self, _: usize) -> Result<()> {
        let Some((batch, told)) = self.batch else { return Ok(()) };
        self.driver.upload(batch, self.slot.memory, told)?;
        let mut launches = self.work.launches(self.slot.memory.0, batch.len());
        launches.try_for_each(|launch| self.driver.launch(&launch?))
    }

    fn mark_ready(&self, _: usize) -> Result<()> {
        self.driver.record(self.slot.ready, WorkStream::Copy)
    }

    fn await_ready(&self, _: usize, stream: DeviceStream) -> Result<()> {
        self.driver.wait_event(self.slot.ready, WorkStream::Consumer(stream))
    }

    fn mark_use(&self, _: usize, n: usize, stream: DeviceStream) -> Result<()> {
        self.driver.record(self.slot.nth_use(n)?, WorkStream::Consumer(stream))
    }
}

/// The slots of a loader that no epoch has: they go from one to the next.
#[derive(Debug)]
pub(crate) struct Slots {
    pub(crate) driver: Arc<dyn Driver>,
    /// What is made of each batch there.
    pub(crate) work: PostCopy,
    /// How many a ring begins with.
    pub(crate) count: usize,
    /// Which device, and why that.
    device: String,
    /// What the device can't do.
    warning: Option<String>,
    /// With the marks before each.
    free: Mutex<Vec<(DeviceSlot, usize)>>,
}

impl Slots {
    pub(crate) fn new(
        driver: Arc<dyn Driver>,
        work: PostCopy,
        count: usize,
        warning: Option<String>,
    ) -> Slots {
        let device = driver.name();
        Slots { driver, work, count, device, warning, free: Mutex::default() }
    }

    /// Says why it is this device.
    pub(crate) fn because(mut self, why: Option<&str>) -> Slots {
        self.device.extend(why.map(|why| format!(" ({why})")));
        self
    }

    /// Which device, and why that.
    pub(crate) fn device(&self) -> &str {
        &self.device
    }

    /// The calls of a ring about one of them.
    pub(crate) fn calls<'a>(
        &'a self,
        slot: &'a DeviceSlot,
        batch: Option<(&'a Arc<Batch>, &'a OnCopied)>,
    ) -> Calls<'a> {
        Calls { driver: &*self.driver, slot, work: &self.work, batch }
    }

    fn free(&self) -> MutexGuard<'_, Vec<(DeviceSlot, usize)>> {
        self.free.lock().ignore_poison()
    }

    /// What is wrong with how things are set up.
    pub(crate) fn warning(&self) -> Option<String> {
        let both = self.driver.warning().into_iter().chain(self.warning.clone());
        both.reduce(|one, other| format!("{one}; {other}"))
    }

    /// A slot, and the marks before it.
    ///
    /// # Errors
    /// The device has no memory for one more.
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

    /// A slot for the next epoch; more than a ring has are not kept.
    pub(crate) fn put(&self, slot: DeviceSlot, marks: usize) {
        let mut free = self.free();
        if free.len() < self.count {
            free.push((slot, marks));
            return;
        }
        drop(free);
        drop(slot); // waits, and not under the lock
    }
}

impl HostMemory for Slots {
    fn block(&self, bytes: usize) -> Option<Box<dyn Foreign>> {
        self.driver.block(bytes)
    }
}
