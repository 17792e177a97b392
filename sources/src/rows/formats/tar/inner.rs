//! `InnerTar`: a tar that is a member of a tar. Its members are read as the files of a folder with its name.
//!
//! The bytes of a member are a range of the outer tar, so the members of an inner tar are, too.

use std::path::Path;

use tarflume_base::{Failure, units};
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::shown::ShowPath;
use tarflume_formats::tar::{Member, MemberKind};
use tarflume_formats::{Blame, Error, name};

use super::options::TarOptions;
use crate::rows::tar_words::InnerTars;

/// Endings of compressed tars, and the program that decompresses them in their place.
const COMPRESSED: [(&str, &str); 8] = [
    (".tar.gz", "gzip -d"),
    (".tgz", "gzip -d"),
    (".tar.bz2", "bzip2 -d"),
    (".tbz2", "bzip2 -d"),
    (".tar.xz", "xz -d"),
    (".txz", "xz -d"),
    (".tar.zst", "zstd -d tars/*.tar.zst && rm"),
    (".tzst", "zstd -d tars/*.tzst && rm"),
];
/// The option that packs inner tars as they are, for messages.
const AS_PARTS: &str = "?inner=parts packs the tars in a tar as they are";

/// A tar in a tar.
#[derive(Debug)]
pub(super) struct InnerTar {
    /// Its path in the outer tar.
    name: Vec<u8>,
    /// The folder that its members are in, with a slash at the end.
    folder: Vec<u8>,
    /// Its first byte in the outer tar.
    pub(super) start: u64,
    /// The byte behind its last one.
    pub(super) end: u64,
}

impl InnerTar {
    /// Returns the tar that a member is; `None` for another member, and if tars are parts. `outer` is the path of the outer
    /// tar, and `within` the inner tar that the member is in.
    ///
    /// # Errors
    /// Returns an error for a compressed tar and for a tar in an inner tar.
    pub(super) fn of(
        member: &Member,
        within: Option<&InnerTar>,
        options: TarOptions<'_>,
        outer: &Path,
    ) -> Result<Option<InnerTar>, Failure> {
        let name = name::without_dot(&member.name);
        if options.inner == InnerTars::Parts || member.kind != MemberKind::File {
            return Ok(None);
        }
        let stem = before(name, ".tar");
        let compressed = COMPRESSED.iter().find(|(ending, _)| before(name, ending).is_some());
        if stem.or(compressed.map(|_| name)).is_none() {
            return Ok(None);
        }
        let path = [within.map_or(&b""[..], |inner| &inner.folder), name].concat();
        if options.scan.excludes(b"", &path) {
            return Ok(None);
        }
        let shown = name::shown(name);
        let refused = match (within, stem, compressed) {
            (Some(inner), ..) => {
                let own = name::shown(&inner.name);
                message!(
                    "'{shown}' is a tar in the tar '{own}', which is in a tar itself; take that one out with `tar -xf {outer} '{own}'`, and \
                     pack tar:{own}; {AS_PARTS}";
                    outer = outer
                )
            }
            (None, None, Some((ending, program))) => message!(
                "'{shown}' is a compressed tar in a tar; decompress the tars in it with `mkdir tars && tar -xf {outer} -C tars && {program} tars/*{ending} && tar \
                 -cf plain.tar -C tars .`, and pack tar:plain.tar; {AS_PARTS}";
                outer = outer
            ),
            (None, Some(stem), _) => {
                let folder = [stem, b"/"].concat();
                let end = member.data.saturating_add(member.size);
                let name = name.to_vec();
                return Ok(Some(InnerTar { name, folder, start: member.data, end }));
            }
            (None, None, None) => return Ok(None),
        };
        let place = tarflume_formats::Place {
            path: Some(outer.to_path_buf()),
            byte: Some(member.first),
            key: None,
        };
        Err(Failure::usage(refused).in_place(place))
    }

    /// The folder that its members are in, with a slash at the end.
    pub(super) fn folder(&self) -> &[u8] {
        &self.folder
    }

