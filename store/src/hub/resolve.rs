//! From a revision to a commit: once per process, and once per node within ten minutes.
//!
//! The ranks of a node start together and must read the same commit, also while `main` moves.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use tokio::sync::OnceCell;

use crate::errors::error::{Error, ErrorKind, Result};
use crate::hub::api;
use crate::hub::notes::Notes;
use crate::hub::refusal::{Asked, refusal};
use crate::hub::repository::{Repository, is_commit};
use crate::web::Web;

/// Processes that start within this time of each other read the same commit.
const LIFE: Duration = Duration::from_secs(600);

type Commits = HashMap<String, Arc<OnceCell<String>>>;

/// The commits of this process, by endpoint, repository and revision.
static COMMITS: LazyLock<Mutex<Commits>> = LazyLock::new(Mutex::default);

/// The part of an answer that is needed.
#[derive(Deserialize)]
struct Revision {
    sha: String,
}

/// Returns the commit of the repository's revision.
pub(crate) async fn commit(
    web: &Web,
    repository: &Repository,
    kept: Option<&Notes>,
) -> Result<String> {
    if let Some(commit) = repository.as_commit() {
        return Ok(commit.to_string());
    }
    let key = repository.key(&["revision", &repository.revision]);
    let cell = {
        let mut commits = COMMITS.lock().unwrap_or_else(PoisonError::into_inner);
        commits.entry(key.clone()).or_default().clone()
    };
    let found = cell.get_or_try_init(|| of_node(web, repository, kept, &key)).await;
    found.cloned()
}

/// The commit that another process has found, or that the Hub names now.
pub(super) async fn of_node(
    web: &Web,
    repository: &Repository,
    kept: Option<&Notes>,
    key: &str,
) -> Result<String> {
    let Some(kept) = kept else { return ask(web, repository).await };
    if let Some(commit) = known(kept, key) {
        return Ok(commit);
    }
    let _lock = kept.lock(key).await;
    if let Some(commit) = known(kept, key) {
        return Ok(commit);
    }
    let commit = ask(web, repository).await?;
    kept.write(key, &commit);
    Ok(commit)
}

fn known(kept: &Notes, key: &str) -> Option<String> {
    kept.read::<String>(key, LIFE).filter(|commit| is_commit(commit))
}

async fn ask(web: &Web, repository: &Repository) -> Result<String> {
    let url = repository.revision_url();
    let place = repository.place("");
    let answer = api::ask(web, repository, &url, &place).await?;
    if !answer.status.is_success() {
        return Err(refusal(repository, &Asked::Revision, &answer));
    }
    let revision: Option<Revision> = serde_json::from_slice(&answer.bytes).ok();
    revision.map(|revision| revision.sha).filter(|sha| is_commit(sha)).ok_or_else(|| {
        let text =
            "the answer to the question for a commit has none; is HF_ENDPOINT the URL of a Hub?";
        Error::new(ErrorKind::Answer, &place, text)
    })
}
