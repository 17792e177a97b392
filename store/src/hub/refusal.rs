//! What the Hub's refusals mean, and what to do about them.

use crate::errors::error::{Error, ErrorKind};
use crate::hub::repository::Repository;
use crate::web::answer::Answer;

/// What was asked for.
pub(crate) enum Asked<'a> {
    Revision,
    Path { commit: &'a str, path: &'a str },
}

/// The error of an answer that is neither bytes nor a redirect.
pub(crate) fn refusal(repository: &Repository, asked: &Asked<'_>, answer: &Answer) -> Error {
    let name = &repository.name;
    let revision = &repository.revision;
    let (place, shown) = match asked {
        Asked::Revision => (repository.place(""), String::new()),
        Asked::Path { path, .. } => (repository.place(path), path.to_string()),
    };
    let (kind, text) = match (answer.header("x-error-code"), answer.status.as_u16()) {
        (Some("GatedRepo"), _) => (
            ErrorKind::Refused,
            format!(
                "the data set {name} is gated: accept its terms at {} and set HF_TOKEN to a token of the \
                 account that did",
                repository.page()
            ),
        ),
        (Some("RevisionNotFound"), _) => {
            (ErrorKind::Usage, format!("the data set {name} has no revision '{revision}'"))
        }
        (Some("RepoNotFound"), _) => (ErrorKind::Refused, unknown(name, repository.has_token())),
        (_, 401) if !repository.has_token() => (ErrorKind::Refused, unknown(name, false)),
        (_, 401) => (
            ErrorKind::Refused,
            format!(
                "the Hub does not accept the token for {name}; it may have been revoked: set HF_TOKEN, or run \
                 `hf auth login`"
            ),
        ),
        (_, 403) => (
            ErrorKind::Refused,
            format!(
                "the Hub refuses to show {name}: set HF_TOKEN to a token that may read it, and accept its \
                 terms at {}, if it has any",
                repository.page()
            ),
        ),
        (_, 404 | 410) => match asked {
            Asked::Path { commit, .. } => {
                let commit = &commit[..commit.len().min(8)];
                let of = format!("in the data set {name} at '{revision}' (commit {commit})");
                (ErrorKind::Missing, format!("there is no '{shown}' {of}"))
            }
            Asked::Revision => {
                let text = format!("there is no data set {name} with a revision '{revision}'");
                (ErrorKind::Usage, text)
            }
        },
        (_, status) => {
            (ErrorKind::Answer, format!("the Hub answers {status}, which has no meaning here"))
        }
    };
    Error::new(kind, &place, text)
}

/// The Hub does not tell a private repository from one that does not exist.
fn unknown(name: &str, has_token: bool) -> String {
    let remedy = if has_token {
        "the account of the token may not read it: set HF_TOKEN to another one"
    } else {
        "it is private: set HF_TOKEN, or run `hf auth login`"
    };
    format!("the Hub shows no data set {name}: its name is wrong, or {remedy}")
}
