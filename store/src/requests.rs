//! HTTP clients, and the counters of their requests.

pub(super) mod client;
pub(super) mod connector;
pub(super) mod metrics;
