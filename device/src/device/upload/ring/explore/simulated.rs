//! The simulated device of the explorer: streams that execute one step at a time, events, slots, and the rules that
//! must not be violated.

use std::cell::RefCell;
use std::collections::VecDeque;

use crate::device::upload::ring::Queue;

pub(super) const STREAMS: usize = 2;
/// Content of a slot while it is written.
pub(super) const HALF: u8 = 255;
/// Content of host memory that was returned.
pub(super) const GONE: u8 = 254;

/// An operation in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Op {
    /// Waits until the mark was reached as often.
    Await(Event, u8),
    Reach(Event, u8),
    Copy {
        slot: usize,
        batch: u8,
    },
    Read {
        slot: usize,
        batch: u8,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Event {
    Ready(usize),
    Use(usize, usize),
}

/// The device: what is put in, and how far it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Device {
    /// The copy stream, then the consumer's.
    pub(super) streams: [VecDeque<Op>; 1 + STREAMS],
    /// Whether the first operation of each is half done.
    pub(super) half: [bool; 1 + STREAMS],
    /// How often each mark was set, and reached.
    pub(super) marks: Vec<(Event, u8, u8)>,
    pub(super) slabs: Vec<u8>,
    /// For each batch, what its host memory holds.
    pub(super) host: Vec<u8>,
    /// The batch that is being put in.
    pub(super) batch: u8,
    /// Calls of the feeder until one is refused.
    pub(super) until_refusal: Option<u8>,
}

/// The operation that is left out, to prove that it is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Omitted {
    Nothing,
    AwaitUse,
    AwaitReady,
    MarkUse,
    /// Host memory is given back with the batch, whether or not the copy is done.
    HostKept,
}

pub(super) struct Simulated {
    pub(super) device: RefCell<Device>,
    pub(super) without: Omitted,
}

impl Device {
    pub(super) fn mark(&mut self, mark: Event) -> &mut (Event, u8, u8) {
        let at = self.marks.iter().position(|(known, ..)| *known == mark);
        let at = at.unwrap_or_else(|| {
            self.marks.push((mark, 0, 0));
            self.marks.sort_unstable();
            self.marks.iter().position(|(known, ..)| *known == mark).unwrap()
        });
        &mut self.marks[at]
    }

    pub(super) fn put(&mut self, stream: usize, op: Op) {
        self.streams[stream].push_back(op);
    }

    fn set(&mut self, stream: usize, mark: Event) {
        let entry = self.mark(mark);
        entry.1 += 1;
        let count = entry.1;
        self.put(stream, Op::Reach(mark, count));
    }

    fn wait_for(&mut self, stream: usize, mark: Event) {
        let count = self.mark(mark).1;
        self.put(stream, Op::Await(mark, count));
    }

    pub(super) fn is_reached(&self, mark: Event) -> bool {
        self.marks.iter().all(|(known, set, reached)| *known != mark || set == reached)
    }

    pub(super) fn may_step(&self, stream: usize) -> bool {
        match self.streams[stream].front() {
            None => false,
            Some(Op::Await(mark, count)) => {
                self.marks.iter().any(|(known, _, reached)| known == mark && reached >= count)
                    || *count == 0
            }
            Some(_) => true,
        }
    }

    /// Does one step of a stream.
    pub(super) fn step(&mut self, stream: usize) -> Result<(), String> {
        let Some(&op) = self.streams[stream].front() else { return Ok(()) };
        let begins = !self.half[stream];
        match op {
            Op::Await(..) => {}
            Op::Reach(mark, count) => self.mark(mark).2 = count,
            Op::Copy { slot, batch } => {
                self.check_copy(slot, batch)?;
                self.slabs[slot] = if begins { HALF } else { batch };
                self.half[stream] = begins;
            }
            Op::Read { slot, batch } => {
                let found = self.slabs[slot];
                if found != batch {
                    return Err(format!("slot {slot} holds {found} where {batch} is read"));
                }
                self.half[stream] = begins;
            }
        }
        if !self.half[stream] {
            self.streams[stream].pop_front();
        }
        Ok(())
    }

    fn check_copy(&self, slot: usize, batch: u8) -> Result<(), String> {
        if (1..=STREAMS).any(|stream| self.reads(stream, slot)) {
            return Err(format!("slot {slot} is written while it is read"));
        }
        if self.host[batch as usize] != batch {
            return Err(format!("batch {batch} is copied from memory that was given back"));
        }
        Ok(())
    }

    fn reads(&self, stream: usize, slot: usize) -> bool {
        let reads =
            matches!(self.streams[stream].front(), Some(Op::Read { slot: of, .. }) if *of == slot);
        reads && self.half[stream]
    }
}

impl Queue for Simulated {
    type Stream = usize;
    type Error = ();

    fn await_use(&self, slot: usize, n: usize) -> Result<(), ()> {
        self.called()?;
        if self.without != Omitted::AwaitUse {
            self.device.borrow_mut().wait_for(0, Event::Use(slot, n));
        }
        Ok(())
    }

    fn copy(&self, slot: usize) -> Result<(), ()> {
        self.called()?;
        let mut device = self.device.borrow_mut();
        let batch = device.batch;
        device.put(0, Op::Copy { slot, batch });
        Ok(())
    }

    fn mark_ready(&self, slot: usize) -> Result<(), ()> {
        self.called()?;
        self.device.borrow_mut().set(0, Event::Ready(slot));
        Ok(())
    }

    fn await_ready(&self, slot: usize, stream: usize) -> Result<(), ()> {
        if self.without != Omitted::AwaitReady {
            self.device.borrow_mut().wait_for(stream, Event::Ready(slot));
        }
        Ok(())
    }

    fn mark_use(&self, slot: usize, n: usize, stream: usize) -> Result<(), ()> {
        if self.without != Omitted::MarkUse {
            self.device.borrow_mut().set(stream, Event::Use(slot, n));
        }
        Ok(())
    }
}

impl Simulated {
    /// The feeder makes one call more.
    fn called(&self) -> Result<(), ()> {
        match &mut self.device.borrow_mut().until_refusal {
            Some(0) => Err(()),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}
