//! Which names of data sets are URLs or lists of URLs. Looks at text alone.

use tarflume_formats::url::is_url;
#[cfg(not(feature = "remote"))]
use tarflume_types::Error;

/// True if a path or a URL names a list of URLs.
pub(crate) fn is_url_list(name: &str) -> bool {
    let place = if is_url(name) { name.split('?').next().unwrap_or(name) } else { name };
    place.ends_with(".urls") || place.ends_with(".urls.json")
}

/// The error of a URL in a program that has no stores.
#[cfg(not(feature = "remote"))]
pub(crate) fn not_built(url: &str) -> Error {
    let text = "this program was built without the feature `remote`, so it reads local files alone; the command and the \
                Python package have it by default";
    // A query may be a secret.
    Error::usage(text).with_path(url.split('?').next().unwrap_or(url))
}
