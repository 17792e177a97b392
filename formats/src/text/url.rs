//! Which paths are URLs, and which of their parts are secret. Looks at text alone.

use std::borrow::Cow;
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

/// Parameters of a query whose names contain one of these words are secrets.
const SECRETS: [&str; 9] = [
    "sig",
    "token",
    "credential",
    "password",
    "passwd",
    "secret",
    "apikey",
    "api_key",
    "accesskey",
];

/// Removes user and password from each URL in a text, and the values of parameters that are secrets, such as signatures.
/// Every text that leaves goes through here: messages, exceptions, reports.
///
/// ```
/// use tarflume_formats::url::without_secrets;
///
/// let shown = without_secrets("http://me:word@host/set?part=1&X-Amz-Signature=5ec4e7: no such file");
/// assert_eq!(shown, "http://host/set?part=1&X-Amz-Signature=...: no such file");
/// ```
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    if !text.contains(":/") {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(":/") {
        let (before, behind) = rest.split_at(at + ":/".len());
        out.push_str(before);
        rest = behind;
        // A URL that was taken for a path has one slash.
        let is_web = ["http:/", "https:/"].iter().any(|scheme| before.ends_with(scheme));
        match behind.strip_prefix('/') {
            Some(behind) => {
                out.push('/');
                rest = behind;
            }
            None if is_web => {}
            None => continue,
        }
        let behind = rest;
        let (url, more) = behind.split_at(behind.find(ends_url).unwrap_or(behind.len()));
        let (place, query) = url.split_at(url.find('?').unwrap_or(url.len()));
        let host = place.find('/').unwrap_or(place.len());
        // The revision of a repository follows an `@` too, behind a slash.
        out.push_str(&place[place[..host].rfind('@').map_or(0, |at| at + 1)..]);
        put_query(&mut out, query);
        rest = more;
    }
    out.push_str(rest);
    out.into()
}

/// Returns true for a character that is never part of a URL within a text.
fn ends_url(c: char) -> bool {
    c.is_whitespace() || "\"'`<>".contains(c)
}

/// Adds a query without the values of its secrets. Punctuation of the text behind it stays.
fn put_query(out: &mut String, query: &str) {
    for parameter in query.split_inclusive('&') {
        let (name, value) = parameter.split_at(parameter.find('=').unwrap_or(parameter.len()));
        let lower = name.to_ascii_lowercase();
        out.push_str(name);
        if !SECRETS.iter().any(|word| lower.contains(word)) || value.len() < 2 {
            out.push_str(value);
            continue;
        }
        let kept = value.trim_end_matches(['&', ':', ',', ';', ')', '.']).len();
        out.push_str("=...");
        out.push_str(&value[kept.max(1)..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_password_and_signatures_are_removed_and_the_rest_stays() {
        for (text, shown) in [
            ("no url", "no url"),
            ("http://me:word@host:1/a@b/c", "http://host:1/a@b/c"),
            ("http://token@host: gone", "http://host: gone"),
            ("tar:https://me:w@h/a.tar?part=1&json=y", "tar:https://h/a.tar?part=1&json=y"),
            ("http://h/a?sig=x&sv=2, http://u:p@g", "http://h/a?sig=...&sv=2, http://g"),
            ("\"http://h/a?X-Amz-Security-Token=x\"", "\"http://h/a?X-Amz-Security-Token=...\""),
            ("http://h/a?token=x; try again", "http://h/a?token=...; try again"),
            ("/tmp/http:/me:word@h/a.tar", "/tmp/http:/h/a.tar"),
            ("docker:/me:x@y/a, s3:/b", "docker:/me:x@y/a, s3:/b"),
            ("hf://datasets/me/cats@v1/data", "hf://datasets/me/cats@v1/data"),
            ("user@host, a://", "user@host, a://"),
        ] {
            assert_eq!(without_secrets(text), shown);
        }
    }
}
