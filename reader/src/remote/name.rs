//! Which names of data sets are URLs or lists of URLs. Looks at text alone.

/// True if a path or a URL names a list of URLs.
pub(crate) fn is_url_list(name: &str) -> bool {
    let place = if is_url(name) { name.split('?').next().unwrap_or(name) } else { name };
    place.ends_with(".urls") || place.ends_with(".urls.json")
}

/// True if `name` is a URL.
pub(crate) fn is_url(name: &str) -> bool {
    let scheme = name.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|s| s.len() > 1 && s.bytes().all(|b| b.is_ascii_alphanumeric()))
}
