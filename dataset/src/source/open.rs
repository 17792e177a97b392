//! `Open`: turns a shard's path into a source; and `SourceKind`, its implementations in this crate.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::source::Source;
use crate::source::disk::file::FileSource;
use crate::source::disk::mapped::MappedSource;
use crate::source::fetch_stats::FetchStats;
use crate::source::identity::Identity;
use tarflume_order::words;
use tarflume_types::{Error, Result};

/// Opens shards. Implement it to read a data set from a custom source.
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
    /// Opens the shard at `path` and returns its identity. A shard that is closed and opened again must
    /// have the same identity.
    ///
    /// # Errors
    /// Returns an error if the shard cannot be opened.
    fn open(&self, path: &Path) -> Result<(Arc<dyn Source>, Identity)>;

    /// True if the shard at `path` is opened as the file of this path, and its identity is that of [`Identity::at`].
    fn opens_files(&self, _path: &Path) -> bool {
        false
    }

    /// Called when an epoch begins: what was advised before will not be read.
    fn begin_epoch(&self) {}

    /// True if bytes come over a network: loaders then compare them with their checksums by default.
    fn is_remote(&self) -> bool {
        false
    }

    /// How many bytes may be advised before they are read; `None` if there is no limit.
    fn readahead(&self) -> Option<u64> {
        None
    }

    /// The largest hole in a JPEG that is fetched because a further request would cost more; `None` if the loader decides.
    fn hole(&self) -> Option<u64> {
        None
    }

    /// Counters of requests; `None` if the opener counts none.
    fn fetch_stats(&self) -> Option<FetchStats> {
        None
    }
}

/// The ways to read a file. The default is that of loaders. A data set without a loader maps its files.
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
#[non_exhaustive]
pub enum SourceKind {
    /// `pread` into a buffer: one copy, no page faults.
    #[default]
    File,
    /// A memory map: no copy.
    Mapped,
    /// As `File`, read ahead by 64 threads: for NFS, Lustre, FUSE and other file systems that take milliseconds to
    /// answer. [`Readahead`](crate::Readahead) has options. As an opener of its own it has no threads.
    Threads,
}

words!(SourceKind, "source", { File => "file", Mapped => "mapped", Threads => "threads" });

impl Open for SourceKind {
    fn open(&self, path: &Path) -> Result<(Arc<dyn Source>, Identity)> {
        Ok(match self {
            SourceKind::File | SourceKind::Threads => {
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

    fn opens_files(&self, _path: &Path) -> bool {
        true
    }
}
