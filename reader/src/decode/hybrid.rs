//! Hybrid decoding of JPEGs: which ones the device decodes, and the rows that host and device share.
//!
//! Calls the device only through the trait [`JpegDecoder`](tarflume_device::jpeg_decoder::JpegDecoder).

pub(crate) mod balance;
pub(crate) mod pictures;
pub(crate) mod request;
pub(crate) mod row;
pub(crate) mod sharing;
