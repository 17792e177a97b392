//! `Driver`: the interface to a GPU, one trait for each job, in CUDA's own verbs.
//!
//! Memory and events are plain handles here; `upload::slot` owns them. The trait of the JPEG decoder is
//! [`JpegDecoder`], which `decode::hybrid` uses, too.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tarflume_formats::message::Message;
use tarflume_types::Result;

use crate::batch::Batch;
use crate::device::kernels::launch::Launch;
use crate::device::kernels::program::Program;
use crate::device::room::DeviceRoom;
use crate::device::room::meter::MemoryCounts;
use crate::jpeg_decoder::JpegDecoder;
use crate::slab::{HostBytes, HostMemory};

/// A stream of the consumer on a device. Work in a stream runs in order.
///
/// ```
/// use tarflume::DeviceStream;
///
/// assert_eq!(DeviceStream::LEGACY.handle(), 1); // the legacy default stream of CUDA
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeviceStream(u64);

impl DeviceStream {
    /// CUDA's legacy default stream: what PyTorch uses unless told otherwise.
    pub const LEGACY: DeviceStream = DeviceStream(1);
    /// CUDA's default stream of each thread.
    pub const PER_THREAD: DeviceStream = DeviceStream(2);

    /// The stream with this handle (a `cudaStream_t` as a number). The null handle and 1 are the legacy default
    /// stream, 2 is the default stream of each thread, as in CUDA's headers and in DLPack.
    ///
    /// # Safety
    /// The handle is a stream of the device that its batches are on, and stays valid until those batches are dropped:
    /// the driver dereferences it.
    #[allow(unsafe_code)] // a contract of the caller; the function does nothing unsafe
    pub unsafe fn raw(handle: u64) -> DeviceStream {
        DeviceStream(handle.max(1))
    }

    /// A stream of the fake device.
    #[cfg(any(test, feature = "simulated"))]
    #[doc(hidden)]
    pub fn fake(number: u64) -> DeviceStream {
        DeviceStream(number)
    }

    /// The handle as a number.
    pub fn handle(self) -> u64 {
        self.0
    }
}

/// A CUDA event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Event(pub(crate) u64);

/// An address in device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DevicePtr(pub u64);

/// The stream that an operation goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WorkStream {
    /// Our own stream for copies.
    Copy,
    /// Our own stream for kernels: a copy does not wait for the kernels of the batch before it.
    Kernel,
    /// Our own stream for decoders of JPEGs.
    Decode,
    /// A stream of the consumer.
    Consumer(DeviceStream),
}

/// Bytes that are copied with one call: `rows` rows of `width` bytes, the first at offset `at`, `pitch` bytes from the
/// beginning of one to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopySpan {
    /// Offset of the first byte.
    pub at: usize,
    /// Bytes of a row.
    pub width: usize,
    /// Bytes from row to row.
    pub pitch: usize,
    /// Number of rows.
    pub rows: usize,
}

impl CopySpan {
    /// One row.
    pub fn line(bytes: Range<usize>) -> CopySpan {
        let width = bytes.len();
        CopySpan { at: bytes.start, width, pitch: width, rows: 1 }
    }

    /// Bytes that are copied.
    pub fn bytes(&self) -> u64 {
        self.width as u64 * self.rows as u64
    }

    /// The rows.
    pub fn lines(self) -> impl Iterator<Item = Range<usize>> {
        (0..self.rows).map(move |row| self.at + row * self.pitch).map(move |at| at..at + self.width)
    }
}

/// Bytes that are copied beside the fixed columns of a batch.
#[derive(Debug, Clone)]
pub struct StagedCopy {
    /// The memory that they are in.
    pub bytes: Arc<HostBytes>,
    /// The number of bytes, from the first on.
    pub length: usize,
    /// Where they are copied to.
    pub to: DevicePtr,
}

impl StagedCopy {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes.bytes()[..self.length]
    }
}

/// The parts of a batch that are copied to the device.
#[derive(Clone, Copy)]
pub struct UploadParts<'a> {
    /// The batch.
    pub batch: &'a Arc<Batch>,
    /// The parts of its fixed columns, which are copied to the same offsets behind `to`.
    pub spans: &'a [CopySpan],
    /// Where the fixed columns are on the device.
    pub to: DevicePtr,
    /// What is copied beside them.
    pub staged: Option<&'a StagedCopy>,
}

