//! decode::resident

pub(crate) mod jpeg;
pub(crate) mod picture;
pub(crate) mod row;
