//! From a URL and options to a client of its store.

use std::sync::Arc;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::client::HttpConnector;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::multipart::MultipartStore;
use object_store::{ClientOptions, ObjectStore};
use reqwest::Url;

use crate::errors::error::{Error, ErrorKind, Result, without_secrets};
use crate::errors::guard::guarded;
use crate::errors::part::ErrorPart;
use crate::hub::Hub;
use crate::requests::client::{CONNECT, OwnClients, Redirects, SILENCE};
use crate::requests::connector::{CountingConnector, retries};
use crate::requests::metrics::Metrics;
use crate::settings::credentials;
use crate::settings::location::{Location, Scheme};
use crate::settings::options::Options;

/// Variables that name the server of S3.
const S3_ENDPOINT: [&str; 2] = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"];

/// The two faces of a client.
pub(crate) struct Client {
    pub(crate) objects: Arc<dyn ObjectStore>,
    /// Uploads in parts; none where nothing is written.
    pub(crate) parts: Option<Arc<dyn MultipartStore>>,
}

impl Client {
    fn of<S: ObjectStore + MultipartStore>(store: S) -> Client {
        let store = Arc::new(store);
        Client { objects: store.clone(), parts: Some(store) }
    }

    /// A client that only reads.
    pub(crate) fn reading<S: ObjectStore>(store: S) -> Client {
        Client { objects: Arc::new(store), parts: None }
    }

    /// Makes a client for the store of `at`. Asks nothing.
    pub(crate) fn open(
        at: &Location,
        url: &str,
        options: &Options,
        metrics: &Arc<Metrics>,
    ) -> Result<Client> {
        guarded(url, || Client::made(at, url, options, metrics))?
    }

    fn made(at: &Location, url: &str, options: &Options, metrics: &Arc<Metrics>) -> Result<Client> {
        let made = match at.scheme {
            Scheme::S3 => s3(at, url, options, metrics)?.build().map(Client::of),
            Scheme::Gcs => gcs(at, url, options, metrics)?.build().map(Client::of),
            Scheme::Azure => azure(at, url, options, metrics)?.build().map(Client::of),
            Scheme::Http => http(at, options, metrics).build().map(Client::reading),
            Scheme::Hub => return Ok(Client::reading(Hub::open(at, url, options, metrics)?)),
            Scheme::List => {
                return Err(Error::new(ErrorKind::Usage, url, "this is not a list of URLs"));
            }
        };
        made.map_err(|e| Error::of(&e, "open the store", url).into_usage())
    }
}

/// True if an option, a variable or a profile names another server than that of the store's operator.
pub(crate) fn is_elsewhere(scheme: Scheme, options: &Options) -> bool {
    match scheme {
        Scheme::S3 => {
            let endpoint = options.get("endpoint", &S3_ENDPOINT).or_else(|| {
                credentials::Profile::chosen(options).ok().flatten()?.value("endpoint_url")
            });
            endpoint.is_some_and(|endpoint| !endpoint.contains(".amazonaws.com"))
        }
        Scheme::Gcs | Scheme::Azure => options.get("endpoint", &[]).is_some(),
        Scheme::Http | Scheme::Hub | Scheme::List => true,
    }
}

/// Checks the address of a server: clients panic at some texts that are none.
fn server_url(text: String, of: &str) -> Result<String> {
    let parsed = Url::parse(&text).ok();
    if parsed.is_some_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host()) {
        return Ok(text);
    }
    let shown = without_secrets(&text);
    let [plain, with_tls] = if text.contains("://") || text.is_empty() {
        ["give it as http://HOST:PORT".to_string(), "as https://HOST".to_string()]
    } else {
        [format!("give http://{shown}"), format!("https://{shown}")]
    };
    let parts = [
        ErrorPart::text("the address of the server ("),
        ErrorPart::ENDPOINT,
        ErrorPart::text(", AWS_ENDPOINT_URL) is "),
        format!("'{shown}', which is no URL; {plain}").into(),
        ErrorPart::text(" with "),
        ErrorPart::ALLOW_HTTP,
        ErrorPart::text(", or "),
        with_tls.into(),
    ];
    Err(Error::advising(ErrorKind::Usage, of, parts))
}

/// How long a request may take: a body may be of any length.
fn client_options(allow_http: bool) -> ClientOptions {
    ClientOptions::new()
        .with_timeout_disabled()
        .with_read_timeout(SILENCE)
        .with_connect_timeout(CONNECT)
        .with_allow_http(allow_http)
}

