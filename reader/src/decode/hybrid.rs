//! JPEGs that host and device share: which ones the device decodes, and the rows that either can fill.
//!
//! Calls the device through the trait [`JpegDecoder`](jpeg_decoder) alone.

pub(crate) mod balance;
#[doc(hidden)]
pub(crate) mod jpeg_decoder;
pub(crate) mod request;
pub(crate) mod row;
#[doc(hidden)]
pub(crate) mod support;
