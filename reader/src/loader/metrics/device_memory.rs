//! `DeviceMemoryStats`: what a loader allocated on its device.

use std::fmt;

use serde::Serialize;

/// What a loader allocated on its device and pinned for it.
///
/// ```no_run
/// use tarflume::{Device, Loader};
///
/// # fn main() -> tarflume::Result<()> {
/// let loader = Loader::builder("shards/").bytes("bin").device(Device::cuda(0)?).build()?;
/// loader.epoch(0).for_each(drop);
/// if let Some(memory) = loader.stats().device_memory {
///     println!("{} bytes, {} allocations after the warm-up", memory.bytes, memory.late_allocations);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct DeviceMemoryStats {
    /// Bytes of device memory that are held: slots, resident data, the JPEG decoder's memory.
    pub bytes: u64,
    /// Bytes of pinned host memory that are held.
    pub pinned_bytes: u64,
    /// Allocations of device memory and of pinned memory. Loaders of one [`Device`](crate::Device) are counted together.
    pub allocations: u64,
    /// Those of them that came after the warm-up, which ends when each slot was filled and two more batches were uploaded.
    /// Allocating may wait for the device. More than a few mean that the consumer holds batches, so that the ring grows, or
    /// that the JPEG decoder met larger pictures, or more of them, than before,
    /// or that another loader of this device was built.
    pub late_allocations: u64,
}

impl fmt::Display for DeviceMemoryStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [bytes, pinned] = [self.bytes, self.pinned_bytes].map(|bytes| bytes as f64 / 1e6);
        write!(
            f,
            "Memory of the device: {bytes:.1} MB, and {pinned:.1} MB pinned; {} allocations, {} after the warm-up",
            self.allocations, self.late_allocations
        )
    }
}
