//! What the epochs cost: at list price, or at what the command line says.

use tarflume::{Forecast, Price};
use tarflume_formats::url::url_of;

use super::options::{Options, PriceChoice};
use super::report::{CostReport, Opening};

/// What all epochs cost; `None` if the price of the store is not known.
pub(super) fn cost(
    forecast: &Forecast,
    opening: &Opening,
    options: &Options,
    nodes: u64,
) -> Option<CostReport> {
    let (price, source) = price(options)?;
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
fn price(options: &Options) -> Option<(Price, String)> {
    let PriceChoice { listed, per_1000_requests, egress_per_gb } = options.price;
    let url = url_of(&options.path);
    let usual = || match url {
        Some(url) => Price::of_url(url),
        None => Price::named("s3-standard"),
    };
    let listed = listed.or_else(usual);
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
        source = match source.is_empty() {
            true => flags,
            false => format!("{flags}; otherwise {source}"),
        };
    }
    Some((price, source))
}

const FREE: Price = Price {
    name: "",
    source: "",
    per_1000_requests: 0.0,
    retrieval_per_gb: 0.0,
    egress_per_gb: 0.0,
};
