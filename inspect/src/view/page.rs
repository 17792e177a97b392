//! The page: a template with its styles and scripts, and the data as JSON. Loads nothing from a network.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tarflume_base::{Failure, Stop};
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_shards::listing::Listing;

use super::card::{Card, CardOptions, card};
use super::draws::Draws;
use super::picture::{jpeg_url, png_url};
use super::shapes::BoxForm;
use crate::ordinals::Ordinals;
use crate::stats::{Measured, Stats, objects_of, table_of};

const TEMPLATE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = concat!(
    "\"use strict\";\n",
    include_str!("page/elements.js"),
    include_str!("page/charts.js"),
    include_str!("page/dialog.js"),
    include_str!("page/sheet.js"),
    include_str!("page/draws.js"),
    include_str!("page/page.js"),
);
/// Examples of each finding that are among the samples of a page.
const EXAMPLES: usize = 3;
/// Classes that a page lists; their counts are in `pack stats`.
const CLASSES: usize = 500;

/// What a page holds.
#[derive(Debug, Clone)]
pub struct PageOptions {
    /// The title: the name of the data set.
    pub title: String,
    /// Samples to be shown, spread evenly over the data set.
    pub thumbnails: usize,
    /// Longer side of a thumbnail in pixels.
    pub side: u32,
    /// Limit on the bytes of the page. Fewer samples are shown if they do not fit.
    pub max_bytes: usize,
    /// The form of boxes; `None`: as the fields of the JSON tell.
    pub boxes: Option<BoxForm>,
    /// What a recipe makes of some samples.
    pub draws: Option<Draws>,
    /// Ends the work early.
    pub stop: Stop,
}

/// A finished page.
#[derive(Debug)]
pub struct Page {
    /// The file.
    pub html: Vec<u8>,
    /// Samples on it.
    pub shown: usize,
    /// Samples that were left out because the page would have been too large.
    pub left_out: usize,
}

/// Makes a page of one file.
///
/// # Errors
/// Returns an error if a sidecar is damaged or the machine fails, if not even the charts fit the limit, and after an
/// interruption.
pub fn page(
    listing: &Listing,
    measured: &Measured,
    options: &PageOptions,
) -> Result<Page, Failure> {
    let ordinals = Ordinals::of(listing);
    let wanted = wanted(&measured.stats, ordinals.samples(), options.thumbnails);
    let card_options = CardOptions {
        side: options.side,
        mask_side: options.side,
        class: measured.class.as_ref(),
        boxes: options.boxes,
        json: listing.json_rules,
        table: table_of(listing),
        objects: objects_of(listing),
    };
    let about = About { title: &options.title, live: false, draws: options.draws.as_ref() };
    let empty = html(about, &measured.stats, Vec::new());
    let mut bytes = empty.len();
    if bytes > options.max_bytes {
        return Err(Failure::usage(
            message!("the page without samples takes {bytes} bytes, more than the page may have; raise {max_size}"; max_size = Name::MaxSize),
        ));
    }
    let mut cards: Vec<(u64, Value)> = Vec::new();
    for &ordinal in &wanted {
        if options.stop.requested() {
            return Err(Failure::interrupted());
        }
        let Some((shard, sample)) = ordinals.sample(listing, ordinal)? else { continue };
        let made = embedded(&card(shard, &sample, ordinal, &card_options)?);
        let length = escaped(&made).len() + 1;
        if bytes + length > options.max_bytes {
            break;
        }
        bytes += length;
        cards.push((ordinal, made));
    }
    let shown = cards.len();
    cards.sort_by_key(|(ordinal, _)| *ordinal);
    let cards = cards.into_iter().map(|(_, card)| card).collect();
    let html = html(about, &measured.stats, cards);
    Ok(Page { html: html.into_bytes(), shown, left_out: wanted.len() - shown })
}

/// Makes the page of a server, which asks the server for samples.
pub fn live_page(title: &str, stats: &Stats, draws: Option<&Draws>) -> Vec<u8> {
    html(About { title, live: true, draws }, stats, Vec::new()).into_bytes()
}

/// Returns the policy of a page's content: its own scripts and styles alone, and data of its own server.
pub fn content_policy() -> String {
    format!(
        "default-src 'none'; img-src data: 'self'; connect-src 'self'; style-src 'sha256-{}'; \
         script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}

/// Returns the SHA-256 of a text in Base64, as a policy names it.
fn hash(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text.as_bytes()))
}

