//! Whole epochs of the loader, as sentences.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::expect_used)]

mod api;
mod bad;
mod causes;
mod columns;
mod empty_shards;
mod endings;
mod excerpts;
mod fallback;
mod false_claims;
pub(crate) mod harness;
mod large;
mod machine;
mod orders;
mod oversize;
pub(crate) mod photos;
mod pictures;
mod points;
mod replaced;
mod resume;
mod selected;
mod shards;
mod truth;
mod whole;
