//! The handler of SIGBUS: truncating a mapped file must not kill the process.
//!
//! A thread that touches a page of a map after the end of its file gets SIGBUS, which kills the
//! process. This handler replaces the lost pages of the map, from that page on, with zeros, marks
//! the map as torn, and lets the thread continue. The thread checks the mark after reading; see
//! [`super::Mapped::is_intact`].
//!
//! What holds, and why:
//! - only faults inside a watched range are handled (addresses: [`super::ranges`]), and only those
//!   that the kernel raised for an access (`si_code`), not a SIGBUS that was sent with `kill`;
//! - all others go to the previously installed handler, with its own mask and flags, or to the
//!   system's default. A handler installed later replaces this one: a truncated file then kills the
//!   process as without a guard (so enable Python's `faulthandler` before opening the first data
//!   set);
//! - the mark is set before the zeros are mapped: a thread that has read such a zero sees the mark;
//! - a range is removed before it is unmapped, and a thread that reads in it borrows its map: no
//!   address is replaced that another map has reused;
//! - the handler allocates nothing, takes no lock, cannot panic, preserves `errno`, and runs on the
//!   thread's alternate stack if it has one. Zeros cost no memory, and a map consists of at most
//!   two areas afterwards, however often it faults;
//! - after fork the child has its own handler, table and maps; only the file is shared;
//! - if the zeros cannot be mapped (limit of areas, a map of huge pages), the fault goes to the
//!   previous handler: the process ends as it would without a guard.
//!
//! Limits: truncation is detected by pages. The bytes between the new end and the end of its page
//! turn to zeros without a signal; `is_intact` therefore touches the last page, and misses only
//! truncations inside it. A file that is truncated and written again before any access, or
//! overwritten in place, raises nothing: checksums and the file's times cover that (for sidecars
//! see `index/stamp.rs`). A system call that gets bytes of a truncated map returns EFAULT.
#![allow(unsafe_code)]

use std::io;
use std::mem::{MaybeUninit, transmute};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::ranges;
use super::slot::Slot;

/// The previous disposition of SIGBUS; null until it is known.
static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(null_mut());

/// Bytes of a page; set before the handler is installed.
static PAGE: AtomicUsize = AtomicUsize::new(4096);

/// What a program may do with the pages of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protection {
    Read,
    ReadWrite,
}

impl Protection {
    fn bits(self) -> usize {
        let bits = match self {
            Protection::Read => libc::PROT_READ,
            Protection::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
        };
        bits as usize
    }
}

/// A watched range of addresses. Dropping it ends the watch.
#[derive(Debug)]
pub(super) struct Watch(&'static Slot);

impl Watch {
    /// Watches the map of `length` bytes at `start`; the first call installs the handler.
    ///
    /// # Safety
    /// - the map begins at `start` and belongs to the caller: of ordinary pages with this protection;
    /// - the caller unmaps it only after the `Watch` is dropped;
    /// - the caller accepts that bytes of it turn to zeros.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses the handler.
    pub(super) unsafe fn over(
        start: *const u8,
        length: usize,
        protection: Protection,
    ) -> io::Result<Watch> {
        static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();
        INSTALLED
            .get_or_init(|| install().map_err(|e| e.raw_os_error().unwrap_or(libc::EINVAL)))
            .map_err(io::Error::from_raw_os_error)?;
        let start = start.addr();
        let end = start.saturating_add(length);
        let end = end.checked_next_multiple_of(PAGE.load(Ordering::Relaxed)).unwrap_or(end);
        Ok(Watch(ranges::claim(start, end, protection.bits())))
    }

    /// Returns true once a byte of it could not be read.
    #[inline]
    pub(super) fn is_torn(&self) -> bool {
        self.0.is_torn()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        ranges::release(self.0);
    }
}

fn install() -> io::Result<()> {
    // SAFETY: a query without arguments.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    if let Ok(page) = usize::try_from(page) {
        PAGE.store(page, Ordering::Relaxed);
    }
    // Must be known before our handler can run.
    let before = swap(null())?;
    BEFORE.store(Box::leak(Box::new(before)), Ordering::Release);
    let mut ours = before;
    ours.sa_sigaction = on_bus as *const () as usize;
    let kept = before.sa_flags & (libc::SA_NODEFER | libc::SA_RESTART);
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | kept;
    swap(&raw const ours).map(|_| ())
}

