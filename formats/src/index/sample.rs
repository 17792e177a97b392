//! A sample and its parts as borrowed from a sidecar: the result of lookups.

use std::fmt;

use super::body::{Body, Part};
use crate::errors::error::Result;
use crate::parts::name;
use crate::text::shown::Quoted;

/// One sample of a shard, as its sidecar describes it.
#[derive(Clone, Copy)]
pub struct Sample<'a> {
    pub(super) body: &'a Body,
    /// Its row in the shard.
    pub row: u64,
    /// Its key, borrowed from the mapped sidecar; see [`super::Index::intact`].
    pub key: &'a [u8],
    /// Byte of the tar at which its first header block begins.
    pub first: u64,
    /// Width and height of its first image in pixels, if known.
    pub dimensions: Option<(u32, u32)>,
    pub(super) first_part: u64,
    pub(super) end_part: u64,
}

impl fmt::Debug for Sample<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sample")
            .field("row", &self.row)
            .field("key", &Quoted(self.key))
            .field("first", &self.first)
            .field("dimensions", &self.dimensions)
            .field("parts", &self.end_part.saturating_sub(self.first_part))
            .finish()
    }
}

impl<'a> Sample<'a> {
    /// Returns its parts in the order of the tar.
    pub fn parts(&self) -> impl Iterator<Item = Result<Part<'a>>> + use<'a> {
        let body = self.body;
        (self.first_part..self.end_part).map(move |part| body.part(part))
    }

    /// Returns the part with this extension.
    ///
    /// # Errors
    /// Returns the errors of [`super::Index::sample`].
    pub fn part(&self, ext: &[u8]) -> Result<Option<Part<'a>>> {
        for part in self.parts() {
            let part = part?;
            if part.ext == ext {
                self.body.intact()?;
                return Ok(Some(part));
            }
        }
        self.body.intact()?;
        Ok(None)
    }

    /// Returns the byte of the tar after the sample's last part and its padding.
    ///
    /// # Errors
    /// Returns the errors of [`super::Index::sample`].
    pub fn end(&self) -> Result<u64> {
        match self.end_part.checked_sub(1) {
            Some(last) if last >= self.first_part => Ok(self.body.part(last)?.end()),
            _ => Ok(self.first),
        }
    }

    /// Returns its key as text for messages.
    pub fn shown_key(&self) -> String {
        name::shown(self.key)
    }
}
