//! `DeviceBatch`: a batch in device memory, and what it was copied from.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, ThreadId};

use crate::batch::Batch;
use crate::column::DType;
use crate::device::driver::DeviceStream;
use crate::device::upload::queue::Shared;
use crate::device::upload::slot::{DeviceSlot, Slots};
use crate::device::upload::{queue, ring};
use crate::error::{Error, Result};
use tarflume_formats::poison::IgnorePoison;

/// A batch whose fixed columns are in device memory, or on their way.
///
/// Say [`DeviceBatch::ready_on`] of each stream that will use it, before it does: the stream then waits
/// for the copy, the host does not. Dropped, or given back by [`DeviceBatch::release`], its memory is
/// written again as soon as those streams are done with what was put into them until then.
pub struct DeviceBatch {
    host: Arc<Batch>,
    /// Taken by whoever gives it back.
    slot: Option<(usize, Arc<DeviceSlot>)>,
    shared: Arc<Shared>,
    /// Those that use it, and whether they were told to wait for the copy.
    streams: Mutex<Vec<(User, bool)>>,
}

/// A stream that uses a batch. [`DeviceStream::PER_THREAD`] is another stream in each thread.
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

    /// Where a mark set in this thread stands behind what it has put into the stream. Another thread's
    /// own stream has no handle here, but the legacy stream waits for all of them.
    fn marked_in(self) -> DeviceStream {
        if self == User::here(self.stream) { self.stream } else { DeviceStream::LEGACY }
    }
}

/// A column in device memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceColumn {
    /// Its name.
    pub name: String,
    /// Its address on the device, aligned to 64 bytes.
    pub pointer: u64,
    /// The type of its elements.
    pub dtype: DType,
    /// Rows, then the shape of a row: `[256, 224, 224, 3]`. Without gaps.
    pub shape: Vec<usize>,
    /// DLPack's words for the device: type and number.
    pub device: (i32, i32),
    /// The handle of the event behind the copy, for programs that wait for it by themselves.
    pub ready: u64,
}

impl DeviceBatch {
    pub(crate) fn new(
        host: Arc<Batch>,
        slot: (usize, Arc<DeviceSlot>),
        shared: Arc<Shared>,
    ) -> DeviceBatch {
        DeviceBatch { host, slot: Some(slot), shared, streams: Mutex::default() }
    }

    fn streams(&self) -> MutexGuard<'_, Vec<(User, bool)>> {
        self.streams.lock().ignore_poison()
    }

    /// The batch in host memory: keys, columns of rows of different lengths, and the others, too.
    /// Pictures that the device finishes are here as they crossed the bus: u8 `[height, width, channels]`;
    /// where it decodes some, rows of u8 with a head and, behind it, pixels or a JPEG.
    pub fn host(&self) -> &Batch {
        &self.host
    }

    /// What is put into `stream` from now on comes after the copy.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Device`].
    pub fn ready_on(&self, stream: DeviceStream) -> Result<()> {
        let Some((number, slot)) = &self.slot else { return Ok(()) };
        let (user, mut streams) = (User::here(stream), self.streams());
        if !streams.contains(&(user, true)) {
            ring::hand_over(&self.shared.slots().calls(slot, None), *number, stream)?;
            streams.retain(|(known, _)| *known != user);
            streams.push((user, true));
        }
        Ok(())
    }

    /// As [`DeviceBatch::host`], to be kept longer than this.
    pub fn host_shared(&self) -> Arc<Batch> {
        self.host.clone()
    }

    /// Something in `stream` uses the memory, too, and was ordered behind the copy by other means: it is
    /// not written again before what was put into the stream until this is dropped is done.
    pub fn used_on(&self, stream: DeviceStream) {
        let (user, mut streams) = (User::here(stream), self.streams());
        if !streams.iter().any(|(known, _)| *known == user) {
            streams.push((user, false));
        }
    }

    /// The columns of rows of one length, in the order in which the loader was told of them.
    pub fn columns(&self) -> impl Iterator<Item = DeviceColumn> + '_ {
        self.host.columns().filter_map(|column| self.column(column.name()).ok())
    }

    /// Whether the device made the column of this name: the host's is what it was made of.
    pub fn makes(&self, name: &str) -> bool {
        self.shared.slots().work.made(name).is_some()
    }

    /// The column of this name.
    ///
    /// # Errors
    /// There is none; or its rows have different lengths, so that it is on the host alone.
    pub fn column(&self, name: &str) -> Result<DeviceColumn> {
        let column = self.host.column(name)?;
        let (Some(place), Some((_, slot))) = (self.host.place(name), &self.slot) else {
            return Err(Error::usage(format!(
                "the rows of column '{name}' have different lengths: they are on the host, in host()"
            )));
        };
        let Slots { driver, work, .. } = self.shared.slots();
        let (place, dtype, shape) = match work.made(name) {
            Some(made) => (made.place, made.dtype, [&[self.host.len()], &made.shape[..]].concat()),
            None => (place, column.dtype(), column.shape()),
        };
        Ok(DeviceColumn {
            name: name.to_string(),
            pointer: slot.memory.0 + place as u64,
            dtype,
            shape,
            device: driver.dlpack_device(),
            ready: driver.event_handle(slot.ready),
        })
    }

    /// Gives the memory back when these streams, and all that were told of it, are done with what was
    /// put into them until now.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Device`].
    pub fn release(mut self, streams: &[DeviceStream]) -> Result<()> {
        for &stream in streams {
            self.ready_on(stream)?;
        }
        self.give_back()
    }

    fn give_back(&mut self) -> Result<()> {
        let Some(slot) = self.slot.take() else { return Ok(()) };
        if self.shared.slots().driver.is_forked_child() {
            // Neither the device nor whoever holds the line's lock is here.
            std::mem::forget((slot, self.shared.clone()));
            return Ok(());
        }
        let streams: Vec<DeviceStream> =
            self.streams().drain(..).map(|(user, _)| user.marked_in()).collect();
        queue::give_back(&self.shared, slot, &streams)
    }
}

impl Drop for DeviceBatch {
    fn drop(&mut self) {
        // A device that refuses a mark is told of by the next batch; its slot is not used again.
        let _ = self.give_back();
    }
}

impl fmt::Debug for DeviceBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} on {}", self.host, self.shared.slots().driver.name())
    }
}
