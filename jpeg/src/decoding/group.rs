//! One call of a decoder: assigns rows of pictures to lanes, handles each lane that stops, and
//! reports the result of each job.
//!
//! `strand` walks over rows, `slot` turns them into pixels; this file only schedules, and decides
//! how far an error reaches.

use std::mem;

use crate::damaged::Damaged;
use crate::entropy::{Lane, Lockstep, MOST_LANES, lockstep};
use crate::error::{Error, ErrorKind, Result};
use crate::header::whole;
use crate::picture::job::{Damage, Job, OnDamage, Report, Use};
use crate::picture::planes::McuRow;
use crate::picture::slot::Slot;
use crate::picture::strand::{Picture, RowEnd, Strand};
use crate::positions::points::EntryPoints;
use crate::several_scans::multiscan;
use crate::several_scans::scans::Scans;
use crate::simd::Simd;

/// The first row of a region, and one in so many after it, is decoded to the next entry point,
/// where it is verified. In the others, MCUs that the region does not need are left out: that the
/// bytes and the entry points are those that were written is known from their checksums.
const VERIFIED_EVERY: u32 = 32;

/// The state of a decoder, kept from call to call.
#[derive(Debug)]
pub(crate) struct DecoderState {
    lanes: [Lane; MOST_LANES],
    slots: [Slot; MOST_LANES],
    scans: Scans,
    /// Allocated for the first damaged picture that is kept.
    damaged: Option<Box<Damaged>>,
    lockstep: Lockstep,
    simd: &'static Simd,
    /// Number of lanes in use.
    streams: usize,
    /// Limit on the bytes that a job may take.
    memory: u64,
    /// True during a call, and after a call that ended in a panic of the caller's code.
    busy: bool,
}

impl Default for DecoderState {
    fn default() -> DecoderState {
        DecoderState {
            lanes: Default::default(),
            slots: Default::default(),
            scans: Scans::default(),
            damaged: None,
            lockstep: lockstep(),
            simd: Simd::best(),
            streams: MOST_LANES,
            memory: u64::MAX,
            busy: false,
        }
    }
}

impl DecoderState {
    pub(crate) fn set_streams(&mut self, streams: usize) {
        self.streams = streams.clamp(1, MOST_LANES);
    }

    pub(crate) fn set_memory(&mut self, bytes: u64) {
        self.memory = bytes;
    }

    /// # Errors
    /// Returns an error if the job is invalid, of a kind that is not decoded, or needs more memory
    /// than is allowed.
    fn admit(&self, job: &Job<'_>) -> Result<()> {
        job.check()?;
        if job.excerpt.is_some() && job.header.without_entry_points().is_some() {
            return Err(no_excerpt());
        }
        if job.header.unsupported().is_some() {
            // A truncated file is reported as damaged, whatever else would be wrong with it.
            whole(job.bytes)?;
        }
        job.header.check_supported()?;
        if self.memory == u64::MAX {
            return Ok(());
        }
        let most = self.memory;
        let bytes = job.bytes.len();
        let kept = match job.on_damage {
            OnDamage::Refuse => 0,
            OnDamage::Keep => job.header.memory_to_keep(),
        };
        match job.header.memory(bytes, job.scale, job.region)?.saturating_add(kept) {
            needed if needed <= most => Ok(()),
            needed => {
                let width = job.header.width;
                let height = job.header.height;
                let text = format!(
                    "{width}x{height} pixels take {needed} bytes of memory, and {most} are allowed"
                );
                Err(Error::new(ErrorKind::Limit, text))
            }
        }
    }

    pub(crate) fn kernels(&self) -> &'static str {
        self.simd.name
    }

    pub(crate) fn drop_large(&mut self, bytes: usize) {
        self.lanes.iter_mut().for_each(|lane| lane.drop_large(bytes));
        self.slots.iter_mut().for_each(|slot| slot.drop_large(bytes));
        self.scans.drop_large(bytes);
        if let Some(damaged) = &mut self.damaged {
            damaged.drop_large(bytes);
        }
    }

    /// Returns the result for a job that failed. Decodes the picture again in this slot if damaged
    /// pictures are kept, or if it has one scan: all its pixels may be there.
    fn after(&mut self, error: Error, slot: usize, job: &mut Job<'_>) -> Result<Report> {
        let keeps = job.on_damage == OnDamage::Keep;
        // The bytes of rows that an excerpt does not hold are unspecified.
        let tried = job.excerpt.is_none() && (keeps || !job.header.has_several_scans());
        if error.kind() != ErrorKind::Damaged || !tried {
            return Err(error);
        }
        let damaged = self.damaged.get_or_insert_default();
        match damaged.decode(&mut self.slots[slot], self.simd, job) {
            Ok(report) if keeps || report.damage != Damage::Lost => Ok(report),
            Err(other) if keeps => Err(other),
            _ => Err(error),
        }
    }
}

