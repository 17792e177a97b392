//! `Member`: one file of a tar, and where it is.

use std::borrow::Cow;

use crate::parts::name;
use crate::tar::header::{MemberKind, padded};

/// A member and its position in the tar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The whole name, from whichever header holds it; any bytes but zero.
    pub name: Vec<u8>,
    /// Its kind; never one that no reader of shards handles (sparse, several volumes).
    pub kind: MemberKind,
    /// Where its first header block starts, long names and pax headers included.
    pub first: u64,
    /// Where its data starts.
    pub data: u64,
    /// Bytes of data, without the padding.
    pub size: u64,
}

impl Member {
    /// Returns the position of the block after the data and its padding.
    pub fn end(&self) -> u64 {
        padded(self.size).map_or(u64::MAX, |len| self.data.saturating_add(len))
    }

    /// Returns key and lower-case extension, if the member is a part of a sample.
    pub fn part(&self) -> Option<(&[u8], Cow<'_, [u8]>)> {
        if self.kind != MemberKind::File {
            return None;
        }
        name::split(&self.name).map(|(key, ext)| (key, name::lower(ext)))
    }
}
