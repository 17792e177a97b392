//! Packs one sample: reads its files directly into the shard's buffer and checks them there, except
//! for JPEGs that were read ahead, which are copied.

use tarflume_base::check::{Fault, ImageSize, strips_of};
use tarflume_base::{Columns, Failure};
use tarflume_formats::plan::PlannedSample;
use tarflume_formats::{IrregularJpegs, ShardWriter, TarReader};

use super::held;
use super::images::{self, Images, Target};
use super::part::Parts;
use super::readahead::Ahead;
use super::refused::{PartProblem, Refused};
use crate::run::samples::sample_objects::{ObjectsFault, SampleObjects};
use crate::run::samples::sample_part::{PartPlace, SamplePart};

/// The target of a sample, and its parts that were read ahead.
pub(in crate::run) struct Packing<'a, 'b> {
    pub(in crate::run) writer: &'a mut ShardWriter,
    pub(in crate::run) parts: &'a mut Parts<'b>,
    pub(in crate::run) ahead: &'a mut Ahead,
    /// Prepares images, if that is an option.
    pub(in crate::run) images: Option<&'a mut Images>,
    /// The typed columns of the sidecar.
    pub(in crate::run) columns: &'a Columns,
    /// Counts the JPEGs of packed samples that break rules without losing a pixel.
    pub(in crate::run) irregular: &'a mut IrregularJpegs,
}

/// Why a sample is left out of its shard: problems of its parts, or a failure of the machine.
pub(in crate::run) enum Wrong {
    Problems(Vec<PartProblem>),
    Failure(Failure),
}

impl From<tarflume_formats::Error> for Wrong {
    fn from(error: tarflume_formats::Error) -> Wrong {
        Wrong::Failure(error.into())
    }
}

/// Appends the sample, the `number`th of those taken ahead, to the shard, or leaves the shard
/// unchanged. Returns the bytes of its files.
pub(in crate::run) fn pack(
    mut packing: Packing<'_, '_>,
    number: usize,
    sample: &PlannedSample,
) -> Result<u64, Wrong> {
    packing.writer.begin(&sample.key);
    let known = packing.irregular.count;
    match packing.all(number, sample) {
        Ok(dimensions) => {
            packing.writer.commit(dimensions.map(|size| (size.width, size.height)))?;
            Ok(sample.parts.iter().map(|part| part.size).sum())
        }
        Err(wrong) => {
            packing.irregular.cut(known);
            packing.writer.abandon()?;
            Err(wrong)
        }
    }
}

impl Packing<'_, '_> {
    fn all(&mut self, number: usize, sample: &PlannedSample) -> Result<Option<ImageSize>, Wrong> {
        let mut dimensions = None;
        let mut deferred = None;
        let mut objects = self.parts.objects();
        if let Some(images) = &mut self.images {
            images.begin(sample, self.parts);
        }
        for (n, planned) in sample.parts.iter().enumerate() {
            let place = PartPlace { sample: number, part: n };
            let part = SamplePart::new(sample, planned);
            if self.images.as_ref().is_some_and(|images| images.defers(planned, self.parts)) {
                deferred = Some((place, part));
                continue;
            }
            let packed = self.one(place, part);
            match packed.and_then(|found| self.values(part).map(|()| found)) {
                Ok(found) => {
                    if let Some(objects) = &mut objects {
                        let ext = self.parts.shard_ext(planned);
                        objects.see(n, ext, found, self.parts.json_rules(), self.writer);
                    }
                    dimensions = dimensions.or(found);
                }
                Err(Refused::Failure(failure)) => return Err(Wrong::Failure(failure)),
                Err(Refused::Problem(problem)) => {
                    return Err(self.others(*problem, place, sample));
                }
            }
        }
        self.sizes(sample, deferred)?;
        objects.map_or(Ok(()), |objects| self.right(&objects, sample))?;
        Ok(dimensions)
    }

