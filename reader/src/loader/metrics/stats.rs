//! `Stats`: where the time of a loader went, as a table and a verdict.

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use tarflume_dataset::FetchStats;
use tarflume_types::seconds;

use tarflume_formats::message::{Face, Message};

use crate::decode::costs::calls::Calls;
use crate::decode::costs::operations::OperationStats;
use crate::decode::texts::blocks::Blocks;
use crate::loader::metrics::device_memory::DeviceMemoryStats;
use crate::loader::metrics::idle::{IdleStats, SampledTime};
use crate::loader::metrics::pack_stats::PackStats;
use crate::loader::metrics::waits::BatchWait;
use crate::loader::metrics::warning::Warning;

/// What one stage did and waited for. Times of stages that run in several threads are their sum.
///
/// ```
/// use tarflume::Loader;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).bytes("txt").build()?;
/// loader.epoch(0).for_each(drop);
/// for stage in &loader.stats().stages {
///     println!("{stage:?}");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StageStats {
    /// `plan`, `read`, `decode`, `batch`, `mix` (if rows are mixed), `upload` (if batches go to a device), `transform` (if
    /// the consumer transforms them) or `consumer`.
    pub name: &'static str,
    /// Time spent working.
    #[serde(rename = "busy_s", serialize_with = "seconds")]
    pub busy: Duration,
    /// Time spent waiting for the stage before: with a high value, this stage is not the bottleneck.
    #[serde(rename = "waiting_input_s", serialize_with = "seconds")]
    pub waiting_input: Duration,
    /// Time spent waiting for the stage after it.
    #[serde(rename = "waiting_output_s", serialize_with = "seconds")]
    pub waiting_output: Duration,
    /// Reads of `read`, samples of `decode`, batches of all others.
    pub items: u64,
    /// Bytes: read from shards, or written to rows.
    pub bytes: u64,
}

/// How many slots of a device were full when the consumer requested a batch.
///
/// ```no_run
/// use tarflume::{Device, Loader};
///
/// # fn main() -> tarflume::Result<()> {
/// let loader = Loader::builder("shards/").bytes("bin").device(Device::cuda(0)?).build()?;
/// loader.epoch(0).for_each(drop);
/// if let Some(ring) = loader.stats().ring {
///     println!("{} of {} requests found no batch ready", ring.missing, ring.requests);
///     println!("{:.0} % of the slots were full", 100.0 * ring.occupancy());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct RingStats {
    /// Batches that were requested.
    pub requests: u64,
    /// Requests at which no slot held a ready batch.
    pub missing: u64,
    /// Slots that held a ready batch, summed over all requests.
    pub ready: u64,
    /// Slots, summed over all requests.
    pub slots: u64,
}

impl RingStats {
    /// Counts a request for a batch, when `ready` of `slots` slots held a ready batch.
    pub(crate) fn count(&mut self, ready: usize, slots: usize) {
        self.requests += 1;
        self.missing += u64::from(ready == 0);
        self.ready += ready as u64;
        self.slots += slots as u64;
    }

    /// The share of slots that held a ready batch at a request, 0 to 1. With a high value, batches wait for the consumer;
    /// with a low value, the consumer waits for batches.
    pub fn occupancy(&self) -> f64 {
        share(self.ready as f64, self.slots as f64)
    }
}

/// What a device's JPEG decoder did.
///
/// ```no_run
/// use tarflume::{Device, DeviceShare, Image, Loader, RandomResizedCrop};
///
/// # fn main() -> tarflume::Result<()> {
/// let image = Image::new("jpg", RandomResizedCrop::new(224)).device_decoder(DeviceShare::auto(500));
/// let device = Device::cuda(0)?;
/// let loader = Loader::builder("shards/").column("image", image).device(device).build()?;
/// loader.epoch(0).for_each(drop);
/// if let Some(decoder) = loader.stats().decoder {
///     println!("{}: {} decoded, {} refused", decoder.about.text(), decoder.decoded, decoder.refused);
///     println!("the first refusal: {:?}", decoder.why.map(|why| why.text()));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct DecoderStats {
    /// The decoder, in one line.
    pub about: Message,
    /// Pictures that it decoded.
    pub decoded: u64,
    /// Pictures that it refused; the CPU decoded them.
    pub refused: u64,
    /// Why it refused the first of them.
    pub why: Option<Message>,
    /// Time in which the upload waited for the decoder alone.
    #[serde(rename = "waited_s", serialize_with = "seconds")]
    pub waited: Duration,
    /// Time that the CPU needed for refused pictures, in the thread that uploads.
    #[serde(rename = "redone_s", serialize_with = "seconds")]
    pub redone: Duration,
    /// The device's share of the pictures of the first column, of a thousand.
    pub share: u16,
}

