//! An S3 server in memory, behind a connector: no sockets. Plans faults for single requests.
//!
//! For tests. It checks no signatures. The Hub and HTTP servers have ports of their own.

mod fault;
mod hold;
pub mod hub;
pub mod listener;
mod network;

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Method, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};

use crate::settings::location::decoded;
use crate::settings::options::Options;
pub use crate::simulated::fault::{Asked, Fault};
pub use crate::simulated::hold::Held;
use crate::simulated::hold::{Holds, LOOK};
use crate::simulated::network::Network;

/// The time of objects of which no other was set.
const LAST_MODIFIED: &str = "Mon, 02 Nov 2026 00:00:00 GMT";

type Plan = Box<dyn FnMut(&Asked) -> Option<Fault> + Send>;

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Bytes>,
    /// Tags of objects that were read, by name.
    tags: BTreeMap<String, String>,
    /// `Last-Modified` of objects that do not have [`LAST_MODIFIED`], by name.
    modified: BTreeMap<String, String>,
    uploads: BTreeMap<String, (String, BTreeMap<u32, Bytes>)>,
    asked: Vec<Asked>,
    plan: Option<Plan>,
    holds: Holds,
    ids: u64,
    ignores_conditions: bool,
}

/// A server with one bucket, called `bucket`. Clones are the same server.
#[derive(Clone, Default)]
pub struct Server {
    state: Arc<Mutex<State>>,
    network: Network,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Server")
    }
}

impl Server {
    /// An empty bucket.
    pub fn new() -> Server {
        Server::default()
    }

    /// Each answer begins after `delay`.
    #[must_use]
    pub fn with_delay(mut self, delay: Duration) -> Server {
        self.network.delay = delay;
        self
    }

    /// A range takes the time that one connection of `rate` bytes a second needs, after the delay.
    #[must_use]
    pub fn with_rate(mut self, rate: u64) -> Server {
        self.network.rate = Some(rate);
        self
    }

    /// Ranges of all connections share a link of `rate` bytes a second.
    #[must_use]
    pub fn with_link(mut self, rate: u64) -> Server {
        self.network.link = Some(rate);
        self
    }

    /// Conditional writes succeed always, as with some gateways.
    pub fn ignore_conditions(&self) {
        self.lock().ignores_conditions = true;
    }

    /// Options with which stores reach this server as `s3://bucket/`.
    pub fn options(&self) -> Options {
        let pairs = [
            ("endpoint", "http://simulated"),
            ("allow_http", "true"),
            ("region", "simulated"),
            ("access_key_id", "AK"),
            ("secret_access_key", "SK"),
        ];
        let options = Options::from_pairs(pairs).expect("known names");
        options.with_connector(Arc::new(self.clone()))
    }

    /// Sets an object.
    pub fn set(&self, name: &str, bytes: impl Into<Bytes>) {
        let mut state = self.lock();
        let name = name.to_string();
        state.tags.remove(&name);
        state.objects.insert(name, bytes.into());
    }

    /// Sets `Last-Modified` of an object, for example `Mon, 02 Nov 2026 00:00:01 GMT`.
    pub fn set_modified(&self, name: &str, time: &str) {
        self.lock().modified.insert(name.to_string(), time.to_string());
    }

    /// The bytes of an object.
    pub fn object(&self, name: &str) -> Option<Bytes> {
        self.lock().objects.get(name).cloned()
    }

    /// The names of all objects.
    pub fn names(&self) -> Vec<String> {
        self.lock().objects.keys().cloned().collect()
    }

    /// Number of uploads in parts that were begun and not ended.
    pub fn open_uploads(&self) -> usize {
        self.lock().uploads.len()
    }

    /// Decides about the faults of all later requests.
    pub fn plan(&self, plan: impl FnMut(&Asked) -> Option<Fault> + Send + 'static) {
        self.lock().plan = Some(Box::new(plan));
    }

    /// Holds answers back as long as `hold` returns true for them: "not yet" is no matter of time.
    pub fn hold(&self, hold: impl FnMut(&Held) -> bool + Send + 'static) {
        self.lock().holds.hold = Some(Box::new(hold));
    }

    /// Holds all answers back until so many requests have been in progress at the same time.
    pub fn hold_until(&self, requests: usize) {
        self.hold(move |held| held.most_at_once < requests);
    }

    /// Number of requests that have begun, answered or not.
    pub fn begun(&self) -> usize {
        self.lock().holds.begun.len()
    }

