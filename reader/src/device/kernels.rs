//! device::kernels

pub mod args;
pub mod launch;