/// Sets the disposition of SIGBUS, unless `new` is null; returns the previous one.
fn swap(new: *const libc::sigaction) -> io::Result<libc::sigaction> {
    let mut old = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: `new` is null or a complete sigaction, `old` has room for one.
    if unsafe { libc::sigaction(libc::SIGBUS, new, old.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: all zeros are a valid sigaction, and the call has filled it.
    Ok(unsafe { old.assume_init() })
}

/// The handler; see the list at the head of this file.
extern "C" fn on_bus(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let kept = errno();
    // SAFETY: the kernel passes a siginfo (SA_SIGINFO), which outlives the handler.
    let fault = unsafe { &*info };
    let code = fault.si_code;
    if code > 0 && code != libc::BUS_MCEERR_AO {
        // SAFETY: for a fault, the address is the valid field of the union.
        let address = unsafe { fault.si_addr() }.addr();
        if replaced(address) {
            set_errno(kept);
            return;
        }
    }
    set_errno(kept);
    pass_on(signal, info, context, code > 0);
}

/// Maps zeros from the page of `address` to the end of its range, if the range is watched.
fn replaced(address: usize) -> bool {
    let Some((slot, end)) = ranges::find(address) else { return false };
    let page = address & !(PAGE.load(Ordering::Relaxed) - 1);
    slot.tear();
    let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let at = std::ptr::without_provenance_mut(page);
    // SAFETY: `page..end` is part of one watched map, whose owner permits its replacement and
    // cannot unmap it while the faulting thread borrows it.
    let zeros = unsafe { libc::mmap(at, end - page, slot.protection(), flags, -1, 0) };
    zeros != libc::MAP_FAILED
}

/// Passes a signal that is not ours to the previous handler.
fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void, fault: bool) {
    // SAFETY: null or leaked by `install`, whole before it was published.
    let before = unsafe { BEFORE.load(Ordering::Acquire).as_ref() };
    let (action, flags) = before.map_or((libc::SIG_DFL, 0), |b| (b.sa_sigaction, b.sa_flags));
    if action == libc::SIG_IGN && !fault {
        return;
    }
    if action == libc::SIG_DFL || action == libc::SIG_IGN {
        // A fault is raised again when the handler returns (the kernel does not let a process
        // ignore it); a signal that was sent must be raised again, and stays pending until then.
        set_default(signal);
        if !fault {
            // SAFETY: raising a signal is allowed in a handler.
            unsafe { libc::raise(signal) };
        }
        return;
    }
    if flags & libc::SA_RESETHAND != 0 {
        set_default(signal);
    }
    if flags & libc::SA_SIGINFO != 0 {
        type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);
        // SAFETY: with SA_SIGINFO, what is neither SIG_DFL nor SIG_IGN is such a function.
        let handler = unsafe { transmute::<usize, Handler>(action) };
        handler(signal, info, context);
    } else {
        // SAFETY: without SA_SIGINFO, what is neither SIG_DFL nor SIG_IGN is such a function.
        let handler = unsafe { transmute::<usize, extern "C" fn(i32)>(action) };
        handler(signal);
    }
}

fn set_default(signal: i32) {
    // SAFETY: setting a disposition is allowed in a handler.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

fn errno() -> i32 {
    // SAFETY: the address of this thread's errno, always valid.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    unsafe { *errno }
}

fn set_errno(value: i32) {
    // SAFETY: the address of this thread's errno, always valid.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    unsafe { *errno = value };
}