/// What makes the clients of a store. Requests with credentials, and those that change something, go to the named
/// server alone: an answer that names another one is an error.
fn connector(options: &Options, metrics: &Arc<Metrics>, redirects: Redirects) -> CountingConnector {
    let own = OwnClients { redirects };
    let inner: Arc<dyn HttpConnector> = options.connector().unwrap_or_else(|| Arc::new(own));
    CountingConnector::new(inner, metrics.clone())
}

fn s3(
    at: &Location,
    url: &str,
    options: &Options,
    metrics: &Arc<Metrics>,
) -> Result<AmazonS3Builder> {
    let anonymous = options.flag("anonymous", &["AWS_SKIP_SIGNATURE"])?;
    let profile = credentials::Profile::chosen(options)?;
    // The key ids of the environment belong together with its secrets: the builder reads both.
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(&at.bucket)
        .with_client_options(client_options(options.flag("allow_http", &["AWS_ALLOW_HTTP"])?))
        .with_retry(retries())
        .with_skip_signature(anonymous)
        .with_request_payer(options.flag("requester_pays", &["AWS_REQUEST_PAYER"])?)
        .with_virtual_hosted_style_request(
            options.flag("virtual_hosted", &["AWS_VIRTUAL_HOSTED_STYLE_REQUEST"])?,
        )
        .with_disable_bulk_delete(true) // not every server has it
        .with_http_connector(connector(options, metrics, Redirects::Return));
    let region = options.get("region", &["AWS_REGION", "AWS_DEFAULT_REGION"]);
    if let Some(region) = region.or_else(|| profile.as_ref()?.value("region")) {
        builder = builder.with_region(region);
    }
    let endpoint = options.get("endpoint", &S3_ENDPOINT);
    if let Some(endpoint) = endpoint.or_else(|| profile.as_ref()?.value("endpoint_url")) {
        builder = builder.with_endpoint(server_url(endpoint, url)?);
    }
    if anonymous {
        return Ok(builder);
    }
    credentials::add(builder, url, options, profile)
}

fn gcs(
    at: &Location,
    url: &str,
    options: &Options,
    metrics: &Arc<Metrics>,
) -> Result<GoogleCloudStorageBuilder> {
    let mut builder = GoogleCloudStorageBuilder::from_env()
        .with_bucket_name(&at.bucket)
        .with_client_options(client_options(options.flag("allow_http", &[])?))
        .with_retry(retries())
        .with_skip_signature(options.flag("anonymous", &["GOOGLE_SKIP_SIGNATURE"])?)
        .with_http_connector(connector(options, metrics, Redirects::Return));
    if let Some(endpoint) = options.get("endpoint", &[]) {
        builder = builder.with_base_url(&server_url(endpoint, url)?);
    }
    if let Some(path) = options.get("service_account", &[]) {
        builder = builder.with_service_account_path(path);
    }
    Ok(builder)
}

fn azure(
    at: &Location,
    url: &str,
    options: &Options,
    metrics: &Arc<Metrics>,
) -> Result<MicrosoftAzureBuilder> {
    let mut builder = MicrosoftAzureBuilder::from_env()
        .with_container_name(&at.bucket)
        .with_client_options(client_options(options.flag("allow_http", &["AZURE_ALLOW_HTTP"])?))
        .with_retry(retries())
        .with_skip_signature(options.flag("anonymous", &["AZURE_SKIP_SIGNATURE"])?)
        .with_http_connector(connector(options, metrics, Redirects::Return));
    if let Some(account) = options.get("account", &[]) {
        builder = builder.with_account(account);
    }
    if let Some(key) = options.get("account_key", &[]) {
        builder = builder.with_access_key(key);
    }
    if let Some(endpoint) = options.get("endpoint", &[]) {
        builder = builder.with_endpoint(server_url(endpoint, url)?);
    }
    Ok(builder)
}

fn http(at: &Location, options: &Options, metrics: &Arc<Metrics>) -> HttpBuilder {
    HttpBuilder::new()
        .with_url(&at.bucket)
        .with_client_options(client_options(at.bucket.starts_with("http://")))
        .with_retry(retries())
        .with_http_connector(connector(options, metrics, Redirects::Follow))
}
