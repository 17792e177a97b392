//! Hybrid decoding of JPEGs: which ones the device decodes, and the rows that host and device share.
//!
//! Calls the device only through the trait [`JpegDecoder`](jpeg_decoder).

pub mod balance;
#[doc(hidden)]
pub mod jpeg_decoder;
pub(crate) mod request;
pub(crate) mod row;
#[doc(hidden)]
pub mod support;
