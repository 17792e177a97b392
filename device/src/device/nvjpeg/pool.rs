//! `Pool`: the memory with which libnvjpeg works, which it allocates and frees through functions of this file.
//!
//! Blocks that the library frees are kept for what it allocates next, because allocating and freeing may wait for the
//! whole device. The library frees and allocates when it is initialized for another number of pictures, as a share of the
//! pictures of a batch has. Sizes are rounded up, so that pictures that are a little larger fit, too, and a block serves
//! what needs at least half of it.
//!
//! How many blocks there are depends on what the library asks for, never on how far the device is behind. What was freed
//! behind work of a stream rests for the turn in which it was freed, because that work has just begun; in a later turn it is
//! waited for, if need be. So of the blocks that serve a size, as many are made as the library uses of them at once and
//! frees in one turn.
//!
//! Contains unsafe code: functions that the library calls, and calls of the driver. What they rely on, and why it holds:
//! - the library passes the pool that it was created with, which its decoder keeps alive;
//! - a block is freed once, when no work on the device uses it: after its decoder;
//! - a freed block is used again only after the work that was in its stream when it was freed. Without a stream, the
//!   library frees what a state used whose work the host has waited for (see `handle`).
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use cudarc::driver::{DriverError, result, sys};
use tarflume_formats::message::Message;
use tarflume_formats::{IgnorePoison, message};

use super::context::{Context, DecoderEvent};
use super::status::Status;
use super::symbols::{RawAllocator, RawHandle};
use crate::device::call_scope::DriverMessage;
use crate::device::room::meter::{MemoryKind, MemoryMeter};
use crate::device::room::shortage::Shortage;

/// The smallest block in bytes, and the size up to which blocks are powers of two.
const LEAST: usize = 64 << 10;
const LARGE: usize = 64 << 20;

/// `cudaErrorInvalidValue` and `cudaErrorMemoryAllocation`.
const INVALID: c_int = 1;
const NO_MEMORY: c_int = 2;

/// When a block may be used again.
enum Rest {
    Now,
    /// After the work before this event, which was recorded in this turn.
    After(DecoderEvent, u64),
    /// It is unknown what uses it.
    Never,
}

struct Block {
    at: usize,
    bytes: usize,
    kind: MemoryKind,
}

#[derive(Default)]
struct Blocks {
    /// By address.
    used: HashMap<usize, Block>,
    /// In the order in which they were freed.
    free: Vec<(Block, Rest)>,
    /// The number of the library's decoding call.
    turn: u64,
    /// Why the last block could not be allocated.
    lack: Option<Message>,
}

impl Blocks {
    /// The number of the free block that a request takes: of the smallest that serve it one whose work is done, or the one
    /// that was freed first.
    fn chosen(&self, kind: MemoryKind, wanted: usize) -> Option<usize> {
        let turn = self.turn;
        let serving = self.free.iter().enumerate().filter(|(_, (block, rest))| {
            block.kind == kind && serves(block.bytes, wanted) && rest.is_of_before(turn)
        });
        let least = serving.clone().map(|(_, (block, _))| block.bytes).min()?;
        let mut smallest = serving.filter(|(_, (block, _))| block.bytes == least).peekable();
        let first = smallest.peek().map(|(n, _)| *n);
        smallest.find(|(_, (_, rest))| rest.is_over()).map(|(n, _)| n).or(first)
    }

    /// Takes a free block for a request; waits for the work that uses it.
    fn rested(&mut self, kind: MemoryKind, wanted: usize) -> Option<Block> {
        while let Some(chosen) = self.chosen(kind, wanted) {
            if self.free[chosen].1.wait() {
                return Some(self.free.remove(chosen).0);
            }
            self.free[chosen].1 = Rest::Never; // the device failed
        }
        None
    }
}

/// The blocks of one decoder.
pub(super) struct Pool {
    context: Context,
    meter: Arc<MemoryMeter>,
    blocks: Mutex<Blocks>,
    process: u32,
}

impl Rest {
    fn is_over(&self) -> bool {
        match self {
            Rest::Now => true,
            Rest::After(event, _) => event.is_reached(),
            Rest::Never => false,
        }
    }

    /// Whether it may be waited for in this turn.
    fn is_of_before(&self, turn: u64) -> bool {
        match self {
            Rest::Now => true,
            Rest::After(_, since) => *since < turn,
            Rest::Never => false,
        }
    }

