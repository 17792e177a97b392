//! `Exclude`: a list of samples to leave out of a data set.
//!
//! `tarflume_formats::KeyList` parses it, and `select` finds the ordinals.

use std::path::Path;

use tarflume_formats::KeyList;
use tarflume_types::Result;

/// A list of samples to leave out, by key and optionally by shard.
///
/// ```
/// use tarflume::{Dataset, Exclude};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let dataset = Dataset::open(shards)?;
/// let excluded = dataset.exclude(&Exclude::keys(["photo/003", "photo/099"]))?;
/// assert_eq!((excluded.ordinals, excluded.absent), (vec![3], 1));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exclude(KeyList);

impl Exclude {
    /// Excludes these keys, in any shard.
    pub fn keys<K: AsRef<[u8]>>(keys: impl IntoIterator<Item = K>) -> Exclude {
        Exclude(KeyList::new(keys))
    }

    /// Reads the list in the file at `path`; see [`Exclude::parse`].
    ///
    /// # Errors
    /// Returns an error if the file cannot be read. As [`Exclude::parse`].
    pub fn file(path: impl AsRef<Path>) -> Result<Exclude> {
        Ok(Exclude(KeyList::read(path.as_ref())?))
    }

    /// Parses a list of keys, one on each line, or JSON objects with `key` and optionally `shard` (the
    /// path of its tar, or the end of it). Text whose first byte is `{` is such a report. Empty lines
    /// and objects without a key are ignored. A report holds a key that is not UTF-8 in escaped form,
    /// which matches no sample; [`crate::Dataset::exclude`] reports it as absent.
    ///
    /// # Errors
    /// [`ErrorKind::WrongFormat`](tarflume_types::ErrorKind::WrongFormat): a report contains something that is not such an object.
    pub fn parse(text: &[u8]) -> Result<Exclude> {
        Ok(Exclude(KeyList::parse(text)?))
    }

    /// The keys of all lines, in the order of the list.
    pub fn listed(&self) -> impl Iterator<Item = &[u8]> {
        self.0.keys()
    }

    pub(crate) fn list(&self) -> &KeyList {
        &self.0
    }
}
