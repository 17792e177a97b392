//! `MemoryMeter`: counts what is allocated on a device and pinned for it. Allocates nothing.

use std::sync::atomic::{AtomicU64, Ordering};

/// The kind of a block of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryKind {
    /// Memory of the device.
    Device,
    /// Page-locked memory of the host.
    Pinned,
}

/// What was allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryCounts {
    /// Allocations of device memory and of pinned memory, those that were freed included.
    pub allocations: u64,
    /// Bytes of device memory that are held.
    pub device_bytes: u64,
    /// Bytes of pinned host memory that are held.
    pub pinned_bytes: u64,
}

/// Counters, for any thread.
#[derive(Debug, Default)]
pub struct MemoryMeter {
    allocations: AtomicU64,
    device: AtomicU64,
    pinned: AtomicU64,
}

impl MemoryMeter {
    fn held(&self, kind: MemoryKind) -> &AtomicU64 {
        match kind {
            MemoryKind::Device => &self.device,
            MemoryKind::Pinned => &self.pinned,
        }
    }

    /// Counts an allocation.
    pub fn took(&self, kind: MemoryKind, bytes: usize) {
        self.allocations.fetch_add(1, Ordering::Relaxed);
        self.held(kind).fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts a block that was freed.
    pub fn gave(&self, kind: MemoryKind, bytes: usize) {
        self.held(kind).fetch_sub(bytes as u64, Ordering::Relaxed);
    }

    /// The counters.
    pub fn counts(&self) -> MemoryCounts {
        MemoryCounts {
            allocations: self.allocations.load(Ordering::Relaxed),
            device_bytes: self.device.load(Ordering::Relaxed),
            pinned_bytes: self.pinned.load(Ordering::Relaxed),
        }
    }
}
