//! The system calls that concern files, and the arguments that name a file.

use libc::c_long;

/// How a call names its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    /// By an open file in this argument.
    Open(usize),
    /// By a path in this argument, from the working directory.
    Path(usize),
    /// By a path from an open folder: the arguments of both.
    At(usize, usize),
    /// A map of an open file.
    Map,
}

/// The class of a call, as far as tests distinguish calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Class {
    Ask,
    Open,
    Read,
    Write,
    Sync,
    Name,
    List,
    Map,
    Other,
}

/// A system call that concerns files.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) number: c_long,
    pub(super) name: &'static str,
    pub(super) class: Class,
    pub(super) file: Named,
    /// The file that gets another name, for a rename or link.
    pub(super) from: Option<Named>,
}

const fn call(number: c_long, name: &'static str, class: Class, file: Named) -> Known {
    Known { number, name, class, file, from: None }
}

const fn rename(number: c_long, name: &'static str, from: Named, file: Named) -> Known {
    Known { number, name, class: Class::Name, file, from: Some(from) }
}

use Class as C;
use Named as N;

/// The calls of both architectures.
const BOTH: &[Known] = &[
    call(libc::SYS_openat, "openat", C::Open, N::At(0, 1)),
    call(libc::SYS_statx, "statx", C::Ask, N::At(0, 1)),
    call(libc::SYS_newfstatat, "fstatat", C::Ask, N::At(0, 1)),
    call(libc::SYS_fstat, "fstat", C::Ask, N::Open(0)),
    call(libc::SYS_faccessat, "faccessat", C::Ask, N::At(0, 1)),
    call(libc::SYS_readlinkat, "readlinkat", C::Ask, N::At(0, 1)),
    call(libc::SYS_lseek, "lseek", C::Ask, N::Open(0)),
    call(libc::SYS_getdents64, "getdents64", C::List, N::Open(0)),
    call(libc::SYS_read, "read", C::Read, N::Open(0)),
    call(libc::SYS_pread64, "pread64", C::Read, N::Open(0)),
    call(libc::SYS_write, "write", C::Write, N::Open(0)),
    call(libc::SYS_pwrite64, "pwrite64", C::Write, N::Open(0)),
    call(libc::SYS_writev, "writev", C::Write, N::Open(0)),
    call(libc::SYS_copy_file_range, "copy_file_range", C::Write, N::Open(2)),
    call(libc::SYS_sendfile, "sendfile", C::Write, N::Open(0)),
    call(libc::SYS_ftruncate, "ftruncate", C::Write, N::Open(0)),
    call(libc::SYS_fallocate, "fallocate", C::Write, N::Open(0)),
    call(libc::SYS_fchmod, "fchmod", C::Other, N::Open(0)),
    call(libc::SYS_fsync, "fsync", C::Sync, N::Open(0)),
    call(libc::SYS_fdatasync, "fdatasync", C::Sync, N::Open(0)),
    call(libc::SYS_syncfs, "syncfs", C::Sync, N::Open(0)),
    call(libc::SYS_flock, "flock", C::Other, N::Open(0)),
    call(libc::SYS_mmap, "mmap", C::Map, N::Map),
    call(libc::SYS_unlinkat, "unlinkat", C::Name, N::At(0, 1)),
    call(libc::SYS_mkdirat, "mkdirat", C::Name, N::At(0, 1)),
    rename(libc::SYS_renameat2, "renameat2", N::At(0, 1), N::At(2, 3)),
    rename(libc::SYS_renameat, "renameat", N::At(0, 1), N::At(2, 3)),
    rename(libc::SYS_linkat, "linkat", N::At(0, 1), N::At(2, 3)),
];

/// Older calls, which newer architectures do not have.
#[cfg(target_arch = "x86_64")]
const OLDER: &[Known] = &[
    call(libc::SYS_open, "open", C::Open, N::Path(0)),
    call(libc::SYS_stat, "stat", C::Ask, N::Path(0)),
    call(libc::SYS_lstat, "lstat", C::Ask, N::Path(0)),
    call(libc::SYS_access, "access", C::Ask, N::Path(0)),
    call(libc::SYS_readlink, "readlink", C::Ask, N::Path(0)),
    call(libc::SYS_unlink, "unlink", C::Name, N::Path(0)),
    call(libc::SYS_rmdir, "rmdir", C::Name, N::Path(0)),
    call(libc::SYS_mkdir, "mkdir", C::Name, N::Path(0)),
    rename(libc::SYS_rename, "rename", N::Path(0), N::Path(1)),
    rename(libc::SYS_link, "link", N::Path(0), N::Path(1)),
];
#[cfg(target_arch = "aarch64")]
const OLDER: &[Known] = &[];

/// All of them.
pub(super) fn all() -> impl Iterator<Item = &'static Known> {
    BOTH.iter().chain(OLDER)
}

/// Returns the call with this number.
pub(super) fn known(number: c_long) -> Option<&'static Known> {
    all().find(|call| call.number == number)
}