    /// Takes the list of requests so far.
    pub fn take_asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.lock().asked)
    }

    /// The most requests that were in progress at the same time.
    pub fn most_at_once(&self) -> usize {
        self.lock().holds.most_at_once
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HttpConnector for Server {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Server {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        let mut body = std::pin::pin!(body);
        let mut sent = Vec::new();
        while let Some(frame) = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            sent.extend_from_slice(frame?.data_ref().map_or(&[], |data| data));
        }
        let query: BTreeMap<String, String> = parts.uri.query().map(pairs).unwrap_or_default();
        let path = parts.uri.path().trim_start_matches('/');
        let path = path.strip_prefix("bucket").unwrap_or(path).trim_start_matches('/');
        let name = match query.get("prefix") {
            Some(prefix) => prefix.clone(),
            None => decoded(path),
        };
        let header = |name: &str| {
            parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_string)
        };
        let range = header("range").as_deref().and_then(bounds);
        let length = range.map_or(0, |(start, end)| end - start);
        self.lock().holds.begin(&name, range);
        while self.lock().holds.is_held(&name, range) {
            tokio::time::sleep(LOOK).await;
        }
        self.network.wait(length).await;
        let mut state = self.lock();
        state.holds.end();
        let method = parts.method.to_string();
        let number = state.asked.len() as u64;
        let asked = Asked { method, name: name.clone(), number, range };
        state.asked.push(asked.clone());
        let mut plan = state.plan.take();
        let fault = plan.as_mut().and_then(|plan| plan(&asked));
        state.plan = plan;
        let call = Call { method: parts.method, name, query, range, sent, header: &header };
        state.respond(&call, fault)
    }
}

struct Call<'a> {
    method: Method,
    name: String,
    query: BTreeMap<String, String>,
    range: Option<(u64, u64)>,
    sent: Vec<u8>,
    header: &'a dyn Fn(&str) -> Option<String>,
}

impl State {
    fn respond(
        &mut self,
        call: &Call<'_>,
        fault: Option<Fault>,
    ) -> Result<HttpResponse, HttpError> {
        let reset = HttpError::new(HttpErrorKind::Request, std::io::Error::other("reset"));
        match fault {
            Some(Fault::Reset) => return Err(reset),
            Some(Fault::LostAnswer) => {
                self.answer(call, None);
                return Err(reset);
            }
            Some(Fault::Status(status, after)) => {
                let mut answer = plain(status, Bytes::new());
                if let Some(seconds) = after {
                    let value = seconds.to_string().parse().expect("digits");
                    answer.headers_mut().insert("retry-after", value);
                }
                return Ok(answer);
            }
            Some(Fault::Refused(status, code)) => {
                return Ok(plain(status, format!("<Error><Code>{code}</Code></Error>").into()));
            }
            _ => {}
        }
        Ok(self.answer(call, fault))
    }

    fn answer(&mut self, call: &Call<'_>, fault: Option<Fault>) -> HttpResponse {
        let upload = call.query.get("uploadId").cloned();
        match (&call.method, upload) {
            (&Method::GET, _) if call.query.contains_key("list-type") => self.list(&call.name),
            (&Method::GET | &Method::HEAD, _) => self.read(call, fault),
            (&Method::PUT, Some(id)) => self.part(call, &id),
            (&Method::PUT, None) => self.write(call),
            (&Method::POST, None) if call.query.contains_key("uploads") => self.begin(call),
            (&Method::POST, Some(id)) => self.complete(&id),
            (&Method::DELETE, Some(id)) => match self.uploads.remove(&id) {
                Some(_) => plain(204, Bytes::new()),
                None => plain(404, "<Error><Code>NoSuchUpload</Code></Error>".into()),
            },
            (&Method::DELETE, None) => {
                self.objects.remove(&call.name);
                plain(204, Bytes::new())
            }
            _ => plain(501, Bytes::new()),
        }
    }

    fn read(&mut self, call: &Call<'_>, fault: Option<Fault>) -> HttpResponse {
        let Some(object) = self.objects.get(&call.name) else {
            return plain(404, "<Error><Code>NoSuchKey</Code></Error>".into());
        };
        let tag = self.tags.entry(call.name.clone()).or_insert_with(|| tag(object)).clone();
        if (call.header)("if-match").is_some_and(|wanted| wanted != tag) {
            return plain(412, "<Error><Code>PreconditionFailed</Code></Error>".into());
        }
        let whole = (0, object.len() as u64);
        let range = call.range.filter(|_| fault != Some(Fault::Whole));
        let (at, end) = range.map_or(whole, |(at, end)| (at, end.min(whole.1)));
        let mut bytes = object.slice(at as usize..end as usize);
        if let Some(Fault::Flip(place)) = fault {
            let mut flipped = bytes.to_vec();
            let place = place % flipped.len();
            flipped[place] ^= 1;
            bytes = flipped.into();
        }
        let length = bytes.len();
        let cut = match fault {
            Some(Fault::Cut(bytes)) => Some(bytes),
            _ => None,
        };
        let bytes = if call.method == Method::HEAD { Bytes::new() } else { bytes };
        let body = HttpResponseBody::new(CutBody { bytes: Some(bytes), cut });
        let mut answer = Response::builder()
            .status(if range.is_some() { 206 } else { 200 })
            .header("etag", tag)
            .header(
                "last-modified",
                self.modified.get(&call.name).map_or(LAST_MODIFIED, |time| time),
            )
            .header("content-length", length);
        if range.is_some() {
            let text = format!("bytes {at}-{}/{}", end - 1, object.len());
            answer = answer.header("content-range", text);
        }
        answer.body(body).expect("valid headers")
    }