impl DecoderStats {
    /// Time by which the decoder delayed batches.
    pub(crate) fn held_up(&self) -> Duration {
        self.waited + self.redone
    }
}

/// The options of a loader on which the meaning of its numbers depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Setting {
    /// A separate thread reads, front to back.
    pub(crate) stream: bool,
    /// All columns hold the bytes of a part unchanged.
    pub(crate) copies: bool,
    /// Shards are mapped: threads wait for storage where they touch bytes.
    pub(crate) mapped: bool,
    /// Batches in preparation at once: as `prefetch` has it, and as the memory limit allows.
    pub(crate) requested: usize,
    pub(crate) depth: usize,
}

/// Where the time of a loader went since it was built.
///
/// ```
/// use tarflume::Loader;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).bytes("txt").build()?;
/// loader.epoch(0).for_each(drop);
/// println!("{}", loader.stats()); // a table, and what limits the rate
/// println!("{}", serde_json::to_string(&loader.stats()).unwrap()); // one line for a log, with the names of Python
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Threads that may work for this loader at once.
    pub threads: usize,
    /// Time in which an epoch was running.
    pub running: Duration,
    /// The stages, in the order in which a sample passes through them.
    pub stages: Vec<StageStats>,
    /// How much of the JPEGs was decoded.
    pub blocks: Blocks,
    /// The time of the user's functions, which is part of decoding.
    pub calls: Calls,
    /// The time of each operation of recipes, which is part of decoding: in the order of the columns and the recipes.
    pub operations: Vec<OperationStats>,
    /// The device that batches go to, and the reason for it where no number was given.
    pub device: Option<String>,
    /// How many slots of the device were full, if batches go to one.
    pub ring: Option<RingStats>,
    /// What was allocated on the device, if batches go to one.
    pub device_memory: Option<DeviceMemoryStats>,
    /// What the device's JPEG decoder did, if it decodes pictures.
    pub decoder: Option<DecoderStats>,
    /// What slows batches down: a memory limit that has no room for all batches of `prefetch`, memory
    /// that could not be pinned, work that the host does in place of a device.
    pub warning: Option<Warning>,
    /// Counters of the requests to stores since the data set was opened, if it is in one.
    pub fetch: Option<FetchStats>,
    /// How full packs are, if samples are packed.
    pub packs: Option<PackStats>,
    /// Samples whose bytes differed from their checksums and were right when they were read again: a network changed
    /// them on their way.
    pub reread: u64,
    /// The errors of the first of these samples, with shard, byte and key.
    pub reread_texts: Vec<String>,
    /// What idle threads lacked.
    pub idle: IdleStats,
    /// How many of the batches in preparation were ready when the consumer, or the upload to a device, requested one.
    pub ready: RingStats,
    /// How long the consumer has been waiting for the batch that it requested last; zero if it waits for none.
    pub waiting: Duration,
    /// How long the consumer waited for each batch.
    pub batch_wait: BatchWait,
    /// Time that the consumer waited for the first batch of each epoch.
    pub startup: Duration,
    /// Time that threads waited for memory for decoding, and for reading long parts.
    pub memory_waits: [Duration; 2],
    /// Time that threads slept in reads: they waited for the storage.
    pub reads_asleep: Duration,
    /// Where the time of decoding went, of some tasks.
    pub decoding: SampledTime,
    /// Where all time of the threads went, including their work for other loaders.
    pub working: SampledTime,
    /// Epochs with at least one batch taken.
    pub(crate) starts: u64,
    pub(crate) setting: Setting,
}

impl Stats {
    /// The stage of this name.
    pub fn stage(&self, name: &str) -> Option<&StageStats> {
        self.stages.iter().find(|stage| stage.name == name)
    }

