//! Looks inside a part: decodes it, compares it with schemas and with the names of classes, counts its class.

use std::path::Path;

use tarflume_base::ProblemKind;
use tarflume_base::check::Content;
use tarflume_formats::Result;
use tarflume_formats::tar::Member;

use super::Pass;
use super::undecoded::Picture;
use crate::schema::SchemaFault;
use crate::verify::contents::objects::{Objects, PlacedFault};
use crate::verify::contents::parts::{FoundPart, PartRules, Parts};
use crate::verify::contents::points::{PlacedJpeg, PointFault};
use crate::verify::options::{Level, Options};
use crate::verify::policed::{Measure, Part};

/// Begins the check of objects, if they are to be checked.
pub(super) fn objects_of(options: &Options) -> Option<Objects<'_>> {
    let table = options.object_table.as_ref();
    let rules = options.json.unwrap_or_default();
    options.objects.then(|| Objects::new(table, options.class_table.as_ref(), rules))
}

/// Begins what is looked for in the parts of a shard.
pub(super) fn parts_of<'a>(tar: &'a Path, options: &'a Options) -> Parts<'a> {
    let rules = PartRules {
        options: &options.parts,
        decode: options.level == Level::Decode,
        json: options.json.unwrap_or_default(),
        // With the objects, their classes are checked.
        classes: options.class_table.as_ref().filter(|_| !options.objects),
    };
    Parts::new(tar, rules)
}

/// Begins the comparison with the bounds of a policy, if it has some for the bytes of parts.
pub(super) fn measure_of(options: &Options) -> Option<Measure<'_>> {
    let decodes = options.level == Level::Decode;
    Measure::new(options.rules.set.as_deref(), options.json.unwrap_or_default(), decodes)
}

impl<'a> Pass<'a> {
    /// Compares a part with its schemas and the names of classes, and counts its class.
    pub(super) fn look_inside(&mut self, member: &Member, key: &[u8], ext: &[u8]) -> Result<()> {
        let schemas = self.schemas;
        let data = self.reader.data(member)?;
        self.parts.look(FoundPart { key, ext, at: member.data, data });
        if let Some(field) = self.class.filter(|field| field.is_in(ext)) {
            self.classes.take(field, self.reader.data(member)?, self.json);
        }
        if let Some(names) = self.class_names.as_mut().filter(|names| names.are_in(ext)) {
            names.take(self.tar, member, key, self.reader.data(member)?);
        }
        if let Some(objects) = self.objects.as_mut().filter(|objects| objects.are_in(ext)) {
            let faults = objects.take(key, ext, self.reader.data(member)?, member.data);
            faults.into_iter().for_each(|fault| self.wrong_object(fault));
        }
        if let Some(measure) = self.measure.as_mut().filter(|measure| measure.is_in(ext)) {
            let bytes = self.reader.data(member)?;
            for broken in measure.take(Part { key, ext, bytes }) {
                self.push(broken.kind, member.data, key, broken.reason);
            }
        }
        for schema in schemas.iter().filter(|schema| schema.is_for(ext)) {
            let (kind, why) = match schema.fault(self.reader.data(member)?, self.json) {
                None => continue,
                Some(SchemaFault::NoJson(why)) => (ProblemKind::BadJson, why),
                Some(SchemaFault::Broken(why)) => (ProblemKind::Schema, why.into()),
            };
            self.push(kind, member.data, key, &why);
        }
        Ok(())
    }

    /// Checks the objects of the last sample, and returns the number of all.
    pub(super) fn last_objects(&mut self) -> u64 {
        let Some(objects) = &mut self.objects else { return 0 };
        let checked = objects.settle();
        let count = objects.objects;
        checked.into_iter().for_each(|fault| self.wrong_object(fault));
        count
    }

    fn wrong_object(&mut self, fault: PlacedFault) {
        self.push(fault.kind, fault.byte, &fault.key, fault.reason);
    }

    /// Notes a part that is too long to be looked into, if it would be.
    pub(super) fn pass_by(&mut self, member: &Member, key: &[u8], ext: &[u8]) {
        let was_asked_for = self.class.is_some_and(|field| field.is_in(ext))
            || self.class_names.as_ref().is_some_and(|names| names.are_in(ext))
            || self.objects.as_ref().is_some_and(|objects| objects.are_in(ext))
            || self.measure.as_ref().is_some_and(|measure| measure.is_in(ext))
            || self.schemas.iter().any(|schema| schema.is_for(ext));
        let is_decoded = self.decode && !matches!(Content::of(ext), Content::Other);
        self.parts.passed_by(ext);
        if was_asked_for || is_decoded {
            self.long.add(member, key, ext, was_asked_for);
        }
    }

    /// Decodes a part, as far as that can be done at once.
    pub(super) fn decode(
        &mut self,
        member: &Member,
        key: &[u8],
        ext: &[u8],
        points: Option<&'a [u8]>,
    ) -> Result<()> {
        let content = Content::of(ext);
        let data = self.reader.data(member)?;
        let tar = self.tar;
        let found = self.undecoded.check(&Picture { tar, member, key, content, data }, self.json);
        self.parts.checked(FoundPart { key, ext, at: member.data, data }, content, &found);
        let wrong = match found.map(|found| found.codes) {
            Ok(Some(header)) => {
                self.jpegs.take(PlacedJpeg { data, header, at: member.data, key, points })
            }
            Ok(None) if points.is_some() => {
                let text = "a JPEG of this kind has no entry points";
                vec![PointFault::points(member.data, key, text)]
            }
            Ok(None) => Vec::new(),
            Err(fault) => vec![PointFault::jpeg(member.data, key, fault)],
        };
        wrong.into_iter().for_each(|wrong| self.wrong(wrong));
        Ok(())
    }
}
