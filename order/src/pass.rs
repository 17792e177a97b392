//! The order of one pass over all samples of a data set: position to index.
//!
//! Depends on where the shards start, the shuffle with its seed and the number of the pass, and on
//! nothing else: no rank, no batch, no thread is known here. No I/O.

mod blocks;
mod buffer;
mod shards;

use std::iter::FusedIterator;
use std::sync::Arc;

use crate::random::mix::Key;
use crate::random::permutation::Permutation;
use crate::shuffle::Shuffle;
use blocks::{Blocks, VisitedRuns, Window};
use buffer::{Buffer, Reservoir};
use shards::ShardOrder;

/// The order of one pass over all samples of a data set: every index once.
///
/// An *index* is the number of a sample among those that take part: its ordinal, as long as nothing was filtered or
/// concatenated. Cheap to make, O(1) or O(shards) in time and memory, and to clone.
///
/// ```
/// use tarflume_order::{Pass, Shuffle};
///
/// // Three shards of 100, 0 and 50 samples.
/// let pass = Pass::new([0, 100, 100, 150].into(), Shuffle::Full { seed: 42 }, 0);
/// let mut cursor = pass.clone().cursor(75);
/// assert_eq!(cursor.next(), Some(pass.index(75)));
/// ```
#[derive(Clone, Debug)]
pub struct Pass {
    len: u64,
    plan: Plan,
}

#[derive(Clone, Debug)]
enum Plan {
    None,
    Shards(ShardOrder),
    Buffer(ShardOrder, Buffer),
    Blocks(Blocks),
    Full(Permutation),
}

impl Pass {
    /// Pass number `pass` over shards whose first indexes are `starts`; its last entry is the number
    /// of samples, so it has one entry more than there are shards and begins with 0. Entries must
    /// not decrease; shards may be empty. `shuffle` must have passed [`Shuffle::check`].
    ///
    /// # Panics
    /// More than 2^63 samples.
    pub fn new(starts: Arc<[u64]>, shuffle: Shuffle, pass: u64) -> Pass {
        debug_assert!(starts.is_sorted() && starts.first().is_none_or(|&first| first == 0));
        let len = starts.last().copied().unwrap_or(0);
        let key = |purpose| Key::new(shuffle.seed(), pass, purpose);
        let shards = || ShardOrder::new(&starts, key(b"shards  "));
        let plan = match shuffle {
            Shuffle::None => Plan::None,
            Shuffle::Shards { .. } => Plan::Shards(shards()),
            Shuffle::Buffer { size, .. } => {
                Plan::Buffer(shards(), Buffer::new(len, size, key(b"buffer  ")))
            }
            Shuffle::Blocks { block, window, .. } => {
                Plan::Blocks(Blocks::new(len, block, window, key(b"blocks  ")))
            }
            Shuffle::Full { .. } => Plan::Full(Permutation::new(len, key(b"full    "))),
        };
        Pass { len, plan }
    }

    /// Samples of the pass.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True if the pass has no samples.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The index at `position`, computed from the position alone: O(1); O(log shards) with shards of very different sizes;
    /// about `size` steps for `Shuffle::Buffer`. A [`PassCursor`] is cheaper for successive positions.
    ///
    /// # Panics
    /// `position` is not below [`Pass::len`].
    pub fn index(&self, position: u64) -> u64 {
        assert!(position < self.len, "position {position} of a pass of {}", self.len);
        match &self.plan {
            Plan::None => position,
            Plan::Shards(shards) => shards.index(position),
            Plan::Buffer(shards, buffer) => shards.index(buffer.trace(position)),
            Plan::Blocks(blocks) => blocks.index(&blocks.window(position), position),
            Plan::Full(permutation) => permutation.at(position),
        }
    }

    /// Goes through the pass from `position` on.
    pub fn cursor(self, position: u64) -> PassCursor {
        let at = match self.plan {
            Plan::None | Plan::Shards(_) | Plan::Full(_) => CursorPlace::Anywhere,
            Plan::Buffer(..) => CursorPlace::Reservoir(Reservoir::new()),
            Plan::Blocks(_) => CursorPlace::Window(None, VisitedRuns::default()),
        };
        let mut cursor = PassCursor { pass: self, position: 0, at };
        cursor.seek(position);
        cursor
    }
}

/// Steps through a [`Pass`]: the same indexes as [`Pass::index`], cheaper one after the other.
#[derive(Clone, Debug)]
pub struct PassCursor {
    pass: Pass,
    position: u64,
    at: CursorPlace,
}

/// What a cursor remembers of where it is.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // one a cursor, and a window is remade often: not on the heap
enum CursorPlace {
    Anywhere,
    Reservoir(Reservoir),
    Window(Option<Window>, VisitedRuns),
}

impl PassCursor {
    /// Goes to `position`; beyond the end it is the end. O(1), but for `Shuffle::Buffer`: there it
    /// replays up to one segment, milliseconds.
    pub fn seek(&mut self, position: u64) {
        self.position = position.min(self.pass.len);
        if let (Plan::Buffer(_, buffer), CursorPlace::Reservoir(reservoir)) =
            (&self.pass.plan, &mut self.at)
            && self.position < self.pass.len
        {
            reservoir.seek(buffer, self.position);
        }
    }

    /// The position of the index that comes next.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The position at which the window of `Shuffle::Blocks` ends that holds the next index; `None` for other shuffles and
    /// at the end of the pass.
    pub(crate) fn window_end(&self) -> Option<u64> {
        match &self.pass.plan {
            Plan::Blocks(blocks) if self.position < self.pass.len => {
                Some(blocks.window_end(self.position))
            }
            _ => None,
        }
    }

    /// Samples of the whole pass, whatever the position.
    pub fn len(&self) -> u64 {
        self.pass.len
    }

    /// True if the pass has no samples, whatever the position.
    pub fn is_empty(&self) -> bool {
        self.pass.len == 0
    }
}

impl Iterator for PassCursor {
    type Item = u64;

    /// The next index; `None` at the end of the pass.
    #[inline]
    fn next(&mut self) -> Option<u64> {
        let position = self.position;
        if position >= self.pass.len {
            return None;
        }
        self.position += 1;
        Some(match (&self.pass.plan, &mut self.at) {
            (Plan::Full(permutation), _) => permutation.at(position),
            (Plan::Shards(shards), _) => shards.index(position),
            (Plan::Buffer(shards, buffer), CursorPlace::Reservoir(reservoir)) => {
                shards.index(reservoir.next(buffer))
            }
            (Plan::Blocks(blocks), CursorPlace::Window(window, met)) => {
                let window = match window {
                    Some(window) if window.holds(position) => window,
                    other => {
                        blocks.forget(met);
                        other.insert(blocks.window(position))
                    }
                };
                blocks.index_met(window, met, position)
            }
            _ => position,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.pass.len - self.position;
        (left.try_into().unwrap_or(usize::MAX), left.try_into().ok())
    }
}

impl FusedIterator for PassCursor {}

#[cfg(test)]
mod tests;
