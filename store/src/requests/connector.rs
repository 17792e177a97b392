//! `CountingConnector`: measures each request, and waits as long as the store asks for.
//!
//! The crate `object_store` repeats requests by itself but ignores `Retry-After`. `direct` makes a
//! client for requests of this crate's own, which follows no redirect.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use http::StatusCode;
use http::header::RETRY_AFTER;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService,
};
use object_store::{ClientOptions, RetryConfig};

use crate::errors::bounded::Limits;
use crate::errors::certificate::Unaccepted;
use crate::errors::first_contact::FirstContact;
use crate::requests::client::{OwnClients, Redirects};
use crate::requests::metrics::Metrics;
use crate::settings::options::Options;

/// Credentials must stay valid over all tries of a request.
const ALL_TRIES: Duration = Duration::from_secs(180);

/// A longer pause than this is cut: the request is repeated, and may be refused again.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How often and how long a request is repeated.
pub(crate) fn retries() -> RetryConfig {
    RetryConfig { retry_timeout: ALL_TRIES, ..RetryConfig::default() }
}

/// A client that is counted and follows no redirect.
pub(crate) fn direct(
    options: &Options,
    allow_http: bool,
    metrics: &Arc<Metrics>,
) -> object_store::Result<HttpClient> {
    let own = OwnClients { redirects: Redirects::Return };
    let inner = options.connector().unwrap_or_else(|| Arc::new(own));
    let asked = ClientOptions::new().with_allow_http(allow_http);
    CountingConnector::new(inner, metrics.clone()).connect(&asked)
}

/// Wraps the clients of another connector.
#[derive(Debug)]
pub(crate) struct CountingConnector {
    inner: Arc<dyn HttpConnector>,
    metrics: Arc<Metrics>,
}

impl CountingConnector {
    pub(crate) fn new(inner: Arc<dyn HttpConnector>, metrics: Arc<Metrics>) -> CountingConnector {
        CountingConnector { inner, metrics }
    }
}

impl HttpConnector for CountingConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = self.inner.connect(options)?;
        let metrics = self.metrics.clone();
        let contact = FirstContact::default();
        Ok(HttpClient::new(CountingService { client, metrics, contact }))
    }
}

#[derive(Debug)]
struct CountingService {
    client: HttpClient,
    metrics: Arc<Metrics>,
    contact: FirstContact,
}

#[async_trait]
impl HttpService for CountingService {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let start = Instant::now();
        let limits = Limits::of(&request);
        let answer = self.client.execute(request).await;
        let answer =
            answer.map_err(|error| self.contact.judged(Unaccepted::judged(error), Instant::now()));
        let passing = match &answer {
            Ok(answer) => {
                self.contact.answered();
                is_passing(answer.status())
            }
            Err(_) => true,
        };
        self.metrics.answered(start.elapsed(), passing);
        if let Some(pause) = answer.as_ref().ok().filter(|_| passing).and_then(pause) {
            self.metrics.throttled();
            tokio::time::sleep(pause).await;
        }
        answer.and_then(|answer| limits.apply(answer))
    }
}

/// True for answers after which a request is repeated.
pub(crate) fn is_passing(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status.as_u16(), 408 | 429)
}

/// The pause that an answer asks for, in seconds: `Retry-After`, or the end of the window of
/// `RateLimit: "api";r=0;t=55`. A date is not understood and asks for none.
fn pause(answer: &HttpResponse) -> Option<Duration> {
    let after = header(answer, RETRY_AFTER.as_str()).and_then(|text| text.trim().parse().ok());
    let seconds = after.or_else(|| window(answer))?;
    Some(Duration::from_secs(seconds).min(LONGEST_PAUSE))
}

/// The seconds until the end of the window of `RateLimit`.
fn window(answer: &HttpResponse) -> Option<u64> {
    let mut fields = header(answer, "ratelimit")?.split(';').map(str::trim);
    fields.find_map(|field| field.strip_prefix("t=")?.parse().ok())
}

fn header<'a>(answer: &'a HttpResponse, name: &str) -> Option<&'a str> {
    answer.headers().get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_named_in_two_ways() {
        fn asked(name: &str, value: &str) -> Option<Duration> {
            let answer = http::Response::builder().header(name, value).body(Vec::new().into());
            pause(&answer.unwrap())
        }
        assert_eq!(asked("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(asked("retry-after", "900"), Some(LONGEST_PAUSE));
        assert_eq!(asked("ratelimit", "\"api\";r=0;t=12"), Some(Duration::from_secs(12)));
        assert_eq!(asked("ratelimit", "\"api\";r=0"), None);
        assert_eq!(asked("retry-after", "Mon, 02 Nov 2026 00:00:00 GMT"), None);
    }
}
