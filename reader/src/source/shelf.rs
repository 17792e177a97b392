//! `Shelf`: the open shards of a data set, by number. A bounded number stands open; the one not used
//! for the longest time is closed.
//!
//! A source that somebody still holds stays open until it is let go: the bound counts what stands on
//! the shelf. One that is opened again must be the file it was.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock};

use crate::error::Result;
use crate::source::Source;
use crate::source::identity::Identity;
use crate::source::limit::open_files;
use crate::source::open::Open;
use tarflume_formats::poison::IgnorePoison;

/// Open sources by shard number.
#[derive(Debug)]
pub struct Shelf {
    opener: Arc<dyn Open>,
    slots: Box<[Slot]>,
    /// Numbers of the shards that stand open.
    open: Mutex<Vec<usize>>,
    cap: usize,
    /// Rises with each change of which shard was used last.
    clock: AtomicU64,
}

#[derive(Debug)]
struct Slot {
    path: PathBuf,
    source: RwLock<Option<Arc<dyn Source>>>,
    /// Which file it was when it was first opened.
    identity: OnceLock<Identity>,
    /// The clock when it was last asked for.
    used: AtomicU64,
}

impl Shelf {
    /// A shelf for the shards at `paths`, of which `cap` may stand open; nothing is opened yet.
    pub fn new(
        opener: Arc<dyn Open>,
        paths: impl IntoIterator<Item = PathBuf>,
        cap: usize,
    ) -> Shelf {
        let slot = |path| Slot {
            path,
            source: RwLock::new(None),
            identity: OnceLock::new(),
            used: AtomicU64::new(0),
        };
        Shelf {
            opener,
            slots: paths.into_iter().map(slot).collect(),
            open: Mutex::new(Vec::new()),
            cap: cap.max(1),
            clock: AtomicU64::new(1),
        }
    }

    /// Number of files that one shelf keeps open by default: a quarter of those that this process may
    /// open, at most 4,096. Raises the process's soft limit first, as far as the hard limit allows.
    pub fn default_cap() -> usize {
        (open_files() / 4).clamp(1, 4096) as usize
    }

    /// The source of shard `number`; opened if it is not.
    ///
    /// # Errors
    /// It can't be opened; it is not the file that it was when it was first opened.
    ///
    /// # Panics
    /// There is no such shard.
    pub fn get(&self, number: usize) -> Result<Arc<dyn Source>> {
        self.get_known(number, None)
    }

    /// As [`Shelf::get`], where it is known which file it was before the shelf opened it at all.
    ///
    /// # Errors
    /// As [`Shelf::get`].
    ///
    /// # Panics
    /// As [`Shelf::get`].
    pub fn get_known(&self, number: usize, was: Option<Identity>) -> Result<Arc<dyn Source>> {
        let slot = &self.slots[number];
        self.touch(slot);
        if let Some(source) = &*slot.source.read().ignore_poison() {
            return Ok(source.clone());
        }
        let source = {
            let mut place = slot.source.write().ignore_poison();
            if let Some(source) = &*place {
                return Ok(source.clone());
            }
            let source = self.open(slot, was)?;
            *place = Some(source.clone());
            source
        };
        self.make_room(number);
        Ok(source)
    }

    /// Shards that stand open now.
    pub fn standing_open(&self) -> usize {
        self.open.lock().ignore_poison().len()
    }

    /// Notes that this slot was used last. Writes nothing if it was before: shards are mostly asked
    /// for again and again.
    fn touch(&self, slot: &Slot) {
        let now = self.clock.load(Ordering::Relaxed);
        if slot.used.load(Ordering::Relaxed) != now {
            let now = self.clock.fetch_add(1, Ordering::Relaxed) + 1;
            slot.used.store(now, Ordering::Relaxed);
        }
    }

    fn open(&self, slot: &Slot, was: Option<Identity>) -> Result<Arc<dyn Source>> {
        let (source, identity) = self.opener.open(&slot.path).map_err(|error| {
            // An opener of the user's may not say which shard it is about.
            if error.place().path.is_some() { error } else { error.with_path(&slot.path) }
        })?;
        slot.identity.get_or_init(|| was.unwrap_or(identity)).expect(&identity, &slot.path)?;
        Ok(source)
    }

    /// Takes `number` into the list of open shards, and closes the ones used longest ago. No slot is
    /// locked by this thread, so none waits for another in a circle.
    fn make_room(&self, number: usize) {
        let mut closed = Vec::new(); // let go after the lock is: to unmap a shard takes a while
        let mut open = self.open.lock().ignore_poison();
        open.push(number);
        while open.len() > self.cap {
            let used = |&at: &usize| self.slots[open[at]].used.load(Ordering::Relaxed);
            let Some(oldest) = (0..open.len() - 1).min_by_key(used) else { return };
            let oldest = open.swap_remove(oldest);
            let mut source = self.slots[oldest].source.write().ignore_poison();
            closed.push(source.take());
        }
    }
}
