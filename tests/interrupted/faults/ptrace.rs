//! A child process that stops at each of the system calls of a filter. The only file of the tests
//! with unsafe code.
//!
//! What is relied on, and why it holds:
//! - every thread that is waited for is a child, or a thread of one, started by this thread:
//!   `ptrace` belongs to a thread, `wait` passes `__WNOTHREAD`, so children of other tests are not
//!   touched;
//! - between fork and exec only three system calls run, on memory that was prepared before the
//!   fork;
//! - the kernel fills the structures that it is passed, which are large enough and live until it
//!   returns;
//! - registers are changed while their thread is stopped, and those that a call must preserve are
//!   restored before it continues;
//! - a child outlives neither its test nor its tracer (`PTRACE_O_EXITKILL`).
//!
//! A seccomp filter stops only the named calls, so all others run at full speed.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr::{null_mut, without_provenance_mut};

use libc::{c_int, c_long, c_uint, c_void, sock_filter, sock_fprog};

/// A traced thread.
pub(super) type Thread = i32;

/// Why a thread stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// Before one of the named calls.
    Call,
    /// After a call that was continued with [`resume`] to its end.
    Return,
    /// For a signal, which is passed on.
    Signal(c_int),
    /// Because it began, or for another irrelevant reason.
    Nothing,
    /// It ended with this code; for a signal 128 and its number.
    Ended(i32),
}

const OPTIONS: c_int = libc::PTRACE_O_TRACESECCOMP
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_EXITKILL;

