//! `Block`: the bytes that a slab stands in, of our own or lent by whoever copies them elsewhere.
//!
//! A room with unsafe code. What it relies on, and why it holds:
//! - ranges lie inside their block: each is asked for before it is made a slice;
//! - bytes are initialized: our own are allocated zeroed, foreign ones by the promise of [`Foreign`];
//! - who reads and who writes is the promise of the callers, `Slab`'s rules.

use std::alloc::{self, Layout as Shape};
use std::fmt;
use std::ptr::NonNull;

use crate::error::{Error, ErrorKind, Result};

/// Blocks begin on a page, as copies to other devices like it.
const ALIGN: usize = 4096;
/// From this many bytes on, huge pages are asked for.
const HUGE: usize = 4 << 20;

/// Memory that somebody else gave, for as long as this value lives.
///
/// # Safety
/// `length` bytes from `start` on are initialized memory that nobody else reads or writes, at the same
/// address until the value is dropped; or another device reads it, while the slab is sealed.
pub(crate) unsafe trait Foreign: Send + Sync + fmt::Debug {
    /// Its first byte.
    fn start(&self) -> NonNull<u8>;
    /// Its bytes.
    fn length(&self) -> usize;
}

/// Where a device likes the memory to be that it copies from.
pub(crate) trait HostMemory: Send + Sync + fmt::Debug {
    /// So many bytes; `None` if there are none of the kind: any memory will do.
    fn block(&self, bytes: usize) -> Option<Box<dyn Foreign>>;
}

/// Initialized memory of a fixed length, aligned to a page if it is our own.
#[derive(Debug)]
pub(super) struct Block {
    start: NonNull<u8>,
    length: usize,
    from: From,
}

#[derive(Debug)]
enum From {
    /// What the allocator gave: [`ALIGN`] bytes more.
    Allocator(NonNull<u8>),
    Foreign(#[allow(dead_code)] Box<dyn Foreign>), // kept for its drop
}

// SAFETY: a block owns its memory, as a `Box<[u8]>` does; who may touch what is said by `Slab`.
unsafe impl Send for Block {}
// SAFETY: as above; a shared block hands out nothing but through `Slab`'s rules.
unsafe impl Sync for Block {}

impl Block {
    pub(super) fn new(length: usize) -> Result<Block> {
        if length == 0 {
            let nothing = NonNull::dangling();
            return Ok(Block { start: nothing, length, from: From::Allocator(nothing) });
        }
        let refused = || {
            let text =
                format!("the system gives no {length} bytes for a batch; make batches smaller");
            Error::new(ErrorKind::Limit, text)
        };
        let shape = Block::shape(length).ok_or_else(refused)?;
        // SAFETY: the shape's size is not zero.
        let base = NonNull::new(unsafe { alloc::alloc_zeroed(shape) }).ok_or_else(refused)?;
        // SAFETY: the next multiple of ALIGN lies at most ALIGN - 1 bytes on, inside the allocation.
        let start = unsafe { base.add(base.align_offset(ALIGN)) };
        if length >= HUGE {
            // Fewer page faults while the memory is new. A hint: refused, it changes nothing.
            // SAFETY: whole pages of this allocation, page-aligned, and no advice that drops content.
            let _ = unsafe {
                rustix::mm::madvise(
                    start.as_ptr().cast(),
                    length / ALIGN * ALIGN,
                    rustix::mm::Advice::LinuxHugepage,
                )
            };
        }
        Ok(Block { start, length, from: From::Allocator(base) })
    }

    pub(super) fn foreign(foreign: Box<dyn Foreign>) -> Block {
        let (start, length) = (foreign.start(), foreign.length());
        Block { start, length, from: From::Foreign(foreign) }
    }

    /// Its bytes.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// What is asked of the allocator: with an alignment that it has of itself, so that it takes fresh
    /// zeros from the system and doesn't write them itself.
    fn shape(length: usize) -> Option<Shape> {
        Shape::from_size_align(length.checked_add(ALIGN)?, 16).ok()
    }

    /// # Safety
    /// For as long as the result lives nobody writes these bytes.
    pub(super) unsafe fn read(&self, start: usize, length: usize) -> &[u8] {
        assert!(start.checked_add(length).is_some_and(|end| end <= self.length));
        // SAFETY: the range lies inside the block (just asked).
        let at = unsafe { self.start.add(start) };
        // SAFETY: initialized memory of this block; the caller keeps writers away.
        unsafe { std::slice::from_raw_parts(at.as_ptr(), length) }
    }

    /// # Safety
    /// For as long as the result lives nobody else reads or writes these bytes.
    #[allow(clippy::mut_from_ref)] // that is the caller's promise
    pub(super) unsafe fn write(&self, start: usize, length: usize) -> &mut [u8] {
        assert!(start.checked_add(length).is_some_and(|end| end <= self.length));
        // SAFETY: the range lies inside the block (just asked).
        let at = unsafe { self.start.add(start) };
        // SAFETY: initialized memory of this block; the caller keeps all others away.
        unsafe { std::slice::from_raw_parts_mut(at.as_ptr(), length) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let shape = Block::shape(self.length);
        if let (1.., From::Allocator(base), Some(shape)) = (self.length, &self.from, shape) {
            // SAFETY: allocated in `new` with this very shape, and dropped once.
            unsafe { alloc::dealloc(base.as_ptr(), shape) }
        }
    }
}
