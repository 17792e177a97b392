//! Memory for new threads.

use std::io;

/// Bytes of a new thread: its stack, and what the C library allocates when it begins.
const THREAD: usize = (2 << 20) + (512 << 10);
/// Bytes that must be free beside the threads: for what they do first, and for an error.
const BESIDE: usize = 8 << 20;

/// Checks that there is memory for `threads` new threads. The C library ends the process if it cannot allocate what a
/// thread needs, as with a small `RLIMIT_DATA`, so the memory must be there before.
///
/// # Errors
/// Returns an error of the kind [`io::ErrorKind::OutOfMemory`] if it is not.
pub fn room_for_threads(threads: usize) -> io::Result<()> {
    let bytes = THREAD.saturating_mul(threads).saturating_add(BESIDE);
    Vec::<u8>::new()
        .try_reserve_exact(bytes)
        .map_err(|e| io::Error::new(io::ErrorKind::OutOfMemory, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_threads_than_memory_are_refused() {
        room_for_threads(4).unwrap();
        let error = room_for_threads(usize::MAX).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
    }
}
