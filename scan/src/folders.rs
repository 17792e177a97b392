//! Folders: reads the names in them and groups them into samples.

pub(crate) mod group;
pub(crate) mod listing;
mod recent_exts;
pub(crate) mod refusal;
pub(crate) mod tables;
pub mod walk;
