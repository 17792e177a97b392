//! `Shard`: one tar of a data set, with its sidecar and its source, each opened when first used.
//!
//! Knows its own files alone, not what stands before or after it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tarflume_formats::checksum::Digest;
use tarflume_formats::content::Content as FileContent;
use tarflume_formats::dataset::open_index;
use tarflume_formats::index::Found;
use tarflume_formats::manifest::{ShardEntry, hex_digest};
use tarflume_formats::recheck::RecheckTimer;
use tarflume_formats::shard::index_path;
use tarflume_formats::tar::{Header, is_zero_block};
use tarflume_formats::{Index, files};

use crate::error::{Error, ErrorKind, Result};
use crate::source::Source;
use crate::source::identity::Identity;
use crate::source::shelf::Shelf;

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
    facts: Arc<Facts>,
    shelf: Arc<Shelf>,
    /// Open sidecars, where they are read and not mapped.
    sidecars: Option<Arc<Shelf>>,
    number: usize,
}

/// What is the same however the shard is read.
#[derive(Debug)]
pub(crate) struct Facts {
    path: PathBuf,
    samples: u64,
    /// The manifest's folder and line, if there is one.
    listed: Option<(Arc<Path>, ShardEntry)>,
    index: OnceLock<Index>,
    /// When it is asked whether the sidecar still is the file that was opened, where it is read and not mapped.
    recheck: RecheckTimer,
}

impl Facts {
    /// A shard as a manifest in `folder` lists it; nothing is opened.
    pub(crate) fn listed(folder: &Arc<Path>, entry: ShardEntry) -> Facts {
        Facts {
            path: folder.join(&entry.name),
            samples: entry.samples,
            listed: Some((folder.clone(), entry)),
            index: OnceLock::new(),
            recheck: RecheckTimer::due(),
        }
    }

    /// A shard that only its sidecar describes: opened now.
    ///
    /// # Errors
    /// There is no sidecar; it is damaged, or of another tar.
    pub(crate) fn alone(path: PathBuf) -> Result<Facts> {
        let index = open_alone(&path)?;
        let (samples, recheck) = (index.samples(), RecheckTimer::due());
        Ok(Facts { path, samples, listed: None, index: OnceLock::from(index), recheck })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn samples(&self) -> u64 {
        self.samples
    }

    /// Bytes of the sidecar; nothing is opened.
    pub(crate) fn sidecar_bytes(&self) -> u64 {
        let listed = self.listed.as_ref().map(|(_, entry)| entry.index_bytes);
        listed.or_else(|| self.index.get().map(Index::length)).unwrap_or(0)
    }

    /// Lets go of the sidecar's memory, if it is open.
    pub(crate) fn forget(&self) {
        if let Some(index) = self.index.get() {
            index.forget();
        }
    }

    fn index(&self) -> Result<&Index> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let index = match &self.listed {
            Some((folder, entry)) => open_index(folder, entry)?,
            None => open_alone(&self.path)?,
        };
        Ok(self.index.get_or_init(|| index))
    }

    /// Bytes of the tar; a digest that names its content: its own, or its sidecar's.
    pub(crate) fn content(&self) -> Result<(u64, Content)> {
        if let Some((_, entry)) = &self.listed {
            let content = match entry.digest()? {
                Some(digest) => Content::Tar(digest),
                None => Content::Sidecar(hex_digest(&entry.index_blake3)?),
            };
            return Ok((entry.bytes, content));
        }
        let index = self.index()?;
        let content = match index.tar().digest {
            Some(digest) => Content::Tar(digest),
            None => {
                let digest = index.digest();
                index.intact()?;
                Content::Sidecar(digest)
            }
        };
        Ok((index.tar().length, content))
    }
}

/// What names the content of a shard.
pub(crate) enum Content {
    Tar(Digest),
    Sidecar(Digest),
}

impl Shard {
    pub(crate) fn new(
        facts: Arc<Facts>,
        (shelf, sidecars): (Arc<Shelf>, Option<Arc<Shelf>>),
        number: usize,
    ) -> Shard {
        Shard { facts, shelf, sidecars, number }
    }

    pub(crate) fn facts(&self) -> &Arc<Facts> {
        &self.facts
    }

    /// Where the tar stands.
    pub fn path(&self) -> &Path {
        &self.facts.path
    }

    /// Samples in it.
    pub fn samples(&self) -> u64 {
        self.facts.samples
    }

    /// Its sidecar; opened at the first call, and then compared with the tar's length and with what
    /// the manifest lists.
    ///
    /// # Errors
    /// It is missing, damaged or stale; the tar is not there. The next call tries again.
    pub fn index(&self) -> Result<&Index> {
        self.facts.index()
    }

    /// Copies what its sidecar says of a row, which must be there.
    ///
    /// # Errors
    /// As [`Shard::index`]; [`ErrorKind::Stale`]: there is no such row, or the sidecar is no longer
    /// the file that was opened.
    pub(crate) fn look_up(&self, row: u64, found: &mut Found) -> Result<()> {
        let index = self.index()?;
        let there = match &self.sidecars {
            None => index.look_up(row, found)?,
            Some(sidecars) => {
                let opened = index.metadata().map(Identity::from);
                let file = sidecars.get_known(self.number, opened)?;
                let there = index.look_up_by(row, |at, into| file.read_at(at, into), found)?;
                self.still(&*file)?;
                there
            }
        };
        if there {
            return Ok(());
        }
        let text = format!("the sidecar has no row {row}, which the manifest counts");
        Err(Error::new(ErrorKind::Stale, text))
    }

