//! How long a signed URL can be used, by its own query.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::NaiveDateTime;
use reqwest::Url;

/// A URL that does not say when it expires is used for so long.
const UNDATED: Duration = Duration::from_secs(300);
/// A URL is not used in the last seconds of its life: the request must arrive, too.
const EARLY: Duration = Duration::from_secs(20);
/// Longer lives are cut: URLs may be withdrawn.
const LONGEST: Duration = Duration::from_secs(6 * 3600);

/// The time from `now` in which `url` can be used.
pub(crate) fn life(url: &Url, now: SystemTime) -> Duration {
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    match end_of_signature(url, now).or_else(|| end_of_policy(url)) {
        Some(end) => {
            Duration::from_secs(end.saturating_sub(now)).saturating_sub(EARLY).min(LONGEST)
        }
        None => UNDATED,
    }
}

/// The second since 1970 in which a signature expires that has a date and a life; without a date, it is of `now`.
fn end_of_signature(url: &Url, now: u64) -> Option<u64> {
    let life: u64 = value(url, ["X-Amz-Expires", "X-Goog-Expires"])?.parse().ok()?;
    let signed = value(url, ["X-Amz-Date", "X-Goog-Date"]).and_then(|text| seconds(&text));
    Some(signed.unwrap_or(now) + life)
}

/// The second since 1970 in which a signed policy expires.
fn end_of_policy(url: &Url) -> Option<u64> {
    value(url, ["Expires", "expires"])?.parse().ok()
}

/// The value of the first of these parameters in the query.
fn value(url: &Url, names: [&str; 2]) -> Option<String> {
    let mut pairs = url.query_pairs();
    pairs.find(|(name, _)| names.contains(&&**name)).map(|(_, value)| value.into_owned())
}

/// Seconds since 1970 of `20261102T120000Z`.
fn seconds(text: &str) -> Option<u64> {
    let time = NaiveDateTime::parse_from_str(text, "%Y%m%dT%H%M%SZ").ok()?;
    time.and_utc().timestamp().try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_says_how_long() {
        let now = UNIX_EPOCH + Duration::from_secs(1_793_620_800); // 2026-11-02 12:00
        let left = |query: &str| {
            life(&Url::parse(&format!("https://cdn/x?{query}")).unwrap(), now).as_secs()
        };
        assert_eq!(left("X-Amz-Date=20261102T120000Z&X-Amz-Expires=3600&X-Amz-Signature=s"), 3580);
        assert_eq!(left("X-Amz-Date=20261102T113000Z&X-Amz-Expires=3600"), 1780);
        assert_eq!(left("X-Amz-Expires=3600"), 3580);
        assert_eq!(left("Expires=1793620900&Policy=p&Signature=s"), 80);
        assert_eq!(left("Expires=1793620000"), 0);
        assert_eq!(left("X-Amz-Date=20261101T120000Z&X-Amz-Expires=3600"), 0);
        assert_eq!(left("X-Amz-Expires=604800"), 6 * 3600);
        assert_eq!(left("sig=1"), 300);
        assert_eq!(left("X-Amz-Expires=soon"), 300);
    }
}
