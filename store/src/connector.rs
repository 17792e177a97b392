//! `CountingConnector`: measures each request, and waits as long as the store asks for.
//!
//! The crate `object_store` repeats requests by itself but ignores `Retry-After`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use http::StatusCode;
use http::header::RETRY_AFTER;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService,
};

use crate::metrics::Metrics;

/// A longer pause than this is cut: the request is repeated, and may be refused again.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

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
        Ok(HttpClient::new(CountingService { client, metrics: self.metrics.clone() }))
    }
}

#[derive(Debug)]
struct CountingService {
    client: HttpClient,
    metrics: Arc<Metrics>,
}

#[async_trait]
impl HttpService for CountingService {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let start = Instant::now();
        let answer = self.client.execute(request).await;
        let passing = match &answer {
            Ok(answer) => is_passing(answer.status()),
            Err(_) => true,
        };
        self.metrics.answered(start.elapsed(), passing);
        if let Some(pause) = answer.as_ref().ok().filter(|_| passing).and_then(pause) {
            self.metrics.throttled();
            tokio::time::sleep(pause).await;
        }
        answer
    }
}

/// True for answers after which a request is repeated.
fn is_passing(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status.as_u16(), 408 | 429)
}

/// The pause that an answer asks for, in seconds. A date is not understood and asks for none.
fn pause(answer: &HttpResponse) -> Option<Duration> {
    let seconds = answer.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_PAUSE))
}