    /// How many pixels the first image of the sample in row `row` has, if its sidecar says it.
    ///
    /// # Errors
    /// As [`Shard::look_up`].
    pub(crate) fn pixels(&self, row: u64) -> Result<Option<u64>> {
        let index = self.index()?;
        let sides = match &self.sidecars {
            None => index.dimensions(row)?,
            Some(sidecars) => {
                let opened = index.metadata().map(Identity::from);
                let file = sidecars.get_known(self.number, opened)?;
                let sides = index.dimensions_by(row, |at, into| file.read_at(at, into))?;
                self.still(&*file)?;
                sides
            }
        };
        Ok(sides.map(|(width, height)| u64::from(width) * u64::from(height)))
    }

    /// Puts the entry points of part number `part` behind what `into` holds; nothing if it has none, or
    /// more than `most` bytes.
    ///
    /// # Errors
    /// As [`Shard::look_up`].
    pub(crate) fn entry_points(&self, part: u64, most: u64, into: &mut Vec<u8>) -> Result<bool> {
        let index = self.index()?;
        let Some(sidecars) = self.sidecars.as_ref().filter(|_| index.has_entry_points()) else {
            return Ok(index.copy_entry_points(part, most, into)?);
        };
        let opened = index.metadata().map(Identity::from);
        let file = sidecars.get_known(self.number, opened)?;
        let there = index.copy_entry_points_by(part, most, |at, to| file.read_at(at, to), into)?;
        self.still(&*file)?;
        Ok(there)
    }

    /// Asks whether an open sidecar still is the file that was opened. Blocks are checked once: what was
    /// written over since shows in the file's times.
    fn still(&self, sidecar: &dyn Source) -> Result<()> {
        if self.facts.recheck.is_due() {
            sidecar.check()?;
            self.facts.recheck.restart();
        }
        Ok(())
    }

    /// Lets go of what was mapped of its sidecar, where sidecars are not to stay in memory: after all
    /// of it was read through [`Shard::index`].
    pub(crate) fn forget(&self) {
        if self.sidecars.is_some() {
            self.facts.forget();
        }
    }

    /// The tar's bytes, from the shelf of open shards.
    ///
    /// # Errors
    /// The tar can't be opened; it is not as long as its sidecar says, or not the file that it was.
    pub fn source(&self) -> Result<Arc<dyn Source>> {
        let source = self.shelf.get(self.number)?;
        let expected = match (&self.facts.listed, self.facts.index.get()) {
            (Some((_, entry)), _) => entry.bytes,
            (None, Some(index)) => index.tar().length,
            (None, None) => return Ok(source),
        };
        if source.len() != expected {
            let text = format!(
                "the tar has {} bytes, but its sidecar describes one of {expected}; if the tar is \
                 right, make its sidecar anew with `pack index --force`",
                source.len()
            );
            return Err(Error::new(ErrorKind::Stale, text).with_path(&self.facts.path));
        }
        Ok(source)
    }
}

fn open_alone(tar: &Path) -> Result<Index> {
    let found = files::metadata(tar, "find the shard")?;
    let path = index_path(tar);
    if !files::exists(&path)? {
        if let Some(what) = no_tar(tar)? {
            let text = format!("this is no tar{what}; name a tar, or a folder of them");
            return Err(Error::usage(text).with_path(tar));
        }
        let text = "this tar has no sidecar, so its samples can't be counted or found; \
                    `pack index DIR` makes one, and a plain stream needs none";
        return Err(Error::usage(text).with_path(tar));
    }
    let index = Index::open(&path)?;
    index.check_tar_length(found.len())?;
    Ok(index)
}

/// That a file is no tar, by its first block: what it is instead, as far as that is known.
fn no_tar(path: &Path) -> Result<Option<String>> {
    use std::io::Read;
    let failed = |e| Error::from(tarflume_formats::Error::io(e, "read", path));
    let mut start = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(512).read_to_end(&mut start).map_err(failed)?;
    let is_tar = match start.first_chunk() {
        Some(block) => is_zero_block(block) || Header::parse(block).is_ok(),
        None => start.is_empty(),
    };
    let what =
        || FileContent::of(&start).map_or(String::new(), |found| format!(", but {}", found.name));
    Ok((!is_tar).then(what))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tarflume_formats::ShardWriter;
    use tarflume_formats::shard::Durability;

    use crate::dataset::Dataset;
    use crate::error::ErrorKind;

    use super::index_path;

    #[test]
    fn a_sidecar_that_was_written_to_is_noticed_by_all_that_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut shard = ShardWriter::create(folder.path(), "a.tar").unwrap();
        shard.begin(b"a");
        shard.part(b"jpg", 1).unwrap();
        shard.commit(Some((8, 4))).unwrap();
        shard.finish().unwrap().publish(folder.path(), "a.tar", Durability::Cached).unwrap();
        let dataset = Dataset::open(folder.path()).unwrap().with_mapped_sidecars(0);
        let shard = dataset.shard(0);
        assert_eq!(shard.pixels(0).unwrap(), Some(32));
        let file = std::fs::File::options().write(true).open(index_path(shard.path())).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        // An answer is believed for less than this.
        std::thread::sleep(Duration::from_millis(20));
        let mut found = super::Found::new();
        for error in [shard.pixels(0).unwrap_err(), shard.look_up(0, &mut found).unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Stale, "{error}");
        }
    }
}
