//! Bad samples, failing machines, and shards that change or are empty.

mod bad;
mod causes;
mod empty_shards;
mod machine;
pub(crate) mod replaced;
