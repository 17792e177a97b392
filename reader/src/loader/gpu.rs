//! Loaders whose batches go to a device: the device's part of the columns' work, resident data sets, and their epochs.

pub(crate) mod bad_rows;
pub(crate) mod columns;
pub(crate) mod device_pictures;
pub(crate) mod division;
pub(crate) mod epoch;
pub(crate) mod hybrid_decode;
pub(crate) mod loader;
pub(crate) mod placement;
pub(crate) mod resident_decode;
pub(crate) mod resident_preload;
pub(crate) mod state;
pub(crate) mod transform_balance;
