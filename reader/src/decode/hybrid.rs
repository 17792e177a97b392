//! JPEGs that host and device share: which ones the device decodes, and the rows that either can fill.
//!
//! Calls the device through the trait [`JpegDecoder`](jpeg_decoder) alone.

pub mod balance;
#[doc(hidden)]
pub mod jpeg_decoder;
pub(crate) mod request;
pub(crate) mod row;
#[doc(hidden)]
pub mod support;
