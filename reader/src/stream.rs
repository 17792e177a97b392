//! `Stream`: samples of tars that have no sidecar, read once from front to back.
//!
//! Plain tars, `.tar.gz`, `.tar.zst`, standard input, pipes, sockets, any `Read`. It never seeks and
//! knows nothing that stands farther on, so it can't promise what needs an index: see [`Refusal`].
//! Nothing here decodes or batches.
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

mod ahead;
mod list;
mod pool;
mod queue;
mod raw;
mod refusal;
mod reservoir;
mod sample;
mod samples;
mod shares;
mod tar;
mod unpack;

use std::fmt;
use std::io::Read;
use std::iter::FusedIterator;
use std::os::fd::OwnedFd;
use std::path::Path;

pub use self::ahead::StreamStats;
use self::ahead::{Ahead, Task};
use self::list::Shard;
use self::queue::Bell;
pub(crate) use self::queue::Item;
pub use self::queue::Next;
pub use self::refusal::Refusal;
use self::refusal::Remedy;
pub use self::sample::StreamSample;
use self::shares::Shares;
use crate::error::{Error, Result};
use crate::order::Key;
use crate::order::Permutation;
use crate::order::Shuffle;
use crate::size::Size;

/// Shards without an index, and how to read them.
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
    shards: Vec<Shard>,
    shuffle: Shuffle,
    rank: u64,
    world: u64,
    /// `None`: nothing was said.
    memory: Option<u64>,
    /// Bytes that wait for the caller, at most.
    ahead: u64,
}

impl Stream {
    /// The shards of a folder (`*.tar`, `*.tar.gz`, `*.tgz`, `*.tar.zst`, `*.tzst`), one file, a glob
    /// or braces (`{000..765}`), or `-` for standard input. Compression is told by a shard's first
    /// bytes, whatever its name.
    ///
    /// # Errors
    /// The pattern names nothing or can't be understood; a folder can't be read. A file that can't
    /// be opened is an error in its place in the epoch.
    pub fn open(pattern: impl AsRef<str>) -> Result<Stream> {
        Stream::list([pattern])
    }

    /// All shards that a list of patterns names, in this order.
    ///
    /// # Errors
    /// Those of [`Stream::open`].
    pub fn list<P: AsRef<str>>(patterns: impl IntoIterator<Item = P>) -> Result<Stream> {
        let patterns: Vec<P> = patterns.into_iter().collect();
        let patterns: Vec<&str> = patterns.iter().map(AsRef::as_ref).collect();
        Ok(Stream::of(list::shards(&patterns)?))
    }

    /// One shard, read from `read` to its end, in one epoch only; `name` stands for its path.
    ///
    /// A `Read` that waits can't be interrupted: if the samples are dropped meanwhile, the thread
    /// that reads is left to end with it. Hand descriptors to [`Stream::from_fd`].
    pub fn from_reader(name: impl AsRef<Path>, read: impl Read + Send + 'static) -> Stream {
        Stream::of(vec![Shard::from_read(name.as_ref(), Box::new(read))])
    }

    /// One shard, read in one epoch only from an open file, pipe or socket; `name` stands for its
    /// path. Reading it ends when the samples are dropped, whatever its other end does.
    ///
    /// # Errors
    /// The operating system says nothing of the descriptor, or it is a folder's.
    pub fn from_fd(name: impl AsRef<Path>, fd: impl Into<OwnedFd>) -> Result<Stream> {
        Ok(Stream::of(vec![Shard::from_fd(name.as_ref(), fd.into())?]))
    }

    fn of(shards: Vec<Shard>) -> Stream {
        let shuffle = Shuffle::None;
        Stream { shards, shuffle, rank: 0, world: 1, memory: None, ahead: u64::MAX }
    }

    /// How samples are mixed; not at all if nothing is said. Of `None`, `Shards` and `Buffer` a
    /// stream is capable. A buffer whose samples do not fit into three eighths of the stream's memory
    /// holds fewer, and [`Samples::notes`] says so once. Its order follows from shards, seed, epoch,
    /// size and memory, and is another than that of the same data set with an index.
    #[must_use]
    pub fn shuffle(self, shuffle: Shuffle) -> Stream {
        Stream { shuffle, ..self }
    }

    /// Takes every `world`th shard of the epoch's order, from the `rank`th on. Ranks may get
    /// different numbers of samples.
    #[must_use]
    pub fn split(self, rank: u64, world: u64) -> Stream {
        Stream { rank, world, ..self }
    }

    /// Bytes of memory that samples, buffers and decompression may take together; 1 GiB if nothing
    /// is said. A sample may take an eighth. Samples that the caller keeps while waiting for the
    /// next are the caller's own matter.
    #[must_use]
    pub fn memory_limit(self, limit: Size) -> Stream {
        self.memory(limit.bytes())
    }

    pub(crate) fn memory(self, bytes: u64) -> Stream {
        Stream { memory: Some(bytes), ..self }
    }

    /// Bytes that samples may take which wait for the caller; five eighths of the memory, or a quarter
    /// with a shuffle buffer, if nothing is said, and never more. One sample may always wait.
    #[must_use]
    pub fn ahead(self, bytes: u64) -> Stream {
        Stream { ahead: bytes, ..self }
    }

