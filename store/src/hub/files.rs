//! `Files`: the bytes of files at one commit.
//!
//! Small files come from the Hub itself, others from the storage that it redirects to. A signed
//! URL is used until it expires or is refused; then the Hub is asked for another one.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use http::StatusCode;
use reqwest::Url;
use tokio::sync::{Mutex as AsyncMutex, OnceCell};

use crate::errors::error::{Error, ErrorKind, Result};
use crate::hub::notes::Notes;
use crate::hub::refusal::{Asked, refusal};
use crate::hub::repository::Repository;
use crate::hub::{listing, resolve};
use crate::web::answer::{Answer, ObjectBytes};
use crate::web::expiry::life;
use crate::web::redirect::{MOST_HOPS, circle, target};
use crate::web::{Ask, Web};

/// The Hub sends files whole only if they are small; larger ones are in storage.
const SMALL: u64 = 16 << 20;
/// How often a signed URL is replaced for one read.
const RENEWALS: u32 = 2;

/// See the head of the file.
#[derive(Debug)]
pub(crate) struct Files {
    web: Web,
    repository: Repository,
    kept: Option<Notes>,
    commit: OnceCell<String>,
    ways: Mutex<HashMap<String, Arc<AsyncMutex<Way>>>>,
}

/// How the bytes of a file are reached. Has a secret, so it is not shown.
#[derive(Default)]
enum Way {
    #[default]
    Unknown,
    /// The Hub sends them.
    Hub,
    /// Storage elsewhere sends them, until some time.
    Signed { url: Url, until: Instant },
}

impl std::fmt::Debug for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Way")
    }
}

/// What the Hub has answered.
enum Reached {
    Bytes(ObjectBytes),
    Elsewhere(Url),
}

impl Files {
    pub(crate) fn new(web: Web, repository: Repository, kept: Option<Notes>) -> Files {
        Files { web, repository, kept, commit: OnceCell::new(), ways: Mutex::default() }
    }

    pub(crate) fn repository(&self) -> &Repository {
        &self.repository
    }

    /// The commit that all bytes are of. Asked for once.
    pub(crate) async fn commit(&self) -> Result<&str> {
        let commit = self
            .commit
            .get_or_try_init(|| resolve::commit(&self.web, &self.repository, self.kept.as_ref()));
        commit.await.map(String::as_str)
    }

    /// The files below a folder.
    pub(crate) async fn tree(&self, folder: &str) -> Result<Vec<listing::File>> {
        let commit = self.commit().await?;
        listing::files(&self.web, &self.repository, self.kept.as_ref(), commit, folder).await
    }

    /// Reads a range of a file, or all of it.
    pub(crate) async fn read(&self, path: &str, range: Option<Range<u64>>) -> Result<ObjectBytes> {
        let way = {
            let mut ways = self.ways.lock().unwrap_or_else(PoisonError::into_inner);
            ways.entry(path.to_string()).or_default().clone()
        };
        let mut refused = StatusCode::FORBIDDEN;
        for _ in 0..=RENEWALS {
            let url = match self.reach(&way, path, range.as_ref()).await? {
                Reached::Bytes(part) => return Ok(part),
                Reached::Elsewhere(url) => url,
            };
            match self.ask_storage(&url, path, range.as_ref()).await? {
                Ok(part) => return Ok(part),
                Err(status) => refused = status,
            }
            forget(&way, &url).await;
        }
        let text = format!(
            "the storage of the Hub answers {refused} to URLs that were signed just now; check the clock of this \
             machine, and proxies on the way"
        );
        Err(Error::new(ErrorKind::Refused, &self.repository.place(path), text))
    }

