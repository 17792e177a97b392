//! `Blame`: whether an `io::Error` is the fault of the data or of the machine.
//!
//! Pure: maps an error to a verdict. [`crate::disk::files`] repeats calls by this table; the packer's
//! exit codes and the reader's policy for bad samples follow from it. A sample is never left out,
//! replaced or reported because of an error that this table blames on the machine.
//!
//! | verdict | errors | consequence |
//! |---|---|---|
//! | [`Blame::Data`] | ENOENT, EACCES, EPERM, ENOTDIR, EISDIR, ENAMETOOLONG, ELOOP, ENXIO and the like; malformed or truncated content | the sample or shard is at fault |
//! | [`Blame::Signal`] | EINTR | the call is repeated at once |
//! | [`Blame::Passing`] | EIO, ESTALE, ETIMEDOUT | the call is repeated a few times, with pauses; then the command ends |
//! | [`Blame::Machine`] | EMFILE, ENFILE, ENOMEM, ENOSPC, EDQUOT, EAGAIN and every code that this table does not name | the command ends; it can be run again |
//! | [`Blame::Lasting`] | EROFS, EFBIG, ENOSYS, EOPNOTSUPP, EXDEV, EBADMSG, EUCLEAN | the command ends; the machine must be changed first |

use std::io;

/// Whose fault an [`io::Error`] is, and whether the same call may succeed later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Blame {
    /// The named file is at fault: the error would be the same on every machine.
    Data,
    /// A signal interrupted the call.
    Signal,
    /// The machine failed, possibly for a moment.
    Passing,
    /// The machine lacks a resource, or returned a code that this table does not list.
    Machine,
    /// The machine refuses until its configuration changes.
    Lasting,
}

impl Blame {
    /// Judges `error` by its `errno` if it has one, otherwise by its kind.
    pub fn of(error: &io::Error) -> Blame {
        match error.raw_os_error() {
            Some(code) => Blame::of_code(code),
            None => Blame::of_kind(error.kind()),
        }
    }

    /// Judges a Linux `errno`.
    pub(crate) fn of_code(code: i32) -> Blame {
        match code {
            libc::EINTR => Blame::Signal,
            libc::EIO | libc::ESTALE | libc::ETIMEDOUT => Blame::Passing,
            libc::ENOENT
            | libc::ENOTDIR
            | libc::EISDIR
            | libc::EEXIST
            | libc::EACCES
            | libc::EPERM
            | libc::ELOOP
            | libc::ENAMETOOLONG
            | libc::EILSEQ
            | libc::ENXIO
            | libc::ENODEV
            | libc::EOVERFLOW => Blame::Data,
            libc::EROFS
            | libc::EFBIG
            | libc::ENOSYS
            | libc::EOPNOTSUPP
            | libc::EXDEV
            | libc::EBADMSG
            | libc::EUCLEAN => Blame::Lasting,
            _ => Blame::Machine,
        }
    }

    /// Judges the kind of an error that has no `errno`.
    pub(crate) fn of_kind(kind: io::ErrorKind) -> Blame {
        use io::ErrorKind as K;
        match kind {
            K::Interrupted => Blame::Signal,
            K::TimedOut | K::StaleNetworkFileHandle => Blame::Passing,
            K::NotFound
            | K::PermissionDenied
            | K::NotADirectory
            | K::IsADirectory
            | K::AlreadyExists
            | K::InvalidFilename
            | K::InvalidInput
            | K::InvalidData
            | K::UnexpectedEof => Blame::Data,
            K::ReadOnlyFilesystem | K::FileTooLarge | K::Unsupported | K::CrossesDevices => {
                Blame::Lasting
            }
            _ => Blame::Machine,
        }
    }

