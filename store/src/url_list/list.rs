//! The text of a list of URLs. Arithmetic; reads and asks nothing.

use std::collections::BTreeMap;
use std::fmt;

use reqwest::Url;

use crate::errors::error::{Error, ErrorKind, Result};
use crate::settings::location::{decoded, is_url};

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
    pub(super) urls: BTreeMap<String, Url>,
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
        if list.urls.is_empty() { Err(wrong("the list has no URL")) } else { Ok(list) }
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
        if name.split('/').any(|segment| matches!(segment, "" | "." | "..")) {
            return Err(wrong(format!("{place}: '{name}' is not the name of an object")));
        }
        match self.urls.insert(name.clone(), url) {
            None => Ok(()),
            Some(_) => Err(wrong(format!(
                "{place}: '{name}' is there twice; give the names in a JSON object of names and URLs"
            ))),
        }
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.urls.keys().map(String::as_str)
    }
}

/// A path or a URL without its query.
pub(crate) fn shown(place: &str) -> &str {
    if is_url(place) { place.split(['?', '#']).next().unwrap_or(place) } else { place }
}

pub(super) fn parse_url(text: &str, place: &str) -> Result<Url> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    // The text itself may be a secret.
    url.ok_or_else(|| wrong(format!("{place} is not a URL that begins with http:// or https://")))
}

pub(super) fn wrong(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, "list of URLs", text)
}
