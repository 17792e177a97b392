//! decode::hybrid

pub mod balance;
#[doc(hidden)]
pub mod jpeg_decoder;
pub(crate) mod request;
pub(crate) mod row;
#[doc(hidden)]
pub mod support;