    /// Returns true unless the data is at fault.
    pub fn is_machine(self) -> bool {
        self != Blame::Data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table a second time: a change of the code must be repeated here.
    const CODES: [(i32, &str, Blame); 46] = [
        (1, "EPERM", Blame::Data),
        (2, "ENOENT", Blame::Data),
        (4, "EINTR", Blame::Signal),
        (5, "EIO", Blame::Passing),
        (6, "ENXIO", Blame::Data),
        (7, "E2BIG", Blame::Machine),
        (9, "EBADF", Blame::Machine),
        (11, "EAGAIN", Blame::Machine),
        (12, "ENOMEM", Blame::Machine),
        (13, "EACCES", Blame::Data),
        (14, "EFAULT", Blame::Machine),
        (16, "EBUSY", Blame::Machine),
        (17, "EEXIST", Blame::Data),
        (18, "EXDEV", Blame::Lasting),
        (19, "ENODEV", Blame::Data),
        (20, "ENOTDIR", Blame::Data),
        (21, "EISDIR", Blame::Data),
        (22, "EINVAL", Blame::Machine),
        (23, "ENFILE", Blame::Machine),
        (24, "EMFILE", Blame::Machine),
        (26, "ETXTBSY", Blame::Machine),
        (27, "EFBIG", Blame::Lasting),
        (28, "ENOSPC", Blame::Machine),
        (30, "EROFS", Blame::Lasting),
        (32, "EPIPE", Blame::Machine),
        (35, "EDEADLK", Blame::Machine),
        (36, "ENAMETOOLONG", Blame::Data),
        (37, "ENOLCK", Blame::Machine),
        (38, "ENOSYS", Blame::Lasting),
        (40, "ELOOP", Blame::Data),
        (74, "EBADMSG", Blame::Lasting),
        (75, "EOVERFLOW", Blame::Data),
        (84, "EILSEQ", Blame::Data),
        (95, "EOPNOTSUPP", Blame::Lasting),
        (100, "ENETDOWN", Blame::Machine),
        (104, "ECONNRESET", Blame::Machine),
        (105, "ENOBUFS", Blame::Machine),
        (107, "ENOTCONN", Blame::Machine),
        (110, "ETIMEDOUT", Blame::Passing),
        (113, "EHOSTUNREACH", Blame::Machine),
        (116, "ESTALE", Blame::Passing),
        (117, "EUCLEAN", Blame::Lasting),
        (121, "EREMOTEIO", Blame::Machine),
        (122, "EDQUOT", Blame::Machine),
        (126, "ENOKEY", Blame::Machine),
        (4000, "no code of today's", Blame::Machine),
    ];

    #[test]
    fn every_code_has_its_verdict() {
        for (code, name, blame) in CODES {
            let error = io::Error::from_raw_os_error(code);
            assert_eq!(Blame::of(&error), blame, "{name}");
            assert_eq!(Blame::of(&error).is_machine(), blame != Blame::Data, "{name}");
        }
    }

    #[test]
    fn only_the_listed_codes_are_errors_of_the_data() {
        fn listed(code: &i32) -> bool {
            CODES.iter().any(|(known, _, blame)| known == code && *blame == Blame::Data)
        }
        for code in (0..=133).filter(|code| !listed(code)) {
            assert!(Blame::of_code(code).is_machine(), "{code}");
        }
    }

    #[test]
    fn an_error_without_a_code_is_judged_by_its_kind() {
        use io::ErrorKind as K;
        for (kind, blame) in [
            (K::NotFound, Blame::Data),
            (K::PermissionDenied, Blame::Data),
            (K::UnexpectedEof, Blame::Data),
            (K::InvalidData, Blame::Data),
            (K::InvalidInput, Blame::Data),
            (K::Interrupted, Blame::Signal),
            (K::TimedOut, Blame::Passing),
            (K::StaleNetworkFileHandle, Blame::Passing),
            (K::OutOfMemory, Blame::Machine),
            (K::WouldBlock, Blame::Machine),
            (K::StorageFull, Blame::Machine),
            (K::QuotaExceeded, Blame::Machine),
            (K::ConnectionReset, Blame::Machine),
            (K::Other, Blame::Machine),
            (K::ReadOnlyFilesystem, Blame::Lasting),
            (K::Unsupported, Blame::Lasting),
        ] {
            assert_eq!(Blame::of(&kind.into()), blame, "{kind}");
            assert_eq!(Blame::of(&io::Error::new(kind, "a library's words")), blame, "{kind}");
        }
    }
}