    /// Adds its name to an error, whose byte is one of the outer tar.
    pub(super) fn fault(&self, error: Error) -> Failure {
        if error.blame() != Blame::Data {
            return error.into();
        }
        let text = message!(
            "the tar '{}' in it: {told}; {AS_PARTS}",
            name::shown(&self.name);
            told = error.message()
        );
        let named = Error::new(error.kind(), text);
        let named = match &error.place().path {
            Some(path) => named.with_path(path),
            None => named,
        };
        match error.place().byte {
            Some(byte) => named.with_byte(byte).into(),
            None => named.into(),
        }
    }
}

/// Returns the name before an ending in any case; `None` if it has another one or no stem.
fn before<'n>(name: &'n [u8], ending: &str) -> Option<&'n [u8]> {
    let (stem, last) = name.split_at_checked(name.len().checked_sub(ending.len())?)?;
    let is_named = stem.last().is_some_and(|&byte| byte != b'/');
    (last.eq_ignore_ascii_case(ending.as_bytes()) && is_named).then_some(stem)
}

/// The inner tars of a source, for its note.
#[derive(Debug, Default)]
pub(super) struct InnerCount {
    tars: u64,
    first: Option<String>,
}

impl InnerCount {
    /// Counts an inner tar of the tar at `outer`.
    pub(super) fn see(&mut self, inner: &InnerTar, outer: &Path) {
        self.tars += 1;
        self.first
            .get_or_insert_with(|| format!("'{}' in {}", name::shown(&inner.name), outer.shown()));
    }

    /// Adds the inner tars of another tar.
    pub(super) fn add(&mut self, other: InnerCount) {
        self.tars += other.tars;
        self.first = self.first.take().or(other.first);
    }

    /// Returns the line about them.
    pub(super) fn note(&self) -> Option<Message> {
        let first = self.first.as_ref()?;
        let tars = units::counted(self.tars, "tar in a tar is", "tars in tars are");
        let folders = if self.tars == 1 { "a folder" } else { "folders" };
        Some(message!("{tars} read as {folders}, the first is {first}; {AS_PARTS}"))
    }
}

#[cfg(test)]
mod tests {
    use tarflume_scan::options::ScanOptions;

    use super::*;
    use crate::rows::tar_words::KeyBy;

    fn member(name: &str) -> Member {
        Member {
            name: name.as_bytes().to_vec(),
            kind: MemberKind::File,
            first: 512,
            data: 1024,
            size: 2048,
        }
    }

    #[test]
    fn a_member_is_an_inner_tar_by_its_ending() {
        let scan = ScanOptions::default();
        let inner = InnerTars::Folders;
        let options =
            TarOptions { scan: &scan, ignore_zeros: false, key_by: KeyBy::FirstDot, inner };
        let outer = Path::new("/d/all.tar");
        for (name, folder) in [
            ("n01.tar", Some("n01/")),
            ("./a.b/N01.TAR", Some("a.b/N01/")),
            ("n01.jpg", None),
            (".tar", None),
            ("a/.tar", None),
            ("tar", None),
        ] {
            let found = InnerTar::of(&member(name), None, options, outer).unwrap();
            let found = found.map(|inner| String::from_utf8(inner.folder).unwrap());
            assert_eq!(found.as_deref(), folder, "{name}");
        }
        let inner = InnerTar::of(&member("n01.tar"), None, options, outer).unwrap().unwrap();
        assert_eq!((inner.start, inner.end), (1024, 3072));
        let deep = InnerTar::of(&member("deep.tar"), Some(&inner), options, outer);
        let deep = deep.unwrap_err().text();
        assert!(deep.contains("`tar -xf /d/all.tar 'n01.tar'`"), "{deep}");
        let packed = InnerTar::of(&member("n01.tar.gz"), None, options, outer);
        let packed = packed.unwrap_err().text();
        assert!(packed.contains("gzip -d tars/*.tar.gz"), "{packed}");
        let options = TarOptions { inner: InnerTars::Parts, ..options };
        assert!(InnerTar::of(&member("n01.tgz"), None, options, outer).unwrap().is_none());
    }
}
