//! `Repository`: a data set of the Hub by name and revision, its URLs, and who may see its token.
//!
//! Arithmetic on names; asks nothing.

use reqwest::Url;

use crate::errors::error::{Error, ErrorKind, Result};
use crate::errors::part::ErrorPart;
use crate::hub::token::Token;
use crate::settings::location::{Location, decoded};
use crate::settings::options::{Options, variable};

/// The Hub itself.
const HUB: &str = "https://huggingface.co";

/// A repository at a revision.
#[derive(Debug)]
pub(crate) struct Repository {
    endpoint: Url,
    token: Option<Token>,
    /// `OWNER/NAME`.
    pub(crate) name: String,
    /// As the user wrote it; `main` if there is none.
    pub(crate) revision: String,
    /// The URL of its root, as the user wrote it.
    url: String,
}

impl Repository {
    /// Reads name and revision from the URL, endpoint and token from options and environment.
    pub(crate) fn open(at: &Location, url: &str, options: &Options) -> Result<Repository> {
        let (name, revision) = at.bucket.split_once('@').unwrap_or((&at.bucket, "main"));
        if revision.is_empty() {
            let text = "the revision behind @ is empty; name a branch, a tag or a commit";
            return Err(Error::new(ErrorKind::Usage, url, text));
        }
        let anonymous = options.flag("anonymous", &[])?;
        let token =
            if anonymous { None } else { Token::find(options.get("token", &[]), &variable)? };
        let endpoint = endpoint(url, options)?;
        let name = name.to_string();
        let revision = decoded(revision);
        let url = format!("hf://datasets/{}", at.bucket);
        Ok(Repository { endpoint, token, name, revision, url })
    }

    pub(crate) fn allows_http(&self) -> bool {
        self.endpoint.scheme() == "http"
    }

    /// The revision, if it is a commit: that never changes its meaning.
    pub(crate) fn as_commit(&self) -> Option<&str> {
        is_commit(&self.revision).then_some(&self.revision)
    }

    /// The URL of a path, for messages.
    pub(crate) fn place(&self, path: &str) -> String {
        format!("{}/{path}", self.url).trim_end_matches('/').to_string()
    }

    /// The page on which terms are accepted.
    pub(crate) fn page(&self) -> Url {
        self.at(&["datasets"], &[&self.name])
    }

    /// What the repository is called by all endpoints and revisions.
    pub(crate) fn key(&self, rest: &[&str]) -> String {
        format!("{}\n{}\n{}", self.endpoint, self.name, rest.join("\n"))
    }

    /// Where the commit of the revision is asked for. The answer has the commit alone.
    pub(crate) fn revision_url(&self) -> Url {
        let mut url = self.at(&["api", "datasets"], &[&self.name, "revision"]);
        segments(&mut url, &[&self.revision]);
        url.set_query(Some("expand=sha"));
        url
    }

    /// Where the files of a folder are listed. The folder is one segment, as the Hub's client has it.
    pub(crate) fn tree_url(&self, commit: &str, folder: &str) -> Url {
        let mut url = self.at(&["api", "datasets"], &[&self.name, "tree", commit]);
        if !folder.is_empty() {
            segments(&mut url, &[folder]);
        }
        url.set_query(Some("recursive=true"));
        url
    }

    /// Where the bytes of a file are asked for.
    pub(crate) fn file_url(&self, commit: &str, path: &str) -> Url {
        self.at(&["datasets"], &[&self.name, "resolve", commit, path])
    }

    /// True if a URL is of the server that the token belongs to.
    pub(crate) fn is_ours(&self, url: &Url) -> bool {
        url.origin() == self.endpoint.origin()
    }

    /// Returns the token if `url` has the origin that the token belongs to.
    pub(crate) fn token_for(&self, url: &Url) -> Option<&str> {
        self.token.as_ref().filter(|_| self.is_ours(url)).map(Token::secret)
    }

    pub(crate) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// A URL of the endpoint: words, then paths whose slashes divide.
    fn at(&self, words: &[&str], paths: &[&str]) -> Url {
        let mut url = self.endpoint.clone();
        segments(&mut url, words);
        for path in paths {
            let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
            segments(&mut url, &parts);
        }
        url
    }
}

/// Appends segments; a slash in one of them is encoded.
fn segments(url: &mut Url, segments: &[&str]) {
    // An http URL has segments always.
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
}

