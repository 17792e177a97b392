//! Which names of data sets are URLs or lists of URLs. Looks at text alone.

use tarflume_formats::url::is_url;

/// True if a path or a URL names a list of URLs.
pub(crate) fn is_url_list(name: &str) -> bool {
    let place = if is_url(name) { name.split('?').next().unwrap_or(name) } else { name };
    place.ends_with(".urls") || place.ends_with(".urls.json")
}
