//! Running: a plan's shards -> finished shards in the working folder, with their records.
//!
//! Each shard is one job. Its bytes depend only on the plan and its number, so any number of
//! threads, machines and attempts gives the same result. Packing and publishing use different
//! threads: while one shard is synced to disk, the next is packed.

pub(crate) mod destination;
mod folders;
pub(crate) mod look;
pub(crate) mod options;
mod queue;
mod report;
mod samples;
mod share;
mod sources;
mod steal;

pub(crate) use destination::PackedShard;
pub(crate) use options::RunOptions;
pub(crate) use queue::Stealing;
pub use report::{RunCounter, RunReport};
pub(crate) use share::share;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{self, Builder};

use tarflume_base::{Failure, Problem};
use tarflume_formats::plan::{Location, PlannedSample, PlannedShard};
use tarflume_formats::publish::{remove_if_exists, write_as};
use tarflume_formats::{
    Durability, IrregularJpegs, Plan, ShardRecord, ShardWriter, WrittenShard, index_path, name,
};
use tarflume_shards::workdir::quarantine::{Policy, set_aside, set_aside_bytes};
use tarflume_shards::workdir::staging::Staging;

use self::queue::{Claim, Queue, Work};
use self::samples::images::Images;
use self::samples::part::Parts;
use self::samples::readahead::Ahead;
use self::samples::sample::{Packing, Wrong};
use self::samples::sample_part::SamplePart;
use self::sources::Absences;
use crate::pictures::PictureTotals;
use tarflume_formats::IgnorePoison;

/// Result of one shard.
enum Outcome {
    Skipped,
    Packed,
    Refused,
}

/// What was found in the samples of one shard.
#[derive(Debug, Default)]
struct Findings {
    /// Problems of samples that were left out.
    problems: Vec<Problem>,
    /// Of samples that were packed.
    irregular: IrregularJpegs,
}

/// A shard with its result.
struct Done {
    number: usize,
    outcome: Outcome,
    findings: Findings,
}

/// A packed shard to be published.
struct Finished<'a> {
    number: usize,
    written: WrittenShard,
    findings: Findings,
    /// Removed once the shard is published.
    claim: Option<Claim<'a>>,
}

/// Packs the `shards` of the plan that are not finished.
///
/// # Errors
/// Returns the first failure of the machine, including threads that cannot be started and a missing
/// source; shards finished before it stay finished. Returns an error after an interruption.
pub(crate) fn run(
    plan: &Plan,
    staging: &Staging,
    shards: &[usize],
    options: &RunOptions,
    counter: &RunCounter,
) -> Result<RunReport, Failure> {
    let job = Job {
        plan,
        staging,
        options,
        counter,
        stop: AtomicBool::new(false),
        stolen: AtomicU64::new(0),
        results: Mutex::new(Vec::new()),
        failure: Mutex::new(None),
        pictures: Mutex::default(),
    };
    Failure::check_threads(options.jobs + options.jobs.min(PUBLISHERS) + 1)?;
    let queue = Queue::new(plan.foot(), shards, options.stealing.clone());
    let (send, receive) = sync_channel::<Finished<'_>>(options.jobs);
    let receive = Mutex::new(receive);
    let (working, ended) = channel();
    thread::scope(|scope| {
        if options.stealing.is_some() {
            let queue = &queue;
            let beat = thread_builder("claims").spawn_scoped(scope, move || queue.beat(&ended));
            beat.map_or_else(|e| job.fail(Failure::no_thread(&e)), drop);
        }
        for _ in 0..options.jobs.min(PUBLISHERS) {
            let working = working.clone();
            let job = &job;
            let receive = &receive;
            let publisher = thread_builder("publish").spawn_scoped(scope, move || {
                job.publish_all(receive);
                drop(working); // the claims are written until the last publisher has ended
            });
            publisher.map_or_else(|e| job.fail(Failure::no_thread(&e)), drop);
        }
        drop(working);
        for _ in 0..options.jobs {
            let send = send.clone();
            let job = &job;
            let queue = &queue;
            let packer = thread_builder("pack").spawn_scoped(scope, move || {
                job.pack_all(queue, &send).unwrap_or_else(|failure| job.fail(failure));
            });
            packer.map_or_else(|e| job.fail(Failure::no_thread(&e)), drop);
            if job.stopped() {
                break; // a packer sends at most once more, and the channel has room for all of these
            }
        }
        drop(send); // the publishers end after the last packer
    });
    if let Some(failure) = job.failure.into_inner().ignore_poison() {
        return Err(failure);
    }
    if options.stop.requested() {
        return Err(Failure::interrupted());
    }
    let mut results = job.results.into_inner().ignore_poison();
    // Threads finish in any order; reports are in the order of the plan.
    results.sort_by_key(|done| done.number);
    let mut ran = RunReport {
        durability: options.durability,
        packed: 0,
        stolen: job.stolen.into_inner(),
        skipped: 0,
        problems: Vec::new(),
        refused: 0,
        pictures: job.pictures.into_inner().ignore_poison(),
        irregular_jpegs: IrregularJpegs::default(),
    };
    for Done { outcome, findings, .. } in results {
        match outcome {
            Outcome::Skipped => ran.skipped += 1,
            Outcome::Packed => ran.packed += 1,
            Outcome::Refused => ran.refused += 1,
        }
        ran.problems.extend(findings.problems);
        ran.irregular_jpegs.join(findings.irregular);
    }
    Ok(ran)
}

