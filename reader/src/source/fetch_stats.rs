//! `FetchStats`: counters of requests to a store. Data alone.

use std::fmt;
use std::time::Duration;

/// Counters of a data set in a store, since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct FetchStats {
    /// Requests that were sent.
    pub requests: u64,
    /// Requests that were answered with an error that may pass, or not at all. Each is repeated.
    pub retries: u64,
    /// Second requests for bytes that were late.
    pub hedges: u64,
    /// Answers that asked for a pause.
    pub throttled: u64,
    /// Bytes of shards and sidecars that were received.
    pub bytes: u64,
    /// Half of the answers began within this time.
    pub first_byte_p50: Duration,
    /// 95 % of the answers began within this time.
    pub first_byte_p95: Duration,
}

impl fmt::Display for FetchStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FetchStats { requests, retries, hedges, throttled, .. } = self;
        let megabytes = self.bytes as f64 / 1e6;
        let [half, most] =
            [self.first_byte_p50, self.first_byte_p95].map(|d| d.as_secs_f64() * 1e3);
        write!(
            f,
            "{requests} requests, {retries} repeated after errors, {hedges} repeated because they were late, "
        )?;
        write!(
            f,
            "{throttled} answers asked for a pause; {megabytes:.1} MB; first byte after {half:.0} ms (half), "
        )?;
        write!(f, "{most:.0} ms (95 %)")
    }
}
