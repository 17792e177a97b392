//! `Options`: how a store is reached, from names and values. What is not given comes from the environment.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use object_store::client::HttpConnector;

use crate::errors::error::{Error, ErrorKind, Result};

/// The names of options, with what they mean.
pub const NAMES: [(&str, &str); 14] = [
    (
        "endpoint",
        "URL of an S3-compatible server, of the Azure blob service, or of a mirror of the Hub \
         (AWS_ENDPOINT_URL, HF_ENDPOINT)",
    ),
    ("region", "region of the bucket (AWS_REGION)"),
    ("profile", "profile of ~/.aws/config and ~/.aws/credentials (AWS_PROFILE)"),
    ("access_key_id", "key id (AWS_ACCESS_KEY_ID)"),
    ("secret_access_key", "secret key (AWS_SECRET_ACCESS_KEY)"),
    ("session_token", "session token (AWS_SESSION_TOKEN)"),
    ("anonymous", "true: do not sign requests, for public buckets (AWS_SKIP_SIGNATURE)"),
    ("requester_pays", "true: accept that the reader pays (AWS_REQUEST_PAYER)"),
    (
        "virtual_hosted",
        "true: the bucket is part of the host's name (AWS_VIRTUAL_HOSTED_STYLE_REQUEST)",
    ),
    ("allow_http", "true: allow http:// without TLS for endpoint= (AWS_ALLOW_HTTP)"),
    ("account", "account of Azure storage (AZURE_STORAGE_ACCOUNT_NAME)"),
    ("account_key", "key of the account (AZURE_STORAGE_ACCOUNT_KEY)"),
    ("service_account", "path of a Google service account's key (GOOGLE_APPLICATION_CREDENTIALS)"),
    ("token", "token of the Hugging Face Hub (HF_TOKEN)"),
];

/// The options of a store.
///
/// ```
/// use tarflume_store::Options;
///
/// let options = Options::from_pairs([("endpoint", "http://localhost:8333"), ("allow_http", "true")])?;
/// assert!(Options::from_pairs([("endpiont", "x")]).is_err());
/// # Ok::<(), tarflume_store::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Options {
    values: BTreeMap<&'static str, String>,
    folder: Option<PathBuf>,
    connector: Option<Arc<dyn HttpConnector>>,
}

impl Options {
    /// Returns the options that come from the environment alone.
    pub fn new() -> Options {
        Options::default()
    }

    /// Reads names and values.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for a name that is not in [`NAMES`].
    pub fn from_pairs<N: AsRef<str>, V: Into<String>>(
        pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Options> {
        let mut options = Options::default();
        for (name, value) in pairs {
            options.set(name.as_ref(), value.into())?;
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: String) -> Result<()> {
        let Some((known, _)) = NAMES.iter().find(|(known, _)| *known == name) else {
            let known: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
            let text =
                format!("there is no storage option '{name}'; there are {}", known.join(", "));
            return Err(Error::new(ErrorKind::Usage, "storage", text));
        };
        self.values.insert(known, value);
        Ok(())
    }

    /// Keeps in this folder to which commit a revision of the Hub was resolved, and the list of its
    /// files, so that the processes of a node ask once and read the same commit. Without a folder,
    /// each process asks.
    #[must_use]
    pub fn with_folder(mut self, folder: impl Into<PathBuf>) -> Options {
        self.folder = Some(folder.into());
        self
    }

    pub(crate) fn folder(&self) -> Option<PathBuf> {
        self.folder.clone()
    }

    /// Sends requests through `connector`: for tests, and for programs with a client of their own.
    #[must_use]
    pub fn with_connector(mut self, connector: Arc<dyn HttpConnector>) -> Options {
        self.connector = Some(connector);
        self
    }

    pub(crate) fn connector(&self) -> Option<Arc<dyn HttpConnector>> {
        self.connector.clone()
    }

    /// The value of an option, or of the first of the environment variables that is set.
    pub(crate) fn get(&self, name: &str, environment: &[&str]) -> Option<String> {
        let given = self.values.get(name).cloned();
        given.or_else(|| environment.iter().find_map(|name| variable(name)))
    }

    /// The value of an option that is true or false, or of the first of the environment variables that is
    /// set; false if there is none.
    pub(crate) fn flag(&self, name: &str, environment: &[&str]) -> Result<bool> {
        match self.get(name, environment).map(|value| value.to_ascii_lowercase()).as_deref() {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1") => Ok(true),
            Some(other) => {
                let known = environment.join(", ");
                let text = if self.values.contains_key(name) {
                    format!("storage option {name}='{other}': give true or false")
                } else {
                    format!("{known}='{other}' in the environment: give true or false")
                };
                Err(Error::new(ErrorKind::Usage, "storage", text))
            }
        }
    }
}

/// A variable of the environment that is set and not empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Shows names alone: values may be secrets.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_lists_the_known_ones_and_no_value_is_shown() {
        let error = Options::from_pairs([("endpiont", "secret")]).unwrap_err();
        assert!(error.text().contains("'endpiont'; there are endpoint, region"), "{error}");
        let options = Options::from_pairs([("secret_access_key", "hidden")]).unwrap();
        assert_eq!(format!("{options:?}"), "{\"secret_access_key\"}");
    }

    #[test]
    fn flags_are_true_or_false() {
        let options = Options::from_pairs([("anonymous", "true"), ("allow_http", "yes")]).unwrap();
        assert!(options.flag("anonymous", &[]).unwrap());
        assert!(!options.flag("requester_pays", &[]).unwrap());
        assert!(options.flag("allow_http", &[]).unwrap_err().text().contains("true or false"));
    }
}
