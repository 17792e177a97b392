//! Packing, writing, exporting and verifying.

pub(super) mod append;
pub(super) mod chats;
pub(super) mod export;
pub(super) mod integrity;
pub(super) mod outputs;
pub(super) mod pack;
pub(super) mod packing;
pub(super) mod packing_words;
pub(super) mod reshard;
pub(super) mod sidecar;
pub(super) mod verifying;
pub(super) mod writer;
