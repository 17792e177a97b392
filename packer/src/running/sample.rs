//! Packs one sample: its files come straight into the shard's buffer and are checked there, but for
//! JPEGs that were read ahead, which are copied.

use tarflume_formats::ShardWriter;
use tarflume_formats::plan::{PlannedPart, PlannedSample};
use tarflume_formats::reading::MAX_WHOLE;
use tarflume_formats::shard::STREAM_ABOVE;

use super::ahead::Ahead;
use super::part::{Parts, Refused};
use crate::check::Dimensions;

/// Where a sample goes, and what of it is there already.
pub(super) struct Packing<'a, 'b> {
    pub(super) writer: &'a mut ShardWriter,
    pub(super) parts: &'a mut Parts<'b>,
    pub(super) ahead: &'a mut Ahead,
}

/// Appends the sample, the `number`th of those taken ahead, to the shard, or leaves the shard as it
/// was. Gives the bytes of its files.
pub(super) fn pack(
    mut packing: Packing<'_, '_>,
    number: usize,
    sample: &PlannedSample,
) -> Result<u64, Refused> {
    packing.writer.begin(&sample.key);
    match packing.all(number, sample) {
        Ok(dimensions) => {
            packing.writer.commit(dimensions)?;
            Ok(sample.parts.iter().map(|part| part.size).sum())
        }
        Err(refused) => {
            packing.writer.abandon()?;
            Err(refused)
        }
    }
}

impl Packing<'_, '_> {
    fn all(
        &mut self,
        number: usize,
        sample: &PlannedSample,
    ) -> Result<Option<Dimensions>, Refused> {
        let mut dimensions = None;
        for (n, part) in sample.parts.iter().enumerate() {
            let found = self.one((number, n), sample, part)?;
            dimensions = dimensions.or(found);
        }
        Ok(dimensions)
    }

    fn one(
        &mut self,
        place: (usize, usize),
        sample: &PlannedSample,
        part: &PlannedPart,
    ) -> Result<Option<Dimensions>, Refused> {
        let Packing { writer, parts, ahead } = self;
        let ext = parts.shard_ext(part);
        let in_memory = parts.is_looked_at(part) && part.size <= MAX_WHOLE;
        if let Some(read) = ahead.part(place, sample, part, parts)? {
            writer.part(ext, part.size)?.copy_from_slice(read.bytes);
            if parts.notes_entry_points() {
                writer.entry_points(read.entry_points);
            }
            Ok(read.dimensions)
        } else if part.size <= STREAM_ABOVE || in_memory {
            let space = writer.part(ext, part.size)?;
            let found = parts.read(sample, part, space)?;
            if let Some(header) = found.codes.filter(|_| parts.reads_codes()) {
                let read = ahead.tray().read_one(space, &header);
                let points = read.map_err(|fault| parts.fault(sample, part, fault))?;
                if parts.notes_entry_points() {
                    writer.entry_points(points);
                }
            }
            Ok(found.dimensions)
        } else if parts.is_looked_at(part) {
            Err(parts.too_large(sample, part))
        } else {
            let mut file = parts.open(sample, part)?;
            writer.stream_part(ext, part.size, |piece| {
                file.fill(piece).map_err(|fault| parts.refused(sample, part, fault))
            })?;
            file.check().map_err(|fault| parts.refused(sample, part, fault))?;
            Ok(None)
        }
    }
}