/// The most threads that publish shards: they mostly wait for syncs, so a few serve any number of packers.
const PUBLISHERS: usize = 4;

/// Returns the builder of a thread with the name `tarflume-NAME`.
fn thread_builder(name: &str) -> Builder {
    Builder::new().name(format!("tarflume-{name}"))
}

fn unreadable(record: &Path, why: &serde_json::Error) -> Failure {
    Failure::bad_data(format!("it lists a problem that this version can't read ({why}); go on with the version that packed \
         the shard, or remove the file, and the shard is packed again")).in_file(record)
}

/// State shared by the threads of a run.
struct Job<'a> {
    plan: &'a Plan,
    staging: &'a Staging,
    options: &'a RunOptions,
    counter: &'a RunCounter,
    stop: AtomicBool,
    stolen: AtomicU64,
    results: Mutex<Vec<Done>>,
    failure: Mutex<Option<Failure>>,
    pictures: Mutex<PictureTotals>,
}

impl Job<'_> {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.options.stop.requested()
    }

    /// Keeps the first failure and stops the other threads.
    fn fail(&self, failure: Failure) {
        self.stop.store(true, Ordering::Relaxed);
        self.failure.lock().ignore_poison().get_or_insert(failure);
    }

    fn done(&self, number: usize, outcome: Outcome, findings: Findings) {
        if !matches!(outcome, Outcome::Refused) {
            self.counter.shards.fetch_add(1, Ordering::Relaxed);
        }
        let mut results = self.results.lock().ignore_poison();
        results.push(Done { number, outcome, findings });
    }

    /// Packs shards until the queue is empty or the run ends.
    fn pack_all<'q>(
        &self,
        queue: &'q Queue<'q>,
        send: &SyncSender<Finished<'q>>,
    ) -> Result<(), Failure> {
        while !self.stopped()
            && let Some(work) = queue.next(&|| self.stopped())?
        {
            self.pack(work, send)?;
        }
        Ok(())
    }

    fn pack<'q>(&self, work: Work<'q>, send: &SyncSender<Finished<'q>>) -> Result<(), Failure> {
        let Work { number, claim } = work;
        if let Some(record) = self.finished(number)? {
            return self.skip(number, record);
        }
        // Checked for each shard: a source may be unmounted during a run of hours.
        sources::check(&self.options.roots, &self.plan.foot().sources)?;
        let name = &self.plan.foot().shards[number].name;
        let folder = self.staging.shards();
        let mut writer = match self.options.compress {
            Some(compress) => ShardWriter::create_compressed(&folder, name, compress.level())?,
            None => ShardWriter::create(&folder, name)?,
        };
        writer.set_columns(self.options.columns.specs().to_vec());
        let mut findings = Findings::default();
        if !self.fill(number, &mut writer, &mut findings, claim.as_ref())? {
            drop(writer); // which removes the temporary file
            return match self.finished(number)? {
                Some(record) if !self.stopped() => self.skip(number, record),
                _ => Ok(()),
            };
        }
        if self.options.policy == Policy::Fail && !findings.problems.is_empty() {
            if let Some(claim) = &claim {
                claim.refuse();
            }
            self.done(number, Outcome::Refused, findings);
            return Ok(());
        }
        let finished = Finished { number, written: writer.finish()?, findings, claim };
        // Publishers outlive the packers, so the channel is open unless a publisher has failed.
        let _ = send.send(finished);
        Ok(())
    }

    /// Counts a shard that needs no packing.
    ///
    /// # Errors
    /// Returns an error if the record lists a problem that this version cannot read: the report
    /// would be incomplete.
    fn skip(&self, number: usize, record: ShardRecord) -> Result<(), Failure> {
        let path = self.staging.record_path(&record.entry.name);
        let read = record.problems.iter().map(Problem::of_stored);
        let problems: Result<Vec<Problem>, _> = read.collect();
        let problems = problems.map_err(|e| unreadable(&path, &e))?;
        let bytes = self.plan.foot().shards[number].source_bytes;
        self.counter.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.counter.samples.fetch_add(record.entry.samples, Ordering::Relaxed);
        // An attempt with another policy may have left samples out.
        let refused = self.options.policy == Policy::Fail && !problems.is_empty();
        let outcome = if refused { Outcome::Refused } else { Outcome::Skipped };
        self.done(number, outcome, Findings { problems, irregular: record.irregular_jpegs });
        Ok(())
    }

    /// Writes all samples of a shard and collects the problems of those left out; returns false if
    /// it was stopped before the end, or if another machine has finished the shard.
    fn fill(
        &self,
        number: usize,
        writer: &mut ShardWriter,
        findings: &mut Findings,
        claim: Option<&Claim<'_>>,
    ) -> Result<bool, Failure> {
        let foot = self.plan.foot();
        let roots = &self.options.roots;
        let mut samples = self.plan.samples(number);
        let mut parts = Parts::new(foot, roots, &self.options.checks);
        let mut ahead = Ahead::default();
        let mut absences = Absences::default();
        let mut images = self.options.preparation.map(Images::new);
        loop {
            let taken = ahead.take(&mut samples, &mut parts)?;
            if taken == 0 {
                break;
            }
            for n in 0..taken {
                if self.stopped() || claim.is_some_and(Claim::is_superfluous) {
                    return Ok(false);
                }
                let planned = ahead.sample(n);
                let images = images.as_mut();
                let columns = &self.options.columns;
                let packing = Packing {
                    writer,
                    parts: &mut parts,
                    ahead: &mut ahead,
                    images,
                    columns,
                    irregular: &mut findings.irregular,
                };
                match samples::sample::pack(packing, n, &planned) {
                    Ok(bytes) => {
                        absences.read();
                        self.count(bytes);
                        claim.inspect(|claim| claim.add(bytes));
                    }
                    Err(Wrong::Failure(failure)) => return Err(failure),
                    Err(Wrong::Problems(of_sample)) => {
                        let root = &roots[planned.root as usize];
                        let of_sample = absences.refused(root, of_sample)?;
                        self.leave_out(&planned, &of_sample, &mut parts)?;
                        findings.problems.extend(of_sample);
                    }
                }
                ahead.give_back(n, planned);
            }
        }
        absences.check(&foot.shards[number].name, roots)?;
        if let Some(images) = images {
            self.pictures.lock().ignore_poison().join(images.totals);
        }
        Ok(true)
    }

    /// Returns the record of a shard that needs no packing.
    fn finished(&self, number: usize) -> Result<Option<ShardRecord>, Failure> {
        let foot = self.plan.foot();
        if let Some(destination) = &self.options.destination {
            return destination.finished(foot, number);
        }
        let record = self.staging.finished(foot, number)?;
        match record {
            Some(record) if self.options.durability == Durability::Synced => {
                Ok(self.staging.secured(record)?)
            }
            record => Ok(record),
        }
    }

    /// Counts a packed sample of `bytes` bytes.
    fn count(&self, bytes: u64) {
        self.counter.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.counter.samples.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the problems of a sample, and copies its files to the quarantine if that is the
    /// policy. Of a row of a source, the bytes of each part are written under its name in the shard.
    fn leave_out(
        &self,
        sample: &PlannedSample,
        problems: &[Problem],
        parts: &mut Parts<'_>,
    ) -> Result<(), Failure> {
        self.counter.problems.fetch_add(problems.len() as u64, Ordering::Relaxed);
        let Some(first) = problems.first() else { return Ok(()) };
        if self.options.policy != Policy::Quarantine {
            return Ok(());
        }
        let roots = &self.options.roots;
        let files = samples::part::files(self.plan.foot(), roots, sample);
        let quarantine = self.staging.quarantine();
        set_aside(&quarantine, &roots[sample.root as usize], &files, first)?;
        for part in sample.parts.iter().filter(|p| !matches!(p.location, Location::File { .. })) {
            let bytes = parts.bytes_of(SamplePart::new(sample, part))?;
            let mut name = Vec::new();
            name::join(&mut name, &sample.key, parts.shard_ext(part));
            set_aside_bytes(&quarantine, &name, bytes.as_deref(), first)?;
        }
        Ok(())
    }

    /// Publishes shards as they arrive, until all packers have ended.
    fn publish_all(&self, receive: &Mutex<Receiver<Finished<'_>>>) {
        loop {
            let finished = receive.lock().ignore_poison().recv();
            let Ok(finished) = finished else { return };
            if self.stop.load(Ordering::Relaxed) {
                continue; // drained, so that no packer blocks
            }
            self.publish(finished).unwrap_or_else(|failure| self.fail(failure));
        }
    }

    fn publish(&self, finished: Finished<'_>) -> Result<(), Failure> {
        let Finished { number, written, findings, claim } = finished;
        let foot = self.plan.foot();
        let PlannedShard { name, split, .. } = &foot.shards[number];
        let extensions = written.extensions.clone();
        let mut entry = written.publish(self.staging.shards(), name, self.options.durability)?;
        entry.split.clone_from(split);
        let problems = findings.problems.iter().map(Problem::to_stored).collect();
        let record = ShardRecord {
            plan: foot.content.clone(),
            shard: number as u64,
            entry,
            entry_points: foot.entry_points,
            unsynced: self.options.durability == Durability::Cached,
            extensions,
            problems,
            irregular_jpegs: findings.irregular.clone(),
        };
        match &self.options.destination {
            None => {
                let path = self.staging.record_path(name);
                write_as(&path, &record.to_json(), self.options.durability)?;
            }
            Some(destination) => {
                let tar = self.staging.shards().join(name);
                let delivered = destination.deliver(&PackedShard { tar: &tar, record });
                // The folder holds the shards in work alone.
                remove_if_exists(&tar)?;
                remove_if_exists(index_path(&tar))?;
                delivered?;
            }
        }
        if claim.is_some_and(|claim| claim.stolen) {
            self.stolen.fetch_add(1, Ordering::Relaxed);
        }
        self.done(number, Outcome::Packed, findings);
        Ok(())
    }
}
