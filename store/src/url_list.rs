//! Lists of names and URLs of objects, such as presigned URLs.
//!
//! The query of a URL is a secret: it is in no name, no message and no `Debug`.

mod list;
mod objects;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::errors::error::Result;
use crate::requests::metrics::Metrics;
use crate::runtime::wait;
use crate::settings::options::Options;
use crate::url_list::objects::{UrlObjects, allows_http, read};
use crate::web::Web;
use crate::web::read_only::ReadOnly;

pub use list::UrlList;
pub(crate) use list::shown;

impl UrlList {
    /// Reads a list from a local file, or from an http or https URL.
    ///
    /// # Errors
    /// The errors of the file or the server, and those of [`UrlList::parse`].
    pub fn read(place: &str, options: &Options) -> Result<UrlList> {
        wait(place, async {
            let web = Web::open(options, allows_http(place), &Arc::new(Metrics::default()), place)?;
            read(&web, place).await
        })
    }

    /// Objects that are read by this list. `place` is its path or URL: the list is read there again
    /// when a URL is refused.
    pub(crate) fn open(
        self,
        place: &str,
        options: &Options,
        metrics: &Arc<Metrics>,
    ) -> Result<ReadOnly<UrlObjects>> {
        let allow_http = allows_http(place) || self.urls.values().any(|u| u.scheme() == "http");
        let web = Web::open(options, allow_http, metrics, place)?;
        Ok(ReadOnly::new(UrlObjects::new(web, self, place)))
    }
}