/// Returns the ordinals to be shown, the most wanted ones first: examples of findings, then samples whose beginning is
/// spread evenly, so that the rest can be left out.
fn wanted(stats: &Stats, samples: u64, most: usize) -> Vec<u64> {
    let count = samples.min(most as u64);
    let examples = stats.findings.iter().flat_map(|of| of.examples.iter().take(EXAMPLES));
    let mut wanted: Vec<u64> = examples.map(|example| example.ordinal).collect();
    // A step near the golden section visits all, and any beginning is spread.
    let mut step = (count as f64 * 0.618_034) as u64 | 1;
    while greatest_divisor(step, count) > 1 {
        step += 1;
    }
    let spread = (0..count).map(|n| {
        let place = u128::from(n) * u128::from(step) % u128::from(count);
        (place * u128::from(samples) / u128::from(count)) as u64
    });
    wanted.extend(spread);
    let mut seen = std::collections::HashSet::new();
    wanted.retain(|&ordinal| seen.insert(ordinal));
    wanted.truncate(most);
    wanted
}

fn greatest_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

/// Returns the JSON of a card with its pictures inside.
fn embedded(card: &Card) -> Value {
    let mut value = json!(card);
    if let Some(small) = &card.thumbnail {
        value["thumb"] = jpeg_url(&small.bytes).into();
    }
    if !card.masks.is_empty() {
        let masks = card.masks.iter();
        let masks = masks.map(|(ext, png)| json!({"ext": ext, "url": png_url(png)}));
        value["masks"] = masks.collect();
    }
    value
}

/// What a page has beside its statistics and samples.
#[derive(Debug, Clone, Copy, Serialize)]
struct About<'a> {
    title: &'a str,
    live: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    draws: Option<&'a Draws>,
}

/// Cuts a list of classes, and notes how many there are.
fn shorten_classes(of: &mut Value) {
    let count = of["classes"].as_array_mut().map(|classes| {
        let count = classes.len();
        classes.truncate(CLASSES);
        count
    });
    if let Some(count) = count {
        of["class_count"] = count.into();
    }
}

fn html(about: About<'_>, stats: &Stats, cards: Vec<Value>) -> String {
    #[derive(Serialize)]
    struct Data<'a> {
        #[serde(flatten)]
        about: About<'a>,
        version: &'static str,
        stats: Value,
        samples: Vec<Value>,
    }
    let mut stats = json!(stats);
    shorten_classes(&mut stats);
    if let Some(objects) = stats.get_mut("objects") {
        shorten_classes(objects);
    }
    let version = env!("CARGO_PKG_VERSION");
    let data = escaped(&Data { about, version, stats, samples: cards });
    let title = about.title.replace('&', "&amp;").replace('<', "&lt;");
    let (before, after) = TEMPLATE.split_once("{{data}}").unwrap_or((TEMPLATE, ""));
    let before = before
        .replace("{{policy}}", &content_policy())
        .replace("{{style}}", STYLE)
        .replace("{{title}}", &title);
    let after = after.replace("{{script}}", SCRIPT);
    [before.as_str(), data.as_str(), after.as_str()].concat()
}

/// Returns JSON that can be inside of a script element: `<` is escaped.
fn escaped(value: &impl Serialize) -> String {
    tarflume_formats::shown::json(value).replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use tarflume_formats::json::JsonRules;

    use super::*;

    #[test]
    fn the_beginning_of_the_wanted_samples_is_spread() {
        let stats = crate::stats::measure(
            &Listing {
                manifest: None,
                root: None,
                shards: Vec::new(),
                json_rules: JsonRules::Strict,
            },
            &crate::stats::Options::default(),
        );
        let stats = stats.unwrap().stats;
        for (samples, most) in [(10, 400), (1_000_000, 400), (7, 7), (0, 5), (500, 1)] {
            let found = wanted(&stats, samples, most);
            assert_eq!(found.len() as u64, samples.min(most as u64), "{samples} {most}");
            assert!(found.iter().all(|&ordinal| ordinal < samples));
        }
        let mut first: Vec<u64> = wanted(&stats, 1_000_000, 400)[..20].to_vec();
        first.sort_unstable();
        assert!(first.windows(2).all(|pair| pair[1] - pair[0] < 120_000), "{first:?}");
    }

    #[test]
    fn data_cannot_end_its_script() {
        assert_eq!(escaped(&"</script><!--"), "\"\\u003c/script>\\u003c!--\"");
    }
}
