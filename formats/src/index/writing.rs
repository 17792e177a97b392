//! Encodes a sidecar.

pub(super) mod blobs;
pub(super) mod build;
