//! The commands that make shards.

pub(super) mod append;
pub(super) mod build;
pub(super) mod chats;
pub(super) mod finalize;
pub(super) mod plan;
pub(super) mod reshard;
pub(super) mod run;
pub(super) mod scan;
pub(super) mod slurm;
pub(super) mod status;
pub(super) mod tokens;
