//! Proofs of the order as a whole, against a naive loader that has all in lists.
//!
//! Public words only; one file a promise.

#![allow(clippy::unwrap_used)]

#[path = "order/oracle.rs"]
mod oracle;

#[path = "order/buckets.rs"]
mod buckets;
#[path = "order/classes.rs"]
mod classes;
#[path = "order/golden.rs"]
mod golden;
#[path = "order/huge.rs"]
mod huge;
#[path = "order/ledger.rs"]
mod ledger;
#[path = "order/mixtures.rs"]
mod mixtures;
#[path = "order/packs.rs"]
mod packs;
#[path = "order/resume.rs"]
mod resume;
#[path = "order/shards.rs"]
mod shards;
#[path = "order/steps.rs"]
mod steps;
#[path = "order/stream.rs"]
mod stream;
