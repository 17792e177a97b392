//! How a plan is run. Nothing here changes the bytes of a shard.

use std::path::PathBuf;

use tarflume_formats::shard::Durability;

use crate::check::CheckLevel;
use crate::quarantine::Policy;

/// How closely files are looked at while they are packed.
#[derive(Debug, Clone, Copy)]
pub struct Checks {
    /// Of their content.
    pub level: CheckLevel,
    /// Of their modification times; sizes are always compared.
    pub times: bool,
}

/// How a plan is run.
#[derive(Debug)]
pub struct RunOptions {
    /// What is looked at.
    pub checks: Checks,
    /// What is done about problems.
    pub policy: Policy,
    /// Threads that pack.
    pub jobs: usize,
    /// Whether shards survive a power cut.
    pub durability: Durability,
    /// The source folders, in the order of the plan.
    pub roots: Vec<PathBuf>,
}
