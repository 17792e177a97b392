//! `DeviceBatch`: a batch in device memory, and the host batch that it was copied from. Owns no device memory.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, ThreadId};

use crate::batch::Batch;
use crate::device::driver::DeviceStream;
use crate::device::upload::queue::UploadShared;
use crate::device::upload::ring::Queue as _;
use crate::device::upload::slot::{DeviceSlot, Slots};
use crate::device::upload::{queue, ring};
use tarflume_formats::IgnorePoison;
use tarflume_types::{DType, Error, Result};

/// A batch whose fixed columns and columns of objects are in device memory, or being copied there.
///
/// Call [`DeviceBatch::ready_on`] for each stream before using the batch in it. The stream then waits for the copy; the
/// host does not. After a drop or [`DeviceBatch::release`], the memory is reused as soon as these streams have finished
/// the work submitted before.
///
/// ```no_run
/// use tarflume::{Device, DeviceStream, Loader};
///
/// # fn main() -> tarflume::Result<()> {
/// let loader = Loader::builder("shards/").bytes("bin").device(Device::cuda(0)?).build()?;
/// let stream = DeviceStream::LEGACY; // the stream of the step
/// for batch in loader.epoch(0) {
///     let batch = batch?;
///     batch.ready_on(stream)?; // the stream waits for the copy, the host does not
///     println!("{} rows", batch.host().len());
///     // Submit the step to the stream here, then:
///     batch.release(&[stream])?;
/// }
/// # Ok(())
/// # }
/// ```
pub struct DeviceBatch {
    host: Arc<Batch>,
    /// Taken when the slot is given back.
    slot: Option<(usize, Arc<DeviceSlot>)>,
    shared: Arc<UploadShared>,
    /// The streams that use it, and whether each waits for the copy.
    streams: Mutex<Vec<(User, bool)>>,
}

/// A stream that uses a batch. [`DeviceStream::PER_THREAD`] is a different stream in each thread.
#[derive(Clone, Copy, PartialEq, Eq)]
struct User {
    stream: DeviceStream,
    thread: Option<ThreadId>,
}

impl User {
    fn here(stream: DeviceStream) -> User {
        let own = stream == DeviceStream::PER_THREAD;
        User { stream, thread: own.then(|| thread::current().id()) }
    }

    /// The stream in which an event recorded by this thread covers the user's work. Another thread's per-thread
    /// stream has no handle here, but the legacy stream synchronizes with it.
    fn marked_in(self) -> DeviceStream {
        if self == User::here(self.stream) { self.stream } else { DeviceStream::LEGACY }
    }
}

/// A column in device memory.
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
///     let images = batch?.column("image")?;
///     assert_eq!(images.shape[1..], [224, 224, 3]);
///     println!("{:?} at {:#x}", images.dtype, images.pointer);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceColumn {
    /// The name.
    pub name: String,
    /// The device address, aligned to 64 bytes.
    pub pointer: u64,
    /// The element type.
    pub dtype: DType,
    /// The number of rows, then the shape of a row: `[256, 224, 224, 3]`. Without gaps.
    pub shape: Vec<usize>,
    /// The device in DLPack: type and ordinal.
    pub device: (i32, i32),
    /// The handle of the event recorded after the copy, for programs that wait for it themselves.
    pub ready: u64,
}

impl DeviceBatch {
    pub(crate) fn new(
        host: Arc<Batch>,
        number: usize,
        slot: Arc<DeviceSlot>,
        shared: Arc<UploadShared>,
    ) -> DeviceBatch {
        DeviceBatch { host, slot: Some((number, slot)), shared, streams: Mutex::default() }
    }