    /// Blocks until it is over; false if it never is.
    fn wait(&self) -> bool {
        match self {
            Rest::Now => true,
            Rest::After(event, _) => event.wait(),
            Rest::Never => false,
        }
    }
}

impl Pool {
    /// No blocks yet, in the calling thread's current context, which is `context`.
    pub(super) fn new(context: Context, meter: Arc<MemoryMeter>) -> Pool {
        Pool { context, meter, blocks: Mutex::default(), process: std::process::id() }
    }

    pub(super) fn context(&self) -> Context {
        self.context
    }

    /// The functions for device memory and for pinned memory. The pool must outlive their user.
    pub(super) fn allocators(self: &Arc<Pool>) -> [RawAllocator; 2] {
        let pool = Arc::as_ptr(self).cast_mut().cast();
        [
            RawAllocator { take: take_device, give, pool },
            RawAllocator { take: take_pinned, give, pool },
        ]
    }

    /// A status of the library in words, with the memory that lacked since the last one.
    pub(super) fn told(&self, status: Status) -> Message {
        match self.blocks().lack.take() {
            Some(lack) => message!("{status}: {lack}"; lack = lack),
            None => Message::words(status.to_string()),
        }
    }

    /// Begins a decoding call of the library. From now on [`Pool::take`] may wait for blocks that earlier calls freed.
    pub(super) fn begin_turn(&self) {
        self.blocks().turn += 1;
    }

    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        self.blocks.lock().ignore_poison()
    }

    /// The address of a block of at least `bytes` bytes.
    fn take(&self, kind: MemoryKind, bytes: usize) -> Option<usize> {
        let wanted = rounded(bytes);
        // The library may call from its own thread, which has no context and no relaxed capture mode.
        let _entered = self.context.enter()?;
        let mut blocks = self.blocks();
        let block = match blocks.rested(kind, wanted) {
            Some(block) => block,
            None => self.allocated(&mut blocks, kind, wanted)?,
        };
        let at = block.at;
        blocks.used.insert(at, block);
        Some(at)
    }

    /// A new block, in the calling thread's context. If there is no memory, frees all blocks that the library has freed,
    /// after their work, and tries again.
    fn allocated(&self, blocks: &mut Blocks, kind: MemoryKind, bytes: usize) -> Option<Block> {
        let made = allocate(kind, bytes).or_else(|_| {
            for (block, _) in blocks.free.extract_if(.., |(_, rest)| rest.wait()) {
                self.release(&block);
            }
            allocate(kind, bytes)
        });
        match made {
            Ok(at) => {
                self.meter.took(kind, bytes);
                Some(Block { at, bytes, kind })
            }
            Err(error) => {
                blocks.lack = Some(lacking(kind, bytes, error));
                None
            }
        }
    }

    /// Frees a block that nothing uses.
    fn release(&self, block: &Block) {
        let freed = match block.kind {
            // SAFETY: allocated by `allocate`, freed once, and nothing uses it.
            MemoryKind::Device => unsafe { result::free_sync(block.at as u64) },
            // SAFETY: as above.
            MemoryKind::Pinned => unsafe { result::free_host(block.at as *mut c_void) },
        };
        if freed.is_ok() {
            self.meter.gave(block.kind, block.bytes);
        }
    }

    /// Takes a block back. False if it is none of this pool's.
    ///
    /// # Safety
    /// The stream is a special one, or alive.
    unsafe fn give(&self, at: usize, stream: u64) -> bool {
        let mut blocks = self.blocks();
        let Some(block) = blocks.used.remove(&at) else { return false };
        // The null stream and its like stand for no stream: the library frees outside of any work.
        let rest = if stream <= 2 {
            Rest::Now
        } else {
            // SAFETY: by this function's contract.
            let event = unsafe { self.behind(stream) };
            event.map_or(Rest::Never, |event| Rest::After(event, blocks.turn))
        };
        blocks.free.push((block, rest));
        true
    }

    /// An event behind the work that is in a stream.
    ///
    /// # Safety
    /// The stream is alive.
    unsafe fn behind(&self, stream: u64) -> Option<DecoderEvent> {
        let _entered = self.context.enter()?;
        let event = DecoderEvent::new(self.context)?;
        // SAFETY: by this function's contract.
        unsafe { event.set(stream) }.then_some(event)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        let Some(_entered) = self.context.enter() else { return };
        let blocks = std::mem::take(&mut *self.blocks());
        let free = blocks.free.into_iter().map(|(block, _)| block);
        blocks.used.into_values().chain(free).for_each(|block| self.release(&block));
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blocks = self.blocks();
        write!(f, "Pool({} used, {} free)", blocks.used.len(), blocks.free.len())
    }
}

