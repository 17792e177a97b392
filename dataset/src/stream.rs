//! `Stream`: samples of tars without sidecars, read once from front to back.
//!
//! Reads plain tars, `.tar.gz`, `.tar.zst`, in files and in object stores, standard input, pipes, sockets and
//! any `Read`. Never seeks, so it cannot provide what needs an index: see [`Refusal`]. Does not decode or batch.
//!
//! ```
//! # fn main() -> tarflume::Result<()> {
//! # let tar = {
//! #     let mut tar = tarflume_fixtures::TarBytes::new();
//! #     tar.member(b"cat.txt", b"meow").member(b"dog.txt", b"woof").ended()
//! # };
//! use tarflume::Stream;
//!
//! let stream = Stream::from_reader("animals", std::io::Cursor::new(tar));
//! for sample in stream.samples(0)? {
//!     let sample = sample?;
//!     assert!(matches!(sample.part("txt"), Some(b"meow" | b"woof")));
//! }
//! # Ok(())
//! # }
//! ```

mod buffers;
mod input;
mod memory_limits;
pub(crate) mod packed;
mod queue;
mod raw;
mod read_ahead;
mod refusal;
mod reservoir;
mod sample;
mod samples;

use std::fmt;
use std::io::Read;
use std::iter::FusedIterator;
use std::os::fd::OwnedFd;
use std::path::Path;

use tarflume_formats::message;
use tarflume_formats::message::{Call, Phrase};
use tarflume_order::{Key, Permutation, Shuffle};
use tarflume_types::{Error, Result, Size};

use self::input::list::{FindRemote, StreamShard};
#[cfg(feature = "remote")]
pub use self::input::stores::Stores;
use self::memory_limits::MemoryLimits;
pub use self::queue::Item;
pub use self::queue::Next;
use self::queue::Notify;
pub use self::read_ahead::StreamStats;
use self::read_ahead::{ReadAhead, Task};
pub use self::refusal::Refusal;
use self::refusal::RefusalRemedy;
pub use self::sample::StreamSample;
#[cfg(feature = "remote")]
use crate::remote::Storage;

/// Shards without an index, and the options for reading them.
///
/// ```
/// use tarflume::{Shuffle, Stream};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// # let shards = shards.display();
/// let stream = Stream::open(format!("{shards}/*.tar"))?.shuffle(Shuffle::Shards { seed: 42 });
/// assert_eq!(stream.samples(0)?.count(), 16);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Stream {
    shards: Vec<StreamShard>,
    shuffle: Shuffle,
    rank: u64,
    world: u64,
    /// `None` if not set.
    memory: Option<u64>,
    /// Maximum bytes of samples that wait for the caller.
    ahead: u64,
    ignore_zeros: bool,
}

impl Stream {
    /// The shards of a folder (`*.tar`, `*.tar.gz`, `*.tgz`, `*.tar.zst`, `*.tzst`), one file, a glob, braces
    /// (`{000..765}`), or `-` for standard input. The compression is detected from a shard's first bytes, not
    /// from its name.
    ///
    /// With the feature `remote`, a URL names a tar in an object store (`s3://bucket/train-000.tar`), several
    /// by braces in any place, or the tars of a folder by a slash at its end. A file `*.urls` lists URLs. All
    /// options come from the environment; `Stream::open_with` takes others. Each shard is read by ranges of 4
    /// MiB, at most eight at once: 32 MiB for each epoch in progress, which are not part of the memory limit.
    /// An epoch reads a shard in the state that the shard has when the epoch comes to it.
    ///
    /// # Errors
    /// Returns an error if the pattern is malformed or matches nothing, or if a folder cannot be read or
    /// listed. A file or an object that cannot be opened is an error at its position in the epoch.
    pub fn open(pattern: impl AsRef<str>) -> Result<Stream> {
        Stream::list([pattern])
    }