    fn streams(&self) -> MutexGuard<'_, Vec<(User, bool)>> {
        self.streams.lock().ignore_poison()
    }

    /// The batch in host memory: keys, variable columns, and what is on the device, too. Pictures that the device converts
    /// are here as uploaded: u8 `[height, width, channels]`. If the device decodes some of them, rows are u8 with a
    /// header followed by pixels or a JPEG; if it changes them, with a list of actions followed by pixels.
    pub fn host(&self) -> &Batch {
        &self.host
    }

    /// Makes later work in `stream` wait for the copy.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](tarflume_types::ErrorKind::Device): the device failed.
    pub fn ready_on(&self, stream: DeviceStream) -> Result<()> {
        let Some((number, slot)) = &self.slot else { return Ok(()) };
        let user = User::here(stream);
        let mut streams = self.streams();
        if !streams.contains(&(user, true)) {
            ring::hand_over(&self.shared.slots().calls(slot, None), *number, stream)?;
            // Once in the list: `give_back` records one event for each entry.
            streams.retain(|(known, _)| *known != user);
            streams.push((user, true));
        }
        Ok(())
    }

    /// Orders later copies within the device's memory behind the kernels that compute this batch.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](tarflume_types::ErrorKind::Device): the device failed.
    #[doc(hidden)]
    pub fn before_copies(&self) -> Result<()> {
        let Some((number, slot)) = &self.slot else { return Ok(()) };
        self.shared.slots().calls(slot, None).await_work(*number)
    }

    /// As [`DeviceBatch::host`], for keeping it longer than this value.
    pub fn host_shared(&self) -> Arc<Batch> {
        self.host.clone()
    }

    /// Declares that `stream` uses the memory and was ordered after the copy by other means. The memory is not reused
    /// before the work that was submitted to the stream before the drop has finished.
    pub fn used_on(&self, stream: DeviceStream) {
        let user = User::here(stream);
        let mut streams = self.streams();
        if !streams.iter().any(|(known, _)| *known == user) {
            streams.push((user, false));
        }
    }

    /// The fixed columns, without those of objects, in the order in which they were added to the loader.
    pub fn columns(&self) -> impl Iterator<Item = DeviceColumn> + '_ {
        self.host.columns().filter_map(|column| self.column(column.name()).ok())
    }

    /// Whether the device computed the column of this name. The host's column is its input.
    pub fn makes(&self, name: &str) -> bool {
        self.shared.slots().work.made(name).is_some()
    }

    /// Returns the column named `name`.
    ///
    /// # Errors
    /// Returns an error if no column has this name, or if its rows have different lengths: then it is on the host only, or its
    /// values are [`DeviceBatch::objects`].
    pub fn column(&self, name: &str) -> Result<DeviceColumn> {
        let column = self.host.column(name)?;
        let Slots { work, objects, .. } = self.shared.slots();
        if objects.has(name) {
            return Err(of_objects(name));
        }
        let place = self.host.place(name).ok_or_else(|| on_the_host_only(name))?;
        let (_, slot) = self.slot.as_ref().ok_or_else(|| on_the_host_only(name))?;
        let (place, dtype, shape) = match work.made(name) {
            Some(made) => (made.place, made.dtype, [&[self.host.len()], &made.shape[..]].concat()),
            None => (place, column.dtype(), column.shape()),
        };
        Ok(self.placed(slot, slot.memory.0 + place as u64, DeviceArray { name, dtype, shape }))
    }

    /// The values of all rows of a column of objects, such as boxes, one row after the other: the number of objects of all
    /// rows, then the shape of one, `[57, 4]`. Those of masks, which may have different sizes, are all their pixels in one
    /// dimension. Where each row begins is on the host: [`Column::offsets`](crate::batch::Column::offsets), in bytes.
    ///
    /// ```no_run
    /// use tarflume::{Annotations, BoxFormat, Boxes, Device, Image, Loader, RandomResizedCrop};
    ///
    /// # fn main() -> tarflume::Result<()> {
    /// let image = Image::new("jpg", RandomResizedCrop::new(224));
    /// let boxes = Annotations::of(&image).boxes("boxes", Boxes::new("/boxes", BoxFormat::Xywh));
    /// let builder = Loader::builder("shards/").column("image", image).annotations(&boxes);
    /// for batch in builder.device(Device::cuda(0)?).build()?.epoch(0) {
    ///     let batch = batch?;
    ///     let boxes = batch.objects("boxes")?;
    ///     let rows: Vec<u64> = batch.host().column("boxes")?.offsets().into_iter().flatten().collect();
    ///     println!("{:?} at {:#x}, of pictures at {rows:?}", boxes.shape, boxes.pointer);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if no column has this name, or if it is not one of objects.
    pub fn objects(&self, name: &str) -> Result<DeviceColumn> {
        self.host.column(name)?;
        let values = self.shared.slots().objects.values(&self.host);
        let found = values.into_iter().find(|values| values.column.name() == name);
        let (values, (_, slot)) = found.zip(self.slot.as_ref()).ok_or_else(|| no_objects(name))?;
        let dtype = values.column.dtype();
        let array = DeviceArray { name, dtype, shape: values.shape };
        Ok(self.placed(slot, slot.objects().0 + values.place as u64, array))
    }

    /// An array at an address of a slot.
    fn placed(&self, slot: &DeviceSlot, pointer: u64, array: DeviceArray<'_>) -> DeviceColumn {
        let DeviceArray { name, dtype, shape } = array;
        let driver = &self.shared.slots().driver;
        let device = driver.dlpack_device();
        let ready = driver.event_handle(slot.ready);
        DeviceColumn { name: name.to_string(), pointer, dtype, shape, device, ready }
    }

    /// Gives the memory back. It is reused when these streams, and all streams that use the batch, have finished the
    /// work submitted before this call.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](tarflume_types::ErrorKind::Device): the device failed.
    pub fn release(mut self, streams: &[DeviceStream]) -> Result<()> {
        for &stream in streams {
            self.ready_on(stream)?;
        }
        self.give_back()
    }

    fn give_back(&mut self) -> Result<()> {
        let Some((number, slot)) = self.slot.take() else { return Ok(()) };
        if self.shared.slots().driver.is_forked_child() {
            // The device and the holder of the queue's lock do not exist in a forked child.
            std::mem::forget((slot, self.shared.clone()));
            return Ok(());
        }
        let streams: Vec<DeviceStream> =
            self.streams().drain(..).map(|(user, _)| user.marked_in()).collect();
        queue::give_back(&self.shared, number, slot, &streams)
    }
}

/// What an array on the device holds.
struct DeviceArray<'a> {
    name: &'a str,
    dtype: DType,
    shape: Vec<usize>,
}

fn of_objects(name: &str) -> Error {
    Error::usage(format!(
        "the rows of column '{name}' have different numbers of objects: use objects(\"{name}\")"
    ))
}

fn no_objects(name: &str) -> Error {
    Error::usage(format!(
        "column '{name}' is not one of objects: use column(\"{name}\"), or host()"
    ))
}

fn on_the_host_only(name: &str) -> Error {
    Error::usage(format!(
        "the rows of column '{name}' have different lengths, so it is on the host only: use host()"
    ))
}

impl Drop for DeviceBatch {
    fn drop(&mut self) {
        // If the device fails, the next `take` returns the error, and the slot is not used again.
        let _ = self.give_back();
    }
}

impl fmt::Debug for DeviceBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} on {}", self.host, self.shared.slots().driver.name())
    }
}