impl UploadParts<'_> {
    /// Bytes that are copied.
    pub fn bytes(&self) -> u64 {
        let staged = self.staged.map_or(0, |staged| staged.length as u64);
        self.spans.iter().map(CopySpan::bytes).sum::<u64>() + staged
    }
}

/// A completed upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UploadReport {
    /// Time on the device.
    pub time: Duration,
    /// Bytes that were copied.
    pub bytes: u64,
}

/// A callback for completed uploads.
pub type OnUploaded = Arc<dyn Fn(UploadReport) + Send + Sync>;

/// Device memory. `allocate` and `free` may wait for the device; `copy_within` is asynchronous.
///
/// # Errors
/// All methods of all traits here: [`ErrorKind::Device`](tarflume_types::ErrorKind::Device), with the driver's own text.
pub trait DeviceMemory {
    /// Allocates memory.
    fn allocate(&self, bytes: usize) -> Result<DevicePtr>;
    /// Frees memory that no work in any stream uses.
    fn free(&self, memory: DevicePtr);
    /// Copies from device to device memory, in [`WorkStream::Copy`].
    fn copy_within(&self, from: DevicePtr, to: DevicePtr, bytes: usize) -> Result<()>;
    /// How much memory the device has.
    fn room(&self) -> Result<DeviceRoom>;
    /// What was allocated by this value, and is held.
    fn memory_counts(&self) -> MemoryCounts;
}

/// Events: how streams, and this process, wait for work in a stream.
pub trait Events {
    /// Creates an event without timing. Until its first record it counts as reached.
    fn create_event(&self) -> Result<Event>;
    /// Destroys an event.
    fn destroy_event(&self, event: Event);
    /// The `cudaEvent_t` of an event, for code that waits for it through another library.
    fn event_handle(&self, event: Event) -> u64;
    /// Records an event behind all work that is in the stream.
    fn record(&self, event: Event, stream: WorkStream) -> Result<()>;
    /// Makes later work of the stream wait for the event's last record.
    fn wait_event(&self, event: Event, stream: WorkStream) -> Result<()>;
    /// Blocks this thread until the event's last record is reached.
    fn synchronize(&self, event: Event) -> Result<()>;
}

/// The kernels of `kernels/*.cu`.
pub trait KernelLauncher {
    /// Compiles and loads the kernels of a program; call it once, before the first launch.
    fn prepare_kernels(&self, program: Program) -> Result<()>;
    /// Launches a kernel in a stream. Every address among its arguments is device memory that stays allocated until an
    /// event behind the launch is reached.
    fn launch(&self, launch: &Launch, on: WorkStream) -> Result<()>;
}

/// Copies between host and device for decoding, in [`WorkStream::Decode`]. [`Uploads`] copies batches.
pub trait DecodeCopies {
    /// Copies bytes to the device. The caller keeps `from` unchanged until an event recorded after this call is reached.
    fn copy_in(&self, from: &[u8], to: DevicePtr) -> Result<()>;
    /// Copies words from the device. Returns when they have arrived.
    fn copy_out(&self, from: DevicePtr, to: &mut [u32]) -> Result<()>;
}

/// Copies of batches from host to device.
pub trait Uploads {
    /// Copies these parts of a batch, in [`WorkStream::Copy`]. Keeps the batch and the staged bytes until the copy is known
    /// to be complete, then calls `on_copied`.
    fn upload(&self, parts: UploadParts<'_>, on_copied: &OnUploaded) -> Result<()>;
    /// Drops the batches of completed copies and returns the number of copies that are pending. An error is that of
    /// a copy that will never complete.
    fn reap(&self) -> Result<usize>;
    /// Blocks until the oldest pending copy is complete.
    fn await_copy(&self) -> Result<()>;
}

/// A device. Operations in streams return immediately. No operation invalidates a CUDA graph capture of the consumer.
pub trait Driver:
    DeviceMemory
    + Events
    + KernelLauncher
    + Uploads
    + DecodeCopies
    + JpegDecoder
    + HostMemory
    + fmt::Debug
    + Send
    + Sync
{
    /// Its name: `cuda:0`.
    fn name(&self) -> String;
    /// DLPack's device type and ordinal.
    fn dlpack_device(&self) -> (i32, i32);
    /// True in a forked child of the process that opened the device: every other operation fails there.
    fn is_forked_child(&self) -> bool;
    /// A setup problem that costs speed: memory that could not be pinned, kernels that could not be cached.
    fn warning(&self) -> Option<Message>;
}