    /// The shards of several patterns, in this order.
    ///
    /// # Errors
    /// As [`Stream::open`].
    pub fn list<P: AsRef<str>>(patterns: impl IntoIterator<Item = P>) -> Result<Stream> {
        #[cfg(feature = "remote")]
        return Stream::list_with(patterns, &Storage::new());
        #[cfg(not(feature = "remote"))]
        Stream::find(patterns, &mut input::list::NoStores)
    }

    /// As [`Stream::open`], with the options of a store. `storage` applies to URLs only. Its readahead limits
    /// the ranges in memory, too; its cache is not used.
    ///
    /// ```no_run
    /// use tarflume::{Storage, Stream};
    ///
    /// let storage = Storage::new().option("anonymous", "true")?;
    /// let stream = Stream::open_with("s3://bucket/train-{000..099}.tar", &storage)?;
    /// # Ok::<(), tarflume::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Stream::open`], and if an option is wrong.
    #[cfg(feature = "remote")]
    pub fn open_with(pattern: impl AsRef<str>, storage: &Storage) -> Result<Stream> {
        Stream::list_with([pattern], storage)
    }

    /// As [`Stream::list`], with the options of a store.
    ///
    /// # Errors
    /// As [`Stream::open_with`].
    #[cfg(feature = "remote")]
    pub fn list_with<P: AsRef<str>>(
        patterns: impl IntoIterator<Item = P>,
        storage: &Storage,
    ) -> Result<Stream> {
        Stream::find(patterns, &mut Stores::new(storage.clone()))
    }

    /// As [`Stream::open_with`], by the clients of earlier streams.
    ///
    /// # Errors
    /// As [`Stream::open_with`].
    #[cfg(feature = "remote")]
    #[doc(hidden)]
    pub fn open_among(pattern: impl AsRef<str>, stores: &mut Stores) -> Result<Stream> {
        Stream::find([pattern], stores)
    }

    fn find<P: AsRef<str>>(
        patterns: impl IntoIterator<Item = P>,
        remote: &mut dyn FindRemote,
    ) -> Result<Stream> {
        let patterns: Vec<P> = patterns.into_iter().collect();
        let patterns: Vec<&str> = patterns.iter().map(AsRef::as_ref).collect();
        Ok(Stream::of(input::list::shards(&patterns, remote)?))
    }

    /// One shard, read from `read` to its end, in one epoch only. `name` is used in place of a path.
    ///
    /// A blocked `Read` cannot be interrupted: if the samples are dropped meanwhile, the reading thread
    /// lives until the read returns. Pass descriptors to [`Stream::from_fd`] instead.
    pub fn from_reader(name: impl AsRef<Path>, read: impl Read + Send + 'static) -> Stream {
        Stream::of(vec![StreamShard::from_read(name.as_ref(), Box::new(read))])
    }

    /// One shard, read from an open file, pipe or socket, in one epoch only. `name` is used in place of a
    /// path. Dropping the samples ends the reading, whatever the other end does.
    ///
    /// # Errors
    /// Returns an error if the descriptor's metadata cannot be read or it is a folder.
    pub fn from_fd(name: impl AsRef<Path>, fd: impl Into<OwnedFd>) -> Result<Stream> {
        Ok(Stream::of(vec![StreamShard::from_fd(name.as_ref(), fd.into())?]))
    }

    fn of(shards: Vec<StreamShard>) -> Stream {
        Stream {
            shards,
            shuffle: Shuffle::None,
            rank: 0,
            world: 1,
            memory: None,
            ahead: u64::MAX,
            ignore_zeros: false,
        }
    }

    /// How samples are shuffled; not at all by default. A stream supports `None`, `Shards` and `Buffer`. A
    /// buffer whose samples exceed three eighths of the stream's memory holds fewer samples, and
    /// [`Samples::notes`] reports that once. The order of a buffer depends on shards, seed, epoch, size and
    /// memory, and differs from that of the same data set with an index.
    #[must_use]
    pub fn shuffle(self, shuffle: Shuffle) -> Stream {
        Stream { shuffle, ..self }
    }

    /// Takes every `world`th shard of the epoch's order, beginning with the `rank`th. Ranks may get
    /// different numbers of samples.
    #[must_use]
    pub fn split(self, rank: u64, world: u64) -> Stream {
        Stream { rank, world, ..self }
    }

