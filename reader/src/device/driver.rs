//! `Driver`: what is asked of a device. Memory and marks are numbers here; who has them stands in `slot`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tarflume_jpeg::Header;

use crate::batch::Batch;
use crate::decode::hybrid::verdict::{Abilities, Compressed, Stored, Verdict, Wanted};
use crate::device::kernels::launch::Launch;
use crate::error::Result;
use crate::slab::HostMemory;

/// One of the consumer's streams on a device: what is put into it is done in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stream(u64);

impl Stream {
    /// CUDA's legacy default stream: what PyTorch uses unless told otherwise.
    pub const LEGACY: Stream = Stream(1);
    /// CUDA's default stream of each thread.
    pub const PER_THREAD: Stream = Stream(2);

    /// The stream of this handle (a `cudaStream_t` as a number). The null handle is the legacy default
    /// stream, and so are 1 and 2 what CUDA's headers and DLPack say they are.
    ///
    /// # Safety
    /// It is a stream of the device whose batches are told of it, and stays one until they are dropped:
    /// the driver follows the handle.
    #[allow(unsafe_code)] // a promise of the caller's; nothing is done here
    pub unsafe fn raw(handle: u64) -> Stream {
        Stream(handle.max(1))
    }

    /// For devices that are played.
    #[cfg(test)]
    pub(crate) fn played(number: u64) -> Stream {
        Stream(number)
    }

    /// The handle.
    pub fn handle(self) -> u64 {
        self.0
    }
}

/// A mark that can be set in a stream: CUDA's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Mark(pub(crate) u64);

/// Memory of the device, by its address there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Memory(pub(crate) u64);

/// Where a mark is set, or waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum On {
    /// Our own stream, which copies and starts kernels.
    Copying,
    /// Our own stream, which decodes.
    Decoding,
    /// One of the consumer's.
    Of(Stream),
}

/// A copy that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Copied {
    /// Time that the device needed for it.
    pub(crate) time: Duration,
    pub(crate) bytes: u64,
}

/// Who is told of a copy that is done.
pub(crate) type Told = Arc<dyn Fn(Copied) + Send + Sync>;

/// A device. Everything is put into a stream and returns at once, but for `allocate`, `free`, `finish` and
/// `await_copy`. Nothing of it
/// spoils a capture of somebody's stream into a graph.
///
/// # Errors
/// All of them: [`crate::ErrorKind::Device`], with the driver's own words.
pub(crate) trait Driver: Send + Sync + fmt::Debug + HostMemory {
    /// Its name: `cuda:0`.
    fn name(&self) -> String;
    /// DLPack's words for it: type and number.
    fn place(&self) -> (i32, i32);
    /// So many bytes of its memory.
    fn allocate(&self, bytes: usize) -> Result<Memory>;
    /// Gives memory back that nothing in any stream uses any more.
    fn free(&self, memory: Memory);
    /// A mark that was never set.
    fn mark(&self) -> Result<Mark>;
    /// Gives a mark back.
    fn forget(&self, mark: Mark);
    /// The handle of a mark, for programs that wait for it by themselves.
    fn handle(&self, mark: Mark) -> u64;
    /// Sets a mark behind all that stands in a stream.
    fn set(&self, mark: Mark, on: On) -> Result<()>;
    /// What is put into the stream from now on is done when the mark is reached. A mark that was never
    /// set counts as reached.
    fn wait(&self, mark: Mark, on: On) -> Result<()>;
    /// Waits here until the mark is reached.
    fn finish(&self, mark: Mark) -> Result<()>;
    /// Makes its kernels ready to be launched; once, before the first.
    fn prepare(&self) -> Result<()>;
    /// Starts a kernel on [`On::Copying`]. Every address in it is of this device's memory, and what it
    /// reads and writes there is not given back before a mark behind it is reached.
    fn launch(&self, launch: &Launch) -> Result<()>;
    /// Makes its decoder of JPEGs ready, or that of JPEGs in its own memory (`stored`); once, before the
    /// first. Says what it can do.
    fn prepare_decoder(&self, stored: bool) -> Result<Abilities>;
    /// Whether it decodes this JPEG, whose header this is and which was found whole, into what is wanted; within:
    /// why not. Asked by many threads at once.
    fn admit(
        &self,
        jpeg: (&[u8], &Header),
        wanted: Wanted,
    ) -> Result<std::result::Result<(), String>>;
    /// As [`Driver::decode`], of JPEGs that were admitted and are in its memory: the host has waited for that,
    /// too.
    fn decode_stored(&self, jpegs: &[Stored]) -> Result<Vec<Verdict>>;
    /// Decodes JPEGs that were admitted into its memory, on [`On::Decoding`], and says what became of each. The
    /// bytes stay as
    /// they are, and nothing else writes where the pixels go, until a mark behind it is reached; nothing
    /// in any stream uses that memory any more *when this is called*, for engines write at once,
    /// whatever stands in the stream: the host has waited for a mark.
    fn decode(&self, jpegs: &[Compressed<'_>]) -> Result<Vec<Verdict>>;
    /// Copies the fixed columns of a batch, on [`On::Copying`]. Keeps the batch until that is done and seen
    /// to be done, and tells of it then.
    fn copy(&self, batch: &Arc<Batch>, to: Memory, told: &Told) -> Result<()>;
    /// Copies from one place of its memory to another, on [`On::Copying`].
    fn copy_within(&self, from: Memory, to: Memory, bytes: usize) -> Result<()>;
    /// Bytes of its memory that are free.
    fn free_bytes(&self) -> Result<u64>;
    /// Looks which copies are done, and lets go of their batches; how many are not. An error is that of a copy which
    /// never will be.
    fn reap(&self) -> Result<usize>;
    /// Waits here for the copy that is done first, of those that `reap` did not see to be done.
    fn await_copy(&self) -> Result<()>;
    /// True in a process that was forked: the device is not here.
    fn is_elsewhere(&self) -> bool;
    /// Says what is wrong with how things are set up: memory that could not be pinned.
    fn warning(&self) -> Option<String>;
}
