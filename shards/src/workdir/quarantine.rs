//! The policy for problems, and the copies of files that have them.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tarflume_base::{Choice, Failure, Problem};
use tarflume_formats::files::{self, Patient, patiently};
use tarflume_formats::message;
use tarflume_formats::message::Face;
use tarflume_formats::publish::{Published, TempFile, create_folders, folder_of, write_whole};
use tarflume_formats::{Digest, has_bytes};

/// Bytes copied at a time.
const PIECE: usize = 256 * 1024;
/// Suffix of the name of a reason file.
const REASON: &str = ".reason.json";
/// Limit of file systems on the bytes of a name.
const NAME_MAX: usize = 255;
/// Limit on the bytes of an extension with its dot; a longer one is part of the name.
const EXTENSION: usize = 16;

/// How a problem is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Nothing is published.
    Fail,
    /// The sample is left out.
    Skip,
    /// The sample is left out, and its files are copied to the quarantine with the reason.
    Quarantine,
}

impl Choice for Policy {
    const ALL: &'static [Policy] = &[Policy::Fail, Policy::Skip, Policy::Quarantine];

    fn word(self) -> &'static str {
        match self {
            Policy::Fail => "fail",
            Policy::Skip => "skip",
            Policy::Quarantine => "quarantine",
        }
    }
}

/// Copies `files`, which are below `root`, to `folder` under their own names, each with a
/// `.reason.json` beside it. For a missing or unreadable file only the reason is written.
///
/// A copy gets its name once it is complete and synced, and replaces nothing: if another file has
/// the name, a hash is added. Intermediate folders are not entered through links.
///
/// # Errors
/// Returns an error if a file could not be copied, or if a link is in place of a folder of the
/// quarantine.
pub fn set_aside(
    folder: &Path,
    root: &Path,
    files: &[PathBuf],
    problem: &Problem,
) -> Result<(), Failure> {
    let json = reason(problem);
    for file in files {
        let under = file.strip_prefix(root).unwrap_or(file);
        let wanted = folder.join(under);
        make_folders(folder, under.parent().unwrap_or(Path::new("")))?;
        let copied = copy(file, &wanted)?;
        write_whole(reason_path(copied.as_ref().unwrap_or(&wanted)), &json)?;
    }
    Ok(())
}

/// Writes the bytes of a part that is no file of its own to `folder` under its name in the shard,
/// with a `.reason.json` beside it. Without bytes only the reason is written.
///
/// # Errors
/// Returns an error if it could not be written, or if a link is in place of a folder of the
/// quarantine.
pub fn set_aside_bytes(
    folder: &Path,
    name: &[u8],
    bytes: Option<&[u8]>,
    problem: &Problem,
) -> Result<(), Failure> {
    if let Some(why) = tarflume_formats::name::unsafe_as_path(name) {
        let shown = tarflume_formats::name::shown(name);
        return Err(Failure::bad_data(format!("the plan has a part '{shown}': {why}")));
    }
    let under = Path::new(OsStr::from_bytes(name));
    make_folders(folder, under.parent().unwrap_or(Path::new("")))?;
    let wanted = folder.join(under);
    if let Some(bytes) = bytes {
        write_whole(&wanted, bytes)?;
    }
    Ok(write_whole(reason_path(&wanted), &reason(problem))?)
}

/// Returns the contents of a reason file.
fn reason(problem: &Problem) -> Vec<u8> {
    let value = problem.to_value(Face::Command);
    let mut json = serde_json::to_vec_pretty(&value).expect("JSON serializes");
    json.push(b'\n');
    json
}

/// Creates `folder` and the missing folders `below` it. Existing entries must be folders.
fn make_folders(folder: &Path, below: &Path) -> Result<(), Failure> {
    let mut path = folder.to_path_buf();
    for name in std::iter::once(None).chain(below.components().map(Some)) {
        path.extend(name);
        match patiently(|| fs::symlink_metadata(&path)) {
            Ok(found) if found.is_dir() => continue,
            Ok(_) => {
                return Err(Failure::usage(message!(
                    "{path} is not a folder; move it away, so that files can be copied there";
                    path = &path
                ))
                .with_file(path));
            }
            Err(e) if e.kind() == ErrorKind::NotFound => create_folders(&path)?,
            Err(e) => return Err(Failure::io(e, "examine", &path)),
        }
    }
    Ok(())
}