    /// Maximum bytes of memory for samples, buffers and decompression together; 1 GiB by default. One
    /// sample may use an eighth. Samples that the caller holds while it waits for the next one are not
    /// counted.
    #[must_use]
    pub fn memory_limit(self, limit: Size) -> Stream {
        self.memory(limit.bytes())
    }

    #[doc(hidden)]
    pub fn memory(self, bytes: u64) -> Stream {
        Stream { memory: Some(bytes), ..self }
    }

    /// Maximum bytes of samples that wait for the caller. The default, and the maximum, is five eighths of
    /// the memory, or a quarter with a shuffle buffer. One sample may always wait.
    #[must_use]
    pub fn ahead(self, bytes: u64) -> Stream {
        Stream { ahead: bytes, ..self }
    }

    /// Reads on behind the end marker of a tar, as `tar --ignore-zeros` does: tars that were joined
    /// (`cat a.tar b.tar`) are read to their end. By default bytes other than zeros behind the marker are an
    /// error after the last sample before it.
    ///
    /// ```
    /// # fn main() -> tarflume::Result<()> {
    /// # use tarflume_fixtures::TarBytes;
    /// # let mut tar = TarBytes::new().member(b"cat.txt", b"meow").ended();
    /// # tar.extend(TarBytes::new().member(b"dog.txt", b"woof").ended());
    /// use tarflume::Stream;
    ///
    /// let stream = Stream::from_reader("joined", std::io::Cursor::new(tar)).ignore_zeros(true);
    /// assert_eq!(stream.samples(0)?.count(), 2);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn ignore_zeros(self, yes: bool) -> Stream {
        Stream { ignore_zeros: yes, ..self }
    }

    /// The value set with [`Stream::memory_limit`].
    #[doc(hidden)]
    pub fn memory_set(&self) -> Option<u64> {
        self.memory
    }

    /// The seed of the shuffle; 0 for none.
    #[doc(hidden)]
    pub fn seed(&self) -> u64 {
        self.shuffle.seed()
    }

    /// Checks that an epoch could begin. Reads nothing.
    ///
    /// # Errors
    /// As [`Stream::samples`].
    #[doc(hidden)]
    pub fn check(&self) -> Result<()> {
        self.task(0).map(drop)
    }

    /// Number of shards, of all ranks together.
    pub fn shards(&self) -> u64 {
        self.shards.len() as u64
    }

    /// The error for an operation that a stream does not support, with the remedy for these shards.
    pub fn refuse(&self, what: Refusal) -> Error {
        let Some(first) = self.shards.iter().find(|shard| !shard.is_indexable()) else {
            let Some(first) = self.shards.first() else { return what.error(RefusalRemedy::Save) };
            let dir = first.name.parent().unwrap_or(Path::new(""));
            let plain = self.shards.iter().all(|s| s.name.extension().is_some_and(|e| e == "tar"));
            return what.error(if plain {
                RefusalRemedy::Index(dir)
            } else {
                RefusalRemedy::Unpack(dir)
            });
        };
        what.error(RefusalRemedy::Save).with_path(&first.name)
    }

    /// Starts a thread that reads ahead, and returns the samples of `epoch` for this rank.
    ///
    /// # Errors
    /// Returns an error if the split, the shuffle or the memory is invalid, or if no thread can be started.
    pub fn samples(&self, epoch: u64) -> Result<Samples> {
        Ok(Samples { ahead: ReadAhead::start(self.task(epoch)?, None)?, ended: false })
    }

    /// As [`Stream::samples`], for a caller that must not block. The reading thread calls `notify` whenever
    /// [`Samples::try_next`] has a new result. `notify` must not block either.
    ///
    /// # Errors
    /// As [`Stream::samples`].
    #[doc(hidden)]
    pub fn samples_with_notify(&self, epoch: u64, notify: Notify) -> Result<Samples> {
        Ok(Samples { ahead: ReadAhead::start(self.task(epoch)?, Some(notify))?, ended: false })
    }

    fn task(&self, epoch: u64) -> Result<Task> {
        let rank = self.rank;
        let world = self.world;
        if rank >= world {
            let text = format!("rank {rank} of {world} does not exist: ranks count from 0");
            return Err(Error::usage(text));
        }
        let count = self.shards.len();
        if (count as u64) < world {
            let text = message!(
                "{count} shards cannot be split among {world} ranks, because each needs at least one \
                 shard: make more shards, or run `{index}` and {split}";
                index = Call::of(message::Task::Index), split = Phrase::SplitByPosition
            );
            return Err(Error::usage(text));
        }
        self.shuffle.check()?;
        let buffer = match self.shuffle {
            Shuffle::None | Shuffle::Shards { .. } => None,
            Shuffle::Buffer { size, .. } => {
                Some((size, Key::new(self.shuffle.seed(), epoch, b"streambf")))
            }
            Shuffle::Blocks { .. } => return Err(self.refuse(Refusal::BlockShuffle)),
            // All other shuffles read samples in an order that a stream cannot follow.
            _ => return Err(self.refuse(Refusal::FullShuffle)),
        };
        let permutation =
            Permutation::new(count as u64, Key::new(self.shuffle.seed(), epoch, b"streamsh"));
        let order = (0..count).map(|place| match self.shuffle {
            Shuffle::None => place,
            _ => permutation.at(place as u64) as usize,
        });
        let ours = order.skip(rank as usize).step_by(world as usize);
        let limits =
            MemoryLimits::of(self.memory.unwrap_or(memory_limits::DEFAULT), buffer.is_some())?;
        Ok(Task {
            shards: ours.map(|number| (number, self.shards[number].clone())).collect(),
            buffer,
            ignore_zeros: self.ignore_zeros,
            limits: MemoryLimits { queue: limits.queue.min(self.ahead), ..limits },
        })
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({} shards, {:?})", self.shards.len(), self.shuffle)
    }
}

