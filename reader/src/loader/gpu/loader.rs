//! `DeviceLoader`: batches of a data set in device memory.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use tarflume_dataset::Dataset;
use tarflume_device::upload::batch::DeviceBatch;
use tarflume_formats::message::Face;
use tarflume_types::Result;

use crate::loader::bad_samples::BadSample;
use crate::loader::gpu::columns::resident_config::ResidentSize;
use crate::loader::gpu::epoch::DeviceEpoch;
use crate::loader::gpu::state::DeviceShared;
use crate::loader::metrics::stats::Stats;
use crate::loader::pipeline::draws::{ColumnTransforms, drawn};
use crate::order::{Ledger, LoaderState, Order};

/// A loader whose batches are in the memory of a device; see
/// [`LoaderBuilder::device`](crate::LoaderBuilder::device).
///
/// Its methods are those of [`Loader`](crate::Loader), with [`DeviceEpoch`] in place of `Epoch`.
///
/// ```no_run
/// use tarflume::{Device, Loader, RandomResizedCrop, Shuffle};
///
/// # fn main() -> tarflume::Result<()> {
/// let loader = Loader::builder("shards/")
///     .shuffle(Shuffle::Full { seed: 42 })
///     .image("jpg", RandomResizedCrop::new(224))
///     .batch(256)
///     .device(Device::cuda(0)?)
///     .build()?;
/// for epoch in loader.current_epoch()..90 {
///     for batch in loader.epoch(epoch) {
///         println!("{:#x}", batch?.column("image")?.pointer);
///     }
///     println!("{}", loader.stats());
/// }
/// # Ok(())
/// # }
/// ```
pub struct DeviceLoader {
    shared: Arc<DeviceShared>,
}

impl DeviceLoader {
    pub(crate) fn new(shared: Arc<DeviceShared>) -> DeviceLoader {
        DeviceLoader { shared }
    }

    /// The batches of epoch number `epoch`, in device memory; see [`Loader::epoch`](crate::Loader::epoch).
    pub fn epoch(&self, epoch: u64) -> DeviceEpoch {
        DeviceEpoch::begin(&self.shared, epoch)
    }

    /// The device memory that the resident data set takes; `None` if the loader is not resident.
    pub fn resident(&self) -> Option<&ResidentSize> {
        self.shared.resident.as_ref().map(|(size, _)| size)
    }

    /// Preloads the resident data set, as the first epoch does otherwise. Calls `goes_on` between batches with the number
    /// of preloaded samples. If `goes_on` returns false, the call returns false, and the next call starts from the first
    /// sample.
    ///
    /// ```no_run
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let shards = "shards/";
    /// let loader = Loader::builder(shards)
    ///     .image("jpg", RandomResizedCrop::new(224))
    ///     .device(Device::cuda(0)?)
    ///     .resident(Residency::within("40GiB".parse()?))
    ///     .build()?;
    /// loader.preload(|samples| {
    ///     println!("{samples} samples");
    ///     true // false ends it
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if a sample cannot be read and `on_bad` is `Error`, or the device's error.
    pub fn preload(&self, mut goes_on: impl FnMut(u64) -> bool) -> Result<bool> {
        self.shared.preload(&mut goes_on)
    }

    /// See [`Loader::current_epoch`](crate::Loader::current_epoch).
    pub fn current_epoch(&self) -> u64 {
        self.shared.host.position().epoch
    }

    /// See [`Loader::steps`](crate::Loader::steps).
    ///
    /// # Errors
    /// Returns an error if the batch is larger than the data set.
    pub fn steps(&self) -> Result<u64> {
        self.shared.host.epoch_steps()
    }

    /// See [`Loader::steps_of`](crate::Loader::steps_of).
    ///
    /// # Errors
    /// As [`DeviceLoader::steps`].
    pub fn steps_of(&self, epoch: u64) -> Result<u64> {
        self.shared.host.steps_of(epoch)
    }

    /// See [`Loader::state`](crate::Loader::state).
    pub fn state(&self) -> LoaderState {
        self.shared.host.state()
    }

    /// See [`Loader::ledger`](crate::Loader::ledger).
    pub fn ledger(&self) -> Ledger {
        *self.shared.host.ledger()
    }

    /// See [`Loader::expected`](crate::Loader::expected).
    ///
    /// # Errors
    /// Returns an error if the number of the epoch is so large that its samples cannot be counted.
    pub fn expected(&self, epoch: u64) -> Result<Ledger> {
        self.shared.host.expected(epoch)
    }

    /// The order of the samples.
    pub fn order(&self) -> &Order {
        &self.shared.host.order
    }

    /// The data set.
    pub fn dataset(&self) -> &Dataset {
        self.shared.host.source.dataset()
    }

    /// What was drawn for the rows of a batch of this loader; see
    /// [`LoaderBuilder::keep_transforms`](crate::LoaderBuilder::keep_transforms).
    ///
    /// # Errors
    /// Returns an error if the loader does not keep it.
    pub fn transforms(&self, batch: &DeviceBatch) -> Result<Vec<ColumnTransforms>> {
        drawn(batch.host(), self.shared.host.source.columns().decoders())
    }

    /// The time of each stage, and the bottleneck.
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// All samples that were bad so far, by ordinal.
    pub fn bad_samples(&self) -> Vec<BadSample> {
        self.shared.host.bad.all()
    }

    /// As `bad_samples`, with reasons in the words of a face.
    #[doc(hidden)]
    pub fn bad_samples_in(&self, face: Face) -> Vec<BadSample> {
        self.shared.host.bad.all_in(face)
    }

    /// See [`Loader::write_bad_samples`](crate::Loader::write_bad_samples).
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub fn write_bad_samples(&self, path: impl AsRef<Path>) -> Result<()> {
        self.shared.host.bad.write(path.as_ref())
    }
}

/// The batches of the epoch that [`DeviceLoader::current_epoch`] names.
impl IntoIterator for &DeviceLoader {
    type Item = Result<DeviceBatch>;
    type IntoIter = DeviceEpoch;

    fn into_iter(self) -> DeviceEpoch {
        self.epoch(self.current_epoch())
    }
}

impl fmt::Debug for DeviceLoader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device{:?} on {}", self.shared.host, self.shared.slots.device())
    }
}
