//! `Bottleneck`: what limits the rate of batches, judged from what was measured.
//!
//! [`judge`] is a function of [`Measurements`] alone. Each rule has a margin, and the result between two rules is
//! [`Bottleneck::Unknown`]: two runs of one program must not name two causes.

use std::time::Duration;

use crate::loader::metrics::stats::{Stats, share};
use tarflume_order::words;
use tarflume_types::Error;

/// What limits the rate of batches.
///
/// ```
/// use tarflume::Loader;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).bytes("txt").build()?;
/// loader.epoch(0).for_each(drop);
/// println!("{}", loader.stats().verdict());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Bottleneck {
    /// Unknown. The verdict has the reason, and what helps.
    Unknown,
    /// Reads wait for the storage.
    Storage,
    /// Decoding, resizing, converting.
    Decode,
    /// Functions of the user that are called for each sample.
    Functions,
    /// The device's JPEG decoder, or pictures that it refused.
    Decoder,
    /// Copying batches to a device.
    Upload,
    /// What the consumer does to transform each batch.
    Transform,
    /// The consumer's own work between two batches.
    Consumer,
    /// Loader and consumer are about equally fast.
    Balanced,
    /// Threads are idle, because the memory limit has no room for another batch.
    Memory,
    /// Threads are idle, because too few batches are in preparation at once.
    Prefetch,
    /// Nothing but the loader's own work: planning, copying bytes, closing batches.
    Loader,
}

words!(Bottleneck, "the bottleneck", {
    Unknown => "unknown",
    Storage => "storage",
    Decode => "decode",
    Functions => "functions",
    Decoder => "decoder",
    Upload => "upload",
    Transform => "transform",
    Consumer => "consumer",
    Balanced => "balanced",
    Memory => "memory",
    Prefetch => "prefetch",
    Loader => "loader",
});

/// Why the bottleneck is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// No batch was taken.
    Nothing,
    /// Too few batches, or too little time.
    Short,
    /// Two causes are of about the same size.
    Mixed,
    /// Threads waited for a core.
    Busy,
    /// Threads slept while they touched mapped shards: for storage, or in a decoder that waits.
    Mapped,
}

/// The least that is judged: batches after the first of an epoch, and seconds.
pub(crate) const LEAST: (u64, f64) = (8, 0.05);
/// A consumer that waits in no more than this share of its time is the limit.
const KEEPS_UP: f64 = 0.10;
/// A consumer that waits in this share of its time and more is limited by the loader.
const STARVED: f64 = 0.25;
/// Threads that are idle for this share of their time could do that much more.
const IDLE: f64 = 0.40;
/// A cause takes half of the threads' time, and this much more than the next cause.
const MOST: (f64, f64) = (0.50, 0.15);
/// With threads that had no core for this share of their time, small causes are not judged.
const BUSY: f64 = 0.30;
/// If this share of the idle time may come from threads without a core, its cause is not judged.
const EXPLAINED: f64 = 0.33;

/// What a verdict depends on. Shares are 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Measurements {
    /// Batches that were taken, and those after the first of an epoch.
    pub(crate) taken: u64,
    pub(crate) batches: u64,
    /// Time in which an epoch ran, after its first batch.
    pub(crate) seconds: f64,
    /// Share of that time in which the consumer waited.
    pub(crate) starved: f64,
    /// Share of the consumer's own work in which it transformed a batch.
    pub(crate) transform: f64,
    /// Share of the time in which a copy to the device was in progress, and in which the upload waited for its JPEG decoder.
    pub(crate) upload: f64,
    pub(crate) decoder: f64,
    /// Shares of the threads' time in which the consumer waited or the queue was not full. They sum to 1.
    pub(crate) storage: f64,
    pub(crate) decode: f64,
    pub(crate) functions: f64,
    pub(crate) memory: f64,
    pub(crate) prefetch: f64,
    pub(crate) own: f64,
    /// Of the time in which threads could run, the share in which they had no core.
    pub(crate) queued: f64,
    /// The most idle time that this explains, as a share of the threads' time: while one thread has no core, the
    /// others may have nothing to do.
    pub(crate) held_up: f64,
    /// Share of decoding in which threads slept.
    pub(crate) slept: f64,
    /// The memory limit allows fewer batches in preparation than `prefetch`.
    pub(crate) clamped: bool,
    /// Shards are mapped.
    pub(crate) mapped: bool,
}

/// The bottleneck, or why it is unknown.
pub(crate) fn judge(facts: &Measurements) -> Result<Bottleneck, Doubt> {
    if facts.taken == 0 {
        return Err(Doubt::Nothing);
    }
    if facts.batches < LEAST.0 || facts.seconds < LEAST.1 {
        return Err(Doubt::Short);
    }
    if facts.starved <= KEEPS_UP {
        let transform = facts.transform > 0.5;
        return Ok(if transform { Bottleneck::Transform } else { Bottleneck::Consumer });
    }
    if facts.starved < STARVED {
        return Ok(Bottleneck::Balanced);
    }
    if facts.decoder > 0.5 {
        return Ok(Bottleneck::Decoder);
    }
    if facts.upload > 0.8 {
        return Ok(Bottleneck::Upload);
    }
    threads(facts)
}

