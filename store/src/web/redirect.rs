//! Where a redirect leads. Arithmetic on URLs; asks nothing.

use http::header::LOCATION;
use reqwest::Url;

use crate::errors::error::{Error, ErrorKind, Result};
use crate::web::answer::Answer;

/// More redirects than this are a circle.
pub(crate) const MOST_HOPS: u32 = 5;

/// The URL that a redirect names; `None` if the answer is none.
pub(crate) fn target(answer: &Answer, from: &Url, place: &str) -> Result<Option<Url>> {
    if !answer.status.is_redirection() {
        return Ok(None);
    }
    let location = answer.header(LOCATION.as_str());
    let location = location
        .ok_or_else(|| wrong(place, "the server redirects to nowhere: there is no Location"))?;
    let to = from.join(location);
    let to = to.map_err(|_| wrong(place, "the server redirects to something that is not a URL"))?;
    match (from.scheme(), to.scheme()) {
        (_, "https") | ("http", "http") => Ok(Some(to)),
        _ => Err(wrong(place, "the server redirects away from https, which is refused")),
    }
}

fn wrong(place: &str, text: &str) -> Error {
    Error::new(ErrorKind::Answer, place, text)
}

/// The error of too many redirects.
pub(crate) fn circle(place: &str) -> Error {
    let text = format!("the server redirects more than {MOST_HOPS} times");
    Error::new(ErrorKind::Answer, place, text)
}
