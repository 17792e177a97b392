//! Converts errors of the formats crate to problems; the kind depends on the file.

use tarflume_base::{Problem, ProblemKind};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Task};
use tarflume_formats::publish::folder_of;
use tarflume_formats::{Error, ErrorKind, Result, name};

/// What to do about changed bytes.
pub const RESTORE: &str = "restore the shard from a copy, or pack its samples again";

/// Returns the error if it is about data. An error of the machine is not a finding and ends the
/// command.
///
/// # Errors
/// Returns the error of the machine.
pub fn of_data(error: Error) -> Result<Error> {
    if error.blame().is_machine() { Err(error) } else { Ok(error) }
}

/// Converts an error found in a tar.
pub fn in_tar(error: &Error) -> Problem {
    let kind = match error.kind() {
        ErrorKind::Truncated => ProblemKind::Truncated,
        ErrorKind::MissingEnd => ProblemKind::MissingEnd,
        ErrorKind::Unsupported | ErrorKind::WrongFormat => ProblemKind::Unsupported,
        ErrorKind::BadName => ProblemKind::BadName,
        ErrorKind::Repeated => ProblemKind::RepeatedPart,
        ErrorKind::Io => ProblemKind::Unreadable,
        ErrorKind::Stale => ProblemKind::StaleIndex,
        ErrorKind::Damaged | ErrorKind::AfterEnd => ProblemKind::Gap,
        _ => ProblemKind::BadHeader,
    };
    let mut problem = Problem::from_error(kind, error);
    problem.key = problem.key.map(key_of);
    problem
}

/// Converts an error found in a sidecar.
pub fn in_index(error: &Error) -> Problem {
    let kind = match error.kind() {
        ErrorKind::Io if error.is_missing() => {
            let mut problem = Problem::from_error(ProblemKind::MissingIndex, error);
            if let Some(path) = &error.place().path {
                let index = Call::of(Task::Index).on_path(folder_of(path));
                problem.reason =
                    message!("there is no sidecar; make it with `{index}`"; index = index);
            }
            return problem;
        }
        ErrorKind::Io => ProblemKind::Unreadable,
        ErrorKind::Stale => ProblemKind::StaleIndex,
        _ => ProblemKind::DamagedIndex,
    };
    Problem::from_error(kind, error)
}

/// Converts an error found in a manifest.
pub fn in_manifest(error: &Error) -> Problem {
    let kind = match error.kind() {
        ErrorKind::Io if error.is_missing() => ProblemKind::MissingShard,
        ErrorKind::Io => ProblemKind::Unreadable,
        _ => ProblemKind::DamagedManifest,
    };
    Problem::from_error(kind, error)
}

/// Returns the key in an escaped member name, or the name if it has no key.
fn key_of(shown: String) -> String {
    match name::split(shown.as_bytes()) {
        Some((key, _)) => String::from_utf8_lossy(key).into_owned(),
        None => shown,
    }
}

/// Why a part is not the one that the sidecar describes.
pub fn differs(ext: &[u8], found: u32, expected: u32) -> String {
    format!(
        "part '{}' has checksum {found:08x}, the sidecar states {expected:08x}: its bytes changed; {RESTORE}",
        name::shown(ext)
    )
}
