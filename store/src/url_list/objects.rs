//! `UrlObjects`: reads the objects of a list by their URLs, and the list again when one is refused.

use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use http::StatusCode;
use reqwest::Url;
use tokio::sync::Mutex as AsyncMutex;

use crate::errors::error::{CHANGED, Error, ErrorKind, Result};
use crate::settings::location::is_url;
use crate::url_list::list::{UrlList, parse_url, shown, wrong};
use crate::web::answer::Answer;
use crate::web::expiry::life;
use crate::web::read_only::{Entry, ObjectRead, ReadObjects};
use crate::web::redirect::{MOST_HOPS, circle, target};
use crate::web::{Ask, Web};

/// The objects of a list.
pub(crate) struct UrlObjects {
    web: Web,
    list: Mutex<UrlList>,
    /// The path or the URL of the list.
    source: String,
    /// Held while the list is read again.
    renewal: AsyncMutex<()>,
}

impl fmt::Debug for UrlObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UrlObjects").field(&shown(&self.source)).finish()
    }
}

impl UrlObjects {
    pub(crate) fn new(web: Web, list: UrlList, source: &str) -> UrlObjects {
        let list = Mutex::new(list);
        let source = source.to_string();
        UrlObjects { web, list, source, renewal: AsyncMutex::default() }
    }

    fn url(&self, name: &str) -> Option<Url> {
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.urls.get(name).cloned()
    }

    /// The URL of an object whose URL was refused, if the list has another one by now.
    async fn renewed(&self, name: &str, refused: &Url) -> Option<Url> {
        let _one = self.renewal.lock().await;
        if let Some(url) = self.other_url(name, refused) {
            return Some(url); // another reader was here before
        }
        // A list that is gone or broken leaves the refusal as the error.
        let list = read(&self.web, &self.source).await.ok()?;
        *self.list.lock().unwrap_or_else(PoisonError::into_inner) = list;
        self.other_url(name, refused)
    }

    fn other_url(&self, name: &str, refused: &Url) -> Option<Url> {
        self.url(name).filter(|url| url != refused)
    }
}

/// True if a list may be read without TLS: it is named so.
pub(crate) fn allows_http(source: &str) -> bool {
    source.starts_with("http://")
}

/// Reads a list.
pub(crate) async fn read(web: &Web, source: &str) -> Result<UrlList> {
    let place = shown(source);
    let bytes = if is_url(source) {
        download(web, &parse_url(source, "the list")?, place).await?
    } else {
        std::fs::read(source).map_err(|e| {
            let kind = match e.kind() {
                std::io::ErrorKind::NotFound => ErrorKind::Usage,
                _ => ErrorKind::Machine,
            };
            Error::new(kind, place, format!("cannot read the list of URLs: {e}"))
        })?
    };
    let text = String::from_utf8(bytes).map_err(|_| wrong("this is no list of URLs, nor any text"));
    text.and_then(|text| UrlList::parse(&text)).map_err(|e| e.at(place))
}

async fn download(web: &Web, url: &Url, place: &str) -> Result<Vec<u8>> {
    let answer = follow(web, url, None, None, place).await?;
    if answer.status.is_success() {
        Ok(answer.bytes.to_vec())
    } else {
        Err(refusal(url, answer.status, place))
    }
}

/// Asks for a URL and those that it redirects to.
async fn follow(
    web: &Web,
    url: &Url,
    range: Option<Range<u64>>,
    if_match: Option<&str>,
    place: &str,
) -> Result<Answer> {
    let mut url = url.clone();
    for _ in 0..=MOST_HOPS {
        let ask = Ask {
            url: &url,
            token: None,
            range: range.clone(),
            if_match,
            is_immutable: false,
            whole: 0,
            place,
        };
        let answer = web.get(&ask).await?;
        match target(&answer, &url, place)? {
            Some(to) => url = to,
            None => return Ok(answer),
        }
    }
    Err(circle(place))
}

fn refusal(url: &Url, status: StatusCode, place: &str) -> Error {
    let (kind, text) = match status.as_u16() {
        404 | 410 => (ErrorKind::Missing, "the server has no such object".into()),
        412 => (ErrorKind::Changed, CHANGED.into()),
        400 | 401 | 403 => {
            let now = SystemTime::now();
            let why = if life(url, now) == Duration::ZERO {
                "its URL has expired"
            } else {
                "presigned URLs expire, and each allows one method and one object"
            };
            let text = format!("the server refuses to read it ({status}): {why}; make a new list");
            (ErrorKind::Refused, text)
        }
        _ => (ErrorKind::Answer, format!("the server answers {status}, which has no meaning here")),
    };
    Error::new(kind, place, text)
}

#[async_trait]
impl ReadObjects for UrlObjects {
    async fn read(
        &self,
        name: &str,
        range: Option<Range<u64>>,
        if_match: Option<&str>,
    ) -> Result<ObjectRead> {
        let place = format!("{}/{name}", shown(&self.source));
        let mut url = self.url(name).ok_or_else(|| {
            Error::new(ErrorKind::Missing, &place, "the list has no URL of this name; add it")
        })?;
        let mut answer = follow(&self.web, &url, range.clone(), if_match, &place).await?;
        if matches!(answer.status.as_u16(), 400 | 401 | 403)
            && let Some(newer) = self.renewed(name, &url).await
        {
            url = newer;
            answer = follow(&self.web, &url, range.clone(), if_match, &place).await?;
        }
        let is_past = answer.status == StatusCode::RANGE_NOT_SATISFIABLE;
        if !answer.status.is_success() && !is_past {
            return Err(refusal(&url, answer.status, &place));
        }
        let part = answer.part(range.as_ref()).ok_or_else(|| {
            Error::new(
                ErrorKind::Answer,
                &place,
                "the answer to a range does not say which bytes it has (Content-Range)",
            )
        })?;
        let tag = answer.tag();
        let modified = answer.modified();
        if tag.is_none() && modified.is_none() && !is_past {
            return Err(Error::new(
                ErrorKind::Answer,
                &place,
                "the server sends neither ETag nor Last-Modified, so an object that is replaced while it is read \
                 would not be noticed; serve the files by another server",
            ));
        }
        Ok(ObjectRead { part, tag, modified })
    }

    async fn list(&self, _: &str) -> Result<Vec<Entry>> {
        let text = "a list of URLs does not say how long its objects are; name a data set with dataset.json";
        Err(Error::new(ErrorKind::Usage, shown(&self.source), text))
    }

    fn refusal(&self) -> Error {
        let text = "a list of URLs is for reading; pack to s3://, gs:// or az://, or to a folder";
        Error::new(ErrorKind::Usage, shown(&self.source), text)
    }
}