    /// The limit of [`Stream::memory_limit`].
    pub(crate) fn memory_said(&self) -> Option<u64> {
        self.memory
    }

    /// The seed of its shuffle; 0 for none.
    pub(crate) fn seed(&self) -> u64 {
        self.shuffle.seed()
    }

    /// Whether an epoch could be begun; reads nothing.
    ///
    /// # Errors
    /// Those of [`Stream::samples`].
    pub(crate) fn check(&self) -> Result<()> {
        self.task(0).map(drop)
    }

    /// Shards in all, of all ranks.
    pub fn shards(&self) -> u64 {
        self.shards.len() as u64
    }

    /// The error that refuses what a stream can't do, with the remedy for these shards.
    pub fn refuse(&self, what: Refusal) -> Error {
        let Some(first) = self.shards.iter().find(|shard| !shard.is_file()) else {
            let Some(first) = self.shards.first() else { return what.error(Remedy::Save) };
            let dir = first.name.parent().unwrap_or(Path::new(""));
            let plain = self.shards.iter().all(|s| s.name.extension().is_some_and(|e| e == "tar"));
            return what.error(if plain { Remedy::Index(dir) } else { Remedy::Unpack(dir) });
        };
        what.error(Remedy::Save).with_path(&first.name)
    }

    /// The samples of `epoch` for this rank, read ahead by a thread of their own.
    ///
    /// # Errors
    /// The split or the memory is impossible; no thread can be started.
    pub fn samples(&self, epoch: u64) -> Result<Samples> {
        Ok(Samples { ahead: Ahead::start(self.task(epoch)?, None)?, ended: false })
    }

    /// The same, for a caller that must not wait: `bell` is rung, from the reading thread, whenever
    /// [`Samples::try_next`] has something new to say. It must not wait either.
    ///
    /// # Errors
    /// Those of [`Stream::samples`].
    #[doc(hidden)]
    pub fn samples_with_bell(&self, epoch: u64, bell: Bell) -> Result<Samples> {
        Ok(Samples { ahead: Ahead::start(self.task(epoch)?, Some(bell))?, ended: false })
    }

    fn task(&self, epoch: u64) -> Result<Task> {
        let (rank, world) = (self.rank, self.world);
        if rank >= world {
            let text = format!("there is no rank {rank} in a world of {world}: ranks count from 0");
            return Err(Error::usage(text));
        }
        let count = self.shards.len();
        if (count as u64) < world {
            let text = format!(
                "{count} shards can't be split among {world} ranks, for each needs a shard of its \
                 own: make more shards, or run `pack index` and split by position"
            );
            return Err(Error::usage(text));
        }
        self.shuffle.check()?;
        let key = |purpose| Key::new(self.shuffle.seed(), epoch, purpose);
        let buffer = match self.shuffle {
            Shuffle::None | Shuffle::Shards { .. } => None,
            Shuffle::Buffer { size, .. } => Some((size, key(b"streambf"))),
            Shuffle::Blocks { .. } => return Err(self.refuse(Refusal::BlockShuffle)),
            Shuffle::Full { .. } => return Err(self.refuse(Refusal::FullShuffle)),
        };
        let permutation = Permutation::new(count as u64, key(b"streamsh"));
        let place = |place: usize| match self.shuffle {
            Shuffle::None => place,
            _ => permutation.at(place as u64) as usize,
        };
        let order = (0..count).map(place);
        let ours = order.skip(rank as usize).step_by(world as usize);
        let shares = Shares::of(self.memory.unwrap_or(shares::DEFAULT), buffer.is_some())?;
        Ok(Task {
            shards: ours.map(|number| (number, self.shards[number].clone())).collect(),
            buffer,
            shares: Shares { queue: shares.queue.min(self.ahead), ..shares },
        })
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({} shards, {:?})", self.shards.len(), self.shuffle)
    }
}

/// The samples of one epoch. An error takes the place of what it is about: behind it the next sample
/// follows, or, if the shard can't be read on, the next shard.
///
/// Dropping it ends the thread that reads, at once for files and for what [`Stream::from_fd`] took.
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
    ahead: Ahead,
    ended: bool,
}

impl Samples {
    /// The next sample if there is one now. What the caller holds counts as the stream's memory: if
    /// that is full, there is nothing new until samples are dropped.
    #[doc(hidden)]
    pub fn try_next(&mut self) -> Next {
        match self.ahead.try_next() {
            Next::Ready(item) => Next::Ready(item.into_result()),
            Next::NotYet => Next::NotYet,
            Next::End => Next::End,
        }
    }

    /// The same, for a caller who must know whether the rest of a shard is lost.
    pub(crate) fn try_item(&mut self) -> Next<Item> {
        self.ahead.try_next()
    }

    /// Bytes in the caller's hands, if they are what keeps the next sample away; and how many may be.
    pub(crate) fn in_the_way(&self) -> Option<(u64, u64)> {
        self.ahead.in_the_way()
    }

    /// What was done so far.
    pub fn stats(&self) -> StreamStats {
        self.ahead.stats()
    }

    /// What one should know of this epoch and is no error, a sentence each.
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
