//! Folders: reads the names in them and groups them into samples.

pub(crate) mod group;
pub(crate) mod listing;
pub(crate) mod refusal;
pub(crate) mod tables;
pub mod walk;
