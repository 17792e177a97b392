//! `PartRef`, `Read` and `Run`: the parts of a plan, the reads that bring them, and what is read together.

use std::ops::Range;

use tarflume_dataset::proof::{ExpectedHeader, HEADER, header_before};
use tarflume_formats::index::Part;

use crate::fetch::excerpt::PartExcerpt;

/// Neighboring samples of one shard that are read together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The shard.
    pub shard: usize,
    /// The samples, as a range of [`ReadPlan::items`](super::plan::ReadPlan::items).
    pub items: Range<usize>,
    /// The reads, as a range of [`ReadPlan::reads`](super::plan::ReadPlan::reads): several if the wanted parts are far apart.
    pub reads: Range<usize>,
    /// Length of the buffer: the bytes of the reads, and of holes in excerpts.
    pub bytes: u64,
    /// How far after the last read a part may begin that joins it.
    pub(super) reach: u64,
}

/// A range of the tar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read {
    /// First byte in the tar.
    pub start: u64,
    /// Length in bytes.
    pub length: u64,
    /// Offset in the run's buffer.
    pub within: u64,
}

/// A part to be read, or the absence of an optional part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartRef {
    /// Number of the extension, for [`PartNeeds::ext`]; `None` if the sample does not have the part.
    pub ext: Option<u32>,
    /// First byte in the tar.
    pub at: u64,
    /// Length in bytes, up to the end of its excerpt.
    pub length: u64,
    /// The bytes that are read, if not all are needed.
    pub excerpt: Option<PartExcerpt>,
    /// Number of pixels, if requested, known to the sidecar, and unambiguous (all other images of the sample are masks of the part).
    pub pixels: Option<u64>,
    /// Number of the part in its shard.
    pub(super) number: u64,
    /// The header of the part is read, not its data: it must state this.
    pub(super) header: Option<ExpectedHeader>,
    /// crc32c of the data, if the sidecar has it.
    pub checksum: Option<u32>,
    /// Offset in the run's buffer.
    pub within: u64,
    /// The entry points in the plan's `points`: first byte and length.
    pub(super) points: (usize, usize),
}

impl PartRef {
    /// The bytes of the part that are read, from its start.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        let (first, second) = match self.excerpt.filter(PartExcerpt::has_hole) {
            Some(excerpt) => (0..excerpt.header, excerpt.from..excerpt.end),
            None => (0..self.length, 0..0),
        };
        [first, second].into_iter().filter(|range| !range.is_empty())
    }

    /// An optional part that the sample does not have.
    pub(super) fn absent() -> PartRef {
        PartRef {
            ext: None,
            at: 0,
            length: 0,
            excerpt: None,
            pixels: None,
            number: 0,
            header: None,
            checksum: None,
            within: 0,
            points: (0, 0),
        }
    }

    /// A part that no column needs, to be compared with its checksum.
    pub(super) fn to_compare(ext: u32, part: &Part<'_>) -> PartRef {
        PartRef {
            ext: Some(ext),
            at: part.offset,
            length: part.length,
            number: part.number,
            checksum: part.checksum,
            ..PartRef::absent()
        }
    }

    /// The header of a part, to be compared with what the sidecar states.
    pub(super) fn header_of(ext: u32, part: &Part<'_>, expected: ExpectedHeader) -> PartRef {
        PartRef {
            ext: Some(ext),
            at: header_before(part.offset),
            length: HEADER,
            number: part.number,
            header: Some(expected),
            ..PartRef::absent()
        }
    }
}
