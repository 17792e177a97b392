//! The allocations of checks of hostile parts: proportional to the picture, not to the file's
//! claims.
//!
//! A separate test binary, because it counts for the whole process.
#![allow(missing_docs, clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use tarflume_base::check::{CheckLevel, Content};
use tarflume_fixtures::{Bomb, bombs};

struct Counting;

static NOW: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed to the system's allocator unchanged. Memory that grows counts as
// old and new side by side.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, block: Layout) -> *mut u8 {
        let now = NOW.fetch_add(block.size() as u64, SeqCst) + block.size() as u64;
        PEAK.fetch_max(now, SeqCst);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(block) }
    }
    unsafe fn alloc_zeroed(&self, block: Layout) -> *mut u8 {
        let now = NOW.fetch_add(block.size() as u64, SeqCst) + block.size() as u64;
        PEAK.fetch_max(now, SeqCst);
        // SAFETY: as the caller promised.
        unsafe { System.alloc_zeroed(block) }
    }
    unsafe fn dealloc(&self, at: *mut u8, block: Layout) {
        NOW.fetch_sub(block.size() as u64, SeqCst);
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(at, block) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Limit on a check: the widest row of these pictures has 3 MB, of which a few are held.
const MOST: u64 = 128 << 20;

#[test]
fn no_check_allocates_what_a_file_claims() {
    let mut broken = Vec::new();
    for Bomb { name, good, bytes } in bombs() {
        // A frame of 200 million pixels is a valid picture, and needs that memory.
        if name.starts_with("gif: a frame") {
            continue;
        }
        for level in [CheckLevel::None, CheckLevel::Structure, CheckLevel::Decode] {
            let before = NOW.load(SeqCst);
            PEAK.store(before, SeqCst);
            let found = Content::Image.check(&bytes, level, Default::default());
            let taken = PEAK.load(SeqCst) - before;
            if taken > MOST || (good && found.is_err()) {
                broken.push(format!("{name}, {level:?}: {taken} bytes, {found:?}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
