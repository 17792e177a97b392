//! `Images`: prepares the images of one shard while they are packed.

use tarflume_base::check::{Content, Fault, ImageSize, strips_of};
use tarflume_base::{Failure, ProblemKind};
use tarflume_formats::plan::{PlannedPart, PlannedSample};
use tarflume_formats::{IrregularJpegs, ShardWriter, TarReader};
use tarflume_jpeg::Header;

use super::part::Parts;
use super::readahead::Ahead;
use super::refused::Refused;
use crate::pictures::{ImageSizes, PictureFault, PictureTotals, Preparation, Prepared, Preparer};
use crate::run::samples::sample_part::{PartPlace, SamplePart};

/// The JSON that gets the sizes of the sample's first image.
pub(in crate::run) const JSON: &[u8] = b"json";

/// The preparation of images for one shard.
#[derive(Debug)]
pub(in crate::run) struct Images {
    preparer: Preparer,
    pub(in crate::run) totals: PictureTotals,
    /// The part that is packed, as it is in its source, its entry points, and what is irregular in it.
    source: Vec<u8>,
    points: Vec<u8>,
    irregular: Option<Fault>,
    /// Of the current sample: whether a part became its `jpg`, and the sizes of its first image.
    has_jpg: bool,
    sizes: Option<ImageSizes>,
}

/// The target of a part, and where it comes from.
pub(in crate::run) struct Target<'a, 'b> {
    pub(in crate::run) writer: &'a mut ShardWriter,
    pub(in crate::run) parts: &'a mut Parts<'b>,
    pub(in crate::run) ahead: &'a mut Ahead,
    /// Counts JPEGs that break rules without losing a pixel, and that are packed as they are.
    pub(in crate::run) irregular: &'a mut IrregularJpegs,
}

impl Images {
    pub(in crate::run) fn new(preparation: Preparation) -> Images {
        Images {
            preparer: Preparer::new(preparation),
            totals: PictureTotals::default(),
            source: Vec::new(),
            points: Vec::new(),
            irregular: None,
            has_jpg: false,
            sizes: None,
        }
    }

    /// Begins a sample.
    pub(in crate::run) fn begin(&mut self, sample: &PlannedSample, parts: &Parts<'_>) {
        self.has_jpg = sample.parts.iter().any(|part| parts.shard_ext(part) == b"jpg");
        self.sizes = None;
    }

    /// Returns true for a part that is prepared.
    pub(in crate::run) fn takes(&self, part: &PlannedPart, parts: &Parts<'_>) -> bool {
        Preparer::concerns(parts.shard_ext(part)) && part.size <= TarReader::MAX_WHOLE
    }

    /// Returns true if the sizes of images are noted.
    pub(in crate::run) fn notes_sizes(&self) -> bool {
        self.preparer.options().keep_original_size
    }

    /// Returns true for a JSON that is packed after the images of its sample, with their sizes.
    pub(in crate::run) fn defers(&self, part: &PlannedPart, parts: &Parts<'_>) -> bool {
        self.notes_sizes() && parts.shard_ext(part) == JSON && part.size <= TarReader::MAX_WHOLE
    }

    /// Packs an image as it is after preparation; returns its size.
    pub(in crate::run) fn pack(
        &mut self,
        target: Target<'_, '_>,
        place: PartPlace,
        part: SamplePart<'_>,
    ) -> Result<Option<ImageSize>, Refused> {
        let Target { writer, parts, ahead, irregular } = target;
        let found = self.load(place, part, parts, ahead)?;
        let ext = parts.shard_ext(part.planned);
        let prepared = self.preparer.prepare(ext, &self.source, !self.has_jpg);
        let prepared = prepared.map_err(|fault| refused(fault, part, parts))?;
        let dimensions = match &prepared {
            Some(new) => {
                let ext = new.ext.map_or(ext, str::as_bytes);
                self.has_jpg |= ext == b"jpg";
                put(writer, ext, &new.bytes)?;
                let target = Target { writer, parts, ahead, irregular };
                self.note_points(new, part, target)?;
                Some(new.after)
            }
            None => {
                put(writer, ext, &self.source)?;
                if parts.notes_entry_points() {
                    writer.entry_points(&self.points);
                    writer.strips(&strips_of(&self.source, &self.points));
                }
                parts.count_irregular(part, self.irregular.as_ref(), irregular);
                found
            }
        };
        if self.sizes.is_none() {
            let before = prepared.as_ref().map(|new| new.before).or(dimensions);
            let bytes = self.source.len() as u64;
            self.sizes =
                before.zip(dimensions).map(|(before, after)| ImageSizes { before, bytes, after });
        }
        self.totals.add(&self.source, prepared.as_ref());
        Ok(dimensions)
    }

