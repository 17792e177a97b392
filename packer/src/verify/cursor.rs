//! The sidecar's parts in the order of the tar, held against the members as they come.
//!
//! The first differences are kept; a sidecar that differs too often describes another tar and is
//! asked no more.

use tarflume_formats::error::{Error, ErrorKind, Result};
use tarflume_formats::index::Part;
use tarflume_formats::tar::Member;
use tarflume_formats::{Index, name};

/// Differences after which a sidecar is taken for another tar's.
const DIFFERENT: u32 = 3;

/// A place in a sidecar, moving along with the walk over its tar.
#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    index: &'a Index,
    row: u64,
    key: &'a [u8],
    /// The parts of `row` that are still to come, the next one last.
    parts: Vec<Part<'a>>,
    differences: u32,
    first_difference: Option<Error>,
}

/// A part as the sidecar lists it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listed<'a> {
    /// The sample's key.
    pub key: &'a [u8],
    /// The part.
    pub part: Part<'a>,
}

impl<'a> Cursor<'a> {
    /// Before the first part.
    ///
    /// # Errors
    /// A damaged sidecar.
    pub(crate) fn new(index: &'a Index) -> Result<Cursor<'a>> {
        let mut cursor = Cursor {
            index,
            row: 0,
            key: b"",
            parts: Vec::new(),
            differences: 0,
            first_difference: None,
        };
        cursor.fill()?;
        Ok(cursor)
    }

    /// The part that comes next, if any is left.
    pub(crate) fn next(&self) -> Option<Listed<'a>> {
        self.parts.last().map(|&part| Listed { key: self.key, part })
    }

    /// Samples that have not come to their end, the one of the next part among them.
    pub(crate) fn samples_left(&self) -> u64 {
        self.index.samples() - self.row + u64::from(!self.parts.is_empty())
    }

    /// Moves past the next part.
    ///
    /// # Errors
    /// A damaged sidecar.
    pub(crate) fn advance(&mut self) -> Result<()> {
        self.parts.pop();
        self.fill()
    }

    fn fill(&mut self) -> Result<()> {
        while self.parts.is_empty() {
            let Some(sample) = self.index.sample(self.row)? else { return Ok(()) };
            for part in sample.parts() {
                self.parts.push(part?);
            }
            self.parts.reverse();
            self.key = sample.key;
            self.row += 1;
        }
        Ok(())
    }

    /// Holds a part of the tar against the sidecar's next one, and moves past that, which is given back
    /// if both describe the same bytes.
    ///
    /// # Errors
    /// A damaged sidecar.
    pub(crate) fn meet(
        &mut self,
        member: &Member,
        key: &[u8],
        ext: &[u8],
    ) -> Result<Option<Part<'a>>> {
        if self.is_other_tar() {
            return Ok(None);
        }
        let Some(Listed { key: listed_key, part }) = self.next() else {
            self.differ(member, key, "nothing more".into());
            return Ok(None);
        };
        let same_bytes = part.offset == member.data && part.length == member.size;
        let same = same_bytes && listed_key == key && part.ext == ext;
        if !same {
            self.differ(member, key, describe(listed_key, &part));
        }
        if part.offset <= member.data {
            self.advance()?;
        }
        Ok(same.then_some(part))
    }

    /// The entry points that the sidecar has for a part.
    ///
    /// # Errors
    /// A damaged sidecar.
    pub(crate) fn entry_points(&self, part: &Part<'a>) -> Result<Option<&'a [u8]>> {
        self.index.entry_points(part.number)
    }

    fn differ(&mut self, member: &Member, key: &[u8], listed: String) {
        self.differences += 1;
        self.first_difference.get_or_insert_with(|| {
            let text = format!(
                "the sidecar lists {listed} here, the tar has '{}' of {} bytes at byte {}; if the tar \
                 is right, make its sidecar anew with `pack index --force`",
                name::shown(&member.name),
                member.size,
                member.data
            );
            Error::new(ErrorKind::Stale, text).with_byte(member.first).with_key(name::shown(key))
        });
    }

    /// True once the sidecar differs too much from the tar to be believed any further.
    pub(crate) fn is_other_tar(&self) -> bool {
        self.differences >= DIFFERENT
    }

    /// The first difference.
    pub(crate) fn difference(&mut self) -> Option<Error> {
        self.first_difference.take()
    }
}

fn describe(key: &[u8], part: &Part<'_>) -> String {
    let (key, ext) = (name::shown(key), name::shown(part.ext));
    format!("'{key}.{ext}' of {} bytes at byte {}", part.length, part.offset)
}
