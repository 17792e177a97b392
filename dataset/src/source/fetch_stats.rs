//! `FetchStats`: counters of requests to a store. Data alone.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};
use tarflume_types::seconds;

use crate::source::price::Price;

/// Counters of a data set in a store, since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
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
    #[serde(rename = "first_byte_p50_s", serialize_with = "seconds")]
    pub first_byte_p50: Duration,
    /// 95 % of the answers began within this time.
    #[serde(rename = "first_byte_p95_s", serialize_with = "seconds")]
    pub first_byte_p95: Duration,
    /// The cache of this machine; `None` if none is used.
    pub cache: Option<CacheStats>,
    /// What the requests and the retrieval of the bytes cost at list price, in 10^-9 USD; `None` if the price is not
    /// known, as with an endpoint of your own. Transfer is not counted: it is free within the region of the bucket.
    #[serde(rename = "usd", serialize_with = "usd")]
    pub nano_usd: Option<u64>,
}

/// Writes 10^-9 USD as USD.
fn usd<S: Serializer>(nano: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    nano.map(|nano| nano as f64 / 1e9).serialize(serializer)
}

impl FetchStats {
    /// [`FetchStats::nano_usd`] in USD.
    ///
    /// ```
    /// use tarflume::FetchStats;
    ///
    /// assert_eq!(FetchStats::default().usd(), None);
    /// ```
    pub fn usd(&self) -> Option<f64> {
        self.nano_usd.map(|nano| nano as f64 / 1e9)
    }

    /// Sets what the requests cost at this price.
    #[cfg_attr(not(feature = "remote"), allow(dead_code))]
    pub(crate) fn priced(self, price: Option<&Price>) -> FetchStats {
        let cost = price.map(|price| price.cost(self.requests, self.bytes));
        let nano = cost.map(|cost| ((cost.requests + cost.retrieval) * 1e9).round() as u64);
        FetchStats { nano_usd: nano, ..self }
    }
}

/// What one process did with the cache of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct CacheStats {
    /// Bytes of the cache's file.
    pub bytes: u64,
    /// Reads that the cache answered.
    pub hits: u64,
    /// Bytes of these reads.
    pub hit_bytes: u64,
    /// Reads of blocks that it should keep and did not have yet.
    pub misses: u64,
    /// Blocks of 1 MiB that were written.
    pub fills: u64,
    /// Blocks that were replaced by others.
    pub evictions: u64,
    /// Blocks that were dropped because their bytes were wrong.
    pub damaged: u64,
    /// Errors of the disk.
    pub errors: u64,
}

impl CacheStats {
    /// The sum of the counters of two data sets that use the same cache.
    pub(crate) fn plus(self, other: CacheStats) -> CacheStats {
        CacheStats {
            bytes: self.bytes.max(other.bytes),
            hits: self.hits + other.hits,
            hit_bytes: self.hit_bytes + other.hit_bytes,
            misses: self.misses + other.misses,
            fills: self.fills + other.fills,
            evictions: self.evictions + other.evictions,
            damaged: self.damaged + other.damaged,
            errors: self.errors + other.errors,
        }
    }
}

impl fmt::Display for CacheStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CacheStats { hits, misses, fills, evictions, damaged, errors, .. } = self;
        let megabytes = self.hit_bytes as f64 / 1e6;
        let size = self.bytes as f64 / (1 << 30) as f64;
        write!(f, "cache of {size:.1} GiB: {hits} hits, {megabytes:.1} MB, {misses} misses, ")?;
        write!(
            f,
            "{fills} blocks written, {evictions} replaced, {damaged} damaged, {errors} errors"
        )
    }
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
        write!(f, "{most:.0} ms (95 %)")?;
        if let Some(usd) = self.usd() {
            write!(f, "; {usd:.4} USD at list price, free transfer within the region")?;
        }
        self.cache.map_or(Ok(()), |cache| write!(f, "; {cache}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_requests_cost_is_shown_if_the_price_is_known() {
        let stats = FetchStats { requests: 250_000, bytes: 10 << 30, ..FetchStats::default() };
        let priced = stats.priced(Price::named("s3-standard"));
        assert_eq!((priced.nano_usd, priced.usd()), (Some(100_000_000), Some(0.1)));
        let text = priced.to_string();
        assert!(
            text.ends_with("; 0.1000 USD at list price, free transfer within the region"),
            "{text}"
        );
        let unknown = stats.priced(None);
        assert_eq!(unknown.usd(), None);
        assert!(!unknown.to_string().contains("USD"));
    }
}
