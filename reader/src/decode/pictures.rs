//! Columns of pictures, on the host.

pub(crate) mod annotations;
pub(crate) mod fallback;
pub(crate) mod image;
pub(crate) mod in_buckets;
pub(super) mod open_picture;
pub(crate) mod patches;
pub(super) mod picture_decoder;
