//! `Queue`: deals the shards of a run to its threads: the machine's own share, then, if it may steal,
//! what other machines have not finished.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tarflume_base::Failure;
use tarflume_formats::IgnorePoison;
use tarflume_formats::plan::PlanFoot;
use tarflume_shards::workdir::claims::{Claims, Note, claim_name};

use super::steal::{Choice, Owner, Shard, Watch};

/// How a run takes over shards of other machines.
#[derive(Debug, Clone)]
pub(crate) struct Stealing {
    /// Where machines note which shards they are packing.
    pub claims: Arc<dyn Claims>,
    /// A machine that has not changed its claim for this long has died.
    pub stale: Duration,
}

/// A note is written this many times before a claim without changes is stale.
const BEATS: u32 = 6;
/// The longest time between two looks at the stop flag.
const TICK: Duration = Duration::from_millis(100);
/// Limit on attempts at one shard of the own share that others have refused.
const ATTEMPTS: u32 = 1000;

/// A shard in work.
#[derive(Debug)]
struct InWork {
    shard: String,
    claim: String,
    begun: Instant,
    bytes: AtomicU64,
    beats: AtomicU64,
    refused: AtomicBool,
    /// Another machine has finished it.
    finished: AtomicBool,
}

impl InWork {
    fn note(&self) -> Vec<u8> {
        let note = Note {
            host: host(),
            pid: std::process::id(),
            beat: self.beats.fetch_add(1, Ordering::Relaxed),
            elapsed_ms: self.begun.elapsed().as_millis() as u64,
            bytes: self.bytes.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
        };
        note.to_json()
    }
}

/// The claim of a shard; removed at the end, unless the shard was refused.
#[derive(Debug)]
pub(super) struct Claim<'a> {
    work: Arc<InWork>,
    steal: &'a Steal<'a>,
    /// Whether the shard is of another machine's share.
    pub(super) stolen: bool,
}

impl Claim<'_> {
    /// Counts packed bytes of the shard.
    pub(super) fn add(&self, bytes: u64) {
        self.work.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns true once another machine has finished the shard.
    pub(super) fn is_superfluous(&self) -> bool {
        self.work.finished.load(Ordering::Relaxed)
    }

    /// Notes that the shard has problems, so that nobody else tries it.
    pub(super) fn refuse(&self) {
        self.work.refused.store(true, Ordering::Relaxed);
        // Without the note, other machines find the same problems.
        let _ = self.steal.with.claims.update(&self.work.claim, &self.work.note());
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let InWork { bytes, begun, refused, claim, .. } = &*self.work;
        self.steal.packed.fetch_add(bytes.load(Ordering::Relaxed), Ordering::Relaxed);
        self.steal.busy_us.fetch_add(begun.elapsed().as_micros() as u64, Ordering::Relaxed);
        self.steal.active.lock().ignore_poison().retain(|other| !Arc::ptr_eq(other, &self.work));
        if !refused.load(Ordering::Relaxed) {
            // A claim that stays is taken for that of a machine that has died.
            let _ = self.steal.with.claims.remove(claim);
        }
    }
}

/// A shard to pack, with its claim if the run steals.
#[derive(Debug)]
pub(super) struct Work<'a> {
    pub(super) number: usize,
    pub(super) claim: Option<Claim<'a>>,
}

#[derive(Debug)]
struct Steal<'a> {
    with: Stealing,
    shards: Vec<Shard<'a>>,
    watch: Mutex<Watch>,
    active: Mutex<Vec<Arc<InWork>>>,
    /// Bytes that this run has packed, and the time of its threads for them.
    packed: AtomicU64,
    busy_us: AtomicU64,
}

/// The shards of a run.
#[derive(Debug)]
pub(super) struct Queue<'a> {
    own: &'a [usize],
    next: AtomicUsize,
    steal: Option<Steal<'a>>,
}

