//! Whether bytes of a file are in the page cache. Asking costs a quarter of a hint to read them.
//!
//! Unsafe code relies on this:
//! - the system reads one `Bytes` and writes one `Counts`; both live through the call, and both have the layout
//!   of the kernel's `linux/mman.h`;
//! - the descriptor is open: the file is borrowed.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// `struct cachestat_range`.
#[repr(C)]
struct Bytes {
    start: u64,
    length: u64,
}

/// `struct cachestat`, in pages.
#[derive(Default)]
#[repr(C)]
struct Counts {
    cached: u64,
    dirty: u64,
    under_write: u64,
    evicted: u64,
    evicted_recently: u64,
}

/// The call's number, on all processors but MIPS.
const CACHESTAT: libc::c_long = 451;

/// True once the system has answered that it has no such call. Linux has it from 6.5 on.
static MISSING: AtomicBool = AtomicBool::new(false);

/// Returns true if all pages with the bytes `at..at + length` are in the page cache or are being read. Returns false
/// where the system gives no answer.
pub fn is_resident(file: &File, at: u64, length: u64) -> bool {
    let Some(last) = length.checked_sub(1).and_then(|less| at.checked_add(less)) else {
        return length == 0;
    };
    if cfg!(any(target_arch = "mips", target_arch = "mips64")) || MISSING.load(Ordering::Relaxed) {
        return false;
    }
    let bytes = Bytes { start: at, length };
    let mut counts = Counts::default();
    // SAFETY: both pointers are of values that live through the call, of the layout that it demands.
    let answer =
        unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), &raw const bytes, &raw mut counts, 0) };
    if answer != 0 {
        let code = std::io::Error::last_os_error().raw_os_error();
        MISSING.fetch_or(code == Some(libc::ENOSYS), Ordering::Relaxed);
        return false;
    }
    counts.cached > last / page() - at / page()
}

/// Bytes of a page.
fn page() -> u64 {
    static PAGE: OnceLock<u64> = OnceLock::new();
    *PAGE.get_or_init(|| {
        // SAFETY: it reads no memory of this process.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        u64::try_from(page).unwrap_or(0).max(1)
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "Miri lacks its system calls")]
    fn bytes_that_were_written_are_resident_and_holes_are_not() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        file.write_all_at(&[7; 100_000], 0).unwrap();
        assert!(is_resident(&file, 5, 0) && is_resident(&file, u64::MAX, 0));
        assert!(!is_resident(&file, 0, 1 << 20), "a hole");
        assert!(!is_resident(&file, u64::MAX, 2), "no file has such bytes");
        if is_resident(&file, 0, 100_000) {
            assert!(is_resident(&file, 99_999, 1) && is_resident(&file, 4095, 2));
        } else {
            // Linux before 6.5, or a sandbox that does not tell.
            assert!(!is_resident(&file, 0, 1), "one byte of the same page");
        }
    }
}