    /// Returns an error if something is wrong with the objects of a sample.
    fn right(&self, objects: &SampleObjects, sample: &PlannedSample) -> Result<(), Wrong> {
        let mut problems = Vec::new();
        for ObjectsFault { part, fault } in objects.faults(self.parts.foot()) {
            match self.parts.fault(SamplePart::new(sample, &sample.parts[part]), fault) {
                Refused::Problem(problem) => problems.push(*problem),
                Refused::Failure(failure) => return Err(Wrong::Failure(failure)),
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(Wrong::Problems(problems)) }
    }

    /// Packs the JSON that gets the sizes of the sample's first image, if that is an option.
    fn sizes(
        &mut self,
        sample: &PlannedSample,
        json: Option<(PartPlace, SamplePart<'_>)>,
    ) -> Result<(), Wrong> {
        let Packing { writer, parts, ahead, images, columns, irregular } = self;
        let Some(images) = images.as_mut().filter(|images| images.notes_sizes()) else {
            return Ok(());
        };
        let target = Target { writer, parts, ahead, irregular };
        let packed = images.pack_sizes(target, json);
        // A new JSON has the sizes alone; a fault of its values is one of the sample's first part.
        let first = sample.parts.first().map(|first| SamplePart::new(sample, first));
        let part = json.map(|(_, part)| part).or(first);
        let packed = packed.and_then(|()| match part {
            Some(part) => {
                values(columns, images::JSON, writer).map_err(|fault| parts.fault(part, fault))
            }
            None => Ok(()),
        });
        match packed {
            Ok(()) => Ok(()),
            Err(Refused::Failure(failure)) => Err(Wrong::Failure(failure)),
            Err(Refused::Problem(problem)) => Err(Wrong::Problems(vec![*problem])),
        }
    }

    /// Checks the parts after the first bad one, so that one report has all problems of the sample.
    fn others(&mut self, first: PartProblem, bad: PartPlace, sample: &PlannedSample) -> Wrong {
        let mut problems = vec![first];
        let mut space = Vec::new();
        for part in bad.part + 1..sample.parts.len() {
            let seen = Seen { parts: &mut *self.parts, ahead: &mut *self.ahead, space: &mut space };
            match look_at(seen, PartPlace { part, ..bad }, sample) {
                Ok(()) => {}
                Err(Refused::Problem(problem)) => problems.push(*problem),
                Err(Refused::Failure(failure)) => return Wrong::Failure(failure),
            }
        }
        Wrong::Problems(problems)
    }

    /// Sets the values of the columns that are in the part, which is the newest of the sample.
    fn values(&mut self, part: SamplePart<'_>) -> Result<(), Refused> {
        let Packing { writer, parts, columns, .. } = self;
        let set = values(columns, parts.shard_ext(part.planned), writer);
        set.map_err(|fault| parts.fault(part, fault))
    }

    fn one(
        &mut self,
        place: PartPlace,
        part: SamplePart<'_>,
    ) -> Result<Option<ImageSize>, Refused> {
        let Packing { writer, parts, ahead, images, columns, irregular } = self;
        held::check(parts, part.sample, place.part, |part| {
            let is_prepared = images.as_ref().is_some_and(|images| images.takes(part, parts));
            let is_whole = parts.is_looked_at(part) || columns.is_in(parts.shard_ext(part));
            held::is_in_memory(part, is_whole || is_prepared)
        })?;
        if let Some(images) = images.as_mut().filter(|images| images.takes(part.planned, parts)) {
            let target = Target { writer, parts, ahead, irregular };
            return images.pack(target, place, part);
        }
        let ext = parts.shard_ext(part.planned);
        let is_whole = parts.is_looked_at(part.planned) || columns.is_in(ext);
        let size = part.planned.size;
        let in_memory = is_whole && size <= TarReader::MAX_WHOLE;
        if let Some(read) = ahead.part(place, part, parts)? {
            writer.part(ext, size)?.copy_from_slice(read.bytes);
            if parts.notes_entry_points() {
                writer.entry_points(read.entry_points);
                writer.strips(&strips_of(read.bytes, read.entry_points));
            }
            parts.count_irregular(part, read.irregular, irregular);
            Ok(read.dimensions)
        } else if size <= ShardWriter::STREAM_ABOVE || in_memory {
            let space = writer.part(ext, size)?;
            let found = parts.read(part, space)?;
            if let Some(points) = parts.known_entry_points(part.planned)? {
                let strips = strips_of(space, points);
                writer.entry_points(points);
                writer.strips(&strips);
            } else if let Some(header) = found.codes.filter(|_| parts.reads_codes()) {
                let read = ahead.tray().read_one(space, &header);
                let read = read.map_err(|fault| parts.fault(part, fault))?;
                if parts.notes_entry_points() {
                    let strips = strips_of(space, read.entry_points);
                    writer.entry_points(read.entry_points);
                    writer.strips(&strips);
                }
                parts.count_irregular(part, read.irregular, irregular);
            }
            Ok(found.dimensions)
        } else if is_whole {
            Err(parts.too_large(part))
        } else {
            let mut stream = parts.open(part)?;
            writer.stream_part(ext, size, |piece| parts.next(&mut stream, part, piece))?;
            parts.end(&stream, part)?;
            Ok(None)
        }
    }
}

/// Sets the values of the columns that are in the sample's part `ext`.
fn values(columns: &Columns, ext: &[u8], writer: &mut ShardWriter) -> Result<(), Fault> {
    if columns.is_in(ext) {
        writer.values(ext, |bytes, put| columns.read(ext, bytes, put))
    } else {
        Ok(())
    }
}

/// The state for checking a part without packing it.
pub(in crate::run) struct Seen<'a, 'b> {
    pub(in crate::run) parts: &'a mut Parts<'b>,
    pub(in crate::run) ahead: &'a mut Ahead,
    /// Reused for each part.
    pub(in crate::run) space: &'a mut Vec<u8>,
}

/// Checks the part of the sample that is at this place, and keeps nothing of it.
pub(in crate::run) fn look_at(
    seen: Seen<'_, '_>,
    place: PartPlace,
    sample: &PlannedSample,
) -> Result<(), Refused> {
    let Seen { parts, ahead, space } = seen;
    let planned = &sample.parts[place.part];
    let part = SamplePart::new(sample, planned);
    if ahead.part(place, part, parts)?.is_some() {
        return Ok(());
    }
    if !parts.is_looked_at(planned) {
        return parts.is_present(part);
    }
    if planned.size > TarReader::MAX_WHOLE {
        return Err(parts.too_large(part));
    }
    held::check(parts, sample, place.part, |held| std::ptr::eq(held, planned))?;
    space.resize(planned.size as usize, 0);
    let found = parts.read(part, space)?;
    let is_known = parts.known_entry_points(planned)?.is_some();
    if let Some(header) = found.codes.filter(|_| parts.reads_codes() && !is_known) {
        let read = ahead.tray().read_one(space, &header);
        read.map(drop).map_err(|fault| parts.fault(part, fault))?;
    }
    Ok(())
}
