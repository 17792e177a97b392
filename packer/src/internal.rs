//! What the fuzz targets need beside the public items. No promise of semver holds here.

use crate::failure::Failure;
use crate::rows::SplitUrl;

/// The names of files and the options of a source.
pub type Split<'a> = (Vec<&'a str>, Vec<(String, String)>);

/// Splits the name of a source; `None` if it is the path of a folder.
///
/// # Errors
/// Returns the errors of a build.
pub fn split_source(text: &str) -> Result<Option<Split<'_>>, Failure> {
    Ok(SplitUrl::of(text)?.map(|url| (url.patterns, url.options)))
}
