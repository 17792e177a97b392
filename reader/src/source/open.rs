//! `Open`: how a shard's path becomes a source; and the chooser among the ways of this crate.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::error::Result;
use crate::source::Source;
use crate::source::file::FileSource;
use crate::source::identity::Identity;
use crate::source::mapped::MappedSource;

/// Opens shards. Implement it to bring a source of your own under a data set.
///
/// ```
/// use std::path::Path;
/// use std::sync::Arc;
///
/// use tarflume::{Identity, Loader, Open, Result, Source, SourceKind};
///
/// /// Reads shards as files, and logs which.
/// #[derive(Debug)]
/// struct Logged;
///
/// impl Open for Logged {
///     fn open(&self, path: &Path) -> Result<(Arc<dyn Source>, Identity)> {
///         eprintln!("open {}", path.display());
///         SourceKind::File.open(path)
///     }
/// }
///
/// let options = Loader::builder("shards/").opener(Arc::new(Logged));
/// ```
pub trait Open: fmt::Debug + Send + Sync {
    /// Opens the shard at `path`, and says which state of which file that is: a shard that was
    /// closed and is opened again must be the same.
    ///
    /// # Errors
    /// It can't be opened.
    fn open(&self, path: &Path) -> Result<(Arc<dyn Source>, Identity)>;
}

/// The two ways to read a file. The default is that of loaders; a data set that is opened for its own
/// sake maps it.
///
/// ```
/// use tarflume::{Loader, SourceKind};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).source(SourceKind::Mapped).bytes("txt").build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SourceKind {
    /// `pread` into a buffer: one copy, no page faults.
    #[default]
    File,
    /// A memory map: no copy.
    Mapped,
}

impl Open for SourceKind {
    fn open(&self, path: &Path) -> Result<(Arc<dyn Source>, Identity)> {
        Ok(match self {
            SourceKind::File => {
                let source = FileSource::open(path)?;
                let identity = source.identity();
                (Arc::new(source), identity)
            }
            SourceKind::Mapped => {
                let source = MappedSource::open(path)?;
                let identity = source.identity();
                (Arc::new(source), identity)
            }
        })
    }
}
