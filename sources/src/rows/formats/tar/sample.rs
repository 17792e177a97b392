//! `Grouping`: members of a tar -> samples. Members with one key that follow each other are one sample.

use tarflume_base::ProblemKind;
use tarflume_formats::message::Message;
use tarflume_formats::name;
use tarflume_formats::tar::{Member, MemberKind};

use super::options::{NameSplit, TarOptions};

/// Members between two looks at the stop.
pub(super) const SOME: u64 = 4096;

/// A sample of a tar.
#[derive(Debug, Default)]
pub(super) struct TarSample {
    pub(super) key: Vec<u8>,
    /// The first byte of its first header.
    pub(super) first: u64,
    pub(super) parts: Vec<TarPart>,
    /// Why it is no sample.
    pub(super) wrong: Option<(ProblemKind, Message)>,
}

/// A part of a sample.
#[derive(Debug)]
pub(super) struct TarPart {
    /// Its extension in the tar, in lower case.
    pub(super) source: Vec<u8>,
    /// The first byte of its data.
    pub(super) at: u64,
    pub(super) size: u64,
    /// Its bytes, if a filter reads them and they were at hand.
    pub(super) bytes: Option<Vec<u8>>,
}

impl TarSample {
    /// Notes why it is no sample, unless a reason is known.
    pub(super) fn refuse(&mut self, kind: ProblemKind, reason: Message) {
        self.wrong.get_or_insert((kind, reason));
    }

    /// Returns true if another sample of the same key has the parts that this one lacks.
    pub(super) fn completes(&self, other: &TarSample) -> bool {
        self.wrong.is_none()
            && other.wrong.is_none()
            && !other
                .parts
                .iter()
                .any(|part| self.parts.iter().any(|own| own.source == part.source))
    }

    /// Adds a part.
    pub(super) fn add(&mut self, ext: &[u8], at: u64, size: u64) {
        let source = name::lower(ext).into_owned();
        if self.parts.iter().any(|part| part.source == source) {
            let reason = format!("it has two members '{}'", name::shown(&source));
            return self.refuse(ProblemKind::RepeatedPart, reason.into());
        }
        self.parts.push(TarPart { source, at, size, bytes: None });
    }
}

/// Groups the members of one tar.
pub(super) struct Grouping<'o> {
    options: TarOptions<'o>,
    /// Put before the names of all members.
    folder: Vec<u8>,
    /// Memory for a name with its folder.
    path: Vec<u8>,
    open: Option<TarSample>,
    skipped: u64,
}

impl<'o> Grouping<'o> {
    /// Groups members whose names have `folder` before them, which is empty or ends with a slash.
    pub(super) fn new(options: TarOptions<'o>, folder: &[u8]) -> Grouping<'o> {
        Grouping { options, folder: folder.to_vec(), path: Vec::new(), open: None, skipped: 0 }
    }

    /// Takes the next member. Returns the sample before it, if the member begins another one.
    pub(super) fn take(&mut self, member: &Member) -> Option<TarSample> {
        self.path.clear();
        self.path.extend_from_slice(&self.folder);
        self.path.extend_from_slice(name::without_dot(&member.name));
        let path = self.path.as_slice();
        let split = (member.kind == MemberKind::File).then(|| self.options.split(path)).flatten();
        let Some(NameSplit { key, ext }) = split else {
            self.skipped += u64::from(member.kind != MemberKind::Directory);
            return None;
        };
        if self.options.scan.excludes(b"", path) {
            self.skipped += 1;
            return None;
        }
        let ended = match &self.open {
            Some(open) if open.key != key => self.open.take(),
            _ => None,
        };
        let open = self.open.get_or_insert_with(|| TarSample {
            key: key.to_vec(),
            first: member.first,
            ..TarSample::default()
        });
        open.add(ext, member.data, member.size);
        ended
    }

    /// Returns the sample that members would be added to; the next member begins another one.
    pub(super) fn close(&mut self) -> Option<TarSample> {
        self.open.take()
    }

    /// Returns the part that was added last.
    pub(super) fn newest(&mut self) -> Option<&mut TarPart> {
        self.open.as_mut()?.parts.last_mut()
    }

    /// Returns the last sample, and the number of members that belong to no sample or are excluded.
    pub(super) fn finish(self) -> (Option<TarSample>, u64) {
        (self.open, self.skipped)
    }
}