/// Copies `file` to `wanted` or, if another file has that name, to one with a hash; returns the
/// target, or `None` if there is no readable file.
fn copy(file: &Path, wanted: &Path) -> Result<Option<PathBuf>, Failure> {
    // A pipe that replaced the file is not read: a read could block forever.
    let source = match files::open(file) {
        Ok((source, _)) => source,
        Err(error) if error.blame().is_machine() => return Err(error.into()),
        Err(_) => return Ok(None), // unreadable or missing: the reason file records it
    };
    let name = wanted.file_name().unwrap_or_default();
    let mut temp = TempFile::create(folder_of(wanted), &name.to_string_lossy())?;
    let (length, digest) = copy_bytes(&source, file, &mut temp)?;
    temp.sync()?;
    let mut target = wanted.to_path_buf();
    for attempt in 0_u64.. {
        // Dropping a temporary file that was renamed is harmless.
        if temp.rename_new(&target)? == Published::New || has_bytes(&target, length, &digest)? {
            break;
        }
        target = folder_of(wanted).join(hashed_name(name, file, &digest, attempt));
    }
    Ok(Some(target))
}

/// Returns the name of a copy whose own name is taken: with a hash of its source and its bytes
/// before the extension. A later attempt finds the copy at once, however many files have that name.
fn hashed_name(name: &OsStr, source: &Path, digest: &Digest, attempt: u64) -> OsString {
    let mut hasher = blake3::Hasher::new();
    hasher.update(source.as_os_str().as_bytes()).update(digest.as_bytes());
    hasher.update(&attempt.to_le_bytes());
    let hash = format!("~{}", &hasher.finalize().to_hex()[..16]);
    let name = name.as_bytes();
    let dot = name.iter().rposition(|&b| b == b'.').filter(|&dot| name.len() - dot <= EXTENSION);
    let (stem, extension) = name.split_at(dot.unwrap_or(name.len()));
    let stem = &stem[..stem.len().min(NAME_MAX - hash.len() - extension.len())];
    OsString::from_vec([stem, hash.as_bytes(), extension].concat())
}

/// Copies all bytes and the permissions of `source`, the file at `file`; returns length and digest.
fn copy_bytes(source: &File, file: &Path, temp: &mut TempFile) -> Result<(u64, Digest), Failure> {
    let mut buffer = vec![0; PIECE];
    let mut length = 0;
    let mut hasher = blake3::Hasher::new();
    loop {
        let read = Patient(source).read(&mut buffer).map_err(|e| Failure::io(e, "read", file))?;
        if read == 0 {
            break;
        }
        let written = temp.file.write_all(&buffer[..read]);
        written.map_err(|e| Failure::io(e, "write", temp.path()))?;
        hasher.update(&buffer[..read]);
        length += read as u64;
    }
    let found = patiently(|| source.metadata()).map_err(|e| Failure::io(e, "read", file))?;
    if found.len() != length {
        return Err(Failure::try_again(format!(
            "it changed while it was copied to the quarantine: {length} bytes were read, it has {}",
            found.len()
        ))
        .in_file(file));
    }
    let mode = Permissions::from_mode(found.permissions().mode() & 0o777);
    match patiently(|| temp.file.set_permissions(mode.clone())) {
        // Windows file systems, and some in user space, have no permissions.
        Err(e) if matches!(e.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) => {}
        set => set.map_err(|e| Failure::io(e, "set the permissions of", temp.path()))?,
    }
    Ok((length, hasher.finalize()))
}

/// Returns the path of the reason file of a file in the quarantine: beside it. A long name is cut.
fn reason_path(copied: &Path) -> PathBuf {
    let name = copied.file_name().unwrap_or_default();
    let mut reason = OsString::from(name);
    if name.len() + REASON.len() > NAME_MAX {
        let digest = blake3::hash(name.as_bytes()).to_hex();
        reason = OsString::from_vec(name.as_bytes()[..NAME_MAX - 40].to_vec());
        reason.push(format!("~{}", &digest[..16]));
    }
    reason.push(REASON);
    copied.with_file_name(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hashed_name_keeps_its_extension_and_is_never_too_long() {
        let digest = blake3::hash(b"bytes");
        let hashed = |name: &str, source: &str, attempt| {
            let name = hashed_name(OsStr::new(name), Path::new(source), &digest, attempt);
            name.into_string().unwrap()
        };
        let name = hashed("bad.jpg", "/a/bad.jpg", 0);
        assert!(name.starts_with("bad~") && name.ends_with(".jpg") && name.len() == 24, "{name}");
        assert_eq!(name, hashed("bad.jpg", "/a/bad.jpg", 0));
        assert_ne!(name, hashed("bad.jpg", "/b/bad.jpg", 0));
        assert_ne!(name, hashed("bad.jpg", "/a/bad.jpg", 1));
        for long in
            ["n".repeat(255), format!("{}.jpg", "n".repeat(251)), format!("n.{}", "x".repeat(253))]
        {
            let name = hashed(&long, "/a", 0);
            assert!(name.len() <= NAME_MAX && name.contains('~'), "{name}");
        }
        assert!(hashed(&format!("{}.jpg", "n".repeat(251)), "/a", 0).ends_with(".jpg"));
    }
}