/// The samples of one epoch. An error takes the position of the sample or shard that it is about. The
/// next sample follows it, or the next shard if the rest of the shard cannot be read.
///
/// Dropping this value ends the reading thread, immediately for files, URLs and [`Stream::from_fd`].
///
/// ```
/// use tarflume::Stream;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// # let shards = shards.display();
/// for sample in Stream::open(format!("{shards}/*.tar"))?.samples(0)? {
///     println!("{:?}", sample?.part("txt"));
/// }
/// # Ok(())
/// # }
/// ```
pub struct Samples {
    ahead: ReadAhead,
    ended: bool,
}

impl Samples {
    /// The next sample, if one is ready. Samples that the caller holds count toward the stream's memory;
    /// if it is full, no sample becomes ready until the caller drops some.
    #[doc(hidden)]
    pub fn try_next(&mut self) -> Next {
        match self.ahead.try_next() {
            Next::Ready(item) => Next::Ready(item.into_result()),
            Next::NotYet => Next::NotYet,
            Next::End => Next::End,
        }
    }

    /// As [`Samples::try_next`], for a caller that must know whether the rest of a shard is lost.
    #[doc(hidden)]
    pub fn try_item(&mut self) -> Next<Item> {
        self.ahead.try_next()
    }

    /// If samples held by the caller prevent the next one: their bytes, and the maximum.
    #[doc(hidden)]
    pub fn in_the_way(&self) -> Option<(u64, u64)> {
        self.ahead.in_the_way()
    }

    /// Statistics so far.
    pub fn stats(&self) -> StreamStats {
        self.ahead.stats()
    }

    /// Remarks on this epoch that are not errors, one sentence each.
    pub fn notes(&self) -> Vec<String> {
        self.ahead.notes()
    }
}

impl Iterator for Samples {
    type Item = Result<StreamSample>;

    fn next(&mut self) -> Option<Result<StreamSample>> {
        if self.ended {
            return None;
        }
        let next = self.ahead.next();
        self.ended = next.is_none();
        next
    }
}

impl FusedIterator for Samples {}

impl fmt::Debug for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Samples({:?})", self.stats())
    }
}