/// What takes the threads' time while batches are in demand.
fn threads(facts: &Measurements) -> Result<Bottleneck, Doubt> {
    let idle = facts.memory + facts.prefetch;
    if idle >= IDLE {
        // Work that sleeps takes the same time with and without free cores.
        let work = facts.storage + facts.decode + facts.functions;
        let asleep = facts.storage + facts.slept * (facts.decode + facts.functions);
        if facts.held_up >= EXPLAINED * idle && asleep <= work / 2.0 {
            return Err(Doubt::Busy);
        }
        let memory = facts.memory >= facts.prefetch || facts.clamped;
        return Ok(if memory { Bottleneck::Memory } else { Bottleneck::Prefetch });
    }
    let decode = facts.decode + facts.functions;
    let mut causes = [
        (facts.storage, Bottleneck::Storage),
        (decode, Bottleneck::Decode),
        (facts.own, Bottleneck::Loader),
        (idle, Bottleneck::Memory),
    ];
    causes.sort_by(|one, other| other.0.total_cmp(&one.0));
    let [(most, cause), (next, _), ..] = causes;
    if most < MOST.0 || most - next < MOST.1 {
        return Err(if facts.queued >= BUSY { Doubt::Busy } else { Doubt::Mixed });
    }
    match cause {
        Bottleneck::Decode if facts.functions > decode / 2.0 => Ok(Bottleneck::Functions),
        Bottleneck::Decode if facts.mapped && facts.slept > 0.5 => Err(Doubt::Mapped),
        Bottleneck::Loader if facts.queued >= BUSY => Err(Doubt::Busy),
        cause => Ok(cause),
    }
}

impl Stats {
    /// What limits the rate of batches.
    pub fn bottleneck(&self) -> Bottleneck {
        judge(&self.facts()).unwrap_or(Bottleneck::Unknown)
    }

    /// The numbers that the verdict depends on.
    pub(crate) fn facts(&self) -> Measurements {
        let seconds = Duration::as_secs_f64;
        let running = seconds(&self.running);
        let startup = seconds(&self.startup);
        let taken = self.stage("consumer").map_or(0, |stage| stage.items);
        let waited = self.stage("consumer").map_or(0.0, |stage| seconds(&stage.waiting_input));
        let waited = (waited - startup).max(0.0);
        let own = self.busy("consumer") + self.busy("transform");
        let held_up = self.decoder.as_ref().map_or(0.0, |d| seconds(&d.held_up()));
        Measurements {
            taken,
            batches: taken.saturating_sub(self.starts),
            seconds: (running - startup).max(0.0),
            starved: share(waited, waited + own),
            transform: share(self.busy("transform"), own),
            upload: share(self.busy("upload"), running),
            decoder: share(held_up, running),
            queued: self.working.without_core(),
            held_up: self.working.queued_of_all() * self.threads.saturating_sub(1) as f64,
            slept: self.decoding.slept().unwrap_or(0.0),
            clamped: self.setting.depth < self.setting.requested,
            mapped: self.setting.mapped,
            ..self.threads_shares()
        }
    }

    /// What the threads did while batches were in demand.
    fn threads_shares(&self) -> Measurements {
        let seconds = Duration::as_secs_f64;
        let idle = &self.idle;
        let wanted = self.threads_time() - seconds(&idle.consumer) - seconds(&idle.end);
        let [decode_waits, read_waits] = self.memory_waits;
        let functions = seconds(&self.calls.time());
        let decoding = self.busy("decode") - seconds(&decode_waits) - functions;
        let storage = if self.setting.stream {
            // Missing input of a stream is due to its reading thread only if that thread never waits.
            let never_rests = share(self.busy("read"), self.running.as_secs_f64()) > 0.5;
            if never_rests { seconds(&idle.input) } else { 0.0 }
        } else {
            seconds(&self.reads_asleep)
        };
        let memory = seconds(&idle.memory) + seconds(&decode_waits) + seconds(&read_waits);
        let copies = self.setting.copies;
        let shares = Measurements {
            storage: bounded_share(storage, wanted),
            decode: if copies { 0.0 } else { bounded_share(decoding, wanted) },
            functions: bounded_share(functions, wanted),
            memory: bounded_share(memory, wanted),
            prefetch: bounded_share(seconds(&idle.prefetch), wanted),
            ..Measurements::default()
        };
        let Measurements { storage, decode, functions, memory, prefetch, .. } = shares;
        let rest = (1.0 - storage - decode - functions - memory - prefetch).max(0.0);
        // A thread may also lose its core between two stages: that time belongs to no stage.
        let lost = self.working.queued_of_all().min(rest);
        let kept = 1.0 - lost;
        Measurements {
            storage: share(storage, kept),
            decode: share(decode, kept),
            functions: share(functions, kept),
            memory: share(memory, kept),
            prefetch: share(prefetch, kept),
            own: share(rest - lost, kept),
            ..shares
        }
    }
}

/// The share of a time that measurements may have made negative, or longer than `wanted`.
fn bounded_share(time: f64, wanted: f64) -> f64 {
    share(time.max(0.0), wanted).min(1.0)
}

#[cfg(test)]
mod tests;
