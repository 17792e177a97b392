//! `OwnClients`: makes HTTP clients that bring their provider of TLS with them.
//!
//! A program chooses the provider of its process by itself, at any time: this crate neither installs one nor depends
//! on one that is installed. The crate `object_store` makes its clients with that of the process.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use object_store::client::{HttpClient, HttpConnector};
use object_store::{ClientConfigKey, ClientOptions};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::net::lookup_host;

/// A connection is made within this time, or tried again.
pub(crate) const CONNECT: Duration = Duration::from_secs(3);
/// A body that brings nothing for so long is asked for again, from where it stopped.
pub(crate) const SILENCE: Duration = Duration::from_secs(10);

/// What a client does with an answer that names another URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Redirects {
    /// The client asks there.
    Follow,
    /// The caller gets the answer.
    Return,
}

/// Makes clients.
#[derive(Debug)]
pub(crate) struct OwnClients {
    pub(crate) redirects: Redirects,
}

impl HttpConnector for OwnClients {
    /// Of the options, a client takes whether it may ask without TLS and how long it waits for a connection: no others
    /// are set in this crate, and `object_store` changes these two for the metadata services of clouds.
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let allow_http = options.get_config_value(&ClientConfigKey::AllowHttp);
        let connect = options.get_config_value(&ClientConfigKey::ConnectTimeout);
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls().map_err(failed)?)
            .redirect(match self.redirects {
                Redirects::Follow => Policy::default(),
                Redirects::Return => Policy::none(),
            })
            .connect_timeout(connect.and_then(|text| seconds(&text)).unwrap_or(CONNECT))
            .read_timeout(SILENCE)
            .https_only(allow_http.as_deref() != Some("true"))
            .http1_only()
            .dns_resolver(Arc::new(EachInTurn::default()))
            .user_agent(concat!("tarflume/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(HttpClient::new(client.map_err(failed)?))
    }
}

/// Ring signs and encrypts; the certificates are those that the operating system trusts.
///
/// # Errors
/// Returns an error if the system has no certificates.
fn tls() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions()?;
    Ok(builder.with_platform_verifier()?.with_no_client_auth())
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> object_store::Error {
    object_store::Error::Generic { store: "tarflume", source: Box::new(error) }
}

/// Reads a time in whole seconds, as `object_store` writes it: `3s`.
fn seconds(text: &str) -> Option<Duration> {
    text.strip_suffix('s')?.parse().ok().map(Duration::from_secs)
}

/// Starts with another address of a name for each connection, so that connections are spread over the servers of a
/// store.
#[derive(Debug, Default)]
struct EachInTurn {
    next: Arc<AtomicUsize>,
}

impl Resolve for EachInTurn {
    fn resolve(&self, name: Name) -> Resolving {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            let found: Vec<SocketAddr> = lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Box::new(in_turn(found, next).into_iter()) as Addrs)
        })
    }
}

fn in_turn(mut found: Vec<SocketAddr>, next: usize) -> Vec<SocketAddr> {
    let first = next.checked_rem(found.len()).unwrap_or(0);
    found.rotate_left(first);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_for_a_connection_is_that_of_the_options() {
        for time in [Duration::from_secs(1), CONNECT] {
            let options = ClientOptions::new().with_connect_timeout(time);
            let found = options.get_config_value(&ClientConfigKey::ConnectTimeout);
            assert_eq!(found.and_then(|text| seconds(&text)), Some(time));
        }
    }

    #[test]
    fn each_address_of_a_name_is_the_first_one_in_turn() {
        let all: Vec<SocketAddr> =
            (1..4).map(|last| SocketAddr::from(([10, 0, 0, last], 0))).collect();
        for next in 0..7 {
            let found = in_turn(all.clone(), next);
            assert_eq!(found[0], all[next % 3]);
            assert_eq!(found.len(), 3);
        }
        assert!(in_turn(Vec::new(), 5).is_empty());
    }

    #[test]
    fn a_client_is_made_without_a_provider_of_the_process() {
        let clients = OwnClients { redirects: Redirects::Follow };
        clients.connect(&ClientOptions::new()).unwrap();
        assert!(rustls::crypto::CryptoProvider::get_default().is_none());
        let chosen_later = ring::default_provider().install_default();
        assert!(chosen_later.is_ok(), "the program chooses the provider of its process");
    }
}
