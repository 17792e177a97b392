//! Questions to the API of the Hub, with the token. Follows redirects on the same server alone:
//! repositories are renamed.

use reqwest::Url;

use crate::errors::error::{Error, ErrorKind, Result};
use crate::hub::repository::Repository;
use crate::web::answer::Answer;
use crate::web::redirect::{MOST_HOPS, circle, target};
use crate::web::{Ask, Web};

/// Asks the API. The answer may be a refusal.
pub(crate) async fn ask(
    web: &Web,
    repository: &Repository,
    url: &Url,
    place: &str,
) -> Result<Answer> {
    let mut url = url.clone();
    for _ in 0..=MOST_HOPS {
        let ask = Ask {
            url: &url,
            token: repository.token_for(&url),
            range: None,
            if_match: None,
            is_immutable: false,
            whole: 0,
            place,
        };
        let answer = web.get(&ask).await?;
        match target(&answer, &url, place)? {
            None => return Ok(answer),
            Some(to) if repository.is_ours(&to) => url = to,
            Some(_) => {
                let text = "the Hub redirects a question to another server; set HF_ENDPOINT to that one, if it \
                            may see the token";
                return Err(Error::new(ErrorKind::Answer, place, text));
            }
        }
    }
    Err(circle(place))
}
