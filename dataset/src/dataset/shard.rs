//! `Shard`: one tar of a data set with its sidecar and its source, each opened on first use.
//!
//! Knows its own files only, not its position in the data set.

mod facts;
pub(crate) mod pictures;
pub mod proof;
pub(crate) mod proof_pass;
mod trust;

use std::path::Path;
use std::sync::Arc;

use tarflume_formats::Index;
use tarflume_formats::index::{ColumnSpec, SampleRow, Value};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Name, Task};
use tarflume_formats::publish::folder_of;
use tarflume_types::{Error, ErrorKind, Result};

pub(crate) use self::facts::{ShardContent, ShardFacts};

use self::trust::Trust;
use crate::source::Source;
use crate::source::cache::SourceCache;
use crate::source::framed::FramedSource;
use crate::source::identity::Identity;

/// One tar of a data set.
///
/// ```
/// use tarflume::Dataset;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// for shard in Dataset::open(shards)?.shards() {
///     println!("{}: {} samples", shard.path().display(), shard.samples());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Shard {
    facts: Arc<ShardFacts>,
    sources: Arc<SourceCache>,
    /// Open sidecars, if sidecars are read and not mapped.
    sidecars: Option<Arc<SourceCache>>,
    number: usize,
}

impl Shard {
    pub(crate) fn new(
        facts: Arc<ShardFacts>,
        sources: Arc<SourceCache>,
        sidecars: Option<Arc<SourceCache>>,
        number: usize,
    ) -> Shard {
        Shard { facts, sources, sidecars, number }
    }

    pub(crate) fn facts(&self) -> &Arc<ShardFacts> {
        &self.facts
    }

    /// The path of the tar.
    pub fn path(&self) -> &Path {
        &self.facts.path
    }

    /// Number of samples.
    pub fn samples(&self) -> u64 {
        self.facts.samples
    }

    /// Length of the tar in bytes, as the manifest states it, or else the sidecar.
    ///
    /// ```
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let dataset = tarflume::Dataset::open(shards)?;
    /// assert!(dataset.shard(0).bytes()? > 1024);
    /// # Ok::<(), tarflume::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Shard::index`], if there is no manifest.
    pub fn bytes(&self) -> Result<u64> {
        match &self.facts.listed {
            Some((_, entry)) => Ok(entry.bytes),
            None => Ok(self.index()?.tar().length),
        }
    }

    /// Length of the sidecar in bytes.
    pub fn sidecar_bytes(&self) -> u64 {
        self.facts.sidecar_bytes()
    }

    /// The sidecar. The first call opens it and compares it with the tar's length and the manifest.
    ///
    /// # Errors
    /// Returns an error if the sidecar is missing, damaged or stale, or the tar is missing. The next
    /// call tries again.
    pub fn index(&self) -> Result<&Index> {
        self.facts.open_index()
    }

    /// Copies what the sidecar contains about a row.
    ///
    /// # Errors
    /// As [`Shard::index`]. [`ErrorKind::Stale`]: the row does not exist, or the sidecar is a different
    /// file from the one that was opened.
    #[doc(hidden)]
    pub fn look_up(&self, row: u64, into: &mut SampleRow) -> Result<()> {
        let index = self.index()?;
        let found = match &self.sidecars {
            None => index.look_up(row, into)?,
            Some(sidecars) => {
                let opened = index.metadata().map(Identity::from);
                let file = sidecars.get_known(self.number, opened)?;
                let found = index.look_up_by(row, |at, bytes| file.read_at(at, bytes), into)?;
                self.check_sidecar(&*file)?;
                found
            }
        };
        if found {
            return Ok(());
        }
        let text = format!("the sidecar has no row {row}, but the manifest counts it");
        Err(Error::new(ErrorKind::Stale, text))
    }

    /// The number of a typed column in the sidecar.
    ///
    /// # Errors
    /// As [`Shard::index`], and if the sidecar lacks the column.
    pub(crate) fn column(&self, spec: &ColumnSpec) -> Result<usize> {
        let column = self.index()?.columns()?.iter().position(|column| column.spec() == spec);
        column.ok_or_else(|| lacks(spec))
    }