    /// The operation that took the most time.
    pub fn most_expensive(&self) -> Option<&OperationStats> {
        self.operations.iter().max_by_key(|operation| operation.busy)
    }

    /// At least this share of the time that copies to a device took, 0 to 1, was hidden behind the consumer's
    /// work: the consumer was not waiting for a batch.
    pub fn hidden(&self) -> Option<f64> {
        let upload = self.stage("upload")?;
        let waited = self.stage("consumer").map_or(0.0, |stage| stage.waiting_input.as_secs_f64());
        Some(1.0 - share(waited, upload.busy.as_secs_f64()).min(1.0))
    }

    pub(crate) fn busy(&self, name: &str) -> f64 {
        self.stage(name).map_or(0.0, |stage| stage.busy.as_secs_f64())
    }

    /// The share of its time that the consumer waited, 0 to 1.
    pub fn starved(&self) -> f64 {
        let waited = self.stage("consumer").map_or(0.0, |stage| stage.waiting_input.as_secs_f64());
        share(waited, waited + self.busy("consumer") + self.busy("transform"))
    }

    /// The time of all threads, in seconds.
    pub(crate) fn threads_time(&self) -> f64 {
        self.threads as f64 * self.running.as_secs_f64()
    }

    /// `idle: 1.2 s no batch taken, 0.3 s memory limit full`, by what was lacking most; nothing if no thread was
    /// idle.
    fn idle_line(&self) -> Option<String> {
        let IdleStats { consumer, memory, prefetch, plan, input, wake, end: _ } = self.idle;
        let mut lacks = [
            (consumer, "for the consumer"),
            (memory, "for room in the memory limit"),
            (prefetch, "for a batch under way (prefetch)"),
            (plan, "for a plan"),
            (input, "for the stream"),
            (wake, "for a core"),
        ];
        lacks.sort_by_key(|lack| std::cmp::Reverse(lack.0));
        let words = lacks.iter().filter(|lack| lack.0 >= Duration::from_millis(1));
        let words: Vec<_> =
            words.map(|(time, what)| format!("{:.3} s {what}", time.as_secs_f64())).collect();
        (!words.is_empty()).then(|| format!("Idle threads waited {}", words.join(", ")))
    }
}

/// A part of a whole, 0 to 1.
pub(crate) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Statistics in the words of one face.
struct Written<'s> {
    stats: &'s Stats,
    face: Face,
}

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stats.write_table(f, self.face)?;
        if let Some(warning) = &self.stats.warning {
            writeln!(f, "Warning: {}", warning.message().in_face(self.face))?;
        }
        write!(f, "{}", self.stats.verdict_message().in_face(self.face))
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Written { stats: self, face: Face::Rust }.fmt(f)
    }
}

impl Stats {
    /// The table and the verdict as one face writes them.
    #[doc(hidden)]
    pub fn in_face(&self, face: Face) -> impl fmt::Display {
        Written { stats: self, face }
    }

