//! Packing, writing, exporting and verifying.

pub(super) mod append;
pub(super) mod chats;
pub(super) mod chosen_rules;
pub(super) mod export;
pub(super) mod outputs;
pub(super) mod pack;
pub(super) mod packing;
pub(super) mod packing_words;
pub(super) mod reshard;
pub(super) mod scope;
pub(super) mod sidecar;
pub(super) mod writer;