/// True for the 40 hexadecimal digits of a commit.
pub(crate) fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn endpoint(url: &str, options: &Options) -> Result<Url> {
    let text = options.get("endpoint", &["HF_ENDPOINT"]).unwrap_or_else(|| HUB.into());
    let Ok(endpoint) = Url::parse(&text) else {
        return Err(wrong_endpoint(url, &[ErrorPart::text(" is not a URL")]));
    };
    let is_local = matches!(endpoint.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    const NO_TLS: &[ErrorPart] = &[
        ErrorPart::text(" has no TLS, so others could read the token; use https, or set "),
        ErrorPart::ALLOW_HTTP,
    ];
    match endpoint.scheme() {
        "https" => Ok(endpoint),
        "http" if is_local || options.flag("allow_http", &[])? => Ok(endpoint),
        "http" => Err(wrong_endpoint(url, NO_TLS)),
        _ => Err(wrong_endpoint(url, &[ErrorPart::text(" must begin with https://")])),
    }
}

/// Returns the error of an endpoint: what is wrong with it.
fn wrong_endpoint(url: &str, why: &[ErrorPart]) -> Error {
    const NAME: [ErrorPart; 3] = [
        ErrorPart::text("the endpoint of the Hub ("),
        ErrorPart::ENDPOINT,
        ErrorPart::text(", HF_ENDPOINT)"),
    ];
    Error::advising(ErrorKind::Usage, url, NAME.into_iter().chain(why.iter().cloned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(url: &str, pairs: &[(&str, &str)]) -> Result<Repository> {
        let options = Options::from_pairs(pairs.iter().copied()).unwrap();
        Repository::open(&Location::parse(url).unwrap(), url, &options)
    }

    #[test]
    fn urls_are_those_of_the_hub() {
        let pairs = [("token", "t"), ("endpoint", "https://mirror/hub")];
        let found = opened("hf://datasets/me/cats@refs/pr/1/a", &pairs).unwrap();
        assert_eq!((found.name.as_str(), found.revision.as_str()), ("me/cats", "refs/pr/1"));
        assert_eq!(
            found.revision_url().as_str(),
            "https://mirror/hub/api/datasets/me/cats/revision/refs%2Fpr%2F1?expand=sha"
        );
        assert_eq!(
            found.file_url("c0", "a b/x#1.tar").as_str(),
            "https://mirror/hub/datasets/me/cats/resolve/c0/a%20b/x%231.tar"
        );
        assert_eq!(
            found.tree_url("c0", "").as_str(),
            "https://mirror/hub/api/datasets/me/cats/tree/c0?recursive=true"
        );
        let below = "https://mirror/hub/api/datasets/me/cats/tree/c0/a%2Fb%20c?recursive=true";
        assert_eq!(found.tree_url("c0", "a/b c").as_str(), below);
        assert_eq!(found.place("a/b"), "hf://datasets/me/cats@refs/pr/1/a/b");
        let encoded = opened("hf://datasets/me/cats@refs%2Fpr%2F1/a", &pairs).unwrap();
        assert_eq!(encoded.revision, "refs/pr/1");
        assert_eq!(opened("hf://datasets/me/cats", &pairs).unwrap().revision, "main");
        assert!(opened("hf://datasets/me/cats@/a", &pairs).is_err());
    }

    #[test]
    fn the_token_is_for_its_own_server() {
        let found = opened("hf://datasets/me/cats", &[("token", "t"), ("endpoint", "https://a")]);
        let found = found.unwrap();
        let token = |url: &str| found.token_for(&Url::parse(url).unwrap());
        assert_eq!(token("https://a/x"), Some("t"));
        for other in ["https://a:8443/x", "http://a/x", "https://b/x", "https://a.b/x"] {
            assert_eq!(token(other), None, "{other}");
        }
    }

    #[test]
    fn endpoints_without_tls_must_be_allowed() {
        let with = |endpoint: &str, allow: &str| {
            opened("hf://datasets/me/cats", &[("endpoint", endpoint), ("allow_http", allow)])
        };
        assert!(with("http://mirror", "false").unwrap_err().text().contains("no TLS"));
        assert!(with("http://mirror", "true").is_ok());
        assert!(with("http://localhost:8000", "false").is_ok());
        assert!(with("ftp://mirror", "true").is_err());
        assert!(with("mirror", "true").is_err());
    }
}
