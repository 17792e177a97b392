//! The sidecar's parts in the order of the tar, compared with the members of a walk.
//!
//! Keeps the first difference. A sidecar that differs too often describes another tar and is not
//! used further.

use std::path::Path;

use tarflume_formats::index::Part;
use tarflume_formats::message;
use tarflume_formats::tar::Member;
use tarflume_formats::{Error, ErrorKind, Index, Result, name};

/// Number of differences after which a sidecar counts as another tar's.
const DIFFERENT: u32 = 3;

/// A position in a sidecar that moves along with the walk over its tar.
#[derive(Debug)]
pub struct Cursor<'a> {
    tar: &'a Path,
    index: &'a Index,
    row: u64,
    key: &'a [u8],
    /// The remaining parts of `row`, the next one last.
    parts: Vec<Part<'a>>,
    differences: u32,
    first_difference: Option<Error>,
}

/// A part as listed in the sidecar.
#[derive(Debug, Clone, Copy)]
pub struct Listed<'a> {
    /// The sample's row in the sidecar.
    pub row: u64,
    /// The sample's key.
    pub key: &'a [u8],
    /// The part.
    pub part: Part<'a>,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor before the first part of the sidecar of `tar`.
    ///
    /// # Errors
    /// Returns an error if the sidecar is damaged.
    pub fn new(tar: &'a Path, index: &'a Index) -> Result<Cursor<'a>> {
        let mut cursor = Cursor {
            tar,
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

    /// Moves before the first part of the sample at `row`.
    ///
    /// # Errors
    /// Returns an error if the sidecar is damaged.
    pub fn seek(&mut self, row: u64) -> Result<()> {
        self.row = row;
        self.parts.clear();
        self.fill()
    }

    /// Returns the next part, if any.
    pub fn next(&self) -> Option<Listed<'a>> {
        // `row` is already that of the sample after it.
        self.parts.last().map(|&part| Listed { row: self.row - 1, key: self.key, part })
    }

    /// Returns the number of unfinished samples, including that of the next part.
    pub fn samples_left(&self) -> u64 {
        self.index.samples() - self.row + u64::from(!self.parts.is_empty())
    }

    /// Moves past the next part.
    ///
    /// # Errors
    /// Returns an error if the sidecar is damaged.
    pub fn advance(&mut self) -> Result<()> {
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

    /// Compares a part of the tar with the sidecar's next one and moves past that; returns it if
    /// both describe the same bytes.
    ///
    /// # Errors
    /// Returns an error if the sidecar is damaged.
    pub fn meet(&mut self, member: &Member, key: &[u8], ext: &[u8]) -> Result<Option<Listed<'a>>> {
        if self.is_other_tar() {
            return Ok(None);
        }
        let Some(listed) = self.next() else {
            self.differ(member, key, "nothing more".into());
            return Ok(None);
        };
        let Listed { key: listed_key, part, .. } = listed;
        let same_bytes = part.offset == member.data && part.length == member.size;
        let same = same_bytes && listed_key == key && part.ext == ext;
        if !same {
            self.differ(member, key, describe(listed_key, &part));
        }
        if part.offset <= member.data {
            self.advance()?;
        }
        Ok(same.then_some(listed))
    }

    /// Returns the entry points of a part in the sidecar.
    ///
    /// # Errors
    /// Returns an error if the sidecar is damaged.
    pub fn entry_points(&self, part: &Part<'a>) -> Result<Option<&'a [u8]>> {
        self.index.entry_points(part.number)
    }

    /// Returns the checksums of the strips of a part in the sidecar.
    ///
    /// # Errors
    /// Returns an error if the sidecar is damaged.
    pub fn strips(&self, part: &Part<'a>) -> Result<Option<&'a [u8]>> {
        self.index.strips(part.number)
    }

    fn differ(&mut self, member: &Member, key: &[u8], listed: String) {
        self.differences += 1;
        self.first_difference.get_or_insert_with(|| {
            let text = message!(
                "the sidecar lists {listed} here, the tar has '{}' of {} bytes at byte {}; if the tar \
                 is right, make a new sidecar with `{renewal}`",
                name::shown(&member.name),
                member.size,
                member.data;
                renewal = self.index.renewal(self.tar)
            );
            Error::new(ErrorKind::Stale, text).with_byte(member.first).with_key(name::shown(key))
        });
    }

    /// Returns true once the sidecar differs too much from the tar to be used further.
    pub fn is_other_tar(&self) -> bool {
        self.differences >= DIFFERENT
    }

    /// Returns the first difference.
    pub fn difference(&mut self) -> Option<Error> {
        self.first_difference.take()
    }
}

fn describe(key: &[u8], part: &Part<'_>) -> String {
    let key = name::shown(key);
    let ext = name::shown(part.ext);
    format!("'{key}.{ext}' of {} bytes at byte {}", part.length, part.offset)
}
