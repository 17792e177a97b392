//! Hybrid decoding of JPEGs: which ones the device decodes, and the rows that host and device share.
//!
//! Calls the device only through the trait [`JpegDecoder`](jpeg_decoder).

pub(crate) mod balance;
#[doc(hidden)]
pub(crate) mod jpeg_decoder;
pub(crate) mod request;
pub(crate) mod row;
#[doc(hidden)]
pub(crate) mod support;