    fn write_table(&self, f: &mut fmt::Formatter<'_>, face: Face) -> fmt::Result {
        writeln!(f, "stage      busy s  wait input s  wait output s       items         bytes")?;
        for s in &self.stages {
            let busy = in_seconds(s.busy);
            let input = in_seconds(s.waiting_input);
            let output = in_seconds(s.waiting_output);
            let bytes = format!("{:.1} MB", s.bytes as f64 / 1e6);
            writeln!(f, "{:<9}{busy:>8}{input:>14}{output:>15}{:>12}{bytes:>14}", s.name, s.items)?;
        }
        if self.blocks.all > 0 {
            let Blocks { all, drawn, entered, refused, .. } = self.blocks;
            let skipped = 100.0 * self.blocks.skipped();
            let drawn = 100.0 * share(drawn as f64, all as f64);
            write!(f, "JPEG blocks: {skipped:.1} % skipped, {drawn:.1} % drawn; ")?;
            writeln!(f, "{entered} pictures entered by entry points, {refused} refused")?;
        }
        if let Some(line) = self.blocks.irregular_line() {
            writeln!(f, "{line}")?;
        }
        if self.calls.count > 0 {
            let Calls { count, busy, waiting } = self.calls;
            let of_threads = 100.0 * share(self.calls.time().as_secs_f64(), self.threads_time());
            write!(f, "Own functions: {count} calls, {} s, ", in_seconds(busy))?;
            writeln!(
                f,
                "{} s waiting to be let in; {of_threads:.0} % of the threads' time",
                in_seconds(waiting)
            )?;
        }
        self.write_operations(f)?;
        if let Some(fetch) = &self.fetch {
            writeln!(f, "Store: {fetch}")?;
        }
        if self.reread > 0 {
            let text = "parts were read again, because their bytes differed from their checksums";
            writeln!(f, "{} {text}", self.reread)?;
        }
        if let Some(device) = &self.device {
            writeln!(f, "Device: {device}")?;
        }
        if let Some(upload) = self.stage("upload") {
            let seconds = upload.busy.as_secs_f64();
            let rate = if seconds > 0.0 { upload.bytes as f64 / 1e9 / seconds } else { 0.0 };
            let share = 100.0 * share(seconds, self.running.as_secs_f64());
            writeln!(
                f,
                "Copies to the device: {rate:.1} GB/s, under way {share:.0} % of the time, of which at least \
                 {:.0} % hidden behind the consumer's work",
                100.0 * self.hidden().unwrap_or(0.0)
            )?;
        }
        if let Some(ring) = self.ring.filter(|ring| ring.requests > 0) {
            let requests = ring.requests as f64;
            let ready = ring.ready as f64 / requests;
            let slots = ring.slots as f64 / requests;
            let missing = 100.0 * share(ring.missing as f64, requests);
            writeln!(
                f,
                "Ring: {ready:.1} of {slots:.1} slots ready when a batch was requested; {missing:.1} % of {} batches \
                 were not there yet",
                ring.requests
            )?;
        }
        if let Some(memory) = &self.device_memory {
            writeln!(f, "{memory}")?;
        }
        self.write_decoder(f, face)?;
        if let BatchWait { count: 1.., p50, p95, p99, max, .. } = self.batch_wait {
            let [p50, p95, p99, max] = [p50, p95, p99, max].map(in_milliseconds);
            writeln!(
                f,
                "Waited for a batch: p50 {p50} ms, p95 {p95} ms, p99 {p99} ms, at most {max} ms"
            )?;
        }
        if let Some(idle) = self.idle_line() {
            writeln!(f, "{idle}")?;
        }
        Ok(())
    }
}

impl Stats {
    fn write_decoder(&self, f: &mut fmt::Formatter<'_>, face: Face) -> fmt::Result {
        let Some(decoder) = &self.decoder else { return Ok(()) };
        let DecoderStats { about, decoded, refused, why, share: per_mille, .. } = decoder;
        let held_up = 100.0 * share(decoder.held_up().as_secs_f64(), self.running.as_secs_f64());
        let percent = f64::from(*per_mille) / 10.0;
        let about = about.in_face(face);
        writeln!(
            f,
            "JPEGs decoded by the device: {decoded}, {refused} refused; share {percent:.1} %, waited for {held_up:.0} % of \
             the time ({about})"
        )?;
        why.as_ref()
            .map_or(Ok(()), |why| writeln!(f, "The first was refused: {}", why.in_face(face)))
    }

    /// The operations, the most expensive first.
    fn write_operations(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut operations: Vec<&OperationStats> = self.operations.iter().collect();
        operations.sort_by_key(|operation| std::cmp::Reverse(operation.busy));
        for OperationStats { column, name, calls, busy } in operations {
            let of_decoding = 100.0 * share(busy.as_secs_f64(), self.busy("decode"));
            let each = 1e6 * share(busy.as_secs_f64(), *calls as f64);
            writeln!(
                f,
                "Operation {name} of {column}: {} s, {calls} pictures, {each:.0} us each; {of_decoding:.0} % of decoding",
                in_seconds(*busy)
            )?;
        }
        Ok(())
    }
}

fn in_milliseconds(d: Duration) -> String {
    format!("{:.1}", d.as_secs_f64() * 1e3)
}

fn in_seconds(d: Duration) -> String {
    format!("{:.3}", d.as_secs_f64())
}
