//! How a data set is named, found and opened.

pub(super) mod access;
pub(super) mod arrays;
pub(crate) mod braces;
pub(crate) mod check;
pub(super) mod from_bytes;
pub(crate) mod pattern;
pub(crate) mod sidecars;