    /// The value of the sample in row `row` in a typed column; `None` if it has none. A text is copied into `text`.
    ///
    /// # Errors
    /// As [`Shard::look_up`], and if the sidecar lacks the column.
    pub(crate) fn value<'t>(
        &self,
        spec: &ColumnSpec,
        row: u64,
        text: &'t mut Vec<u8>,
    ) -> Result<Option<Value<'t>>> {
        let index = self.index()?;
        let column = self.column(spec)?;
        let Some(sidecars) = &self.sidecars else { return Ok(index.value(column, row, text)?) };
        let opened = index.metadata().map(Identity::from);
        let file = sidecars.get_known(self.number, opened)?;
        let value = index.value_by(column, row, |at, into| file.read_at(at, into), text)?;
        self.check_sidecar(&*file)?;
        Ok(value)
    }

    /// Checks that an open sidecar is the file that was opened. Checksums of blocks are verified only
    /// once, so a later write must be detected by the file's times.
    fn check_sidecar(&self, sidecar: &dyn Source) -> Result<()> {
        if self.facts.recheck.is_due() {
            sidecar.check()?;
            self.facts.recheck.restart();
        }
        Ok(())
    }

    /// Releases the mapped pages of the sidecar if sidecars are not to stay in memory. Call it after a
    /// full pass through [`Shard::index`].
    pub(crate) fn forget(&self) {
        if self.sidecars.is_some() {
            self.facts.forget();
        }
    }

    /// The bytes of the tar, from the cache of open shards.
    ///
    /// # Errors
    /// Returns an error if the tar cannot be opened, has a different length from the one in its sidecar,
    /// or is a different file from the one that was opened.
    pub fn source(&self) -> Result<Arc<dyn Source>> {
        // What the sidecar states was believed, or not, of this file.
        let opened = self.facts.trust.get().and_then(Trust::tar);
        let source = self.sources.get_known(self.number, opened)?;
        let expected = match (&self.facts.listed, self.facts.index.get()) {
            (Some((_, entry)), _) => entry.bytes,
            (None, Some(index)) => index.tar().length,
            (None, None) => return Ok(source),
        };
        if source.len() != expected {
            let path = &self.facts.path;
            let renewal = match self.facts.index.get() {
                Some(index) => index.renewal(path),
                None => Call::of(Task::Index).with(Name::Force.on()).on_path(folder_of(path)),
            };
            let text = message!(
                "the tar has {} bytes, but its sidecar describes one of {expected}; if the tar is \
                 right, make a new sidecar with `{renewal}`",
                source.len();
                renewal = renewal
            );
            return Err(Error::new(ErrorKind::Stale, text).with_path(&self.facts.path));
        }
        if self.facts.opener.is_some()
            && let (Some(trust), Some(index)) = (self.facts.trust.get(), self.facts.index.get())
        {
            let identity = self.sources.identity(self.number);
            trust.learn_own(identity, &source, &self.facts.path, index)?;
        }
        if self.facts.is_compressed() {
            return Ok(Arc::new(FramedSource::new(source, self.facts.clone())?));
        }
        Ok(source)
    }
}

/// The error of a sidecar without the column that others have.
fn lacks(spec: &ColumnSpec) -> Error {
    let text = message!(
        "the sidecar has no column '{}' of type {}, which other shards have; make it with `{index}`",
        spec.name,
        spec.kind.word();
        index = Call::of(Task::Index).with(Name::Columns.is(spec.to_string()))
    );
    Error::new(ErrorKind::Stale, text)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tarflume_formats::{Durability, ShardWriter, index_path};
    use tarflume_types::ErrorKind;

    use crate::dataset::Dataset;

    #[test]
    fn every_reader_notices_a_write_to_a_sidecar() {
        let folder = tempfile::tempdir().unwrap();
        let mut shard = ShardWriter::create(folder.path(), "a.tar").unwrap();
        shard.begin(b"a");
        shard.part(b"jpg", 1).unwrap();
        shard.commit(Some((8, 4))).unwrap();
        shard.finish().unwrap().publish(folder.path(), "a.tar", Durability::Cached).unwrap();
        let dataset = Dataset::open(folder.path()).unwrap().with_mapped_sidecars(0);
        let shard = dataset.shard(0);
        assert_eq!(shard.dimensions(0).unwrap(), Some((8, 4)));
        let file = std::fs::File::options().write(true).open(index_path(shard.path())).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        // A check is valid for less than this.
        std::thread::sleep(Duration::from_millis(20));
        let mut found = super::SampleRow::new();
        for error in [shard.dimensions(0).unwrap_err(), shard.look_up(0, &mut found).unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Stale, "{error}");
        }
    }
}
