//! MD5, SHA-1 and SHA-256 of a tar, and SHA-256 of its files, in one pass over its bytes.

use std::io::Read;
use std::path::Path;

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use tarflume_base::{Failure, Stop};
use tarflume_formats::files;
use tarflume_formats::tar::Member;

/// Bytes read at a time.
const PIECE: usize = 1 << 20;

/// What the formats need beside headers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Contents {
    /// MD5 of the tar.
    pub(super) md5: bool,
    /// SHA-1 and SHA-256 of the tar, SHA-256 of each file.
    pub(super) sha: bool,
}

impl FromIterator<Contents> for Contents {
    fn from_iter<I: IntoIterator<Item = Contents>>(all: I) -> Contents {
        all.into_iter().fold(Contents::default(), |sum, one| Contents {
            md5: sum.md5 || one.md5,
            sha: sum.sha || one.sha,
        })
    }
}

/// Digests in lower-case hex; empty if they were not asked for.
#[derive(Debug, Default)]
pub(super) struct Digests {
    pub(super) md5: String,
    /// SHA-1 as git computes it for a blob.
    pub(super) git_sha1: String,
    pub(super) sha256: String,
    /// SHA-256 of each file, in the order of the tar.
    pub(super) files: Vec<String>,
}

/// Digests the tar at `path`, which has `length` bytes and these files.
///
/// # Errors
/// Returns an error if the tar has become shorter, if the operating system refuses, and after an interruption.
pub(super) fn read(
    path: &Path,
    length: u64,
    members: &[Member],
    contents: Contents,
    stop: &Stop,
    on_bytes: &(dyn Fn(u64) + Sync),
) -> Result<Digests, Failure> {
    let (mut file, _) = files::open(path)?;
    let mut md5 = contents.md5.then(Md5::new);
    let mut whole = contents.sha.then(|| {
        let mut git = Sha1::new();
        git.update(format!("blob {length}\0"));
        (git, Sha256::new())
    });
    let mut each = contents.sha.then(|| Each::new(members));
    let mut buffer = vec![0; PIECE];
    let mut at = 0;
    while at < length {
        if stop.requested() {
            return Err(Failure::interrupted());
        }
        let wanted = PIECE.min((length - at) as usize);
        let piece = &mut buffer[..wanted];
        files::patiently(|| file.read_exact(piece)).map_err(|e| Failure::io(e, "read", path))?;
        if let Some(md5) = &mut md5 {
            md5.update(&*piece);
        }
        if let (Some((git, sha)), Some(each)) = (&mut whole, &mut each) {
            git.update(&*piece);
            sha.update(&*piece);
            each.update(at, piece);
        }
        at += wanted as u64;
        on_bytes(wanted as u64);
    }
    let mut digests = Digests { md5: md5.map(hex).unwrap_or_default(), ..Digests::default() };
    if let (Some((git, sha)), Some(each)) = (whole, each) {
        (digests.git_sha1, digests.sha256, digests.files) = (hex(git), hex(sha), each.finish());
    }
    if contents.sha && digests.files.len() != members.len() {
        return Err(Failure::bad_data("a file lies outside of the tar").in_file(path));
    }
    Ok(digests)
}

/// SHA-256 of each file while the tar passes by.
struct Each<'a> {
    members: &'a [Member],
    open: Sha256,
    done: Vec<String>,
}

impl<'a> Each<'a> {
    fn new(members: &'a [Member]) -> Each<'a> {
        Each { members, open: Sha256::new(), done: Vec::with_capacity(members.len()) }
    }

    /// Adds the bytes of the tar that begin at `at`.
    fn update(&mut self, at: u64, piece: &[u8]) {
        let end = at + piece.len() as u64;
        while let Some(member) = self.members.get(self.done.len()) {
            let data_end = member.data + member.size;
            let from = member.data.max(at);
            let to = data_end.min(end);
            if from < to {
                self.open.update(&piece[(from - at) as usize..(to - at) as usize]);
            }
            if data_end > end {
                return;
            }
            self.done.push(hex(std::mem::take(&mut self.open)));
        }
    }

    fn finish(self) -> Vec<String> {
        self.done
    }
}

fn hex(digest: impl Digest) -> String {
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
