//! A mapped file that was cut must not kill the process: the handler of SIGBUS.
//!
//! Whoever touches a page of a map behind the end of its file is sent SIGBUS, which kills. The
//! handler here puts zeros in place of what is lost of the map, from that page on, marks the map as
//! torn, and lets the thread go on; the thread asks for the mark when it has read, see
//! [`super::Mapped::is_intact`].
//!
//! What holds, and why:
//! - only faults inside a watched range are handled (addresses: [`super::ranges`]), and only such
//!   that the kernel raised for an access (`si_code`), not a SIGBUS that somebody sent;
//! - all others go to the handler that was there before, with its own mask and flags, or to the
//!   system's default. A handler installed after ours replaces it: then a cut file kills as it
//!   always did (so enable Python's `faulthandler` before the first data set is opened);
//! - the mark is set before the zeros are put in place: who has read such a zero sees the mark;
//! - a range is forgotten before it is unmapped, and a thread that stands in it borrows its map: so
//!   no address is replaced that has become somebody else's;
//! - the handler allocates nothing, takes no lock, can't panic, keeps `errno`, and runs on the
//!   thread's alternate stack where there is one. Zeros cost no memory, and a map has at most two
//!   areas afterwards, however often it faults;
//! - after fork the child has handler, table and maps of its own; nothing is shared but the file;
//! - if the zeros can't be put in place (limit of areas, a map of huge pages), the fault goes on to
//!   the handler before: the process dies as it would have without a guard.
//!
//! What it can't do: a cut is noticed by pages. What stands between the new end and the end of its
//! page turns to zeros without a signal; `is_intact` therefore touches the last page, and so misses
//! only cuts inside that. A file that was cut and written again before anyone looked, or overwritten
//! in place, raises nothing: checksums and the file's times are there for that (of sidecars see
//! `index/stamp.rs`). A system call that
//! is handed bytes of a cut map returns EFAULT.
#![allow(unsafe_code)]

use std::io;
use std::mem::{MaybeUninit, transmute};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::ranges;
use super::slot::Slot;

/// What SIGBUS did before us; null until it is known.
static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(null_mut());

/// Bytes of a page; known before the handler is installed.
static PAGE: AtomicUsize = AtomicUsize::new(4096);

/// A range of addresses whose loss is survived. It is forgotten when this is dropped.
#[derive(Debug)]
pub(super) struct Watch(&'static Slot);

impl Watch {
    /// Watches the map of `length` bytes at `start`; the first call installs the handler.
    ///
    /// # Safety
    /// - the map begins at `start` and is the caller's: read-only, of ordinary pages;
    /// - the caller unmaps it only after the `Watch` is dropped;
    /// - the caller does not mind that bytes of it turn to zeros.
    ///
    /// # Errors
    /// The operating system's refusal of the handler.
    pub(super) unsafe fn over(start: *const u8, length: usize) -> io::Result<Watch> {
        static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();
        INSTALLED
            .get_or_init(|| install().map_err(|e| e.raw_os_error().unwrap_or(libc::EINVAL)))
            .map_err(io::Error::from_raw_os_error)?;
        let start = start.addr();
        let end = start.saturating_add(length);
        let end = end.checked_next_multiple_of(PAGE.load(Ordering::Relaxed)).unwrap_or(end);
        Ok(Watch(ranges::claim(start, end)))
    }

    /// True once a byte of it could not be read.
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
    // SAFETY: asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    if let Ok(page) = usize::try_from(page) {
        PAGE.store(page, Ordering::Relaxed);
    }
    // Known before ours can be called.
    let before = swap(null())?;
    BEFORE.store(Box::leak(Box::new(before)), Ordering::Release);
    let mut ours = before;
    ours.sa_sigaction = on_bus as *const () as usize;
    let kept = before.sa_flags & (libc::SA_NODEFER | libc::SA_RESTART);
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | kept;
    swap(&raw const ours).map(|_| ())
}

/// Sets what SIGBUS does, unless `new` is null; returns what it did.
fn swap(new: *const libc::sigaction) -> io::Result<libc::sigaction> {
    let mut old = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: `new` is null or a whole sigaction, `old` has room for one.
    if unsafe { libc::sigaction(libc::SIGBUS, new, old.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: all zeros are a valid sigaction, and the call has filled it.
    Ok(unsafe { old.assume_init() })
}

/// The handler: see the list at the head of this file.
extern "C" fn on_bus(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let kept = errno();
    // SAFETY: the kernel hands over a siginfo (SA_SIGINFO), which outlives the handler.
    let said = unsafe { &*info };
    let code = said.si_code;
    if code > 0 && code != libc::BUS_MCEERR_AO {
        // SAFETY: of the union's fields a fault has the address.
        let address = unsafe { said.si_addr() }.addr();
        if replaced(address) {
            set_errno(kept);
            return;
        }
    }
    set_errno(kept);
    pass_on(signal, info, context, code > 0);
}

/// Puts zeros from the page of `address` to the end of its range, if it lies in one of ours.
fn replaced(address: usize) -> bool {
    let Some((slot, end)) = ranges::find(address) else { return false };
    let page = address & !(PAGE.load(Ordering::Relaxed) - 1);
    slot.tear();
    let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let at = std::ptr::without_provenance_mut(page);
    // SAFETY: from `page` to `end` lies a part of one watched map, which its owner has given up to
    // be replaced, and can't unmap as long as the faulting thread borrows it.
    let zeros = unsafe { libc::mmap(at, end - page, libc::PROT_READ, flags, -1, 0) };
    zeros != libc::MAP_FAILED
}

/// Hands a signal that is not ours to whoever had it before.
fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void, fault: bool) {
    // SAFETY: null or leaked by `install`, whole before it was published.
    let before = unsafe { BEFORE.load(Ordering::Acquire).as_ref() };
    let (action, flags) = before.map_or((libc::SIG_DFL, 0), |b| (b.sa_sigaction, b.sa_flags));
    if action == libc::SIG_IGN && !fault {
        return;
    }
    if action == libc::SIG_DFL || action == libc::SIG_IGN {
        // A fault comes again when the handler returns (the kernel lets nobody ignore one); a signal
        // that was sent is sent again, and waits until then.
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
