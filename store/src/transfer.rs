//! Objects: reads of ranges, downloads into files, uploads in parts.

pub(super) mod download;
pub(super) mod object;
pub(super) mod upload;
