//! What is looked up before the batches that need it are planned, and how far ahead.

pub(crate) mod reach;
pub(crate) mod readahead;
