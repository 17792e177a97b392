//! `Price`: what a store charges for reading, at list price. A table and arithmetic; asks nobody.
//!
//! The one place of prices in this project. They are list prices of the date in [`Price::source`]: no discount, no free
//! tier, no tax. Storage is not counted.

use serde::Serialize;

/// Bytes of the GB of price lists.
const GB: f64 = (1u64 << 30) as f64;

/// What a store charges for reading.
///
/// ```
/// use tarflume::Price;
///
/// let price = Price::named("s3-standard").unwrap();
/// let cost = price.cost(1_281_167, 140 << 30); // an epoch of ImageNet, one request for each sample
/// assert_eq!(format!("{:.2}", cost.requests), "0.51");
/// assert_eq!(format!("{:.2}", cost.egress), "12.60"); // only if the bytes leave the region
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Price {
    /// `s3-standard`, for example.
    pub name: &'static str,
    /// Whose list it is, of which region and month.
    pub source: &'static str,
    /// USD for 1,000 requests that read.
    pub per_1000_requests: f64,
    /// USD for reading 2^30 bytes, wherever the reader is.
    pub retrieval_per_gb: f64,
    /// USD for 2^30 bytes that leave to the Internet. Bytes to machines of the same region are free.
    pub egress_per_gb: f64,
}

/// The prices that are known by name.
const PRICES: [Price; 5] = [
    Price {
        name: "s3-standard",
        source: "list price of Amazon S3 Standard, us-east-1, 2026-11",
        per_1000_requests: 0.0004,
        retrieval_per_gb: 0.0,
        egress_per_gb: 0.09,
    },
    Price {
        name: "s3-express",
        source: "list price of Amazon S3 Express One Zone, us-east-1, 2026-11",
        per_1000_requests: 0.00003,
        retrieval_per_gb: 0.0006,
        egress_per_gb: 0.09,
    },
    Price {
        name: "gcs-standard",
        source: "list price of Google Cloud Storage Standard, one US region, 2026-11",
        per_1000_requests: 0.0004,
        retrieval_per_gb: 0.0,
        egress_per_gb: 0.12,
    },
    Price {
        name: "azure-hot",
        source: "list price of Azure Blob Storage Hot LRS, East US, 2026-11",
        per_1000_requests: 0.0005,
        retrieval_per_gb: 0.0,
        egress_per_gb: 0.087,
    },
    Price {
        name: "r2-standard",
        source: "list price of Cloudflare R2 Standard, 2026-11",
        per_1000_requests: 0.00036,
        retrieval_per_gb: 0.0,
        egress_per_gb: 0.0,
    },
];

/// What some reading costs, in USD.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cost {
    /// The requests.
    pub requests: f64,
    /// The bytes, wherever the reader is.
    pub retrieval: f64,
    /// The same bytes, if they leave to the Internet; 0 within the region.
    pub egress: f64,
}

impl Price {
    /// All prices that are known by name.
    pub fn all() -> &'static [Price] {
        &PRICES
    }

    /// The price of this name.
    pub fn named(name: &str) -> Option<&'static Price> {
        PRICES.iter().find(|price| price.name == name)
    }

    /// The price of the usual class of the store of a URL; `None` for a store without requests that cost, or whose
    /// price is not known.
    ///
    /// ```
    /// use tarflume::Price;
    ///
    /// assert_eq!(Price::of_url("gs://bucket/set").map(|price| price.name), Some("gcs-standard"));
    /// assert!(Price::of_url("https://host/set").is_none());
    /// ```
    pub fn of_url(url: &str) -> Option<&'static Price> {
        let (scheme, _) = url.split_once("://")?;
        Price::named(match scheme {
            "s3" | "s3a" => "s3-standard",
            "gs" | "gcs" => "gcs-standard",
            "az" | "azure" | "abfs" => "azure-hot",
            _ => return None,
        })
    }

    /// What so many requests and bytes cost.
    pub fn cost(&self, requests: u64, bytes: u64) -> Cost {
        let gigabytes = bytes as f64 / GB;
        Cost {
            requests: requests as f64 / 1000.0 * self.per_1000_requests,
            retrieval: gigabytes * self.retrieval_per_gb,
            egress: gigabytes * self.egress_per_gb,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_price_is_found_by_its_name_and_says_where_it_is_from() {
        for price in Price::all() {
            assert_eq!(Price::named(price.name), Some(price));
            assert!(
                price.source.contains("list price") && price.source.contains("20"),
                "{price:?}"
            );
            assert!(price.per_1000_requests > 0.0);
        }
        assert_eq!(Price::named("s3"), None);
    }

    #[test]
    fn cost_grows_with_requests_and_bytes() {
        fn near(found: f64, expected: f64) {
            assert!((found - expected).abs() < 1e-12, "{found}")
        }

        let price = Price::named("s3-express").unwrap();
        let cost = price.cost(2_000_000, 5 << 30);
        near(cost.requests, 0.06);
        near(cost.retrieval, 0.003);
        near(cost.egress, 0.45);
        assert_eq!(price.cost(0, 0), Cost { requests: 0.0, retrieval: 0.0, egress: 0.0 });
    }

    #[test]
    fn a_url_tells_the_price_of_its_store() {
        fn name(url: &str) -> Option<&'static str> {
            Price::of_url(url).map(|price| price.name)
        }

        assert_eq!(name("s3://b/set"), Some("s3-standard"));
        assert_eq!(name("az://b/set"), Some("azure-hot"));
        assert_eq!(name("hf://datasets/a/b"), None);
        assert_eq!(name("folder/set"), None);
    }
}
