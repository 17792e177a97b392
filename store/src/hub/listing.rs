//! The files of a folder at a commit, page by page.

use std::time::Duration;

use http::header::LINK;
use reqwest::Url;
use serde::{Deserialize, Serialize};

use crate::errors::error::{Error, ErrorKind, Result};
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
        let nodes: Vec<Node> = serde_json::from_slice(&answer.bytes)
            .map_err(|e| wrong(&format!("the list of files is not one of the Hub: {e}"), &place))?;
        files.extend(nodes.into_iter().filter(|node| node.kind == "file").map(|node| node.file));
        match next(&answer, &url).map_err(|text| wrong(&text, &place))? {
            None => return Ok(files),
            Some(next) if next == url => {
                return Err(wrong("the list of files repeats a page", &place));
            }
            Some(next) => url = next,
        }
    }
}

fn wrong(text: &str, place: &str) -> Error {
    Error::new(ErrorKind::Answer, place, text)
}

/// The URL of the next page: this one with the query of the link `rel="next"`. A mirror may name
/// the Hub itself there, which must not get the mirror's token.
///
/// # Errors
/// The link to the next page cannot be read: the list would end early.
fn next(answer: &Answer, url: &Url) -> Result<Option<Url>, String> {
    let Some(links) = answer.headers.get(LINK) else { return Ok(None) };
    let unread = || format!("the link to the next page of the list of files is not one: {links:?}");
    let mut links = links.to_str().map_err(|_| unread())?.split(',');
    let Some(link) = links.find(|link| link.contains("rel=\"next\"")) else { return Ok(None) };
    let (_, rest) = link.split_once('<').ok_or_else(unread)?;
    let (target, _) = rest.split_once('>').ok_or_else(unread)?;
    let next = url.join(target).map_err(|_| unread())?;
    let mut page = url.clone();
    page.set_query(next.query());
    Ok(Some(page))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, HeaderValue, StatusCode};

    use super::*;

    /// The page that `link` names behind `page`.
    fn behind(page: &Url, link: Option<&[u8]>) -> Result<Option<Url>, String> {
        let mut headers = HeaderMap::new();
        if let Some(link) = link {
            headers.insert(LINK, HeaderValue::from_bytes(link).unwrap());
        }
        next(&Answer { status: StatusCode::OK, headers, bytes: Bytes::new() }, page)
    }

    #[test]
    fn a_link_that_cannot_be_read_is_an_error_and_no_end_of_the_list() {
        let page = Url::parse("https://mirror/api/tree/main?limit=9").unwrap();
        let second = Url::parse("https://mirror/api/tree/main?cursor=b").unwrap();
        for end in [None, Some(&b"<https://hub/a>; rel=\"prev\""[..])] {
            assert_eq!(behind(&page, end), Ok(None));
        }
        let both = b"<https://hub/a>; rel=\"prev\", <https://hub/b?cursor=b>; rel=\"next\"";
        assert_eq!(behind(&page, Some(both)), Ok(Some(second)));
        for wrong in [
            &b"https://hub/b?cursor=b; rel=\"next\""[..],
            b"<https://hub/b?cursor=b; rel=\"next\"",
            b"<https://[/b>; rel=\"next\"",
            b"<https://hub/\xff>; rel=\"next\"",
        ] {
            assert!(behind(&page, Some(wrong)).unwrap_err().contains("next page"), "{wrong:?}");
        }
    }
}
