//! The names of a build's objects below the prefix of the data set.

/// Everything that is deleted once the data set is published.
pub(super) const WORK: &str = ".pack/";
/// The plan.
pub(super) const PLAN: &str = ".pack/plan";
/// The handling of problems.
pub(super) const POLICY: &str = ".pack/policy";
/// Notes of uploads in parts.
pub(super) const UPLOADS: &str = ".pack/uploads/";
/// Records of finished shards.
pub(super) const RECORDS: &str = ".pack/records/";
/// Claims of shards that a machine is packing.
pub(super) const CLAIMS: &str = ".pack/claims/";
/// The object with which conditional writes are tried.
pub(super) const PROBE: &str = ".pack/probe";
/// The list of problems.
pub(super) const PROBLEMS: &str = "problems.jsonl";

/// The record of the shard `name`.
pub(super) fn record(name: &str) -> String {
    format!("{RECORDS}{name}")
}

/// The sidecar of the shard `name`.
pub(super) fn sidecar(name: &str) -> String {
    format!("{}.index", name.strip_suffix(".tar").unwrap_or(name))
}

/// The note of an upload of the object `name`; `attempt` makes it the caller's own.
pub(super) fn note(name: &str, attempt: &str) -> String {
    format!("{UPLOADS}{name}-{attempt}")
}
