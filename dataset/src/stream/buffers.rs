//! `BufferPool`: the reusable buffers of samples, and the accounting of their bytes.
//!
//! Does not know what a sample is. Buffer lengths have four steps for each power of two, so that any buffer of a
//! length serves any sample of that length, and so that the cost of a sample depends on the lengths of its parts only.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard};
use tarflume_formats::IgnorePoison;

/// Length of the smallest buffer in bytes.
const SMALLEST: usize = 4096;
/// Extra bytes in a new buffer, so that a small part after a large one does not move the content.
const SLACK: usize = 1024;
/// Vectors of names larger than this many bytes are not reused.
const KEEP: usize = 64 * 1024;
/// Cost of one part in bytes, in addition to its data and name: its `Span`.
const PART_COST: u64 = 40;

/// The position of a part in a [`Body`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// The extension, as a range of `names`.
    pub(super) ext: (usize, usize),
    /// The bytes, as a range of `data`.
    pub(super) data: (usize, usize),
    /// First byte in the tar.
    pub(super) at: u64,
}

/// The memory of one sample.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// The bytes of the parts, concatenated, in the first `used` bytes.
    pub(super) data: Vec<u8>,
    pub(super) used: usize,
    /// The key, then the extensions.
    pub(super) names: Vec<u8>,
    pub(super) key: usize,
    pub(super) parts: Vec<Span>,
}

impl Body {
    /// Bytes that the sample is charged for.
    pub(super) fn cost(&self) -> u64 {
        self.data.len() as u64 + self.extra(0, 0)
    }

    /// The cost with one more part, or `u64::MAX` if that exceeds any memory.
    pub(super) fn cost_with(&self, ext: usize, size: u64) -> u64 {
        let size = usize::try_from(size).ok().and_then(|size| self.size_with(size));
        size.map_or(u64::MAX, |size| (size as u64).saturating_add(self.extra(1, ext)))
    }

    fn extra(&self, parts: usize, names: usize) -> u64 {
        (self.names.len() + names) as u64 + (self.parts.len() + parts) as u64 * PART_COST
    }

    /// Length of a buffer that holds `more` additional bytes.
    fn size_with(&self, more: usize) -> Option<usize> {
        let bytes = self.used.checked_add(more)?;
        if bytes <= self.data.len() {
            return Some(self.data.len());
        }
        // The next multiple of a quarter of the power of two below: at most a quarter is unused.
        let bytes = bytes.checked_add(SLACK)?.max(SMALLEST);
        let step = 1 << (bytes.ilog2() - 2);
        bytes.checked_next_multiple_of(step)
    }
}

/// Lends the memory of samples.
#[derive(Debug)]
pub(super) struct BufferPool {
    bound: u64,
    queue: u64,
    state: Mutex<PoolState>,
    room: Condvar,
}

#[derive(Debug, Default)]
struct PoolState {
    /// Free buffers by their length.
    free: BTreeMap<usize, Vec<Vec<u8>>>,
    /// Free vectors of names and spans.
    spare: Vec<(Vec<u8>, Vec<Span>)>,
    /// Bytes of all buffers, lent and free.
    total: u64,
    /// Maximum of `total` so far.
    peak: u64,
    /// Bytes of samples that wait in the queue or are held by the caller.
    out: u64,
    /// Number of entries in the queue.
    queued: u64,
    /// True while the caller blocks on an empty queue.
    hungry: bool,
    /// Cost of the entry that waits for admission.
    blocked: Option<u64>,
    cancelled: bool,
}

