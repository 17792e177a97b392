//! The memory of a device: how much there is, what was taken of it, and the error if it is too little. Allocates nothing.

pub mod meter;
pub mod shortage;

/// The memory of a device, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceRoom {
    /// That no program uses.
    pub free: u64,
    /// All of it.
    pub total: u64,
}
