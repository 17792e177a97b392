//! What commands say.

pub(super) mod all_problems;
pub(super) mod help;
pub(super) mod manuals;
pub(super) mod misplaced;
pub(super) mod outputs;
pub(super) mod remedies;
pub(super) mod rust_pages;
pub(super) mod terminal;
