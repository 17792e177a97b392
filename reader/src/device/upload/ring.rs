//! `Ring`: which slot a batch may be copied into, who has it, and when it may be used again.
//!
//! A state machine and nothing else: no memory, no thread, no device. A slot is a slab on the device
//! and the marks (events) around it. Its life:
//!
//! ```text
//! Free -> Filling -> Queued -> Lent -> Free
//!         a copy is  in line   the     marked where the consumer's streams
//!         put in     for it    consumer  are done with it
//! ```
//!
//! What keeps a slab from being written while it is read: the copy stream waits for the marks that the
//! consumer left, on the device; the host waits for nothing. What keeps it from being read before it is
//! written: the consumer's stream waits for the mark behind the copy. The calls stand in [`Queue`], and
//! [`upload`], [`hand_over`] and [`give_back`] are the only ones that make them, here as in the tests.

use std::collections::VecDeque;

/// What is asked of a device, by slot. All of it is put into the queues of streams and returns at once.
pub(crate) trait Queue {
    /// One of the consumer's streams.
    type Stream: Copy;
    /// A refusal of the device.
    type Error;

    /// The copy stream goes on when the `n`th mark that the consumer left on the slot is reached.
    fn await_use(&self, slot: usize, n: usize) -> Result<(), Self::Error>;
    /// Copies the batch into the slot, on the copy stream.
    fn copy(&self, slot: usize) -> Result<(), Self::Error>;
    /// A mark on the copy stream, behind the copy.
    fn mark_ready(&self, slot: usize) -> Result<(), Self::Error>;
    /// A consumer's stream goes on when the copy is done.
    fn await_ready(&self, slot: usize, stream: Self::Stream) -> Result<(), Self::Error>;
    /// The `n`th mark of the slot, behind all that the consumer has put into this stream.
    fn mark_use(&self, slot: usize, n: usize, stream: Self::Stream) -> Result<(), Self::Error>;
}

/// Puts a batch on its way into a slot whose last user left `marks` marks.
///
/// # Errors
/// The device's; nobody can say then what it still does with the slot.
pub(crate) fn upload<Q: Queue>(queue: &Q, slot: usize, marks: usize) -> Result<(), Q::Error> {
    (0..marks).try_for_each(|n| queue.await_use(slot, n))?;
    queue.copy(slot)?;
    queue.mark_ready(slot)
}

/// Lets a consumer's stream use a slot.
///
/// # Errors
/// The device's.
pub(crate) fn hand_over<Q: Queue>(
    queue: &Q,
    slot: usize,
    stream: Q::Stream,
) -> Result<(), Q::Error> {
    queue.await_ready(slot, stream)
}

/// Marks where the consumer's streams are done with a slot; how many marks there are.
///
/// # Errors
/// The device's.
pub(crate) fn give_back<Q: Queue>(
    queue: &Q,
    slot: usize,
    streams: &[Q::Stream],
) -> Result<usize, Q::Error> {
    for (n, stream) in streams.iter().enumerate() {
        queue.mark_use(slot, n, *stream)?;
    }
    Ok(streams.len())
}

/// Who has a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Slot {
    /// Nobody; so many marks of its last user stand before the next copy.
    Free { marks: usize },
    /// The feeder, who puts a copy on its way.
    Filling,
    /// The line.
    Queued,
    /// The consumer.
    Lent,
    /// Nobody ever again: the device refused something, and may still be at work on it.
    Lost,
}

/// What the feeder, who has a batch in hand, does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Puts it into this slot, behind so many marks.
    Fill { slot: usize, marks: usize },
    /// Makes one slot more: the consumer holds all of them and wants another batch.
    Grow,
    /// Waits until something changes.
    Wait,
    /// Ends: nobody will take a batch any more.
    Stop,
}

/// What the consumer gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Take {
    /// The batch in this slot.
    Slot(usize),
    /// Nothing yet.
    Wait,
    /// There are no more batches; or the feeder failed, after all that came before was handed out.
    End,
}

/// The slots of one epoch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Ring {
    slots: Vec<Slot>,
    /// Those that are queued, in the order of their batches.
    line: VecDeque<usize>,
    /// The consumer waits and has them all.
    hungry: bool,
    /// The feeder will queue no more.
    ended: bool,
    /// The consumer will take no more.
    closed: bool,
}

impl Ring {
    /// A ring of slots, each with as many marks before it as its last user left.
    pub(crate) fn new(marks: impl IntoIterator<Item = usize>) -> Ring {
        let slots = marks.into_iter().map(|marks| Slot::Free { marks }).collect();
        Ring { slots, line: VecDeque::new(), hungry: false, ended: false, closed: false }
    }

    /// Slots, those made later included.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Slots that a batch stands ready in.
    pub(crate) fn queued(&self) -> usize {
        self.line.len()
    }

    /// What the feeder does with the batch that it has.
    pub(crate) fn next(&mut self) -> Next {
        if self.closed {
            return Next::Stop;
        }
        let free = self.slots.iter().enumerate().find_map(|(slot, state)| match state {
            Slot::Free { marks } => Some((slot, *marks)),
            _ => None,
        });
        match free {
            Some((slot, marks)) => {
                self.slots[slot] = Slot::Filling;
                Next::Fill { slot, marks }
            }
            None if self.hungry => Next::Grow,
            None => Next::Wait,
        }
    }

    /// A slot was made, with so many marks before it; its number is the next.
    pub(crate) fn grown(&mut self, marks: usize) {
        self.hungry = false;
        self.slots.push(Slot::Free { marks });
    }

    /// The copy into the slot is on its way; true if its batch stands in the line now, false if nobody
    /// will take it.
    pub(crate) fn filled(&mut self, slot: usize) -> bool {
        debug_assert_eq!(self.slots[slot], Slot::Filling);
        self.hungry = false;
        if self.closed {
            self.slots[slot] = Slot::Free { marks: 0 };
            return false;
        }
        self.slots[slot] = Slot::Queued;
        self.line.push_back(slot);
        true
    }

    /// The device refused something about the slot: it is not used again, and no batch follows.
    pub(crate) fn lost(&mut self, slot: usize) {
        self.slots[slot] = Slot::Lost;
        self.ended = true;
    }

    /// No batch follows those that are queued.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    /// The next batch, in order.
    pub(crate) fn take(&mut self) -> Take {
        match self.line.pop_front() {
            Some(slot) => {
                self.slots[slot] = Slot::Lent;
                Take::Slot(slot)
            }
            None if self.ended || self.closed => Take::End,
            None => {
                self.hungry = !self
                    .slots
                    .iter()
                    .any(|slot| matches!(slot, Slot::Free { .. } | Slot::Filling | Slot::Queued));
                Take::Wait
            }
        }
    }

    /// The consumer is done with a slot, having left so many marks.
    pub(crate) fn released(&mut self, slot: usize, marks: usize) {
        debug_assert_eq!(self.slots[slot], Slot::Lent);
        self.slots[slot] = Slot::Free { marks };
    }

    /// The consumer takes no more.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// The consumer takes no more; what is queued is nobody's.
    pub(crate) fn close(&mut self) {
        self.closed = true;
        for slot in self.line.drain(..) {
            // Its copy stands in the copy stream, before any later one into it.
            self.slots[slot] = Slot::Free { marks: 0 };
        }
    }

    /// Slots that nobody has, with the marks before each: to be used again after this ring.
    pub(crate) fn free(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.slots.iter().enumerate().filter_map(|(slot, state)| match state {
            Slot::Free { marks } => Some((slot, *marks)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod explore;
