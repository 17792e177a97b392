//! Which paths are URLs. Looks at text alone.

use std::path::Path;

/// Returns true if the text is a URL and not a path: two or more letters and digits before `://`.
///
/// ```
/// use tarflume_formats::url::is_url;
///
/// assert!(is_url("s3://bucket/set"));
/// assert!(is_url("ftp://host/set")); // no store reads it, and no disk has it
/// assert!(!is_url("folder/shard.tar") && !is_url("a/b://c"));
/// ```
pub fn is_url(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|s| s.len() > 1 && s.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// Returns the URL that a path is, if it is one.
pub fn url_of(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| is_url(text))
}