impl<'a> Queue<'a> {
    pub(super) fn new(
        foot: &'a PlanFoot,
        own: &'a [usize],
        stealing: Option<Stealing>,
    ) -> Queue<'a> {
        let steal = stealing.map(|with| {
            let start =
                RandomState::new().hash_one(std::process::id()) as usize % foot.shards.len().max(1);
            Steal {
                shards: foot.shards.iter().map(Shard::of).collect(),
                watch: Mutex::new(Watch::new(with.stale, start)),
                active: Mutex::default(),
                packed: AtomicU64::new(0),
                busy_us: AtomicU64::new(0),
                with,
            }
        });
        Queue { own, next: AtomicUsize::new(0), steal }
    }

    /// Returns the next shard; waits while other machines are packing all that is left. `None` at the end, or once
    /// `stopped` is true.
    ///
    /// # Errors
    /// Returns an error if the place of the claims does not answer.
    pub(super) fn next(
        &'a self,
        stopped: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Work<'a>>, Failure> {
        while let Some(&number) = self.own.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            match &self.steal {
                None => return Ok(Some(Work { number, claim: None })),
                Some(steal) => match steal.own(number)? {
                    None => {} // another machine is packing it
                    work => return Ok(work),
                },
            }
        }
        match &self.steal {
            Some(steal) => steal.others(stopped),
            None => Ok(None),
        }
    }

    /// Writes the notes of the shards in work again and again, until the other end of `until` is dropped.
    pub(super) fn beat(&self, until: &Receiver<()>) {
        let Some(steal) = &self.steal else { return };
        let interval = steal.interval();
        while until.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
            let active = steal.active.lock().ignore_poison().clone();
            for work in active {
                // An error of a hint ends no run: without an answer the shard is packed on.
                match steal.with.claims.is_finished(&work.shard) {
                    Ok(true) => work.finished.store(true, Ordering::Relaxed),
                    _ => drop(steal.with.claims.update(&work.claim, &work.note())),
                }
            }
        }
    }
}

impl Steal<'_> {
    fn interval(&self) -> Duration {
        (self.with.stale / BEATS).max(Duration::from_millis(10))
    }

    /// Claims a shard of the own share. A finished one needs no claim; `None` if another machine is
    /// packing it. What was refused before is tried again.
    fn own(&self, number: usize) -> Result<Option<Work<'_>>, Failure> {
        let shard = self.shards[number].name;
        if self.with.claims.is_finished(shard)? {
            return Ok(Some(Work { number, claim: None }));
        }
        for attempt in 1..ATTEMPTS {
            if let Some(work) = self.claim(number, attempt, false)? {
                return Ok(Some(work));
            }
            let note = self.with.claims.read(&claim_name(shard, attempt))?;
            let other = note.as_deref().map(Note::parse);
            if !other.is_none_or(|note| note.refused || owner(&note) == Owner::Gone) {
                return Ok(None);
            }
        }
        Ok(None)
    }

    fn claim(
        &self,
        number: usize,
        attempt: u32,
        stolen: bool,
    ) -> Result<Option<Work<'_>>, Failure> {
        let shard = self.shards[number].name.to_string();
        let claim = claim_name(&shard, attempt);
        let work = InWork {
            shard,
            claim,
            begun: Instant::now(),
            bytes: AtomicU64::new(0),
            beats: AtomicU64::new(0),
            refused: AtomicBool::new(false),
            finished: AtomicBool::new(false),
        };
        if !self.with.claims.create(&work.claim, &work.note())? {
            return Ok(None);
        }
        let work = Arc::new(work);
        self.active.lock().ignore_poison().push(work.clone());
        Ok(Some(Work { number, claim: Some(Claim { work, steal: self, stolen }) }))
    }

    /// Takes over a shard of another machine's share.
    fn others(&self, stopped: &(dyn Fn() -> bool + Sync)) -> Result<Option<Work<'_>>, Failure> {
        let mut pause = TICK;
        while !stopped() {
            // One thread looks at a time; the others wait for it.
            let mut watch = self.watch.lock().ignore_poison();
            match watch.next(
                &*self.with.claims,
                &self.shards,
                &|bytes| self.own_time(bytes),
                &owner,
            )? {
                Choice::End => return Ok(None),
                Choice::Pack(number, attempt) => {
                    if let Some(work) = self.claim(number, attempt, true)? {
                        return Ok(Some(work));
                    }
                }
                Choice::Wait => {
                    drop(watch);
                    let begun = Instant::now();
                    while !stopped() && begun.elapsed() < pause {
                        thread::sleep(TICK.min(pause));
                    }
                    pause = (pause * 2).min(self.interval());
                }
            }
        }
        Ok(None)
    }

    /// Estimates the time of one thread for `bytes` bytes, once a shard was packed.
    fn own_time(&self, bytes: u64) -> Option<Duration> {
        let packed = self.packed.load(Ordering::Relaxed);
        let busy = self.busy_us.load(Ordering::Relaxed);
        (packed > 0)
            .then(|| Duration::from_secs_f64(busy as f64 / 1e6 * bytes as f64 / packed as f64))
    }
}

/// The name of this machine.
fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Returns whose claim it is. Processes of other machines are never taken for ended ones.
fn owner(note: &Note) -> Owner {
    if note.host != host() || note.pid == 0 {
        return Owner::Other;
    }
    if note.pid == std::process::id() {
        return Owner::This;
    }
    let pid = i32::try_from(note.pid).ok().and_then(rustix::process::Pid::from_raw);
    let killed = pid.map(rustix::process::test_kill_process);
    if killed == Some(Err(rustix::io::Errno::SRCH)) { Owner::Gone } else { Owner::Other }
}
