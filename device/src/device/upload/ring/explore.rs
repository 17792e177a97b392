//! Tests every schedule of a small ring on a simulated device.
//!
//! The device has a stream of copies, one of kernels, and two of the consumer. Each executes its operations in order, at
//! any time; a copy, a kernel or a read takes two steps, so that interleavings are visible. From each state every possible step is taken; known
//! states are not expanded again.
//!
//! Checked: no slot is written while it is read, by the consumer or by kernels, read before it is written, or copied from host memory that was
//! returned; batches arrive once and in order; if no step is possible, everything is finished.

mod simulated;

use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};

use self::simulated::{Device, Event, FIRST, GONE, HALF, Omitted, Op, STREAMS, Simulated};
use crate::device::upload::ring::{NextSlot, Ring, Take, give_back, hand_over, upload};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Feeder {
    /// Has batch `n`, or knows that there are no more.
    Has(u8),
    Uploads {
        slot: usize,
        marks: usize,
        batch: u8,
    },
    Grows(u8),
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Consumer {
    Takes,
    /// Dropped everything at once.
    Gone,
    Over,
}

/// A batch that the consumer holds: its slot, its number, the streams that use it.
type HeldBatch = (usize, u8, Vec<usize>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct World {
    ring: Ring,
    device: Device,
    feeder: Feeder,
    consumer: Consumer,
    held: Vec<HeldBatch>,
    /// Batches whose copies may not be done, and their slots: their host memory is kept.
    flying: VecDeque<(usize, u8)>,
    taken: u8,
    failed: bool,
}

/// What is gone through.
#[derive(Debug, Clone, Copy)]
struct Case {
    slots: usize,
    batches: u8,
    /// Batches that the consumer holds at most.
    holds: usize,
    /// Streams that use each batch.
    streams: usize,
    /// The consumer may return a batch that no stream used.
    skips: bool,
    /// The consumer may go away at any time.
    goes: bool,
    refuse: Option<u8>,
    /// A mark of the consumer's may be refused at any time, once.
    refuses_use: bool,
    without: Omitted,
}

const PLAIN: Case = Case {
    slots: 2,
    batches: 4,
    holds: 1,
    streams: 1,
    skips: false,
    goes: false,
    refuse: None,
    refuses_use: false,
    without: Omitted::Nothing,
};

impl World {
    fn new(case: &Case) -> World {
        let device = Device {
            slabs: vec![[HALF; 2]; case.slots],
            host: (0..case.batches).collect(),
            until_refusal: case.refuse,
            ..Device::default()
        };
        World {
            ring: Ring::new(vec![0; case.slots]),
            device,
            feeder: Feeder::Has(0),
            consumer: Consumer::Takes,
            held: Vec::new(),
            flying: VecDeque::new(),
            taken: 0,
            failed: false,
        }
    }

    /// Calls the device as the program does.
    fn with_queue<T>(&mut self, case: &Case, call: impl FnOnce(&Simulated) -> T) -> T {
        let device = RefCell::new(std::mem::take(&mut self.device));
        let queue = Simulated { device, without: case.without };
        let result = call(&queue);
        self.device = queue.device.into_inner();
        result
    }

    /// The worlds that one step leads to.
    fn following(&self, case: &Case) -> Result<Vec<World>, String> {
        let mut worlds = Vec::new();
        let mut go = |step: &dyn Fn(&mut World) -> Result<bool, String>| {
            let mut world = self.clone();
            if step(&mut world)? {
                world.device.settle();
                worlds.push(world);
            }
            Ok::<(), String>(())
        };
        for stream in (0..FIRST + STREAMS).filter(|&stream| self.device.may_step(stream)) {
            go(&|world| world.device.step(stream).map(|()| true))?;
        }
        go(&|world| Ok(world.feed(case)))?;
        go(&|world| Ok(world.reap()))?;
        // With all streams in use it does not matter which is first.
        for first in 0..=STREAMS - case.streams {
            go(&|world| world.take(case, first, case.streams))?;
        }
        if case.skips {
            go(&|world| world.take(case, 0, 0))?;
        }
        for held in 0..self.held.len() {
            go(&|world| Ok(world.release(case, held)))?;
        }
        for held in 0..if case.refuses_use && !self.failed { self.held.len() } else { 0 } {
            go(&|world| {
                let (slot, ..) = world.held.remove(held);
                world.ring.lost(slot);
                world.failed = true;
                Ok(true)
            })?;
        }
        if case.goes && self.consumer == Consumer::Takes {
            go(&|world| {
                world.consumer = Consumer::Gone;
                world.ring.close();
                Ok(true)
            })?;
        }
        Ok(worlds)
    }

    fn feed(&mut self, case: &Case) -> bool {
        match self.feeder {
            Feeder::Over => return false,
            Feeder::Has(batch) if batch == case.batches => {
                self.ring.end();
                self.feeder = Feeder::Over;
            }
            Feeder::Has(batch) => match self.ring.next() {
                NextSlot::Fill { slot, marks } => {
                    self.feeder = Feeder::Uploads { slot, marks, batch }
                }
                NextSlot::Grow => self.feeder = Feeder::Grows(batch),
                NextSlot::Wait => return false,
                NextSlot::Stop => self.feeder = Feeder::Over,
            },
            Feeder::Grows(batch) => {
                self.device.slabs.push([HALF; 2]);
                self.ring.grown(0);
                self.feeder = Feeder::Has(batch);
            }
            Feeder::Uploads { slot, marks, batch } => {
                self.device.batch = batch;
                self.flying.push_back((slot, batch));
                match self.with_queue(case, |queue| upload(queue, slot, marks)) {
                    Ok(()) => {
                        self.ring.filled(slot);
                        self.feeder = Feeder::Has(batch + 1);
                    }
                    Err(()) => {
                        self.ring.lost(slot);
                        self.failed = true;
                        self.feeder = Feeder::Over;
                    }
                }
            }
        }
        true
    }

    /// Gives the host memory of the oldest copy back, if it is done.
    fn reap(&mut self) -> bool {
        let Some(&(slot, batch)) = self.flying.front() else { return false };
        if !self.device.is_reached(Event::Copied(slot)) || self.failed {
            return false;
        }
        self.flying.pop_front();
        self.give_host_back(batch);
        true
    }

    /// Host memory is used again when neither the consumer nor a copy needs it.
    fn give_host_back(&mut self, batch: u8) {
        let held = self.held.iter().any(|(_, of, _)| *of == batch);
        let queued = batch >= self.taken && self.consumer == Consumer::Takes;
        if !held && !queued && self.flying.iter().all(|(_, of)| *of != batch) {
            self.device.host[batch as usize] = GONE;
        }
    }

    fn take(&mut self, case: &Case, first: usize, count: usize) -> Result<bool, String> {
        if self.consumer != Consumer::Takes || self.held.len() >= case.holds {
            return Ok(false);
        }
        let before = self.ring.clone();
        match self.ring.take() {
            Take::Wait => Ok(self.ring != before),
            Take::End => {
                if self.taken < case.batches && !self.failed {
                    return Err(format!("the end came after {} batches", self.taken));
                }
                self.consumer = Consumer::Over;
                self.ring.close(); // as whoever meets the end does
                Ok(true)
            }
            Take::Slot(slot) => {
                let batch = self.taken;
                self.taken += 1;
                let streams: Vec<usize> =
                    (0..count).map(|n| FIRST + (first + n) % STREAMS).collect();
                for &stream in &streams {
                    let _ = self.with_queue(case, |queue| hand_over(queue, slot, stream));
                    self.device.put(stream, Op::Read { slot, batch });
                }
                self.held.push((slot, batch, streams));
                Ok(true)
            }
        }
    }

    fn release(&mut self, case: &Case, held: usize) -> bool {
        let (slot, batch, streams) = self.held.remove(held);
        let marks = self.with_queue(case, |queue| give_back(queue, slot, &streams)).unwrap_or(0);
        self.ring.released(slot, marks);
        if case.without == Omitted::HostKept {
            self.flying.retain(|(_, of)| *of != batch);
        }
        self.give_host_back(batch);
        true
    }

    /// Nothing more can happen: is all done?
    fn is_over(&self, case: &Case) -> Result<(), String> {
        // After the end, all slots that are not held or lost are in the ring.
        let found = self.ring.free().count() + usize::from(self.failed);
        if self.consumer != Consumer::Takes && found != self.ring.len() {
            return Err(format!("slots are nowhere: {self:?}"));
        }
        let drained = self.device.streams.iter().all(VecDeque::is_empty);
        let fed = self.feeder == Feeder::Over;
        let met = self.consumer != Consumer::Takes || self.held.len() >= case.holds;
        if drained && fed && met && self.held.is_empty() {
            return Ok(());
        }
        Err(format!("nothing goes on: {self:?}"))
    }
}

/// What a ring may be in.
#[derive(Debug)]
struct Explored {
    states: usize,
    /// States in which a batch is copied while kernels compute an earlier one.
    overlaps: usize,
}

/// Goes through all schedules; what states there are, or the first that is wrong.
fn explore(case: &Case) -> Result<Explored, String> {
    let mut overlaps = 0;
    let mut seen = HashSet::new();
    let mut open = vec![World::new(case)];
    while let Some(world) = open.pop() {
        let following = world.following(case)?;
        overlaps += usize::from(world.device.overlaps());
        if following.is_empty() {
            world.is_over(case)?;
        }
        assert!(world.ring.len() <= case.slots.max(case.holds) + 1, "the ring grows: {world:?}");
        open.extend(following.into_iter().filter(|world| seen.insert(world.clone())));
    }
    Ok(Explored { states: seen.len(), overlaps })
}

fn every_schedule_is_right(case: &Case) {
    let Explored { states, .. } = explore(case).unwrap_or_else(|wrong| panic!("{case:?}: {wrong}"));
    assert!(states > 50, "{case:?}: {states} states");
}

/// States in which copies and kernels overlap.
fn overlaps(without: Omitted) -> usize {
    let case = Case { without, batches: 3, ..PLAIN };
    explore(&case).unwrap_or_else(|wrong| panic!("{case:?}: {wrong}")).overlaps
}

#[test]
fn the_next_copy_runs_beside_the_kernels_of_a_batch() {
    assert!(overlaps(Omitted::Nothing) > 50);
    assert_eq!(overlaps(Omitted::KernelStream), 0, "one stream is right, too, but copies wait");
}

#[test]
fn batches_that_no_stream_used_are_not_overwritten_under_their_kernels() {
    every_schedule_is_right(&Case { slots: 1, skips: true, ..PLAIN });
    every_schedule_is_right(&Case { skips: true, batches: 2, ..PLAIN });
}

#[test]
fn every_schedule_of_a_ring_is_right() {
    for (slots, holds, batches) in [(1, 1, 4), (2, 1, 3), (1, 2, 3), (2, 3, 2)] {
        every_schedule_is_right(&Case { slots, holds, batches, ..PLAIN });
    }
}

#[test]
#[ignore = "explores the most states: make faults runs it"]
fn every_schedule_of_two_streams_and_of_a_larger_ring_is_right() {
    every_schedule_is_right(&Case { slots: 2, streams: 2, batches: 3, ..PLAIN });
    every_schedule_is_right(&Case { slots: 3, ..PLAIN });
    every_schedule_is_right(&Case { slots: 2, ..PLAIN });
    every_schedule_is_right(&Case { slots: 2, holds: 3, batches: 3, ..PLAIN });
    every_schedule_is_right(&Case { skips: true, batches: 3, ..PLAIN });
    let case = Case { slots: 2, holds: 2, batches: 3, ..PLAIN };
    every_schedule_is_right(&Case { goes: true, ..case });
    every_schedule_is_right(&Case { refuses_use: true, ..case });
}

#[test]
fn every_schedule_of_two_batches_in_two_streams_is_right() {
    every_schedule_is_right(&Case { slots: 2, streams: 2, batches: 2, ..PLAIN });
}

#[test]
fn a_consumer_may_stop_at_any_time() {
    for (slots, holds, batches) in [(1, 1, 3), (2, 1, 3), (2, 2, 2)] {
        let case = Case { slots, holds, goes: true, batches, ..PLAIN };
        explore(&case).unwrap_or_else(|wrong| panic!("{case:?}: {wrong}"));
    }
}

#[test]
fn an_error_ends_the_epoch_after_the_batches_before_it() {
    for refuse in [0, 1, 2, 3, 4, 5, 8, 11] {
        let case = Case { refuse: Some(refuse), holds: 2, batches: 3, ..PLAIN };
        explore(&case).unwrap_or_else(|wrong| panic!("{case:?}: {wrong}"));
    }
}

#[test]
fn a_failed_event_record_ends_the_upload_and_nothing_hangs() {
    for (slots, holds, batches) in [(1, 1, 3), (2, 1, 3), (2, 2, 2)] {
        let case = Case { slots, holds, refuses_use: true, batches, ..PLAIN };
        explore(&case).unwrap_or_else(|wrong| panic!("{case:?}: {wrong}"));
    }
}

#[test]
fn no_batches_are_an_end_and_no_more() {
    let case = Case { batches: 0, ..PLAIN };
    explore(&case).unwrap();
}

/// What the marks are for: without any of them there is a schedule that goes wrong.
#[test]
fn each_wait_is_needed() {
    for (without, says) in [
        (Omitted::AwaitWork, "slot"),
        (Omitted::AwaitUse, "slot"),
        (Omitted::MarkUse, "slot"),
        (Omitted::AwaitCopied, "is computed"),
        (Omitted::AwaitReady, "is read"),
        (Omitted::HostKept, "given back"),
    ] {
        let case = Case { without, skips: true, ..PLAIN };
        let wrong = explore(&case).expect_err(&format!("{without:?} is not missed"));
        assert!(wrong.contains(says), "{without:?}: {wrong}");
    }
}
