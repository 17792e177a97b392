//! `Location`: the parts of a URL of a data set or an object. Arithmetic on text; asks nothing.

use percent_encoding::percent_decode_str;

use crate::errors::error::{Error, ErrorKind, Result};

/// What kind of store a URL names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    S3,
    Gcs,
    Azure,
    Http,
    Hub,
    /// A list of URLs. No URL begins with it.
    List,
}

/// Schemes of URLs that this crate opens.
pub const SCHEMES: [&str; 6] = ["s3", "gs", "az", "http", "https", "hf"];

/// A URL that was taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) scheme: Scheme,
    /// The bucket or container; of HTTP, scheme and host; of the Hub, `OWNER/NAME@REV`.
    pub(crate) bucket: String,
    /// The path below it, without slashes at its ends.
    pub(crate) path: String,
    /// The query of an HTTP URL with its question mark: a secret, if the URL was presigned.
    pub(crate) query: String,
}

/// True if the text is a URL and not a path: letters and digits before `://`.
///
/// ```
/// use tarflume_store::is_url;
///
/// assert!(is_url("s3://bucket/set"));
/// assert!(is_url("ftp://host/set")); // unknown, and no path
/// assert!(!is_url("folder/shard.tar"));
/// ```
pub fn is_url(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|s| s.len() > 1 && s.bytes().all(|b| b.is_ascii_alphanumeric()))
}

impl Location {
    /// Takes a URL apart.
    pub(crate) fn parse(url: &str) -> Result<Location> {
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(wrong(url, "this is not a URL; it has the form s3://BUCKET/PREFIX"));
        };
        let kind = match scheme {
            "s3" | "s3a" => Scheme::S3,
            "gs" | "gcs" => Scheme::Gcs,
            "az" | "azure" | "abfs" => Scheme::Azure,
            "http" | "https" => Scheme::Http,
            "hf" => Scheme::Hub,
            other => {
                let known = SCHEMES.map(|name| format!("{name}://")).join(", ");
                return Err(wrong(url, format!("cannot open {other}://; there are {known}")));
            }
        };
        let (rest, query) = match rest.find('?') {
            Some(at) if kind == Scheme::Http => rest.split_at(at),
            _ => (rest, ""),
        };
        let (bucket, path) = match kind {
            Scheme::Hub => hub(rest).ok_or_else(|| {
                wrong(url, "it has the form hf://datasets/OWNER/NAME@REVISION/PATH")
            })?,
            _ => rest.split_once('/').unwrap_or((rest, "")),
        };
        if bucket.is_empty() {
            let text = format!("the name of the bucket is missing: {scheme}://BUCKET/PREFIX");
            return Err(wrong(url, text));
        }
        let bucket = match kind {
            Scheme::Http => format!("{scheme}://{bucket}"),
            _ => bucket.to_string(),
        };
        let path = path.trim_matches('/').to_string();
        let query = query.to_string();
        Ok(Location { scheme: kind, bucket, path, query })
    }
}

fn wrong(url: &str, text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, url, text)
}

/// Divides the part of a Hub URL after `hf://` into repository and path.
fn hub(rest: &str) -> Option<(&str, &str)> {
    let rest = rest.strip_prefix("datasets/")?;
    let owner = rest.find('/')?;
    let name = owner + 1;
    let mut end = slash(rest, name);
    // These revisions have slashes of their own: refs/pr/1, refs/convert/parquet.
    let special = ["/pr/", "/convert/"].iter().find(|kind| rest[end..].starts_with(**kind));
    if let Some(kind) = special.filter(|_| rest[name..end].ends_with("@refs")) {
        end = slash(rest, end + kind.len());
    }
    let (repository, path) = rest.split_at(end);
    let named = repository[name..].split('@').next().is_some_and(|name| !name.is_empty());
    (owner > 0 && named).then_some((repository, path))
}

/// The place of the first slash of `text` from `from` on, or its end.
fn slash(text: &str, from: usize) -> usize {
    text[from..].find('/').map_or(text.len(), |at| from + at)
}

/// Decodes `%2F` and the like.
pub(crate) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(url: &str) -> (Scheme, String, String) {
        let found = Location::parse(url).unwrap();
        (found.scheme, found.bucket, found.path)
    }

    #[test]
    fn urls_are_taken_apart() {
        assert_eq!(parts("s3://b/a/c/"), (Scheme::S3, "b".into(), "a/c".into()));
        assert_eq!(parts("gs://b"), (Scheme::Gcs, "b".into(), "".into()));
        assert_eq!(parts("az://c/set"), (Scheme::Azure, "c".into(), "set".into()));
        assert_eq!(
            parts("https://h:1/d/e?x=1"),
            (Scheme::Http, "https://h:1".into(), "d/e".into())
        );
        assert_eq!(Location::parse("https://h/e?x=1").unwrap().query, "?x=1");
        fn hub(bucket: &str, path: &str) -> (Scheme, String, String) {
            (Scheme::Hub, bucket.to_string(), path.to_string())
        }
        assert_eq!(parts("hf://datasets/me/cats@v1/data/train"), hub("me/cats@v1", "data/train"));
        assert_eq!(parts("hf://datasets/me/cats"), hub("me/cats", ""));
        assert_eq!(parts("hf://datasets/me/c@refs/pr/1/a/b"), hub("me/c@refs/pr/1", "a/b"));
        assert_eq!(parts("hf://datasets/me/c@refs/pr/1"), hub("me/c@refs/pr/1", ""));
        assert_eq!(
            parts("hf://datasets/me/c@refs/convert/parquet/x"),
            hub("me/c@refs/convert/parquet", "x")
        );
        assert_eq!(parts("hf://datasets/me/c/x@refs/pr/1/b"), hub("me/c", "x@refs/pr/1/b"));
    }

    #[test]
    fn what_is_no_url_says_what_one_is() {
        fn said(url: &str) -> String {
            Location::parse(url).unwrap_err().to_string()
        }
        assert!(
            said("ftp://h/x")
                .contains("cannot open ftp://; there are s3://, gs://, az://, http://")
        );
        assert!(said("s3:///x").contains("name of the bucket is missing"));
        for wrong in
            ["hf://me/cats", "hf://datasets/cats", "hf://datasets/me/", "hf://datasets/me/@v1"]
        {
            assert!(said(wrong).contains("hf://datasets/OWNER/NAME@REVISION/PATH"), "{wrong}");
        }
    }

    #[test]
    fn percent_signs_that_encode_nothing_stay() {
        assert_eq!(decoded("a%2Fb%20c%7e"), "a/b c~");
        assert_eq!(decoded("100%"), "100%");
        assert_eq!(decoded("%zz%4"), "%zz%4");
    }
}