    /// Packs the JSON of a sample with the sizes of its first image; a new JSON if the sample has none.
    pub(in crate::run) fn pack_sizes(
        &mut self,
        target: Target<'_, '_>,
        json: Option<(PartPlace, SamplePart<'_>)>,
    ) -> Result<(), Refused> {
        let Target { writer, parts, ahead, .. } = target;
        if let Some((place, part)) = json {
            self.load(place, part, parts, ahead)?;
        }
        let Some(sizes) = self.sizes else {
            return json.map_or(Ok(()), |_| put(writer, JSON, &self.source));
        };
        let new = sizes.added_to(json.map(|_| self.source.as_slice()), parts.json_rules());
        match (new, json) {
            (Ok(new), _) => put(writer, JSON, &new),
            (Err(reason), Some((_, part))) => {
                Err(parts.fault(part, Fault { kind: ProblemKind::BadJson, byte: 0, reason }))
            }
            (Err(_), None) => Ok(()), // a new object has no fault
        }
    }

    /// Reads a part and checks it as without preparation.
    fn load(
        &mut self,
        place: PartPlace,
        part: SamplePart<'_>,
        parts: &mut Parts<'_>,
        ahead: &mut Ahead,
    ) -> Result<Option<ImageSize>, Refused> {
        self.source.clear();
        self.points.clear();
        self.irregular = None;
        if let Some(read) = ahead.part(place, part, parts)? {
            self.source.extend_from_slice(read.bytes);
            self.points.extend_from_slice(read.entry_points);
            self.irregular = read.irregular.cloned();
            return Ok(read.dimensions);
        }
        self.source.resize(part.planned.size as usize, 0);
        let found = parts.read(part, &mut self.source)?;
        if let Some(header) = found.codes.filter(|_| parts.reads_codes()) {
            let read = ahead.tray().read_one(&self.source, &header);
            let read = read.map_err(|fault| parts.fault(part, fault))?;
            self.points.extend_from_slice(read.entry_points);
            self.irregular = read.irregular.cloned();
        }
        Ok(found.dimensions)
    }

    /// Notes the entry points of the prepared bytes.
    fn note_points(
        &self,
        new: &Prepared,
        part: SamplePart<'_>,
        target: Target<'_, '_>,
    ) -> Result<(), Refused> {
        let Target { writer, parts, ahead, irregular } = target;
        if !parts.notes_entry_points() {
            return Ok(());
        }
        let Ok(header) = Header::parse(&new.bytes) else { return Ok(()) }; // a PNG
        if header.unsupported().is_none() {
            let read = ahead.tray().read_one(&new.bytes, &header);
            let read = read.map_err(|fault| parts.fault(part, fault))?;
            writer.entry_points(read.entry_points);
            writer.strips(&strips_of(&new.bytes, read.entry_points));
            parts.count_irregular(part, read.irregular, irregular);
        }
        Ok(())
    }
}

fn put(writer: &mut ShardWriter, ext: &[u8], bytes: &[u8]) -> Result<(), Refused> {
    writer.part(ext, bytes.len() as u64)?.copy_from_slice(bytes);
    Ok(())
}

fn refused(fault: PictureFault, part: SamplePart<'_>, parts: &Parts<'_>) -> Refused {
    match fault {
        PictureFault::Data { byte, reason } => {
            let kind = match parts.content(part.planned) {
                Content::Jpeg => ProblemKind::BadJpeg,
                _ => ProblemKind::BadImage,
            };
            parts.fault(part, Fault { kind, byte, reason: reason.into() })
        }
        PictureFault::Machine(reason) => {
            let path = parts.path(part);
            Refused::Failure(Failure::try_again(reason).in_file(path))
        }
    }
}
