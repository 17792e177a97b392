//! The files of a folder at a commit, page by page.

use std::time::Duration;

use reqwest::Url;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::hub::api;
use crate::hub::notes::Notes;
use crate::hub::refusal::{Asked, refusal};
use crate::hub::repository::Repository;
use crate::web::Web;
use crate::web::answer::Answer;

/// A list of a commit stays true.
const FOR_EVER: Duration = Duration::MAX;

/// A file of a repository.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct File {
    /// The path from the root of the repository.
    pub(crate) path: String,
    /// Length in bytes.
    pub(crate) size: u64,
}

/// A file or a folder in an answer.
#[derive(Deserialize)]
struct Node {
    #[serde(rename = "type")]
    kind: String,
    #[serde(flatten)]
    file: File,
}

/// Lists all files below a folder.
pub(crate) async fn files(
    web: &Web,
    repository: &Repository,
    kept: Option<&Notes>,
    commit: &str,
    folder: &str,
) -> Result<Vec<File>> {
    let key = repository.key(&["tree", commit, folder]);
    if let Some(files) = kept.and_then(|kept| kept.read(&key, FOR_EVER)) {
        return Ok(files);
    }
    let _lock = match kept {
        Some(kept) => kept.lock(&key).await,
        None => None,
    };
    if let Some(files) = kept.and_then(|kept| kept.read(&key, FOR_EVER)) {
        return Ok(files);
    }
    let files = pages(web, repository, commit, folder).await?;
    if let Some(kept) = kept {
        kept.write(&key, &files);
    }
    Ok(files)
}

async fn pages(
    web: &Web,
    repository: &Repository,
    commit: &str,
    folder: &str,
) -> Result<Vec<File>> {
    let place = repository.place(folder);
    let mut url = repository.tree_url(commit, folder);
    let mut files = Vec::new();
    loop {
        let answer = api::ask(web, repository, &url, &place).await?;
        if !answer.status.is_success() {
            return Err(refusal(repository, &Asked::Path { commit, path: folder }, &answer));
        }
        let wrong = |text: &str| Error::new(ErrorKind::Answer, &place, text);
        let nodes: Vec<Node> = serde_json::from_slice(&answer.bytes)
            .map_err(|e| wrong(&format!("the list of files is not one of the Hub: {e}")))?;
        files.extend(nodes.into_iter().filter(|node| node.kind == "file").map(|node| node.file));
        match next(&answer, &url) {
            None => return Ok(files),
            Some(next) if next == url => return Err(wrong("the list of files repeats a page")),
            Some(next) => url = next,
        }
    }
}

/// The URL of the next page: this one with the query of the link `rel="next"`. A mirror may name
/// the Hub itself there, which must not get the mirror's token.
fn next(answer: &Answer, url: &Url) -> Option<Url> {
    let links = answer.header("link")?.split(',');
    let next = links.filter(|link| link.contains("rel=\"next\"")).find_map(|link| {
        let (_, rest) = link.split_once('<')?;
        rest.split_once('>').map(|(target, _)| target)
    })?;
    let next = url.join(next).ok()?;
    let mut page = url.clone();
    page.set_query(next.query());
    Some(page)
}