    /// Finds out how a file is reached, if that is not known. Several readers ask once.
    async fn reach(
        &self,
        way: &AsyncMutex<Way>,
        path: &str,
        range: Option<&Range<u64>>,
    ) -> Result<Reached> {
        let mut known = way.lock().await;
        match &*known {
            Way::Signed { url, until } if Instant::now() < *until => {
                return Ok(Reached::Elsewhere(url.clone()));
            }
            Way::Hub => {
                drop(known); // its readers need not wait for each other
                return self.ask_hub(path, range).await;
            }
            _ => {}
        }
        let reached = self.ask_hub(path, range).await?;
        *known = match &reached {
            Reached::Bytes(_) => Way::Hub,
            Reached::Elsewhere(url) => {
                let until = Instant::now() + life(url, SystemTime::now());
                Way::Signed { url: url.clone(), until }
            }
        };
        Ok(reached)
    }

    /// Asks the Hub, with the token. Redirects to itself are followed: repositories are renamed.
    async fn ask_hub(&self, path: &str, range: Option<&Range<u64>>) -> Result<Reached> {
        let commit = self.commit().await?;
        let place = self.repository.place(path);
        let mut url = self.repository.file_url(commit, path);
        for _ in 0..=MOST_HOPS {
            let token = self.repository.token_for(&url);
            let answer = self.web.get(&ask(&url, token, range, &place)).await?;
            check_commit(&answer, commit, &place)?;
            if let Some(to) = target(&answer, &url, &place)? {
                if !self.repository.is_ours(&to) {
                    return Ok(Reached::Elsewhere(to));
                }
                url = to;
                continue;
            }
            let asked = Asked::Path { commit, path };
            let part = part(&answer, range, &place)?;
            let part = part.ok_or_else(|| refusal(&self.repository, &asked, &answer))?;
            return Ok(Reached::Bytes(part));
        }
        Err(circle(&place))
    }

    /// Asks the storage, without the token. Returns the status of a refusal: the URL has expired.
    async fn ask_storage(
        &self,
        url: &Url,
        path: &str,
        range: Option<&Range<u64>>,
    ) -> Result<Result<ObjectBytes, StatusCode>> {
        let place = self.repository.place(path);
        let mut url = url.clone();
        for _ in 0..=MOST_HOPS {
            let answer = self.web.get(&Ask { whole: 0, ..ask(&url, None, range, &place) }).await?;
            if let Some(to) = target(&answer, &url, &place)? {
                url = to;
                continue;
            }
            return Ok(part(&answer, range, &place)?.ok_or(answer.status));
        }
        Err(circle(&place))
    }
}

/// Drops a URL that was refused, unless another reader has replaced it.
async fn forget(way: &AsyncMutex<Way>, refused: &Url) {
    let mut known = way.lock().await;
    if matches!(&*known, Way::Signed { url, .. } if url == refused) {
        *known = Way::Unknown;
    }
}

fn ask<'a>(
    url: &'a Url,
    token: Option<&'a str>,
    range: Option<&Range<u64>>,
    place: &'a str,
) -> Ask<'a> {
    let range = range.cloned();
    Ask { url, token, range, if_match: None, is_immutable: true, whole: SMALL, place }
}

/// The bytes of an answer; `None` if it is a refusal.
fn part(answer: &Answer, range: Option<&Range<u64>>, place: &str) -> Result<Option<ObjectBytes>> {
    let is_past = answer.status == StatusCode::RANGE_NOT_SATISFIABLE;
    if !answer.status.is_success() && !is_past {
        return Ok(None);
    }
    let part = answer.part(range);
    let text = "the answer to a range does not say which bytes it has (Content-Range)";
    part.map(Some).ok_or_else(|| Error::new(ErrorKind::Answer, place, text))
}

/// Checks that the Hub speaks of the commit that was asked for, if it names one.
fn check_commit(answer: &Answer, commit: &str, place: &str) -> Result<()> {
    match answer.header("x-repo-commit") {
        Some(other) if other != commit => {
            let text = "the Hub answered with another commit than was asked for";
            Err(Error::new(ErrorKind::Answer, place, text))
        }
        _ => Ok(()),
    }
}