impl BufferPool {
    /// A pool of at most `bound` bytes, of which `queue` may be in the queue or held by the caller.
    pub(super) fn new(bound: u64, queue: u64) -> BufferPool {
        BufferPool { bound, queue, state: Mutex::default(), room: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().ignore_poison()
    }

    /// An empty body.
    pub(super) fn body(&self) -> Body {
        let (names, parts) = self.lock().spare.pop().unwrap_or_default();
        Body { names, parts, ..Body::default() }
    }

    /// Makes room for `more` bytes after the used ones.
    pub(super) fn grow(&self, body: &mut Body, more: usize) {
        let Some(size) = body.size_with(more).filter(|&size| size > body.data.len()) else {
            return;
        };
        let mut larger = self.take(size);
        larger[..body.used].copy_from_slice(&body.data[..body.used]);
        let old = std::mem::replace(&mut body.data, larger);
        self.lock().keep(old, self.bound);
    }

    fn take(&self, size: usize) -> Vec<u8> {
        let mut state = self.lock();
        if let Some(buffer) = state.free.get_mut(&size).and_then(Vec::pop) {
            return buffer;
        }
        state.shrink(self.bound.saturating_sub(size as u64));
        state.total += size as u64;
        state.peak = state.peak.max(state.total);
        drop(state);
        vec![0; size]
    }

    /// Takes a body back and subtracts `charged` from the bytes in the queue.
    pub(super) fn put(&self, mut body: Body, charged: u64) {
        let mut state = self.lock();
        state.out = state.out.saturating_sub(charged);
        state.keep(std::mem::take(&mut body.data), self.bound);
        if body.names.capacity() + body.parts.capacity() * PART_COST as usize <= KEEP {
            body.names.clear();
            body.parts.clear();
            if state.spare.len() < 1 << 16 {
                state.spare.push((body.names, body.parts));
            }
        }
        drop(state);
        if charged > 0 {
            self.room.notify_all();
        }
    }

    /// Waits until `cost` more bytes may enter the queue; false if the queue was cancelled. If the queue
    /// is empty, one sample is admitted regardless of its size, provided the caller holds nothing or blocks
    /// waiting for it: otherwise both sides would wait for each other. `starved` is called, without a lock,
    /// before each wait in which only samples held by the caller prevent the admission.
    pub(super) fn admit(&self, cost: u64, starved: impl Fn()) -> bool {
        let mut state = self.lock();
        let mut notified = false;
        loop {
            if state.cancelled {
                return false;
            }
            let alone = state.queued == 0 && (state.out == 0 || state.hungry);
            if alone || state.out.saturating_add(cost) <= self.queue {
                state.out += cost;
                state.queued += 1;
                state.blocked = None;
                return true;
            }
            state.blocked = Some(cost);
            if state.queued == 0 && !notified {
                drop(state);
                starved();
                notified = true;
                state = self.lock();
                continue;
            }
            notified = false;
            state = self.room.wait(state).ignore_poison();
        }
    }

    /// Removes one entry from the queue, and `discharged` bytes from its account.
    pub(super) fn leave(&self, discharged: u64) {
        let mut state = self.lock();
        state.queued = state.queued.saturating_sub(1);
        state.out = state.out.saturating_sub(discharged);
        drop(state);
        self.room.notify_all();
    }

    /// The bytes held by the caller, if they prevent the next admission.
    pub(super) fn in_the_way(&self) -> Option<u64> {
        let state = self.lock();
        let cost = state.blocked?;
        // The waiting thread may have room by now without having woken up.
        let lacks_room = state.queued == 0 && state.out.saturating_add(cost) > self.queue;
        (state.out > 0 && lacks_room).then_some(state.out)
    }

    /// Maximum bytes in the queue or held by the caller.
    pub(super) fn queue(&self) -> u64 {
        self.queue
    }

    /// Sets whether the caller blocks on an empty queue.
    pub(super) fn set_hungry(&self, hungry: bool) {
        self.lock().hungry = hungry;
        self.room.notify_all();
    }

    /// Cancels the queue: waiting threads return, and buffers are freed.
    pub(super) fn cancel(&self) {
        self.lock().cancelled = true;
        self.room.notify_all();
    }

    /// Maximum bytes of all buffers so far.
    pub(super) fn peak(&self) -> u64 {
        self.lock().peak
    }
}

impl PoolState {
    /// Keeps a buffer for reuse if the total stays within `bound`.
    fn keep(&mut self, buffer: Vec<u8>, bound: u64) {
        if buffer.is_empty() {
            return;
        }
        if self.cancelled || self.total > bound {
            self.total -= buffer.len() as u64;
            return;
        }
        self.free.entry(buffer.len()).or_default().push(buffer);
    }

    /// Frees buffers, the largest first, until the total is at most `bytes`.
    fn shrink(&mut self, bytes: u64) {
        while self.total > bytes {
            let Some(mut largest) = self.free.last_entry() else { return };
            match largest.get_mut().pop() {
                Some(buffer) => self.total -= buffer.len() as u64,
                None => drop(largest.remove()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_used_again_and_old_ones_make_room() {
        let pool = BufferPool::new(100_000, 0);
        for _ in 0..50 {
            let mut body = pool.body();
            pool.grow(&mut body, 30_000);
            body.used = 30_000;
            pool.grow(&mut body, 500);
            assert_eq!(body.data.len(), 32_768, "the slack is enough for a small part");
            pool.put(body, 0);
        }
        assert_eq!(pool.peak(), 32_768);
        let mut large = pool.body();
        pool.grow(&mut large, 70_000);
        assert_eq!(pool.peak(), 81_920, "the free one went before the large one came");
    }

    #[test]
    fn a_body_keeps_its_bytes_when_it_moves() {
        let pool = BufferPool::new(1 << 20, 0);
        let mut body = pool.body();
        for round in 0..2000 {
            pool.grow(&mut body, 7);
            body.data[body.used..][..7].fill(round as u8);
            body.used += 7;
        }
        assert!((0..2000).all(|i| body.data[i * 7..][..7] == [i as u8; 7]));
        assert!(body.cost() < 14_000 * 5 / 4 + 2048, "{}", body.cost());
        assert_eq!(body.cost_with(3, u64::MAX), u64::MAX);
    }

    #[test]
    fn the_queue_waits_for_held_samples_unless_the_caller_waits_for_the_queue() {
        let pool = BufferPool::new(1000, 100);
        assert!(pool.admit(60, || ()) && pool.admit(40, || ()));
        pool.leave(0);
        pool.leave(0);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| pool.admit(50, || ()));
            pool.put(Body::default(), 60);
            assert!(waiting.join().unwrap());
            pool.leave(0);
            let hungry = scope.spawn(|| pool.admit(5000, || ()));
            pool.set_hungry(true);
            assert!(hungry.join().unwrap());
            let cancelled = scope.spawn(|| pool.admit(1, || ()));
            pool.cancel();
            assert!(!cancelled.join().unwrap());
        });
    }
}
