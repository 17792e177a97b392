//! `--storage NAME=VALUE`: how stores are reached. An option of every command that takes a URL.

use std::path::Path;
use std::sync::OnceLock;

use tarflume_base::Failure;
use tarflume_formats::url::url_of;
use tarflume_packer::bucket::Bucket;
use tarflume_packer::session::Output;
use tarflume_shards::listing::{self, Access, Listing};

use super::zeros;

/// The options of the command line of this process.
static GIVEN: OnceLock<Vec<(String, String)>> = OnceLock::new();

/// Reads `NAME=VALUE`.
pub(in crate::cli) fn parse(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| {
        format!("'{text}': give NAME=VALUE, for example endpoint=http://localhost:8333")
    })?;
    Ok((name.to_string(), value.to_string()))
}

/// Keeps the options.
pub(in crate::cli) fn keep(given: &[(String, String)]) {
    let _ = GIVEN.set(given.to_vec()); // once a process; tests call commands without options
}

/// The options.
pub(in crate::cli) fn given() -> &'static [(String, String)] {
    GIVEN.get().map_or(&[], Vec::as_slice)
}

/// Opens the place of a build in a store; `None` if the path is a local folder.
pub(in crate::cli) fn bucket(path: &Path) -> Result<Option<Bucket>, Failure> {
    url_of(path).map(|url| Bucket::open(url, given())).transpose()
}

/// Returns the place of a build: a local folder, or the place in a store.
pub(in crate::cli) fn output(path: &Path) -> Result<Output, Failure> {
    Ok(bucket(path)?.map_or_else(|| Output::folder(path), Output::bucket))
}

/// Opens a data set in a folder or in a store.
pub(in crate::cli) fn listing(path: &Path) -> Result<Listing, Failure> {
    listing::open_at(path, Access { storage: given(), ignore_zeros: zeros::are_ignored() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_names_and_values() {
        assert_eq!(parse("endpoint=http://h?a=b").unwrap().1, "http://h?a=b");
        assert!(parse("endpoint").unwrap_err().contains("NAME=VALUE"));
    }
}
