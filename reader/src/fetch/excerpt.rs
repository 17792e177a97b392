//! `PartExcerpt`: the bytes that are read of a JPEG whose other rows no column decodes.
//!
//! Arithmetic on entry points; reads no part.

use tarflume_dataset::Shard;
use tarflume_formats::index::Part;
use tarflume_image::{ImageSize, StoredRegion};
use tarflume_jpeg::{EntryPoints, Excerpt, orientation_of};
use tarflume_types::Result;

use crate::fetch::draw::{Limits, RowDraw};

/// An excerpt that saves fewer bytes than this is not worth its look-ups: a page.
const LEAST: u64 = 4096;
/// Limit on the entry points of a part that are looked up although they are not kept.
const UNKEPT: u64 = 64 << 10;

/// What is known of a JPEG before its bytes are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JpegFacts {
    pub(crate) size: ImageSize,
    /// Its EXIF orientation.
    pub(crate) orientation: Option<u8>,
}

/// Knows which regions of pictures the columns of a loader decode.
pub(crate) trait PictureNeeds {
    /// Passes the regions that are decoded of the part that meets need number `need` of the sample `draw`, a JPEG with
    /// these facts, to `each`. Returns false if the whole part may be needed.
    fn regions(
        &self,
        need: usize,
        draw: RowDraw,
        picture: JpegFacts,
        each: &mut dyn FnMut(StoredRegion),
    ) -> bool;
}

/// The bytes that are read of a JPEG: its header and some rows of MCUs. Bytes are counted from the start of the part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartExcerpt {
    /// Length of the header.
    pub(crate) header: u64,
    /// The first byte of the rows. The end of the header, if the bytes between are read, too.
    pub(crate) from: u64,
    /// The byte after the rows.
    pub(crate) end: u64,
    /// Length of the whole part.
    pub(crate) whole: u64,
    /// The first row of MCUs, and the end of the rows.
    pub(crate) rows: (u32, u32),
    /// The checksums of its strips among the blobs of the plan: first byte and length.
    pub(super) strips: (usize, usize),
}

impl PartExcerpt {
    /// The bytes between the last row and the end of the part.
    pub(super) fn tail(&self) -> u64 {
        self.whole - self.end
    }

    /// True if there are bytes before the rows that are not read.
    pub(super) fn has_hole(&self) -> bool {
        self.from > self.header
    }
}

/// The rows of MCUs that the columns need of a JPEG. Bytes are counted from the start of the part.
struct NeededRows {
    /// The first row of MCUs, and the end of the rows.
    rows: (u32, u32),
    /// Length of the header.
    header: u64,
    /// The first byte of the rows.
    from: u64,
    /// The byte after the rows.
    end: u64,
}

/// A part that may be read in excerpts.
pub(super) struct Candidate<'a> {
    pub(super) shard: &'a Shard,
    pub(super) row: u64,
    pub(super) part: &'a Part<'a>,
    pub(super) need: usize,
    pub(super) draw: RowDraw,
}

impl Candidate<'_> {
    /// Appends the entry points of the part to `blobs`, and the checksums of its strips if an excerpt is enough.
    /// Returns the length of the entry points, and the excerpt. Both are left out beyond the limit on entry points;
    /// look-ups ahead, whose limit is 0, keep no blobs but need the excerpt.
    ///
    /// # Errors
    /// The sidecar can't be read.
    pub(super) fn look_up(
        &self,
        pictures: Option<&dyn PictureNeeds>,
        limits: Limits,
        blobs: &mut Vec<u8>,
    ) -> Result<(usize, Option<PartExcerpt>)> {
        let start = blobs.len();
        // What the batch's earlier parts left of the limit.
        let kept = limits.entry_points.saturating_sub(start as u64);
        let most = if pictures.is_some() { kept.max(UNKEPT) } else { kept };
        if most == 0 || !self.shard.entry_points(self.part.number, most, blobs)? {
            return Ok((0, None));
        }
        let points = blobs.len() - start;
        let excerpt = match pictures {
            Some(pictures) => self.excerpt(pictures, start, limits.hole, blobs)?,
            None => None,
        };
        if excerpt.is_none() {
            blobs.truncate(start + points);
        }
        if (blobs.len() - start) as u64 <= kept {
            return Ok((points, excerpt));
        }
        blobs.truncate(start);
        Ok((0, excerpt.filter(|_| limits.entry_points == 0)))
    }

    /// The excerpt of this part that the columns need, if that saves much; appends the checksums of its strips to
    /// `blobs`, where its entry points begin at `points`. Holes of at most `hole` bytes are read.
    fn excerpt(
        &self,
        needs: &dyn PictureNeeds,
        points: usize,
        hole: u64,
        blobs: &mut Vec<u8>,
    ) -> Result<Option<PartExcerpt>> {
        let Candidate { shard, row, part, .. } = *self;
        let start = blobs.len();
        let most = part.length / 256; // they take a thousandth
        if !shard.strips(part.number, most, blobs)? {
            return Ok(None);
        }
        let Some((width, height)) = shard.dimensions(row)? else { return Ok(None) };
        let size = ImageSize::new(width, height);
        let found = self.find(needs, &blobs[points..start], &blobs[start..], size);
        let Some(NeededRows { rows, header, from, end }) = found else { return Ok(None) };
        let from = if from - header <= hole { header } else { from };
        let strips = (start, blobs.len() - start);
        let excerpt = PartExcerpt { header, from, end, whole: part.length, rows, strips };
        let saved = excerpt.tail() + (from - header);
        Ok((saved >= LEAST).then_some(excerpt))
    }

    /// The rows of MCUs that the columns need.
    fn find(
        &self,
        needs: &dyn PictureNeeds,
        points: &[u8],
        strips: &[u8],
        size: ImageSize,
    ) -> Option<NeededRows> {
        if size.width == 0 || size.height == 0 {
            return None; // a sidecar states something false
        }
        let points = EntryPoints::read(points).ok()?;
        // Entry points of other bytes would be noticed only after the bytes were read.
        if points.made_from() != (self.part.length, self.part.checksum?) {
            return None;
        }
        let mut all: Option<Excerpt<'_>> = None;
        let mut missed = false;
        let picture = JpegFacts { size, orientation: orientation_of(strips) };
        let known = needs.regions(self.need, self.draw, picture, &mut |wanted| {
            let StoredRegion { region, scale } = wanted;
            let one = Excerpt::of(&points, strips, size.height, region, scale);
            missed |= one.is_none();
            all = match (all, one) {
                (Some(all), Some((one, _))) => Some(all.with(one)),
                (all, one) => all.or(one.map(|(excerpt, _)| excerpt)),
            };
        });
        let excerpt = all.filter(|_| known && !missed)?;
        let bytes = excerpt.bytes(&points)?;
        let within = bytes.rows.end as u64 <= self.part.length;
        within.then_some(NeededRows {
            rows: excerpt.rows,
            header: bytes.header as u64,
            from: bytes.rows.start as u64,
            end: bytes.rows.end as u64,
        })
    }
}
