//! The simulated device of the explorer: streams that execute one step at a time, events, slots, and the rules that
//! must not be violated.

use std::cell::RefCell;
use std::collections::VecDeque;

use crate::device::upload::ring::Queue;

/// The streams of the consumer.
pub(super) const STREAMS: usize = 2;
/// The stream of the copies.
const COPY: usize = 0;
/// The stream of the kernels.
const KERNEL: usize = 1;
/// The number of the consumer's first stream.
pub(super) const FIRST: usize = 2;
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
    /// A kernel: reads what was copied into the slot, and writes its output there.
    Work {
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
    Copied(usize),
    Ready(usize),
    Use(usize, usize),
}

/// The device: what is put in, and how far it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Device {
    /// Those of the copies and of the kernels, then the consumer's.
    pub(super) streams: [VecDeque<Op>; FIRST + STREAMS],
    /// Whether the first operation of each is half done.
    pub(super) half: [bool; FIRST + STREAMS],
    /// How often each mark was set, and reached.
    pub(super) marks: Vec<(Event, u8, u8)>,
    /// For each slot, what was copied and what the kernels wrote.
    pub(super) slabs: Vec<[u8; 2]>,
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
    AwaitWork,
    AwaitUse,
    AwaitCopied,
    AwaitReady,
    MarkUse,
    /// Kernels are launched in the stream of the copies.
    KernelStream,
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

    /// Passes events that are recorded or waited for at the front of streams. That does no more than to enable further
    /// steps, so a fault that shows if it happens later shows if it happens at once, too.
    pub(super) fn settle(&mut self) {
        while let Some(stream) = (0..self.streams.len()).find(|&stream| self.passes(stream)) {
            if let Some(Op::Reach(mark, count)) = self.streams[stream].pop_front() {
                self.mark(mark).2 = count;
            }
        }
    }

    /// Whether a stream is at an event that it passes.
    fn passes(&self, stream: usize) -> bool {
        let front = self.streams[stream].front();
        matches!(front, Some(Op::Await(..) | Op::Reach(..))) && self.may_step(stream)
    }

    /// Does one step of a stream.
    pub(super) fn step(&mut self, stream: usize) -> Result<(), String> {
        let Some(&op) = self.streams[stream].front() else { return Ok(()) };
        let begins = !self.half[stream];
        match op {
            Op::Await(..) | Op::Reach(..) => {} // `settle` passes them
            Op::Copy { slot, batch } => {
                self.check_copy(slot, batch)?;
                self.slabs[slot][0] = if begins { HALF } else { batch };
                self.half[stream] = begins;
            }
            Op::Work { slot, batch } => {
                let found = self.slabs[slot][0];
                if found != batch {
                    return Err(format!("slot {slot} holds {found} where {batch} is computed"));
                }
                self.check_unread(slot)?;
                self.slabs[slot][1] = if begins { HALF } else { batch };
                self.half[stream] = begins;
            }
            Op::Read { slot, batch } => {
                let found = self.slabs[slot];
                if found != [batch; 2] {
                    return Err(format!("slot {slot} holds {found:?} where {batch} is read"));
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
        self.check_unread(slot)?;
        if self.computes(slot).is_some() {
            return Err(format!("slot {slot} is written while kernels read it"));
        }
        if self.host[batch as usize] != batch {
            return Err(format!("batch {batch} is copied from memory that was given back"));
        }
        Ok(())
    }

    fn check_unread(&self, slot: usize) -> Result<(), String> {
        if (FIRST..FIRST + STREAMS).any(|stream| self.reads(stream, slot)) {
            return Err(format!("slot {slot} is written while it is read"));
        }
        Ok(())
    }

    /// The batch that a kernel computes in this slot.
    fn computes(&self, slot: usize) -> Option<u8> {
        self.streams.iter().zip(self.half).find_map(|(stream, half)| match stream.front() {
            Some(&Op::Work { slot: of, batch }) if of == slot && half => Some(batch),
            _ => None,
        })
    }

    /// Whether a batch is copied while a kernel computes an earlier one.
    pub(super) fn overlaps(&self) -> bool {
        let Some(&Op::Copy { batch, .. }) = self.streams[COPY].front() else { return false };
        let mut computed = (0..self.slabs.len()).filter_map(|slot| self.computes(slot));
        self.half[COPY] && computed.any(|earlier| earlier < batch)
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

    fn await_work(&self, slot: usize) -> Result<(), ()> {
        self.called()?;
        if self.without != Omitted::AwaitWork {
            self.device.borrow_mut().wait_for(COPY, Event::Ready(slot));
        }
        Ok(())
    }

    fn await_use(&self, slot: usize, n: usize) -> Result<(), ()> {
        self.called()?;
        if self.without != Omitted::AwaitUse {
            self.device.borrow_mut().wait_for(COPY, Event::Use(slot, n));
        }
        Ok(())
    }

    fn copy(&self, slot: usize) -> Result<(), ()> {
        self.called()?;
        let mut device = self.device.borrow_mut();
        let batch = device.batch;
        device.put(COPY, Op::Copy { slot, batch });
        Ok(())
    }

    fn mark_copied(&self, slot: usize) -> Result<(), ()> {
        self.called()?;
        self.device.borrow_mut().set(COPY, Event::Copied(slot));
        Ok(())
    }

    fn await_copied(&self, slot: usize) -> Result<(), ()> {
        self.called()?;
        if self.without != Omitted::AwaitCopied {
            self.device.borrow_mut().wait_for(self.kernel(), Event::Copied(slot));
        }
        Ok(())
    }

    fn work(&self, slot: usize) -> Result<(), ()> {
        self.called()?;
        let mut device = self.device.borrow_mut();
        let batch = device.batch;
        device.put(self.kernel(), Op::Work { slot, batch });
        Ok(())
    }

    fn mark_ready(&self, slot: usize) -> Result<(), ()> {
        self.called()?;
        self.device.borrow_mut().set(self.kernel(), Event::Ready(slot));
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
    /// The stream of the kernels.
    fn kernel(&self) -> usize {
        if self.without == Omitted::KernelStream { COPY } else { KERNEL }
    }

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
