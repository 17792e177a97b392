//! `Web`: GET requests to one URL each, for stores that `object_store` does not know.
//!
//! Repeats a request whose failure may pass, and goes on where a body was cut. Follows no redirect:
//! the caller decides who may see a token. Knows no store.

pub(crate) mod answer;
pub(crate) mod expiry;
mod pauses;
pub(crate) mod read_only;
pub(crate) mod redirect;
mod tail;

use std::ops::Range;
use std::sync::Arc;

use futures_util::StreamExt;
use http::header::{AUTHORIZATION, IF_MATCH, RANGE};
use http::{HeaderMap, Method, StatusCode};
use object_store::RetryConfig;
use object_store::client::{
    HttpClient, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse, HttpResponseBody,
};
use reqwest::Url;

use crate::errors::cause::Cause;
use crate::errors::error::{Error, ErrorKind, Result};
use crate::requests::connector::{direct, is_passing, retries};
use crate::requests::metrics::Metrics;
use crate::settings::options::Options;
use crate::web::answer::{Answer, declared_length};
use crate::web::pauses::Pauses;
use crate::web::tail::Tail;

/// A request.
#[derive(Clone)]
pub(crate) struct Ask<'a> {
    pub(crate) url: &'a Url,
    /// A secret for this URL alone.
    pub(crate) token: Option<&'a str>,
    /// All bytes if there is none.
    pub(crate) range: Option<Range<u64>>,
    pub(crate) if_match: Option<&'a str>,
    /// The bytes behind the URL never change, so a body that was cut is continued without a tag.
    pub(crate) is_immutable: bool,
    /// A whole object of up to so many bytes is accepted for a range of it.
    pub(crate) whole: u64,
    /// The object in messages.
    pub(crate) place: &'a str,
}

/// A client that sends requests and repeats them.
#[derive(Debug)]
pub(crate) struct Web {
    client: HttpClient,
    retries: RetryConfig,
}

/// Why a try brought no answer.
enum Trouble {
    /// It may pass.
    Passing(String),
    Final(Error),
}

impl Web {
    /// Makes a client. Asks nothing.
    pub(crate) fn open(
        options: &Options,
        allow_http: bool,
        metrics: &Arc<Metrics>,
        url: &str,
    ) -> Result<Web> {
        let client = direct(options, allow_http, metrics);
        let client = client.map_err(|e| Error::of(&e, "make a client", url))?;
        Ok(Web { client, retries: retries() })
    }

    /// Asks until there is an answer that stays. The answer may be a refusal.
    pub(crate) async fn get(&self, ask: &Ask<'_>) -> Result<Answer> {
        let mut pauses = Pauses::new(&self.retries);
        let mut tail = Tail::new(ask.range.clone(), ask.is_immutable);
        loop {
            let text = match self.try_once(ask, &mut tail).await {
                Ok(answer) => return Ok(answer),
                Err(Trouble::Final(error)) => return Err(error),
                Err(Trouble::Passing(text)) => text,
            };
            if !pauses.pause().await {
                let text = format!("cannot read: {text}, after {} tries", pauses.tries());
                return Err(Error::new(ErrorKind::Machine, ask.place, text));
            }
        }
    }

    async fn try_once(&self, ask: &Ask<'_>, tail: &mut Tail) -> Result<Answer, Trouble> {
        let request = request(ask, tail).map_err(Trouble::Final)?;
        let sent = self.client.execute(request).await;
        let (parts, body) = sent.map_err(|e| trouble(&e, ask))?.into_parts();
        if is_passing(parts.status) {
            return Err(Trouble::Passing(format!("the server answered {}", parts.status)));
        }
        if !parts.status.is_success() {
            let bytes = HttpResponse::new(body).into_body().bytes().await;
            let bytes = bytes.map_err(|e| trouble(&e, ask))?;
            return Ok(Answer { status: parts.status, headers: parts.headers, bytes });
        }
        check_range(ask, parts.status, &parts.headers).map_err(Trouble::Final)?;
        if !tail.accept(parts.status, parts.headers) {
            return Err(Trouble::Passing("a cut answer was continued by other bytes".into()));
        }
        receive(ask, body, tail).await?;
        Ok(tail.take())
    }
}

fn request(ask: &Ask<'_>, tail: &Tail) -> Result<HttpRequest> {
    let mut builder = http::Request::builder().method(Method::GET).uri(ask.url.as_str());
    if let Some(token) = ask.token {
        builder = builder.header(AUTHORIZATION, format!("Bearer {token}"));
    }
    if let Some(range) = tail.wanted() {
        builder = builder.header(RANGE, range);
    }
    if let Some(tag) = tail.tag().or(ask.if_match) {
        builder = builder.header(IF_MATCH, tag);
    }
    builder.body(HttpRequestBody::empty()).map_err(|_| {
        // The text of the error could show the header.
        let text = "the URL or the token has characters that no request can have; check both";
        Error::new(ErrorKind::Usage, ask.place, text)
    })
}

/// Collects a body behind what is there.
async fn receive(ask: &Ask<'_>, body: HttpResponseBody, tail: &mut Tail) -> Result<(), Trouble> {
    let mut stream = body.bytes_stream();
    while let Some(chunk) = stream.next().await {
        match chunk {
            Ok(chunk) => tail.push(&chunk),
            Err(error) => {
                tail.interrupt();
                return Err(trouble(&error, ask));
            }
        }
    }
    match tail.missing() {
        0 => Ok(()),
        missing => {
            tail.interrupt();
            Err(Trouble::Passing(format!("the answer ended {missing} bytes early")))
        }
    }
}

/// Refuses a whole object where a range was asked for.
fn check_range(ask: &Ask<'_>, status: StatusCode, headers: &HeaderMap) -> Result<()> {
    let is_small = declared_length(headers).is_some_and(|length| length <= ask.whole);
    if ask.range.is_none() || status == StatusCode::PARTIAL_CONTENT || is_small {
        return Ok(());
    }
    let text = format!(
        "this server ignores ranges (it answered {} to one), and shards are read by ranges; serve the files by \
         one that announces `Accept-Ranges: bytes`",
        status.as_u16()
    );
    Err(Error::new(ErrorKind::Answer, ask.place, text))
}

fn trouble(error: &object_store::client::HttpError, ask: &Ask<'_>) -> Trouble {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    match error.kind() {
        HttpErrorKind::Connect
        | HttpErrorKind::Request
        | HttpErrorKind::Timeout
        | HttpErrorKind::Interrupted => Trouble::Passing(text),
        _ => {
            let kind = match Cause::of(error) {
                Some(Cause::Certificate) => ErrorKind::Usage,
                Some(Cause::TooLong) => ErrorKind::TooLong,
                _ => ErrorKind::Machine,
            };
            Trouble::Final(Error::new(kind, ask.place, format!("cannot read: {text}")))
        }
    }
}