/// The size of a block for so many bytes.
fn rounded(bytes: usize) -> usize {
    if bytes > LARGE {
        bytes.next_multiple_of(LARGE / 4)
    } else {
        bytes.next_power_of_two().max(LEAST)
    }
}

/// Whether a block of so many bytes serves a request: at least half of it is used.
fn serves(bytes: usize, wanted: usize) -> bool {
    (wanted..=2 * wanted).contains(&bytes)
}

/// Allocates in the calling thread's context.
fn allocate(kind: MemoryKind, bytes: usize) -> Result<usize, DriverError> {
    match kind {
        // SAFETY: returns an address.
        MemoryKind::Device => unsafe { result::malloc_sync(bytes) }.map(|at| at as usize),
        MemoryKind::Pinned => {
            // Visible to all contexts.
            let flags = sys::CU_MEMHOSTALLOC_PORTABLE;
            // SAFETY: as above.
            unsafe { result::malloc_host(bytes, flags) }.map(|at| at as usize)
        }
    }
}

/// The message for an allocation that failed.
fn lacking(kind: MemoryKind, bytes: usize, error: DriverError) -> Message {
    match (kind, Shortage::of_driver(bytes, error)) {
        (MemoryKind::Device, Some(shortage)) => shortage.message("nvJPEG"),
        (MemoryKind::Device, None) => {
            let said = DriverMessage(error);
            message!("allocating {bytes} bytes of device memory failed: {said}")
        }
        (MemoryKind::Pinned, _) => {
            let said = DriverMessage(error);
            message!("allocating {bytes} bytes of pinned memory failed: {said}")
        }
    }
}

/// `tDevMallocV2`.
///
/// # Safety
/// The library passes a pool that is alive and a place for the address.
unsafe extern "C" fn take_device(
    pool: *mut c_void,
    at: *mut *mut c_void,
    bytes: usize,
    _: RawHandle,
) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { taken(pool, at, bytes, MemoryKind::Device) }
}

/// `tPinnedMallocV2`.
///
/// # Safety
/// As for [`take_device`].
unsafe extern "C" fn take_pinned(
    pool: *mut c_void,
    at: *mut *mut c_void,
    bytes: usize,
    _: RawHandle,
) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { taken(pool, at, bytes, MemoryKind::Pinned) }
}

/// # Safety
/// As for [`take_device`].
unsafe fn taken(pool: *mut c_void, at: *mut *mut c_void, bytes: usize, kind: MemoryKind) -> c_int {
    // SAFETY: by this function's contract.
    let pool = unsafe { &*pool.cast_const().cast::<Pool>() };
    let Some(address) = pool.take(kind, bytes) else { return NO_MEMORY };
    // SAFETY: by this function's contract.
    unsafe { at.write(address as *mut c_void) };
    0
}

/// `tDevFreeV2` and `tPinnedFreeV2`.
///
/// # Safety
/// The library passes a pool that is alive and a stream that is alive, or none.
unsafe extern "C" fn give(
    pool: *mut c_void,
    at: *mut c_void,
    _: usize,
    stream: RawHandle,
) -> c_int {
    if at.is_null() {
        return 0;
    }
    // SAFETY: by this function's contract.
    let pool = unsafe { &*pool.cast_const().cast::<Pool>() };
    // SAFETY: by this function's contract.
    let known = unsafe { pool.give(at as usize, stream as u64) };
    if known { 0 } else { INVALID }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_so_that_a_little_more_fits() {
        let sizes = [1, LEAST, LEAST + 1, 1 << 20, (1 << 20) + 1, LARGE, LARGE + 1, 100 << 20];
        let expected = [LEAST, LEAST, 2 * LEAST, 1 << 20, 2 << 20, LARGE, 80 << 20, 112 << 20];
        assert_eq!(sizes.map(rounded), expected);
    }
}
