//! `Ring`: the states of the device slots: which slot a batch may be copied into, its holder, and when it can be
//! reused.
//!
//! A pure state machine: no memory, no thread, no device. A slot is device memory for one batch and its events:
//!
//! ```text
//! Free -> Filling -> Queued -> Lent -> Free
//!         the copy   ready to  held    events recorded where the
//!         is being   be taken  by the  consumer's streams are done
//!         submitted            consumer
//! ```
//!
//! Kernels have another stream than copies, so that the next copy, into another slot, does not wait for them.
//!
//! Write after read: the copy stream waits, on the device, for the slot's last kernels and for the events that the consumer
//! recorded; the host does not wait. Read after write: the kernels wait for the copy, and the consumer's stream for the
//! event after the kernels. The calls are declared in [`Queue`], and only [`upload`], [`hand_over`] and [`give_back`] make
//! them, here and in the tests.

use std::collections::VecDeque;

/// The device operations of a slot. All are submitted to streams and return immediately.
pub(crate) trait Queue {
    /// A stream of the consumer.
    type Stream: Copy;
    /// An error of the device.
    type Error;

    /// Makes the copy stream wait for the last kernels on the slot: the consumer may have returned the batch unused.
    fn await_work(&self, slot: usize) -> Result<(), Self::Error>;
    /// Makes the copy stream wait for the `n`th event that the consumer recorded for the slot.
    fn await_use(&self, slot: usize, n: usize) -> Result<(), Self::Error>;
    /// Copies the batch into the slot, in the copy stream.
    fn copy(&self, slot: usize) -> Result<(), Self::Error>;
    /// Records an event in the copy stream, after the copy.
    fn mark_copied(&self, slot: usize) -> Result<(), Self::Error>;
    /// Makes the stream of the kernels wait for the copy.
    fn await_copied(&self, slot: usize) -> Result<(), Self::Error>;
    /// Launches the kernels on the slot, in their stream.
    fn work(&self, slot: usize) -> Result<(), Self::Error>;
    /// Records an event in the stream of the kernels, after them.
    fn mark_ready(&self, slot: usize) -> Result<(), Self::Error>;
    /// Makes a stream of the consumer wait for the kernels, which waited for the copy.
    fn await_ready(&self, slot: usize, stream: Self::Stream) -> Result<(), Self::Error>;
    /// Records the `n`th event of the slot, after all work that the consumer has submitted to this stream.
    fn mark_use(&self, slot: usize, n: usize, stream: Self::Stream) -> Result<(), Self::Error>;
}

/// Submits the upload of a batch into a slot whose last user recorded `marks` events.
///
/// # Errors
/// Returns the device's error. The slot's state on the device is then unknown.
pub(crate) fn upload<Q: Queue>(queue: &Q, slot: usize, marks: usize) -> Result<(), Q::Error> {
    queue.await_work(slot)?;
    (0..marks).try_for_each(|n| queue.await_use(slot, n))?;
    queue.copy(slot)?;
    queue.mark_copied(slot)?;
    queue.await_copied(slot)?;
    queue.work(slot)?;
    queue.mark_ready(slot)
}

/// Lets a stream of the consumer use a slot.
///
/// # Errors
/// Returns the device's error.
pub(crate) fn hand_over<Q: Queue>(
    queue: &Q,
    slot: usize,
    stream: Q::Stream,
) -> Result<(), Q::Error> {
    queue.await_ready(slot, stream)
}

/// Records events in the consumer's streams that used a slot. Returns the number of events.
///
/// # Errors
/// Returns the device's error.
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

/// The state of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Slot {
    /// Not held; the next copy must wait for `marks` events of the last user.
    Free { marks: usize },
    /// Held by the upload thread, which submits a copy.
    Filling,
    /// In the queue.
    Queued,
    /// Held by the consumer.
    Lent,
    /// Never used again: the device failed and may still use it.
    Lost,
}