/// A picture that is being decoded.
#[derive(Debug)]
struct PictureTask<'a> {
    job: Job<'a>,
    number: usize,
    points: Option<EntryPoints<'a>>,
    /// The entropy-coded bytes that may be read: first byte and end.
    data: (usize, usize),
    /// The first row that no lane has taken, and the end of the rows.
    row: u32,
    end: u32,
    /// Number of rows that a lane takes at once.
    share: u32,
    /// Number of lanes that work on it.
    lanes: usize,
}

/// One call of [`crate::Decoder::decode_group`].
pub(crate) struct Group<'h, 'a, I, F> {
    state: &'h mut DecoderState,
    jobs: I,
    done: F,
    /// Jobs taken so far.
    taken: usize,
    /// The picture of each slot.
    tasks: [Option<PictureTask<'a>>; MOST_LANES],
    /// Slot and walk of the working lanes, which are the first `live`.
    strands: [(usize, Strand); MOST_LANES],
    live: usize,
}

impl<'h, 'a, I, F> Group<'h, 'a, I, F>
where
    I: Iterator<Item = Job<'a>>,
    F: FnMut(usize, Result<Report>),
{
    pub(crate) fn new(state: &'h mut DecoderState, jobs: I, done: F) -> Self {
        Group {
            state,
            jobs,
            done,
            taken: 0,
            tasks: Default::default(),
            strands: Default::default(),
            live: 0,
        }
    }

    pub(crate) fn run(&mut self) {
        if mem::replace(&mut self.state.busy, true) {
            // A panic of the caller's code has ended the last call: lanes still hold coefficients,
            // and a leg expects zeros.
            self.state.lanes.iter_mut().for_each(Lane::clean);
        }
        loop {
            while self.live < self.state.streams && self.deal() {}
            if self.live == 0 {
                self.state.busy = false;
                return;
            }
            let stopped = self.state.lockstep.run(&mut self.state.lanes[..self.live]);
            self.settle(stopped);
        }
    }

    /// Assigns rows to the next lane; returns false if there are none.
    fn deal(&mut self) -> bool {
        loop {
            // Rows of open pictures first: a new picture is opened only if no row fits, so that few
            // pictures share the cache.
            let mut open = self.tasks.iter().zip(&self.state.slots);
            let open = open.position(|(task, slot)| {
                task.as_ref().is_some_and(|task| task.row < task.end && slot.has_room(task.row))
            });
            if let Some(slot) = open {
                self.begin(slot);
                return true;
            }
            let Some(job) = self.jobs.next() else { return false };
            self.taken += 1;
            self.open(self.taken - 1, job);
        }
    }

    /// Opens a job in a slot, or decodes it at once if lanes cannot.
    fn open(&mut self, number: usize, mut job: Job<'a>) {
        if let Err(error) = self.state.admit(&job) {
            return (self.done)(number, Err(error));
        }
        // Never empty: each slot in use has a working lane or rows to assign, and there are as many
        // slots as lanes.
        let Some(free) = self.tasks.iter().position(Option::is_none) else { return };
        let DecoderState { slots, scans, simd, .. } = &mut *self.state;
        let slot = &mut slots[free];
        slot.report = Report::default();
        if job.header.has_several_scans() {
            let result = multiscan::decode(scans, slot, simd, &mut job);
            let result = result.or_else(|error| self.state.after(error, free, &mut job));
            return (self.done)(number, result);
        }
        let begun = match slot.open(&job) {
            Ok(()) => PictureTask::begin(number, job, slot),
            Err(error) => {
                let result = self.state.after(error, free, &mut job);
                return (self.done)(number, result);
            }
        };
        match begun {
            Ok(task) => self.tasks[free] = Some(task),
            Err(error) => (self.done)(number, Err(error)),
        }
    }

    /// Assigns a share of the rows of a slot to the first free lane.
    fn begin(&mut self, slot: usize) {
        let Some(task) = &mut self.tasks[slot] else { return };
        let rows = task.row..task.row.saturating_add(task.share).min(task.end);
        task.row = rows.end;
        task.lanes += 1;
        let number = self.live;
        self.live += 1;
        let lane = &mut self.state.lanes[number];
        let from = &self.state.slots[slot];
        let picture = task.picture(from);
        let nth = rows.start.saturating_sub(from.layout.rows.start);
        let row_end =
            if nth.is_multiple_of(VERIFIED_EVERY) { RowEnd::Place } else { RowEnd::Needed };
        let mut strand = Strand::new(&picture, rows, &from.layout.columns, row_end);
        lane.set_components(&picture.header.components, &from.tables);
        lane.set_room(strand.columns.len() * from.layout.blocks);
        let begun = strand.start(&picture, lane).and_then(|irregular| {
            self.state.slots[slot].note(irregular);
            let walked = strand.begin_row(&picture, lane);
            walked.map_err(|stop| strand.error(&picture, lane, stop))
        });
        self.strands[number] = (slot, strand);
        if let Err(error) = begun {
            self.fail(number, error);
        }
    }

    /// Handles a lane that stopped.
    fn settle(&mut self, number: usize) {
        let slot = self.strands[number].0;
        let strand = &mut self.strands[number].1;
        let Some(task) = &mut self.tasks[slot] else { return };
        let mut strand = mem::take(strand);
        let picture = task.picture(&self.state.slots[slot]);
        if self.state.slots[slot].error.is_some() {
            // Another lane of the picture failed: this one's rows are discarded.
            self.state.lanes[number].wipe();
            return self.retire(number);
        }
        let lane = &mut self.state.lanes[number];
        let mut whole = strand.go_on(&picture, lane);
        if whole == Ok(true) {
            let from = &mut self.state.slots[slot];
            let blocks = strand.columns.len() * from.layout.blocks;
            let mcus = McuRow {
                row: strand.row,
                first: strand.columns.start,
                coefficients: &mut lane.coefficients[..blocks],
                last: &lane.last[..blocks],
            };
            from.put(self.state.simd, &mut task.job, mcus);
            strand.row += 1;
            if strand.row == strand.end {
                return self.retire(number);
            }
            whole = strand.begin_row(&picture, lane).map(|()| false);
        }
        self.strands[number].1 = strand;
        if let Err(stop) = whole {
            let error = self.strands[number].1.error(&picture, &self.state.lanes[number], stop);
            self.fail(number, error);
        }
    }

    /// Handles the error of a lane: its picture ends, or starts again without entry points.
    fn fail(&mut self, number: usize, error: Error) {
        let slot = self.strands[number].0;
        self.state.slots[slot].error = Some(error);
        self.state.lanes[number].wipe();
        // No lane takes more of its rows; those at work retire at their next stop.
        if let Some(task) = &mut self.tasks[slot] {
            task.row = task.end;
        }
        self.retire(number);
    }

    /// Frees a lane; finishes its picture if the lane was its last one.
    fn retire(&mut self, number: usize) {
        let slot = self.strands[number].0;
        self.live -= 1;
        // `Slot::open` builds tables in place if no lane shares them.
        self.state.lanes[number].tables = None;
        // Working lanes stay the first `live`: the last one moves to the free place.
        self.state.lanes.swap(number, self.live);
        self.strands.swap(number, self.live);
        let Some(task) = &mut self.tasks[slot] else { return };
        task.lanes -= 1;
        if task.lanes > 0 || task.row < task.end {
            return;
        }
        let from = &mut self.state.slots[slot];
        let excerpt = task.job.excerpt.is_some();
        if from.error.is_some() && task.points.is_some() && !excerpt {
            // The fault may be in the entry points: decode again without them, so that only the
            // codes decide whether the picture is damaged.
            from.reset();
            from.report.entry_points = Use::Refused;
            task.begin_again(from);
            return;
        }
        let error = from.error.take();
        let report = from.report;
        let Some(mut task) = self.tasks[slot].take() else { return };
        let result = match error {
            Some(_) if excerpt => Err(no_excerpt()),
            Some(error) => self.state.after(error, slot, &mut task.job),
            None => Ok(report),
        };
        (self.done)(task.number, result);
    }
}

impl<'a> PictureTask<'a> {
    /// Begins the work on a picture, whose slot is open.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Excerpt`] if the job has an excerpt that cannot be used.
    fn begin(number: usize, job: Job<'a>, slot: &mut Slot) -> Result<Self> {
        let header = job.header;
        // Kinds without entry points ignore any that are given.
        let blob = job.entry_points.filter(|_| header.without_entry_points().is_none());
        let points = blob.and_then(|blob| EntryPoints::read(blob).ok()).filter(|points| {
            let (columns, rows) = slot.layout.mcus;
            points.are_of(columns, rows, header.components.count(), header.data)
        });
        let (points, data) = match job.excerpt {
            None => {
                let points = points.filter(|points| points.fit(job.bytes));
                (points, (header.data, job.bytes.len()))
            }
            Some(excerpt) => {
                let points = points.ok_or_else(no_excerpt)?;
                let held = excerpt.checked(&points, job.bytes).ok_or_else(no_excerpt)?;
                (Some(points), (held.rows.start, held.rows.end))
            }
        };
        slot.report.entry_points = match (blob, points) {
            (None, _) => Use::Absent,
            (Some(_), None) => Use::Refused,
            (Some(_), Some(_)) => Use::Used,
        };
        let rows = &slot.layout.rows;
        // Each row has an entry point: taken one by one, all lanes stay busy to the end.
        let mut task = PictureTask {
            job,
            number,
            points,
            data,
            row: rows.start,
            end: rows.end,
            share: 1,
            lanes: 0,
        };
        if points.is_none() {
            task.begin_again(slot);
        }
        Ok(task)
    }

    /// Starts without entry points: one lane walks from the first row on.
    fn begin_again(&mut self, slot: &Slot) {
        self.points = None;
        self.share = u32::MAX;
        self.row = 0;
        self.end = slot.layout.rows.end;
    }

    fn picture(&self, slot: &Slot) -> Picture<'a> {
        Picture {
            bytes: self.job.bytes,
            header: self.job.header,
            mcus: slot.layout.mcus,
            points: self.points,
            data: self.data,
        }
    }
}

/// The error for an excerpt that cannot be used.
fn no_excerpt() -> Error {
    let text =
        "an excerpt of a JPEG that changed, or whose entry points are wrong: decode the whole JPEG";
    Error::new(ErrorKind::Excerpt, text)
}
