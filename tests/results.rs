//! What commands write.

pub(super) mod append;
pub(super) mod build;
pub(super) mod chats;
pub(super) mod columns;
pub(super) mod compressed;
pub(super) mod entry_points;
pub(super) mod export;
pub(super) mod manifest;
pub(super) mod prepare;
pub(super) mod reshard;
pub(super) mod strips;
pub(super) mod sync;
mod tokens;
