//! `Listed`: reads the objects of a list by their URLs.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use http::StatusCode;
use reqwest::Url;

use crate::error::{CHANGED, Error, ErrorKind, Result};
use crate::web::answer::Answer;
use crate::web::expiry::life;
use crate::web::read_only::{Entry, Found, ReadObjects};
use crate::web::redirect::{MOST_HOPS, circle, target};
use crate::web::{Ask, Web};

/// See the head of the file.
pub(crate) struct Listed {
    web: Web,
    urls: BTreeMap<String, Url>,
    /// The path or the URL of the list, without its query.
    place: String,
}

impl fmt::Debug for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Listed").field(&self.place).finish()
    }
}

impl Listed {
    pub(crate) fn new(web: Web, urls: BTreeMap<String, Url>, place: &str) -> Listed {
        Listed { web, urls, place: place.into() }
    }
}

/// Reads the list itself.
pub(crate) async fn download(web: &Web, url: &Url, place: &str) -> Result<Vec<u8>> {
    let answer = follow(web, url, None, None, place).await?;
    match answer.status.is_success() {
        true => Ok(answer.bytes.to_vec()),
        false => Err(refusal(url, answer.status, place)),
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
            let why = match life(url, now) == Duration::ZERO {
                true => "its URL has expired",
                false => "presigned URLs expire, and each allows one method and one object",
            };
            let text = format!("the server refuses to read it ({status}): {why}; make a new list");
            (ErrorKind::Refused, text)
        }
        _ => (ErrorKind::Answer, format!("the server answers {status}, which has no meaning here")),
    };
    Error::new(kind, place, text)
}

#[async_trait]
impl ReadObjects for Listed {
    async fn read(
        &self,
        name: &str,
        range: Option<Range<u64>>,
        if_match: Option<&str>,
    ) -> Result<Found> {
        let place = format!("{}/{name}", self.place);
        let url = self.urls.get(name).ok_or_else(|| {
            Error::new(ErrorKind::Missing, &place, "the list has no URL of this name; add it")
        })?;
        let answer = follow(&self.web, url, range.clone(), if_match, &place).await?;
        let is_past = answer.status == StatusCode::RANGE_NOT_SATISFIABLE;
        if !answer.status.is_success() && !is_past {
            return Err(refusal(url, answer.status, &place));
        }
        let wrong = |text: &str| Error::new(ErrorKind::Answer, &place, text);
        let part = answer.part(range.as_ref()).ok_or_else(|| {
            wrong("the answer to a range does not say which bytes it has (Content-Range)")
        })?;
        let (tag, modified) = (answer.tag(), answer.modified());
        if tag.is_none() && modified.is_none() && !is_past {
            return Err(wrong(
                "the server sends neither ETag nor Last-Modified, so an object that is replaced while it is read \
                 would not be noticed; serve the files by another server",
            ));
        }
        Ok(Found { part, tag, modified })
    }

    async fn list(&self, _: &str) -> Result<Vec<Entry>> {
        let text = "a list of URLs does not say how long its objects are; name a data set with dataset.json";
        Err(Error::new(ErrorKind::Usage, &self.place, text))
    }

    fn refusal(&self) -> Error {
        let text = "a list of URLs is for reading; pack to s3://, gs:// or az://, or to a folder";
        Error::new(ErrorKind::Usage, &self.place, text)
    }
}