    fn write(&mut self, call: &Call<'_>) -> HttpResponse {
        let exists = self.objects.contains_key(&call.name);
        if exists && (call.header)("if-none-match").is_some() && !self.ignores_conditions {
            return plain(412, "<Error><Code>PreconditionFailed</Code></Error>".into());
        }
        let bytes = Bytes::from(call.sent.clone());
        let tag = tag(&bytes);
        self.tags.remove(&call.name);
        self.objects.insert(call.name.clone(), bytes);
        tagged(&tag, Bytes::new())
    }

    fn begin(&mut self, call: &Call<'_>) -> HttpResponse {
        self.ids += 1;
        let id = format!("id{}", self.ids);
        self.uploads.insert(id.clone(), (call.name.clone(), BTreeMap::new()));
        let xml = format!(
            "<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
        );
        plain(200, xml.into())
    }

    fn part(&mut self, call: &Call<'_>, id: &str) -> HttpResponse {
        let number = call.query.get("partNumber").and_then(|n| n.parse().ok()).unwrap_or(0);
        let bytes = Bytes::from(call.sent.clone());
        let tag = tag(&bytes);
        match self.uploads.get_mut(id) {
            Some((_, parts)) => {
                parts.insert(number, bytes);
                tagged(&tag, Bytes::new())
            }
            None => plain(404, "<Error><Code>NoSuchUpload</Code></Error>".into()),
        }
    }

    fn complete(&mut self, id: &str) -> HttpResponse {
        let Some((name, parts)) = self.uploads.remove(id) else {
            return plain(404, "<Error><Code>NoSuchUpload</Code></Error>".into());
        };
        let bytes: Vec<u8> = parts.into_values().flatten().collect();
        let bytes = Bytes::from(bytes);
        let tag = tag(&bytes);
        self.tags.remove(&name);
        self.objects.insert(name, bytes);
        let xml = format!(
            "<CompleteMultipartUploadResult><ETag>{tag}</ETag></CompleteMultipartUploadResult>"
        );
        tagged(&tag, xml.into())
    }

    fn list(&self, prefix: &str) -> HttpResponse {
        let mut xml = String::from("<ListBucketResult><IsTruncated>false</IsTruncated>");
        for (name, bytes) in self.objects.iter().filter(|(name, _)| name.starts_with(prefix)) {
            let size = bytes.len();
            let tag = tag(bytes);
            let _ = write!(
                xml,
                "<Contents><Key>{name}</Key><LastModified>2026-11-02T00:00:00.000Z</LastModified>\
                 <ETag>{tag}</ETag><Size>{size}</Size></Contents>"
            );
        }
        plain(200, (xml + "</ListBucketResult>").into())
    }
}

/// A body that may end with an error.
struct CutBody {
    bytes: Option<Bytes>,
    cut: Option<usize>,
}

impl Body for CutBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let cut = self.cut;
        Poll::Ready(match (self.bytes.take(), cut) {
            (Some(bytes), None) => Some(Ok(Frame::data(bytes))),
            (Some(bytes), Some(cut)) => Some(Ok(Frame::data(bytes.slice(..cut.min(bytes.len()))))),
            (None, None) => None,
            (None, Some(_)) => {
                self.cut = None;
                let reset = std::io::Error::other("reset in the body");
                Some(Err(HttpError::new(HttpErrorKind::Interrupted, reset)))
            }
        })
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

fn plain(status: u16, body: Bytes) -> HttpResponse {
    let status = StatusCode::from_u16(status).expect("a status");
    let answer = Response::builder().status(status).header("content-length", body.len());
    answer.body(body.into()).expect("valid headers")
}

fn tagged(tag: &str, body: Bytes) -> HttpResponse {
    let mut answer = plain(200, body);
    answer.headers_mut().insert("etag", tag.parse().expect("hexadecimal"));
    answer
}

/// A tag that depends on the bytes (FNV-1a).
fn tag(bytes: &[u8]) -> String {
    let skip = if bytes.len() < 64 << 20 { 1 } else { 4096 }; // all bytes of 1,000 large objects would take minutes
    let hash = bytes.iter().step_by(skip).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("\"{hash:016x}\"")
}

/// First byte and end of `bytes=A-B`.
fn bounds(range: &str) -> Option<(u64, u64)> {
    let (at, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    Some((at.parse().ok()?, last.parse::<u64>().map_or(u64::MAX, |last| last + 1)))
}

fn pairs(query: &str) -> BTreeMap<String, String> {
    let pairs = query.split('&').map(|text| text.split_once('=').unwrap_or((text, "")));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}
