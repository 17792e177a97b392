//! `Block`: the bytes of a slab, allocated here or provided by a device.
//!
//! Contains unsafe code. What it relies on, and why it holds:
//! - ranges are inside their block: each is checked before it becomes a slice;
//! - bytes are initialized: own memory is allocated zeroed, foreign memory by the contract of [`ExternalMemory`];
//! - readers and writers are kept apart by the callers, by the rules of `Slab`, and in [`HostBytes`] by its borrows.

use std::alloc::{self, Layout as Shape};
use std::fmt;
use std::ptr::NonNull;

use tarflume_types::{Error, ErrorKind, Result};

/// Blocks begin on a page, which copies to devices prefer.
const ALIGN: usize = 4096;
/// Minimum size in bytes for requesting huge pages.
const HUGE: usize = 4 << 20;

/// Memory provided by another owner, valid for the lifetime of this value.
///
/// # Safety
/// `length` bytes from `start` are initialized memory at a fixed address until the value is dropped. Nothing else
/// reads or writes them, except that a device may read them while the slab is sealed or the [`HostBytes`] are shared.
pub unsafe trait ExternalMemory: Send + Sync + fmt::Debug {
    /// The first byte.
    fn start(&self) -> NonNull<u8>;
    /// The length in bytes.
    fn length(&self) -> usize;
}

/// An allocator of host memory that a device can copy from efficiently.
pub trait HostMemory: Send + Sync + fmt::Debug {
    /// A block of `bytes` bytes; `None` if none is available, in which case any memory will do.
    fn block(&self, bytes: usize) -> Option<Box<dyn ExternalMemory>>;
}

/// Memory from which a device copies, of one owner.
#[derive(Debug)]
pub struct HostBytes {
    block: Block,
}

impl HostBytes {
    /// `length` bytes, in `memory` if that provides a block.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`]: the allocation failed.
    pub(crate) fn in_memory(length: usize, memory: &dyn HostMemory) -> Result<HostBytes> {
        let foreign = memory.block(length).map(Block::foreign);
        Ok(HostBytes { block: foreign.map_or_else(|| Block::new(length), Ok)? })
    }

    /// All bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: only `bytes_mut` writes them, and `&mut` excludes this borrow.
        unsafe { self.block.read(0, self.block.length()) }
    }

    /// All bytes, for writing.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: `&mut self` excludes any other access to the block.
        unsafe { self.block.write(0, self.block.length()) }
    }
}

/// Initialized memory of a fixed length, aligned to a page if it is allocated here.
#[derive(Debug)]
pub(super) struct Block {
    start: NonNull<u8>,
    length: usize,
    owner: Owner,
}

#[derive(Debug)]
enum Owner {
    /// The pointer from the allocator, which is up to [`ALIGN`] bytes before `start`.
    Allocator(NonNull<u8>),
    /// Memory of another allocator, which its `Drop` frees.
    ExternalMemory { _memory: Box<dyn ExternalMemory> },
}

// SAFETY: a block owns its memory, as a `Box<[u8]>` does; `Slab` controls access.
unsafe impl Send for Block {}
// SAFETY: as above; a shared block is accessed only by the rules of `Slab`.
unsafe impl Sync for Block {}

impl Block {
    pub(super) fn new(length: usize) -> Result<Block> {
        if length == 0 {
            let nothing = NonNull::dangling();
            return Ok(Block { start: nothing, length, owner: Owner::Allocator(nothing) });
        }
        let shape = Block::shape(length).ok_or_else(|| refused(length))?;
        // SAFETY: the size is not zero.
        let base =
            NonNull::new(unsafe { alloc::alloc_zeroed(shape) }).ok_or_else(|| refused(length))?;
        // SAFETY: the next multiple of ALIGN is at most ALIGN - 1 bytes ahead, inside the allocation.
        let start = unsafe { base.add(base.align_offset(ALIGN)) };
        if length >= HUGE {
            // Reduces page faults while the memory is new. A hint: if refused, nothing changes.
            // SAFETY: whole pages of this allocation, and the advice does not drop content.
            let _ = unsafe {
                rustix::mm::madvise(
                    start.as_ptr().cast(),
                    length / ALIGN * ALIGN,
                    rustix::mm::Advice::LinuxHugepage,
                )
            };
        }
        Ok(Block { start, length, owner: Owner::Allocator(base) })
    }

    pub(super) fn foreign(foreign: Box<dyn ExternalMemory>) -> Block {
        let start = foreign.start();
        let length = foreign.length();
        Block { start, length, owner: Owner::ExternalMemory { _memory: foreign } }
    }

    /// The length in bytes.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// The request to the allocator, [`ALIGN`] bytes longer than the block. Its alignment is the allocator's
    /// natural one, because for a larger alignment `alloc_zeroed` would write the zeros itself instead of
    /// mapping fresh pages.
    fn shape(length: usize) -> Option<Shape> {
        Shape::from_size_align(length.checked_add(ALIGN)?, 16).ok()
    }

    /// # Safety
    /// No thread writes these bytes during the lifetime of the result.
    pub(super) unsafe fn read(&self, start: usize, length: usize) -> &[u8] {
        assert!(start.checked_add(length).is_some_and(|end| end <= self.length));
        // SAFETY: the range is inside the block (checked above).
        let at = unsafe { self.start.add(start) };
        // SAFETY: initialized memory of this block; the caller excludes writers.
        unsafe { std::slice::from_raw_parts(at.as_ptr(), length) }
    }

    /// # Safety
    /// No other code reads or writes these bytes during the lifetime of the result.
    #[allow(clippy::mut_from_ref)] // the caller guarantees exclusive access
    pub(super) unsafe fn write(&self, start: usize, length: usize) -> &mut [u8] {
        assert!(start.checked_add(length).is_some_and(|end| end <= self.length));
        // SAFETY: the range is inside the block (checked above).
        let at = unsafe { self.start.add(start) };
        // SAFETY: initialized memory of this block; the caller excludes all other access.
        unsafe { std::slice::from_raw_parts_mut(at.as_ptr(), length) }
    }
}

fn refused(length: usize) -> Error {
    let text = format!("cannot allocate {length} bytes for a batch; use a smaller batch size");
    Error::new(ErrorKind::Limit, text)
}

impl Drop for Block {
    fn drop(&mut self) {
        let shape = Block::shape(self.length);
        if let (1.., Owner::Allocator(base), Some(shape)) = (self.length, &self.owner, shape) {
            // SAFETY: allocated in `new` with the same shape, and dropped once.
            unsafe { alloc::dealloc(base.as_ptr(), shape) }
        }
    }
}