/// The next action of the upload thread, which has a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextSlot {
    /// Fill this slot, after waiting for this many events.
    Fill { slot: usize, marks: usize },
    /// Add a slot: the consumer holds all of them and wants another batch.
    Grow,
    /// Wait for a change.
    Wait,
    /// Stop: no further batch will be taken.
    Stop,
}

/// Result of [`Ring::take`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Take {
    /// The batch in this slot.
    Slot(usize),
    /// Nothing is ready.
    Wait,
    /// No more batches follow; or the upload thread failed, after all earlier batches were taken.
    End,
}

/// The slots of one epoch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Ring {
    slots: Vec<Slot>,
    /// Queued slots, in the order of their batches.
    line: VecDeque<usize>,
    /// The consumer waits while it holds all slots.
    hungry: bool,
    /// The upload thread will queue no more.
    ended: bool,
    /// The consumer will take no more.
    closed: bool,
}

impl Ring {
    /// A ring of slots, each with the number of events that its last user recorded.
    pub(crate) fn new(marks: impl IntoIterator<Item = usize>) -> Ring {
        let slots = marks.into_iter().map(|marks| Slot::Free { marks }).collect();
        Ring { slots, line: VecDeque::new(), hungry: false, ended: false, closed: false }
    }

    /// Number of slots, including added ones.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Number of slots holding a ready batch.
    pub(crate) fn queued(&self) -> usize {
        self.line.len()
    }

    /// The next action of the upload thread.
    pub(crate) fn next(&mut self) -> NextSlot {
        if self.closed {
            return NextSlot::Stop;
        }
        let free = self.slots.iter().enumerate().find_map(|(slot, state)| match state {
            Slot::Free { marks } => Some((slot, *marks)),
            _ => None,
        });
        match free {
            Some((slot, marks)) => {
                self.slots[slot] = Slot::Filling;
                NextSlot::Fill { slot, marks }
            }
            None if self.hungry => NextSlot::Grow,
            None => NextSlot::Wait,
        }
    }

    /// Adds a slot with this many events. Its number is the next.
    pub(crate) fn grown(&mut self, marks: usize) {
        // One slot for each time that the consumer waits with all slots: it must wait again for the next one.
        self.hungry = false;
        self.slots.push(Slot::Free { marks });
    }

    /// The copy into the slot was submitted. True if its batch is queued, false if the consumer is gone.
    pub(crate) fn filled(&mut self, slot: usize) -> bool {
        debug_assert_eq!(self.slots[slot], Slot::Filling);
        self.hungry = false;
        if self.closed {
            // No events: no stream has used the batch, and a later copy waits for its kernels.
            self.slots[slot] = Slot::Free { marks: 0 };
            return false;
        }
        self.slots[slot] = Slot::Queued;
        self.line.push_back(slot);
        true
    }

    /// The device failed for the slot: it is not used again, and no batch follows.
    pub(crate) fn lost(&mut self, slot: usize) {
        self.slots[slot] = Slot::Lost;
        self.ended = true;
    }

    /// No batch follows the queued ones.
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
                // A slot that is free, being filled or queued brings a batch without another slot.
                self.hungry = !self
                    .slots
                    .iter()
                    .any(|slot| matches!(slot, Slot::Free { .. } | Slot::Filling | Slot::Queued));
                Take::Wait
            }
        }
    }

    /// The consumer returned a slot and recorded this many events.
    pub(crate) fn released(&mut self, slot: usize, marks: usize) {
        debug_assert_eq!(self.slots[slot], Slot::Lent);
        self.slots[slot] = Slot::Free { marks };
    }

    /// Whether the consumer will take no more.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// The consumer takes no more; queued batches are discarded.
    pub(crate) fn close(&mut self) {
        self.closed = true;
        for slot in self.line.drain(..) {
            // No events: no stream has used the batch, and a later copy into the slot waits for its kernels.
            self.slots[slot] = Slot::Free { marks: 0 };
        }
    }

    /// Free slots, with the number of events of each, for reuse after this ring.
    pub(crate) fn free(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.slots.iter().enumerate().filter_map(|(slot, state)| match state {
            Slot::Free { marks } => Some((slot, *marks)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod explore;
