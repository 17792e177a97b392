//! `UrlList`: names and URLs of the objects of a data set, such as presigned URLs.
//!
//! The query of a URL is a secret: it is in no name, no message and no `Debug`.

mod listed;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use reqwest::Url;

use crate::error::{Error, ErrorKind, Result};
use crate::location::{decoded, is_url};
use crate::metrics::Metrics;
use crate::options::Options;
use crate::runtime::wait;
use crate::url_list::listed::{Listed, download};
use crate::web::Web;
use crate::web::read_only::ReadOnly;

/// URLs of objects by name.
///
/// ```
/// use tarflume_store::UrlList;
///
/// let list = UrlList::parse("https://host/set/dataset.json?sig=1\nhttps://host/set/000.tar?sig=2\n")?;
/// assert_eq!(list.names().collect::<Vec<_>>(), ["000.tar", "dataset.json"]);
/// let named = UrlList::parse(r#"{"000.tar": "https://host/4711?sig=3"}"#)?;
/// assert_eq!(named.names().collect::<Vec<_>>(), ["000.tar"]);
/// # Ok::<(), tarflume_store::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct UrlList {
    urls: BTreeMap<String, Url>,
}

/// Shows names alone: URLs may be secrets.
impl fmt::Debug for UrlList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.urls.keys()).finish()
    }
}

impl UrlList {
    /// True if a path or a URL names a list: it ends in `.urls` or `.urls.json`.
    ///
    /// ```
    /// use tarflume_store::UrlList;
    ///
    /// assert!(UrlList::is_list("https://host/train.urls?sig=1"));
    /// assert!(UrlList::is_list("folder/train.urls.json"));
    /// assert!(!UrlList::is_list("folder/dataset.json"));
    /// ```
    pub fn is_list(place: &str) -> bool {
        let place = shown(place);
        place.ends_with(".urls") || place.ends_with(".urls.json")
    }

    /// Reads one URL a line, whose name is its last segment; or a JSON object of names and URLs.
    /// Empty lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for what is not an http or https URL, for a name that is there twice,
    /// and for an empty list.
    pub fn parse(text: &str) -> Result<UrlList> {
        let mut list = UrlList { urls: BTreeMap::new() };
        if text.trim_start().starts_with('{') {
            list.add_json(text)?;
        } else {
            let lines = text.lines().map(str::trim).enumerate();
            for (number, line) in lines.filter(|(_, l)| !l.is_empty() && !l.starts_with('#')) {
                let place = format!("line {}", number + 1);
                let url = parse_url(line, &place)?;
                let last = url.path().rsplit('/').next().unwrap_or_default();
                list.add(decoded(last), url, &place)?;
            }
        }
        match list.urls.is_empty() {
            true => Err(wrong("the list has no URL")),
            false => Ok(list),
        }
    }

    fn add_json(&mut self, text: &str) -> Result<()> {
        let named: BTreeMap<String, String> = serde_json::from_str(text).map_err(|e| {
            // The text of the error could quote a URL.
            let text = format!(
                "line {} is not part of a JSON object of names and URLs: {{\"000.tar\": \"https://...\"}}",
                e.line()
            );
            wrong(text)
        })?;
        for (name, url) in named {
            let place = format!("'{name}'");
            let url = parse_url(&url, &place)?;
            self.add(name, url, &place)?;
        }
        Ok(())
    }

    fn add(&mut self, name: String, url: Url, place: &str) -> Result<()> {
        let is_odd = |segment: &str| matches!(segment, "" | "." | "..");
        if name.split('/').any(is_odd) {
            return Err(wrong(format!("{place}: '{name}' is not the name of an object")));
        }
        match self.urls.insert(name.clone(), url) {
            None => Ok(()),
            Some(_) => Err(wrong(format!(
                "{place}: '{name}' is there twice; give the names in a JSON object of names and URLs"
            ))),
        }
    }

    /// Reads a list from a local file, or from an http or https URL.
    ///
    /// # Errors
    /// The errors of the file or the server, and those of [`UrlList::parse`].
    pub fn read(place: &str, options: &Options) -> Result<UrlList> {
        let text = match is_url(place) {
            true => {
                let url = parse_url(place, "the list")?;
                let metrics = Arc::new(Metrics::default());
                wait(place, async {
                    let web = Web::open(options, url.scheme() == "http", &metrics, place)?;
                    download(&web, &url, shown(place)).await
                })?
            }
            false => std::fs::read(Path::new(place)).map_err(|e| {
                let kind = match e.kind() {
                    std::io::ErrorKind::NotFound => ErrorKind::Usage,
                    _ => ErrorKind::Machine,
                };
                Error::new(kind, place, format!("cannot read the list of URLs: {e}"))
            })?,
        };
        let text = String::from_utf8(text);
        let text = text.map_err(|_| wrong("this is not a list of URLs, it is not even text"));
        text.and_then(|text| UrlList::parse(&text)).map_err(|e| e.at(shown(place)))
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.urls.keys().map(String::as_str)
    }

    /// Objects that are read by this list. `place` is its path or URL, for messages.
    pub(crate) fn open(
        self,
        place: &str,
        options: &Options,
        metrics: &Arc<Metrics>,
    ) -> Result<ReadOnly<impl crate::web::read_only::ReadObjects>> {
        let allow_http = self.urls.values().any(|url| url.scheme() == "http");
        let web = Web::open(options, allow_http, metrics, place)?;
        Ok(ReadOnly::new(Listed::new(web, self.urls, shown(place))))
    }
}

/// A path or a URL without its query.
pub(crate) fn shown(place: &str) -> &str {
    match is_url(place) {
        true => place.split(['?', '#']).next().unwrap_or(place),
        false => place,
    }
}

fn parse_url(text: &str, place: &str) -> Result<Url> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    // The text itself may be a secret.
    url.ok_or_else(|| wrong(format!("{place} is not a URL that begins with http:// or https://")))
}

fn wrong(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, "list of URLs", text)
}
