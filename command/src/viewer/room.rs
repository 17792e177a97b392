//! `Room`: the memory that replies may take together while they decode pictures.

use std::sync::{Condvar, Mutex};

use tarflume_formats::IgnorePoison;

/// Bytes that are used at the same time.
const ALL: u64 = 256 << 20;
/// The smallest share: it also bounds the number of threads that decode.
const LEAST: u64 = 32 << 20;
/// Bytes of memory for a byte of a part: the part, and some of what it is decoded to.
const FACTOR: u64 = 4;

/// Shares of memory.
#[derive(Debug)]
pub(super) struct Room {
    free: Mutex<u64>,
    freed: Condvar,
}

impl Default for Room {
    fn default() -> Room {
        Room { free: Mutex::new(ALL), freed: Condvar::new() }
    }
}

impl Room {
    /// Waits until there is room for parts of this many bytes. A sample that needs more than all gets all, alone.
    pub(super) fn take(&self, bytes: u64) -> Share<'_> {
        let bytes = bytes.saturating_mul(FACTOR).clamp(LEAST, ALL);
        let free = self.free.lock().ignore_poison();
        let mut free = self.freed.wait_while(free, |free| *free < bytes).ignore_poison();
        *free -= bytes;
        Share { room: self, bytes }
    }
}

/// A share, until it is dropped.
#[derive(Debug)]
pub(super) struct Share<'a> {
    room: &'a Room,
    bytes: u64,
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        *self.room.free.lock().ignore_poison() += self.bytes;
        self.room.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_parts_share_the_room_and_a_large_one_has_it_alone() {
        let room = Room::default();
        let small: Vec<Share<'_>> = (0..ALL / LEAST).map(|_| room.take(1000)).collect();
        assert_eq!(*room.free.lock().ignore_poison(), 0);
        drop(small);
        let large = room.take(200 << 20);
        assert_eq!((large.bytes, *room.free.lock().ignore_poison()), (ALL, 0));
        drop(large);
        assert_eq!(*room.free.lock().ignore_poison(), ALL);
    }
}
