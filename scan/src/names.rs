//! Names of files: what is a sample's key, what is its extension, and what is left out.

pub mod exclude;
pub mod exclude_list;
pub mod exts;
pub mod file_glob;
pub(crate) mod fitted;
pub mod natural;
pub mod rules;
