//! Limits on the memory of this process: what its allocator gave, and what the system counts.
//!
//! The allocator refuses what exceeds the limit, so that no false length takes the machine's memory. It does not see C
//! libraries; the system's number does.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// The most bytes of one block, of all blocks and of the process.
const LIMIT: usize = 256 << 20;

struct Limited;

/// Bytes of all blocks.
static NOW: AtomicUsize = AtomicUsize::new(0);
/// The most bytes that were asked for since [`begin`].
static PEAK: AtomicUsize = AtomicUsize::new(0);

impl Limited {
    /// Counts a block; returns false, and counts nothing, if it exceeds the limit.
    fn takes(block: Layout) -> bool {
        let now = NOW.fetch_add(block.size(), SeqCst).saturating_add(block.size());
        PEAK.fetch_max(now, SeqCst);
        if now > LIMIT {
            NOW.fetch_sub(block.size(), SeqCst);
        }
        now <= LIMIT
    }
}

// SAFETY: every call is passed to the system's allocator unchanged, or fails. Memory that grows counts as old and new side
// by side.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, block: Layout) -> *mut u8 {
        if !Limited::takes(block) {
            return null_mut();
        }
        // SAFETY: as the caller promised.
        unsafe { System.alloc(block) }
    }

    unsafe fn alloc_zeroed(&self, block: Layout) -> *mut u8 {
        if !Limited::takes(block) {
            return null_mut();
        }
        // SAFETY: as the caller promised.
        unsafe { System.alloc_zeroed(block) }
    }

    unsafe fn dealloc(&self, at: *mut u8, block: Layout) {
        NOW.fetch_sub(block.size(), SeqCst);
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(at, block) }
    }
}

#[global_allocator]
static LIMITED: Limited = Limited;

/// Forgets the peak of the last input.
pub(crate) fn begin() {
    PEAK.store(NOW.load(SeqCst), SeqCst);
}

/// Compares with the limit the most bytes that were allocated since [`begin`], and the most bytes that the process has
/// ever had in memory. An error states both.
pub(crate) fn check() -> Result<(), String> {
    let peak = PEAK.load(SeqCst);
    let resident = resident();
    if peak > LIMIT || resident > LIMIT {
        return Err(format!("{peak} bytes allocated, {resident} resident, of {LIMIT}"));
    }
    Ok(())
}

/// Returns the most bytes that this process had in memory.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}
