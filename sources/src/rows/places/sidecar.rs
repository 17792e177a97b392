//! The sidecar of a tar that is a source: checksums and entry points of its parts while they are packed.

use std::fs::File;
use std::path::Path;

use tarflume_base::Failure;
use tarflume_base::packed_shard::{FrameReader, IndexedShard};
use tarflume_formats::Place;
use tarflume_formats::index::{Part, Sample};
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::{Error, Index, Result, files, index_path, name};
use tarflume_shards::index::proof;

use crate::rows::places::decoded::DecodedTars;

/// The kind of a source with a sidecar, in plans.
pub(crate) const SHARD: &str = "shard";

/// Opens the sidecar of a tar.
///
/// # Errors
/// Returns an error if there is none, it is damaged or belongs to another tar, or the operating system refuses.
pub(crate) fn open_sidecar(tar: &Path) -> Result<Index, Failure> {
    let index = Index::open(index_path(tar))?;
    let found = files::metadata(tar, "examine")?;
    index.check_tar(tar, found.len()).map_err(|e| e.with_path(tar))?;
    proof::probe_suspect(tar, &index)?;
    Ok(index)
}

/// Finds planned parts in the sidecar of their tar.
#[derive(Debug)]
pub(crate) struct SidecarParts {
    index: Index,
    /// The row that was found last: parts are usually read in the order of the tar.
    row: u64,
    frames: FrameReader,
    /// Whether pictures were decoded when the tar was packed.
    was_decoded: bool,
}

/// What a sidecar says about a part.
#[derive(Debug, Clone, Copy)]
pub struct PartFacts<'a> {
    /// The crc32c of its bytes.
    pub checksum: Option<u32>,
    /// Its entry points; empty if it has none.
    pub entry_points: &'a [u8],
    /// Whether pictures were decoded when the tar was packed.
    pub was_decoded: bool,
}

impl SidecarParts {
    /// Opens the sidecar of a tar.
    ///
    /// # Errors
    /// Returns an error if there is none, it is damaged or belongs to another tar, or the operating system
    /// refuses.
    pub(crate) fn open(tar: &Path, decoded: &mut DecodedTars) -> Result<SidecarParts, Failure> {
        let index = open_sidecar(tar)?;
        let was_decoded = decoded.has(tar, &index)?;
        Ok(SidecarParts { index, row: 0, frames: FrameReader::default(), was_decoded })
    }

    /// Fills `space` with the bytes of the tar from `at`, if the tar is compressed; returns false if it is not.
    ///
    /// # Errors
    /// Returns an error if a frame is damaged or the operating system refuses.
    pub(crate) fn decompress(
        &mut self,
        tar: &Path,
        file: &File,
        at: u64,
        space: &mut [u8],
    ) -> Result<bool, Failure> {
        if !self.index.is_compressed() {
            return Ok(false);
        }
        self.frames.read(IndexedShard { tar, index: &self.index }, at, space, |at, into| {
            read_of(at, into, tar, file)
        })?;
        Ok(true)
    }

    /// Returns what the sidecar says about the part whose data begins at byte `at`.
    ///
    /// # Errors
    /// Returns an error if it has no such part, or is damaged.
    pub(crate) fn at(&mut self, tar: &Path, at: u64) -> Result<PartFacts<'_>, Failure> {
        let found = self.find(at).map_err(|e| Failure::from(e.with_path(tar)))?;
        let Some((row, number, checksum)) = found else {
            return Err(Failure::bad_data(
                message!("{tar}, byte {at}: the sidecar has no part here; it was changed after it was planned, so plan again \
                     with {fresh}"; tar = tar, fresh = Name::Fresh.on()),
            )
            .with_place(Place { path: Some(tar.into()), byte: Some(at), key: None }));
        };
        self.row = row;
        let points =
            self.index.entry_points(number).map_err(|e| Failure::from(e.with_path(tar)))?;
        let entry_points = points.unwrap_or_default();
        Ok(PartFacts { checksum, entry_points, was_decoded: self.was_decoded })
    }

    /// Returns the row, number and checksum of a part.
    fn find(&self, at: u64) -> Result<Option<(u64, u64, Option<u32>)>> {
        for row in [self.row, self.row + 1] {
            if let Some(sample) = self.index.sample(row)?
                && let Some(part) = part_at(&sample, at)?
            {
                return Ok(Some((row, part.number, part.checksum)));
            }
        }
        let mut low = 0;
        let mut high = self.index.samples();
        while low < high {
            let middle = low + (high - low) / 2;
            match self.index.sample(middle)? {
                Some(sample) if sample.first <= at => low = middle + 1,
                _ => high = middle,
            }
        }
        let Some(row) = low.checked_sub(1) else { return Ok(None) };
        let Some(sample) = self.index.sample(row)? else { return Ok(None) };
        Ok(part_at(&sample, at)?.map(|part| (row, part.number, part.checksum)))
    }
}

/// Fills `into` with the bytes of a tar from `at`.
///
/// # Errors
/// Returns an error that names the tar and the byte, if the operating system refuses.
pub(crate) fn read_of(at: u64, into: &mut [u8], tar: &Path, file: &File) -> Result<(), Failure> {
    files::read_exact_at(file, into, at).map_err(|e| Error::io(e, "read", tar).with_byte(at).into())
}

fn part_at<'a>(sample: &Sample<'a>, at: u64) -> Result<Option<Part<'a>>> {
    for part in sample.parts() {
        let part = part?;
        if part.offset == at {
            return Ok(Some(part));
        }
    }
    Ok(None)
}

impl PartFacts<'_> {
    /// Returns the fault of bytes with this checksum; `None` if they are the right ones.
    pub fn fault(&self, ext: &[u8], found: u32) -> Option<String> {
        let expected = self.checksum.filter(|&expected| expected != found)?;
        Some(format!(
            "part '{}' has checksum {found:08x}, and the sidecar states {expected:08x}",
            name::shown(ext)
        ))
    }
}
