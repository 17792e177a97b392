//! `Pool`: the memory with which libnvjpeg works, which it allocates and frees through functions of this file.
//!
//! Blocks that the library frees are kept for what it allocates next, because allocating and freeing may wait for the
//! whole device. The library frees and allocates when it is initialized for another number of pictures, as a share of the
//! pictures of a batch has. Sizes are rounded up, so that pictures that are a little larger fit, too.
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

use cudarc::driver::{DriverError, result};
use tarflume_formats::IgnorePoison;

use super::context::{Context, DecoderEvent};
use super::symbols::{RawAllocator, RawHandle};
use crate::device::call_scope::DriverMessage;
use crate::device::room::meter::{MemoryKind, MemoryMeter};
use crate::device::room::shortage::Shortage;

/// `CU_MEMHOSTALLOC_PORTABLE`: visible to all contexts.
const PORTABLE: u32 = 1;

/// The smallest block in bytes, and the size up to which blocks are powers of two.
const LEAST: usize = 64 << 10;
const LARGE: usize = 64 << 20;

/// `cudaErrorInvalidValue` and `cudaErrorMemoryAllocation`.
const INVALID: c_int = 1;
const NO_MEMORY: c_int = 2;

/// When a block may be used again.
enum Rest {
    Now,
    After(DecoderEvent),
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
    free: Vec<(Block, Rest)>,
    /// Why the last block could not be allocated.
    lack: Option<String>,
}

impl Blocks {
    /// The number of a free block of this size that may be used again.
    fn rested(&self, kind: MemoryKind, bytes: usize) -> Option<usize> {
        let mut free = self.free.iter();
        free.position(|(block, rest)| block.kind == kind && block.bytes == bytes && rest.is_over())
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
            Rest::After(event) => event.is_reached(),
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

    /// Why the last block could not be allocated; once.
    pub(super) fn lack(&self) -> Option<String> {
        self.blocks().lack.take()
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
            Some(found) => blocks.free.swap_remove(found).0,
            None => self.allocated(&mut blocks, kind, wanted)?,
        };
        let at = block.at;
        blocks.used.insert(at, block);
        Some(at)
    }

    /// A new block, in the calling thread's context. If there is no memory, frees blocks that nothing uses and tries again.
    fn allocated(&self, blocks: &mut Blocks, kind: MemoryKind, bytes: usize) -> Option<Block> {
        let made = allocate(kind, bytes).or_else(|_| {
            for (block, _) in blocks.free.extract_if(.., |(_, rest)| rest.is_over()) {
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
            unsafe { self.behind(stream) }.map_or(Rest::Never, Rest::After)
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

/// Allocates in the calling thread's context.
fn allocate(kind: MemoryKind, bytes: usize) -> Result<usize, DriverError> {
    match kind {
        // SAFETY: returns an address.
        MemoryKind::Device => unsafe { result::malloc_sync(bytes) }.map(|at| at as usize),
        // SAFETY: as above.
        MemoryKind::Pinned => unsafe { result::malloc_host(bytes, PORTABLE) }.map(|at| at as usize),
    }
}

/// The message for an allocation that failed.
fn lacking(kind: MemoryKind, bytes: usize, error: DriverError) -> String {
    let shortage = Shortage::of_driver(bytes, error).filter(|_| kind == MemoryKind::Device);
    shortage.map_or_else(
        || format!("allocating {bytes} bytes of {kind:?} memory failed: {}", DriverMessage(error)),
        |shortage| shortage.of("nvJPEG").text().to_string(),
    )
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