/// Starts `command`, stopped after its exec, so that it will stop before each of `calls`.
pub(super) fn start(command: &mut Command, calls: &[c_long]) -> io::Result<Thread> {
    let mut filter = filter(calls);
    let refused = |result: c_long| {
        if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    let before_exec = move || {
        let program = sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        // SAFETY: requests the parent as tracer; no pointer is read.
        refused(unsafe {
            libc::ptrace(libc::PTRACE_TRACEME, 0, null_mut::<c_void>(), null_mut::<c_void>())
        })?;
        // SAFETY: numbers only.
        refused(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into())?;
        // SAFETY: `program` and the filter it points to live until the call returns.
        refused(
            unsafe {
                libc::prctl(
                    libc::PR_SET_SECCOMP,
                    libc::SECCOMP_MODE_FILTER,
                    &raw const program,
                    0,
                    0,
                )
            }
            .into(),
        )
    };
    // SAFETY: the closure makes three system calls and allocates nothing, on memory prepared
    // before the fork.
    unsafe { command.pre_exec(before_exec) };
    let pid = command.spawn()?.id() as Thread;
    let (stopped, stop) = wait(pid)?;
    if (stopped, stop) != (pid, Stop::Signal(libc::SIGTRAP)) {
        return Err(io::Error::other(format!(
            "the child {pid} did not stop at its exec: {stop:?}"
        )));
    }
    request(libc::PTRACE_SETOPTIONS, pid, 0, OPTIONS as usize)?;
    Ok(pid)
}

/// Returns a filter program that stops at `calls` and lets all others pass.
fn filter(calls: &[c_long]) -> Vec<sock_filter> {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let line = |code, jt, k| sock_filter { code, jt, jf: 0, k };
    let mut lines = vec![line(LOAD, 0, 0)]; // the call's number
    for (n, &call) in calls.iter().enumerate() {
        lines.push(line(EQUAL, (calls.len() - n) as u8, call as u32));
    }
    lines.push(line(RETURN, 0, libc::SECCOMP_RET_ALLOW));
    lines.push(line(RETURN, 0, libc::SECCOMP_RET_TRACE));
    lines
}

/// Waits for the next stop of any thread that this thread traces, or of `which` (-1: any).
pub(super) fn wait(which: Thread) -> io::Result<(Thread, Stop)> {
    let mut status = 0;
    loop {
        // SAFETY: `status` outlives the call.
        let thread =
            unsafe { libc::waitpid(which, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
        if thread != -1 {
            return Ok((thread, stop_of(status)));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn stop_of(status: c_int) -> Stop {
    if libc::WIFEXITED(status) {
        return Stop::Ended(libc::WEXITSTATUS(status));
    }
    if libc::WIFSIGNALED(status) {
        return Stop::Ended(128 + libc::WTERMSIG(status));
    }
    match (libc::WSTOPSIG(status), status >> 16) {
        (_, libc::PTRACE_EVENT_SECCOMP) => Stop::Call,
        (_, event) if event != 0 => Stop::Nothing,
        (signal, _) if signal == libc::SIGTRAP | 0x80 => Stop::Return,
        (libc::SIGSTOP, _) => Stop::Nothing, // a new thread's first stop
        (signal, _) => Stop::Signal(signal),
    }
}

/// Continues a stopped thread: to the end of its call, where it stops again, or freely.
pub(super) fn resume(thread: Thread, to_return: bool, signal: c_int) -> io::Result<()> {
    let how = if to_return { libc::PTRACE_SYSCALL } else { libc::PTRACE_CONT };
    request(how, thread, 0, signal as usize)
}

/// Kills a process.
pub(super) fn kill(process: Thread) {
    // SAFETY: a number; a missing process is an error that does not matter.
    unsafe { libc::kill(process, libc::SIGKILL) };
}

/// Sends a signal to a thread of a process, which handles it before anything else.
pub(super) fn signal(process: Thread, thread: Thread, signal: c_int) {
    // SAFETY: numbers; a missing thread is an error that does not matter.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) };
}

/// Returns number and arguments of the call before which a thread stopped.
pub(super) fn call(thread: Thread) -> io::Result<(c_long, [u64; 6])> {
    let info = info(thread)?;
    if info.op != libc::PTRACE_SYSCALL_INFO_SECCOMP {
        return Err(io::Error::other(format!("no call: {}", info.op)));
    }
    // SAFETY: `op` determines the field of the union that the kernel has filled.
    let call = unsafe { info.u.seccomp };
    Ok((call.nr as c_long, call.args))
}

/// Returns the result of the call after which a thread stopped: a negative number is an error.
pub(super) fn result(thread: Thread) -> io::Result<i64> {
    let info = info(thread)?;
    if info.op != libc::PTRACE_SYSCALL_INFO_EXIT {
        return Err(io::Error::other(format!("no return: {}", info.op)));
    }
    // SAFETY: `op` determines the field of the union that the kernel has filled.
    Ok(unsafe { info.u.exit }.sval)
}

fn info(thread: Thread) -> io::Result<libc::ptrace_syscall_info> {
    let mut info = MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
    let size = size_of::<libc::ptrace_syscall_info>();
    request(libc::PTRACE_GET_SYSCALL_INFO, thread, size, info.as_mut_ptr().expose_provenance())?;
    // SAFETY: zeros are valid in all its fields, and the kernel wrote valid ones.
    Ok(unsafe { info.assume_init() })
}

fn request(what: c_uint, thread: Thread, address: usize, data: usize) -> io::Result<()> {
    let address = without_provenance_mut::<c_void>(address);
    let data = std::ptr::with_exposed_provenance_mut::<c_void>(data);
    // SAFETY: `data` is a number, or points to what the request reads or fills, see the callers.
    match unsafe { libc::ptrace(what, thread, address, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(target_arch = "x86_64")]
mod registers {
    use super::*;

    fn changed(thread: Thread, change: impl FnOnce(&mut libc::user_regs_struct)) -> io::Result<()> {
        let mut all = MaybeUninit::<libc::user_regs_struct>::zeroed();
        request(libc::PTRACE_GETREGS, thread, 0, all.as_mut_ptr().expose_provenance())?;
        // SAFETY: numbers, for which zeros are valid, and which the kernel has filled.
        let mut all = unsafe { all.assume_init() };
        change(&mut all);
        request(libc::PTRACE_SETREGS, thread, 0, (&raw mut all).expose_provenance())
    }

    /// Cancels the call before it is made; it seems to return `result`.
    pub(in super::super) fn skip(thread: Thread, result: i64) -> io::Result<()> {
        changed(thread, |all| {
            all.orig_rax = u64::MAX;
            all.rax = result as u64;
        })
    }

    /// Replaces the result of a call.
    pub(in super::super) fn set_result(thread: Thread, result: i64) -> io::Result<()> {
        changed(thread, |all| all.rax = result as u64)
    }

    /// Replaces the third argument of the call before or after which the thread stopped.
    pub(in super::super) fn set_third(thread: Thread, value: u64) -> io::Result<()> {
        changed(thread, |all| all.rdx = value)
    }
}

#[cfg(target_arch = "aarch64")]
mod registers {
    use super::*;

    /// `NT_ARM_SYSTEM_CALL`: the number of the call.
    const CALL: usize = 0x404;

    fn set(
        what: c_uint,
        thread: Thread,
        kind: usize,
        at: *mut c_void,
        length: usize,
    ) -> io::Result<()> {
        let mut part = libc::iovec { iov_base: at, iov_len: length };
        request(what, thread, kind, (&raw mut part).expose_provenance())
    }

    fn changed(thread: Thread, change: impl FnOnce(&mut [u64; 31])) -> io::Result<()> {
        let mut all = MaybeUninit::<libc::user_regs_struct>::zeroed();
        let kind = libc::NT_PRSTATUS as usize;
        let size = size_of::<libc::user_regs_struct>();
        set(libc::PTRACE_GETREGSET, thread, kind, all.as_mut_ptr().cast(), size)?;
        // SAFETY: numbers, for which zeros are valid, and which the kernel has filled.
        let mut all = unsafe { all.assume_init() };
        change(&mut all.regs);
        set(libc::PTRACE_SETREGSET, thread, kind, (&raw mut all).cast(), size)
    }

    /// Cancels the call before it is made; it seems to return `result`.
    pub(in super::super) fn skip(thread: Thread, result: i64) -> io::Result<()> {
        let mut none: c_int = -1;
        set(libc::PTRACE_SETREGSET, thread, CALL, (&raw mut none).cast(), size_of::<c_int>())?;
        set_result(thread, result)
    }

    /// Replaces the result of a call.
    pub(in super::super) fn set_result(thread: Thread, result: i64) -> io::Result<()> {
        changed(thread, |all| all[0] = result as u64)
    }

    /// Replaces the third argument of the call before or after which the thread stopped.
    pub(in super::super) fn set_third(thread: Thread, value: u64) -> io::Result<()> {
        changed(thread, |all| all[2] = value)
    }
}

pub(super) use registers::{set_result, set_third, skip};
