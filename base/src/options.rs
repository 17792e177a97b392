//! Options with one word for each value, and the texts of options.

pub(super) mod choice;
pub mod compress;
pub mod json_rules;
pub mod size;
pub mod split_names;
