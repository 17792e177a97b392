//! What the epochs cost: at list price, or at what the command line says.

use tarflume::{Forecast, Price};
use tarflume_formats::url::url_of;

use super::options::{Options, PriceChoice};
use super::report::{CostReport, Opening};

/// What all epochs cost, on so many nodes; `None` if the price of the store is not known. `own` is true if the server is
/// that of the store's operator.
pub(super) fn cost(
    forecast: &Forecast,
    opening: &Opening,
    options: &Options,
    nodes: u64,
    own: bool,
) -> Option<CostReport> {
    let (price, source) = price(options.price, url_of(&options.path), own)?;
    let epoch = price.cost(forecast.requests, forecast.bytes);
    let opened = price.cost(opening.requests_per_node * nodes, opening.bytes_per_node * nodes);
    let epochs = options.epochs as f64;
    let usd_per_epoch = epoch.requests + epoch.retrieval;
    Some(CostReport {
        source,
        usd_per_1000_requests: price.per_1000_requests,
        usd_per_gb_retrieved: price.retrieval_per_gb,
        usd_per_gb_egress: price.egress_per_gb,
        usd_per_epoch,
        egress_usd_per_epoch: epoch.egress,
        usd: usd_per_epoch * epochs + opened.requests + opened.retrieval,
        egress_usd: epoch.egress * epochs + opened.egress,
    })
}

/// The price that is named, or else that of the store of the URL; a folder has that of S3, where it may be put. Numbers of
/// the command line replace it.
fn price(choice: PriceChoice, url: Option<&str>, own: bool) -> Option<(Price, String)> {
    let PriceChoice { listed, per_1000_requests, egress_per_gb } = choice;
    let listed = listed.or_else(|| usual(url, own));
    let given = per_1000_requests.is_some() || egress_per_gb.is_some();
    let (base, mut source) = match listed {
        Some(listed) => (*listed, listed.source.to_string()),
        // Of a store without a known price, what is not given is not counted.
        None if given => (FREE, String::new()),
        None => return None,
    };
    let price = Price {
        per_1000_requests: per_1000_requests.unwrap_or(base.per_1000_requests),
        egress_per_gb: egress_per_gb.unwrap_or(base.egress_per_gb),
        ..base
    };
    if given {
        let flags = [(per_1000_requests, "--request-price"), (egress_per_gb, "--egress-price")];
        let flags = flags.iter().filter(|(given, _)| given.is_some()).map(|(_, flag)| *flag);
        let flags = flags.collect::<Vec<_>>().join(" and ");
        source = if source.is_empty() { flags } else { format!("{flags}; otherwise {source}") };
    }
    Some((price, source))
}

/// The price of the store of the URL, if the server is that of the store's operator.
fn usual(url: Option<&str>, own: bool) -> Option<&'static Price> {
    match url {
        Some(url) => Price::of_url(url).filter(|_| own),
        None => Price::named("s3-standard"),
    }
}

const FREE: Price = Price {
    name: "",
    source: "",
    per_1000_requests: 0.0,
    retrieval_per_gb: 0.0,
    egress_per_gb: 0.0,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_price_is_that_of_the_store_unless_another_server_answers() {
        let usual = |url, own| price(PriceChoice::default(), url, own).map(|(price, _)| price.name);
        assert_eq!(usual(None, true), Some("s3-standard"));
        assert_eq!(usual(Some("gs://bucket/set"), true), Some("gcs-standard"));
        assert_eq!(usual(Some("s3://bucket/set"), false), None);
        assert_eq!(usual(Some("hf://datasets/a/b"), false), None);
    }

    #[test]
    fn numbers_of_the_command_line_replace_the_list_and_say_so() {
        let choice = PriceChoice { egress_per_gb: Some(0.02), ..PriceChoice::default() };
        let (found, source) = price(choice, None, true).unwrap();
        assert_eq!((found.egress_per_gb, found.per_1000_requests), (0.02, 0.0004));
        assert!(source.starts_with("--egress-price; otherwise list price of Amazon"), "{source}");
        let (found, source) = price(choice, Some("s3://lab/set"), false).unwrap();
        assert_eq!((found.egress_per_gb, found.per_1000_requests), (0.02, 0.0));
        assert_eq!(source, "--egress-price");
    }
}
